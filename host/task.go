package host

import (
	"context"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// task is an action in progress. It delivers events only while it is in exchange.open.
type task struct {
	*abi.Action
	ctx    context.Context
	cancel func()
	run    func(*task) abi.Event // returns the last event
	fired  bool                  // a timer's time has come
	gate   chan struct{}         // of a paused fetch: closed when it continues; nil: it is not paused
}

// start makes a task of an action; launch runs it after the step. An action without an ID delivers no event.
func (x *exchange) start(a *abi.Action, run func(*task) abi.Event) {
	t := &task{Action: a, ctx: context.Background(), run: run}
	if a.ID != 0 {
		if a.Kind == abi.ActionFetch {
			t.ctx = x.host.cut
		}
		t.ctx, t.cancel = context.WithCancel(t.ctx)
		x.open = append(x.open, t)
	}
	x.pending = append(x.pending, t)
}

// startTimer makes a task of an ActionWait, which also ends when the host is cut. It has no goroutine before that.
func (x *exchange) startTimer(a *abi.Action) {
	t := &task{Action: a, run: func(t *task) abi.Event { return abi.Event{Kind: abi.EventTimer, ID: t.ID} }}
	fire := func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.find(t.ID) == t && !t.fired {
			t.fired = true
			x.spawn(t)
		}
	}
	timer := time.AfterFunc(time.Duration(a.KeepMs)*time.Millisecond, fire)
	uncut := context.AfterFunc(x.host.cut, fire)
	t.cancel = func() { _, _ = timer.Stop(), uncut() }
	x.open = append(x.open, t)
}

// find returns the open task with an ID, or nil.
func (x *exchange) find(id uint64) *task {
	for _, t := range x.open {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// isOpen reports whether a task has not been canceled.
func (x *exchange) isOpen(t *task) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.find(t.ID) == t
}

// pause pauses a fetch, or lets it continue.
func (x *exchange) pause(a *abi.Action) {
	t := x.find(a.ID)
	switch {
	case t == nil:
	case a.Kind == abi.ActionPause:
		t.gate = make(chan struct{})
	case t.gate != nil:
		close(t.gate)
		t.gate = nil
	}
}

// awaitResume waits until a fetch is not paused. It returns false if the fetch is canceled first.
func (x *exchange) awaitResume(t *task) bool {
	x.mu.Lock()
	gate := t.gate
	x.mu.Unlock()
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// close ends a task, and reports whether it was open.
func (x *exchange) close(t *task) bool {
	i := slices.Index(x.open, t)
	if i < 0 {
		return false
	}
	t.cancel()
	x.open = slices.Delete(x.open, i, i+1)
	return true
}

// launch runs the tasks that the step has started, all but one in goroutines of their own. It returns the one that the
// calling goroutine is to run itself, or nil. A connection's goroutine takes only calls that the response waits for.
func (x *exchange) launch(worker bool) (mine *task) {
	free := worker || !x.done && !slices.ContainsFunc(x.open, func(t *task) bool { return t.Kind == abi.ActionFetch || t.Kind == abi.ActionFollow })
	for _, t := range x.pending {
		switch {
		case !free || !worker && t.ID == 0:
			x.spawn(t)
		case mine != nil:
			x.spawn(mine)
			fallthrough
		default:
			mine = t
		}
	}
	x.pending = nil
	if x.ended && !x.released { // only now, so that Host.Wait also waits for the tasks just spawned
		x.released = true
		x.host.working.Done()
	}
	return mine
}

func (x *exchange) spawn(t *task) { x.host.background(func() { x.work(t) }) }

// keep stores the body of a task's last event in the action's buffer.
func (x *exchange) keep(t *task, event abi.Event) {
	if event.Kind == abi.EventResponse || event.Kind == abi.EventBody && event.Code == abi.OutcomeOK {
		x.buffers[t.Buffer] = event.Data
	}
}
