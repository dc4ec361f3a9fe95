package usage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// TestMinutesOfTwoReports checks that a request counts once if its usage and its end are reported in different
// minutes. Either report may come first.
func TestMinutesOfTwoReports(t *testing.T) {
	for _, first := range []string{"usage", "end"} {
		b := controltest.New(t)
		b.Memory.Reducers = true
		path := b.Project()
		id := path[len("/api/admin/projects/"):]
		hour := b.Memory.NowMs() / calendar.HourMs
		for i := range uint64(4) {
			for _, report := range []string{first, map[string]string{"usage": "end", "end": "usage"}[first]} {
				if report == "usage" {
					u := ledger.Usage{Day: hour / 24, Hour: hour % 24, Model: "m", Failed: 2, Requests: 4}
					b.Ask(abi.ClassLedger, id, (&ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: i + 1, Usage: []ledger.Usage{u}}).Encode())
				} else {
					counts := []ledger.EndCount{
						{Hour: hour, Model: "m", End: ledger.EndTimeout, Booked: ledger.BookedFailed, Count: 2},
						{Hour: hour, Model: "m", End: ledger.EndCut, Booked: ledger.BookedServed, Count: 1},
					}
					b.Ask(abi.ClassLedger, id, (&ledger.Tally{Source: 1, Seq: i + 1, KeyID: "key_1", Counts: counts}).Encode())
				}
				b.Now = b.Now.Add(time.Minute)
			}
		}
		w := readWindow(b, path, "range=1h&by=minute")
		served, requests := uint64(0), uint64(0)
		for _, r := range w.Rows {
			served, requests = served+r.Outcomes.Served, requests+r.Requests
		}
		if served != 12 || requests != 24 || w.Totals.Requests != 24 {
			t.Errorf("%s first: %d served and %d requests in %s, totals %d", first, served, requests, fmt.Sprint(w.served()), w.Totals.Requests)
		}
	}
}
