package lease_test

import (
	"testing"

	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
)

// TestFreed checks how many of the exchanges that wait should continue after a step: as many as there is more room for,
// and at least one if a command has ended, even without success.
func TestFreed(t *testing.T) {
	few := keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, AmountPico: 6400, Slots: 2}
	full := func() *lease.Entry {
		e := granted(t, few)
		take(e, start+40, "a", 100)
		take(e, start+41, "b", 100)
		return again(t, e)
	}
	sending := func() (*lease.Entry, lease.Sending) {
		e := full()
		_, sent := report(t, e, start+50, true)
		return again(t, e), sent
	}
	freed := func(what string, e *lease.Entry, want uint64) {
		t.Helper()
		if got := e.Freed(); got != want {
			t.Errorf("%s: %d continue, want %d", what, got, want)
		}
	}
	e := full()
	freed("nothing has changed", e, 0)
	settle(t, e, start+60, "a", 30)
	freed("a request has ended", e, 1)
	e = again(t, granted(t, few))
	take(e, start+40, "a", 100)
	freed("a request has begun", e, 0)

	e, sent := sending()
	e.Confirmed(start+60, sent, &keymeter.ReportReply{Lease: few})
	freed("a report has registered the requests", e, 2)
	e, sent = sending()
	e.Failed(sent)
	freed("a report has failed", e, 1)
	e, sent = sending()
	e.Confirmed(start+60, sent, &keymeter.ReportReply{})
	freed("the meter has no such lease", e, 1)

	asking := func() *lease.Entry {
		e := &lease.Entry{}
		e.Ask(start-400, 2, 7, 9)
		e.Ask(start, 2, 7, 1)
		return again(t, e)
	}
	e = asking()
	e.Granted(start+10, lease.Asked{ID: 7, SentMs: start, Version: 2}, &few, nil)
	freed("the lease has come", e, 2)
	e = asking()
	e.Granted(start+10, lease.Asked{ID: 7, SentMs: start, Version: 2}, &keymeter.Lease{}, nil)
	freed("the meter does not lend", e, 1)
	e = asking()
	e.Unknown(7)
	freed("the reply is lost", e, 1)
}
