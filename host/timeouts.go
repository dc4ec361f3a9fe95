package host

import (
	"context"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// timeouts are the timeouts of a fetch: one for the current phase and one for the total time. One timer watches both.
type timeouts struct {
	cut    context.Context // Host.cut
	cancel context.CancelFunc

	mu       sync.Mutex
	timer    *time.Timer
	rings    time.Time // when the timer fires
	end      time.Time // end of the total time; zero: no timeout
	phaseEnd time.Time // zero: no timeout
	fault    uint64    // of the phase
	expired  uint64    // fault of the timeout that has passed; 0: none
}

// phase begins a phase with a timeout in milliseconds. 0 means no timeout. If the timer fires too early for the new
// phase, it is set again. A stream therefore does not have to reset the timer with every chunk.
func (t *timeouts) phase(ms, fault uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phaseEnd, t.fault = after(ms), fault
	t.schedule()
}

// after returns the time ms milliseconds from now, or the zero time if ms is 0.
func after(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(ms) * time.Millisecond)
}

// schedule makes the timer fire at the next timeout or earlier.
func (t *timeouts) schedule() {
	next := t.end
	if next.IsZero() || !t.phaseEnd.IsZero() && t.phaseEnd.Before(next) {
		next = t.phaseEnd
	}
	switch {
	case next.IsZero() || !t.rings.IsZero() && !next.Before(t.rings):
		return
	case t.timer == nil:
		t.timer = time.AfterFunc(time.Until(next), t.ring)
	default:
		t.timer.Reset(time.Until(next))
	}
	t.rings = next
}

// ring cancels the fetch if a timeout has passed.
func (t *timeouts) ring() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.rings = time.Time{}
	switch {
	case !t.phaseEnd.IsZero() && !now.Before(t.phaseEnd):
		t.expired = t.fault
	case !t.end.IsZero() && !now.Before(t.end):
		t.expired = abi.FaultTotal
	default:
		t.schedule()
		return
	}
	t.phaseEnd, t.end = time.Time{}, time.Time{}
	t.cancel()
}

func (t *timeouts) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phaseEnd, t.end = time.Time{}, time.Time{}
	if t.timer != nil {
		t.timer.Stop()
	}
}

// reason returns the fault of the timeout that has passed. If none has passed, it returns FaultCut after Host.Cut and
// otherwise the given fault.
func (t *timeouts) reason(otherwise uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.expired != 0:
		return t.expired
	case t.cut.Err() != nil:
		return abi.FaultCut
	}
	return otherwise
}
