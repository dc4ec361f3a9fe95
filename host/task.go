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
}

// start makes a task of an action; launch runs it after the step. An action without an ID delivers no event.
func (x *exchange) start(a *abi.Action, run func(*task) abi.Event) {
	t := &task{Action: a, ctx: context.Background(), run: run}
	if a.ID != 0 {
		t.ctx, t.cancel = context.WithCancel(t.ctx)
		x.open = append(x.open, t)
	}
	x.started = append(x.started, t)
}

// startTimer makes a task of an ActionWait. It has no goroutine before its time.
func (x *exchange) startTimer(a *abi.Action) {
	t := &task{Action: a, run: func(t *task) abi.Event { return abi.Event{Kind: abi.EventTimer, ID: t.ID} }}
	timer := time.AfterFunc(time.Duration(a.KeepMs)*time.Millisecond, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.find(t.ID) == t {
			x.spawn(t)
		}
	})
	t.cancel = func() { timer.Stop() }
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
	free := worker || !x.done && !slices.ContainsFunc(x.open, func(t *task) bool { return t.Kind == abi.ActionFetch })
	for _, t := range x.started {
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
	x.started = nil
	return mine
}

func (x *exchange) spawn(t *task) { x.host.working.Go(func() { x.work(t) }) }

// keep stores the body of a task's last event in the action's buffer.
func (x *exchange) keep(t *task, event abi.Event) {
	if event.Kind == abi.EventResponse || event.Kind == abi.EventBody && event.Code == abi.OutcomeOK {
		x.buffers[t.Buffer] = event.Data
	}
}
