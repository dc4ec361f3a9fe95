package usage

import (
	"cmp"
	"slices"

	"github.com/postern-ai/postern/core/ledger"
)

// pairEnds sorts minutes, and moves the marks of requests that usage counts and that were not served to the minutes of that usage. The two
// reports of such a request may arrive in different minutes, and each minute would count it. The causes stay where they are.
func pairEnds(minutes []ledger.ActivityGroup) {
	slices.SortFunc(minutes, func(a, b ledger.ActivityGroup) int { return cmp.Compare(a.Minute, b.Minute) })
	pair(minutes, func(u *ledger.Usage) (counted, marked *uint64) { return &u.Requests, &u.Ends.Served })
	pair(minutes, func(u *ledger.Usage) (counted, marked *uint64) { return &u.Failed, &u.Ends.Failed })
}

// pair gives each minute as many marks as it has counted requests: those of earlier minutes first, then those of later ones.
func pair(minutes []ledger.ActivityGroup, of func(*ledger.Usage) (counted, marked *uint64)) {
	open := uint64(0)
	for i := range minutes {
		counted, marked := of(&minutes[i].Usage)
		open += *marked
		*marked = min(*counted, open)
		open -= *marked
	}
	for i := len(minutes) - 1; i >= 0 && open > 0; i-- {
		counted, marked := of(&minutes[i].Usage)
		more := min(*counted-*marked, open)
		*marked += more
		open -= more
	}
	if open > 0 {
		_, marked := of(&minutes[len(minutes)-1].Usage)
		*marked += open // the usage is not reported yet
	}
}
