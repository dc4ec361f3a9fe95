package host

import (
	"errors"
	"runtime/debug"

	"github.com/postern-ai/postern/core/abi"
)

// errPanicked hides the panic value, which might contain secrets or request data.
var errPanicked = errors.New("host: panic")

// panicked reports a panic that was recovered, with the stack of the calling goroutine, which has no values in it.
func panicked(report func(code string, stack []byte), code string) {
	if report != nil {
		report(code, debug.Stack())
	}
}

// background runs f in a goroutine that Wait waits for. A panic ends only f.
func (h *Host) background(f func()) {
	h.working.Go(func() {
		defer func() {
			if recover() != nil {
				panicked(h.Panicked, "background_panicked")
			}
		}()
		f()
	})
}

// run runs a task and returns its last event. If it panics, the action fails and the exchange continues.
func (x *exchange) run(t *task) (event abi.Event) {
	defer func() {
		if recover() != nil {
			panicked(x.host.Panicked, "action_panicked")
			event = failed(t.Action)
		}
	}()
	return t.run(t)
}

// failed returns the event of an action that this host could not complete.
func failed(a *abi.Action) abi.Event {
	switch a.Kind {
	case abi.ActionReadBody:
		return abi.Event{Kind: abi.EventBody, ID: a.ID, Code: abi.OutcomeFailed}
	case abi.ActionRead:
		return abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeFailed}
	case abi.ActionCall:
		return abi.Event{Kind: abi.EventReply, ID: a.ID, Code: abi.OutcomeFailed}
	case abi.ActionFollow:
		return abi.Event{Kind: abi.EventFlight, ID: a.ID, Code: abi.FlightFailed}
	case abi.ActionWait:
		return abi.Event{Kind: abi.EventTimer, ID: a.ID}
	}
	return fault(a, abi.FaultBroken)
}

// survive ends an exchange whose step panicked: with the last-resort error if the response has not started, else by
// cutting the connection, so that the response does not look complete.
func (x *exchange) survive() {
	if recover() == nil {
		return
	}
	panicked(x.host.Panicked, "exchange_panicked")
	defer x.end()
	defer func() {
		if recover() != nil || !x.done {
			x.broken = true
			x.finish()
		}
	}()
	if x.opened || !x.started {
		clear(x.writer.Header())
		x.lastResort()
	}
}
