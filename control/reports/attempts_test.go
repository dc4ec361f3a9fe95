package reports_test

import (
	"testing"

	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/ledger"
)

// TestOpenings checks that circuit openings are counted separately from attempts.
func TestOpenings(t *testing.T) {
	u := ledger.Usage{Requests: 5, Hits: 1, Attempts: ledger.Attempts{
		Failed: [ledger.Causes]uint64{ledger.CauseBusy: 3, ledger.CauseBroken: 1}, Rescued: 1, Opened: 2,
	}}
	want := reports.AttemptsView{Total: 4 + 3, Failed: reports.FailedView{Busy: 3, Broken: 1}, Rescued: 1, Opened: 2}
	if got := reports.ViewFigures(&ledger.Activity{Usage: u}).Attempts; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
