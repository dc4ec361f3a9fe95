package usage

import (
	"cmp"
	"slices"

	"github.com/postern-ai/postern/core/ledger"
)

// pairEnds sorts minutes and corrects requests that were counted twice. A request that was not served may have two
// reports: its usage, and its end with a mark that the usage already counts the request. If the two reports arrive in
// different minutes, both minutes would count the request. The mark is therefore moved to the minute of the usage.
// The causes are not moved.
func pairEnds(minutes []ledger.ActivityGroup) {
	slices.SortFunc(minutes, func(a, b ledger.ActivityGroup) int { return cmp.Compare(a.Minute, b.Minute) })
	pair(minutes, func(u *ledger.Usage) (counted, marked *uint64) { return &u.Requests, &u.Ends.Served })
	pair(minutes, func(u *ledger.Usage) (counted, marked *uint64) { return &u.Failed, &u.Ends.Failed })
}

// pair gives each minute at most as many marks as it has counted requests. It first uses marks of the same minute and
// earlier ones, and then marks of later minutes.
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
