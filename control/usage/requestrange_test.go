package usage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// A time range selects both served and other requests, on pages of any size.
func TestRequestRange(t *testing.T) {
	b, path := recalled(t, 300) // 900 requests, one millisecond apart
	tell(b, path, 0, 900)
	for query, want := range map[string][2]uint64{
		"from=2026-11-21T08:00:00.500Z":                             {500, 900},
		"to=2026-11-21T08:00:00.500Z":                               {0, 500},
		"from=2026-11-21T08:00:00.200Z&to=2026-11-21T08:00:00.201Z": {200, 201},
		"from=2026-11-21T09:00:00.1%2B01:00&to=2026-11-21":          {100, 900},
		"from=2026-11-21&to=2026-11-21":                             {0, 900},
		"from=2026-11-20&to=2026-11-20":                             {},
		"from=2026-11-22":                                           {},
		"to=2026-11-20":                                             {},
	} {
		for _, limit := range []string{"7", "100"} {
			ids, _ := requestIDsOf(b, path, query+"&limit="+limit)
			var all []string
			for n := want[0]; n < want[1]; n++ {
				all = append(all, remembered(n).ID, unserved(n).ID)
			}
			slices.Sort(ids)
			if slices.Sort(all); !slices.Equal(ids, all) {
				t.Errorf("%s, limit %s: %d requests, want %d", query, limit, len(ids), len(all))
			}
		}
	}
}

// Reading a list with a range stops after the last request in the range. It does not stop earlier if a few late
// batches contain old requests.
func TestRequestRangeEnds(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	const start, hours = 1_795_000_000_000, 900
	at := func(n uint64) uint64 { return start + n*calendar.HourMs }
	var batches [][]ledger.Request
	for n := range uint64(hours) {
		r := remembered(n)
		if r.AtMs = at(n); n%100 >= 50 && n > 800 {
			r.AtMs = start // a late report
		}
		batches = append(batches, []ledger.Request{r})
	}
	recall(b, path, batches)
	for n := range uint64(hours) {
		r := unserved(n)
		r.AtMs = at(n)
		r.Body = fmt.Appendf(nil, `{"code":"c","message":"%0800d"}`, n) // so long that a chunk has room for only a few records
		b.Tally(path, ledger.Tally{Source: 1, Seq: n + 1, KeyID: "key_1", Records: []ledger.Record{r}})
	}
	for from, most := range map[uint64]int{at(845): 5, at(700): 7, 0: 14} {
		before := len(b.Memory.Sent)
		query := "limit=100&outcome=served"
		if from > 0 {
			query += "&from=" + kernel.Timestamp(from)
		}
		ids, _ := requestIDsOf(b, path, query)
		calls, want := len(b.Memory.Sent)-before, 0
		for n := range batches {
			if r := batches[n][0]; r.AtMs >= from && r.Status == 200 {
				want++
			}
		}
		if len(ids) != want || calls > most {
			t.Errorf("%d requests, want %d; %d calls, want at most %d", len(ids), want, calls, most)
		}
	}
}
