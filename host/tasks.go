package host

import (
	"context"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// task is an action in progress. It delivers events only while it is in tasks.open.
type task struct {
	abi.Action
	ctx    context.Context
	cancel func()
	run    func(*task) abi.Event // returns the last event
	fired  bool                  // a timer's time has come
	gate   chan struct{}         // closed when a paused fetch resumes; nil: not paused
}

// tasks are the actions in progress of one exchange, which guards them with its mu.
type tasks struct {
	open    []*task // tasks whose last event has not arrived yet
	pending []*task // started by the current step but not running yet
}

// start turns an action into a task. exchange.launch runs it after the step. A task without an ID delivers no event
// and cannot be canceled.
func (ts *tasks) start(ctx context.Context, a *abi.Action, run func(*task) abi.Event) {
	t := &task{Action: *a, ctx: context.Background(), run: run}
	if a.ID != 0 {
		t.ctx, t.cancel = context.WithCancel(ctx)
		ts.open = append(ts.open, t)
	}
	ts.pending = append(ts.pending, t)
}

// wait turns an ActionWait into a task. fire is called when the time has come or the host is cut. Until then, the
// task has no goroutine.
func (ts *tasks) wait(cut context.Context, a *abi.Action, fire func(*task)) *task {
	t := &task{Action: *a, run: func(t *task) abi.Event { return abi.Event{Kind: abi.EventTimer, ID: t.ID} }}
	timer := time.AfterFunc(time.Duration(a.KeepMs)*time.Millisecond, func() { fire(t) })
	uncut := context.AfterFunc(cut, func() { fire(t) })
	t.cancel = func() { _, _ = timer.Stop(), uncut() }
	ts.open = append(ts.open, t)
	return t
}

// queued returns the wait that a step of another exchange may end, or nil.
func (ts *tasks) queued() *task {
	for _, t := range ts.open {
		if t.Kind == abi.ActionWait && t.Code != abi.WaitTimer {
			return t
		}
	}
	return nil
}

func (ts *tasks) find(id uint64) *task {
	for _, t := range ts.open {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// close ends a task and reports whether it was open.
func (ts *tasks) close(t *task) bool {
	i := slices.Index(ts.open, t)
	if i < 0 {
		return false
	}
	t.cancel()
	ts.open = slices.Delete(ts.open, i, i+1)
	return true
}

func (ts *tasks) cancel(id uint64) {
	if t := ts.find(id); t != nil {
		ts.close(t)
	}
}

func (ts *tasks) pause(id uint64) {
	if t := ts.find(id); t != nil {
		t.gate = make(chan struct{})
	}
}

func (ts *tasks) resume(id uint64) {
	if t := ts.find(id); t != nil && t.gate != nil {
		close(t.gate)
		t.gate = nil
	}
}

func (ts *tasks) any(kinds ...abi.ActionKind) bool {
	return slices.ContainsFunc(ts.open, func(t *task) bool { return slices.Contains(kinds, t.Kind) })
}

func (ts *tasks) take() []*task {
	pending := ts.pending
	ts.pending = nil
	return pending
}

// cancelAll cancels everything in progress.
func (ts *tasks) cancelAll() {
	for _, t := range ts.open {
		t.cancel()
	}
	ts.open = nil
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

func fault(a *abi.Action, code uint64) abi.Event {
	return abi.Event{Kind: abi.EventFault, ID: a.ID, Code: code}
}
