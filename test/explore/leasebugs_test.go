package explore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// TestBugsOfLeasesAreFound injects bugs into paths with leases. All of them must be found.
func TestBugsOfLeasesAreFound(t *testing.T) {
	keepsEntry := func(at abi.EventKind, id uint64) func(*abi.Event, *abi.StepOutput) {
		return func(e *abi.Event, out *abi.StepOutput) {
			if e.Kind == at && e.ID == id {
				out.PinnedChanged = false
			}
		}
	}
	for _, bug := range []struct {
		name   string
		tamper func(e *abi.Event, out *abi.StepOutput)
		found  string
	}{
		{"does not leave its settle in the entry", keepsEntry(abi.EventResponse, 5), "a reservation is not settled"},
		{"does not write its admission into the entry", keepsEntry(abi.EventBody, 1), "is called before an admission"},
		{"ignores the meter's confirmation", keepsEntry(abi.EventReply, leaseTimerID+1), "the settle is reported 2 times"},
		{"does not wake as the keeper", without(func(a *abi.Action) bool { return a.ID == leaseTimerID }), "nobody keeps the lease"},
		{"does not report", without(func(a *abi.Action) bool { return a.ID == leaseTimerID+1 }), "nobody keeps the lease"},
		{"also settles with a call", func(e *abi.Event, out *abi.StepOutput) {
			if e.Kind == abi.EventResponse {
				out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionCall, Class: abi.ClassKeyMeter, Name: "meter", Data: settleCommand})
			}
		}, "settled 2 times"},
		{"drops the entry at the report", func(_ *abi.Event, out *abi.StepOutput) {
			if slices.ContainsFunc(out.Actions, func(a abi.Action) bool { return a.ID == leaseTimerID+1 }) {
				out.Pinned = nil
			}
		}, "the settle is lost"},
	} {
		s := post("a lent request", "/v1/chat/completions", bodyFor("only", messages), alphabet{
			"key": {record(lendingPlan)}, "fetch": {openaiOK}, "report-lease": {renewed, failed.only(1)},
		}, entryOf(leasedEntry(lent, false)))
		s.tamper = bug.tamper
		x := explore(s)
		if !slices.ContainsFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, bug.found) }) {
			t.Errorf("machine that %s: found %q, want %q", bug.name, x.findings, bug.found)
		}
	}
}

var settleCommand = (&keymeter.Settle{RequestID: requestID, Outcome: keymeter.Served, Model: "only"}).Encode()
