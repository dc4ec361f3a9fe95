package host

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// queues are the exchanges that wait for a step to wake them, by the key of their pinned entry. isolate.mu guards them,
// so that an exchange is in its queue from the change of the entry on that made it wait.
type queues map[string][]*exchange

// change applies the part of a step that concerns the queue of its entry. It returns the exchanges to wake.
func (q queues) change(key string, out *abi.StepOutput, x *exchange) (woken []*exchange) {
	if out.Wake > 0 {
		woken = q.take(key, out.Wake)
	}
	if how := queueing(out); how != abi.WaitTimer {
		at := 0
		if how == abi.WaitLast {
			at = len(q[key])
		}
		q[key], x.queued = slices.Insert(q[key], at, x), true
	}
	return woken
}

// queueing returns the Code of the step's ActionWait in the queue. If there is none, it returns WaitTimer.
func queueing(out *abi.StepOutput) uint64 {
	for i := range out.Actions {
		if a := &out.Actions[i]; a.Kind == abi.ActionWait && a.Code != abi.WaitTimer {
			return a.Code
		}
	}
	return abi.WaitTimer
}

// take removes the first n exchanges from a queue.
func (q queues) take(key string, n uint64) []*exchange {
	all := q[key]
	n = min(n, uint64(len(all)))
	if n == 0 {
		return nil
	}
	taken := slices.Clone(all[:n])
	for _, x := range taken {
		x.queued = false
	}
	q.set(key, slices.Delete(all, 0, int(n)))
	return taken
}

func (q queues) set(key string, all []*exchange) {
	if len(all) == 0 {
		delete(q, key)
		return
	}
	q[key] = all
}

// leave removes an exchange from its queue, if it is still there.
func (i *isolate) leave(key string, x *exchange) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if x.queued {
		x.queued = false
		i.queues.set(key, slices.DeleteFunc(i.queues[key], func(o *exchange) bool { return o == x }))
	}
}

// pass wakes the next exchange of a queue, because one that was woken no longer waits.
func (i *isolate) pass(key string) {
	i.mu.Lock()
	woken := i.queues.take(key, 1)
	i.mu.Unlock()
	wake(woken)
}

// wake ends the waits of exchanges in their queues. One goroutine runs all their steps, which are short. What they
// start gets its own.
func wake(woken []*exchange) {
	if len(woken) == 0 {
		return
	}
	h := woken[0].host
	background(&h.working, h.Panicked, func() {
		for _, x := range woken {
			if !x.leaveQueue() {
				h.isolate.pass(x.pinned)
			}
		}
	})
}

// leaveQueue runs the step for the end of the wait. If the exchange no longer waits, leaveQueue returns false.
func (x *exchange) leaveQueue() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.tasks.queued()
	if t == nil {
		return false
	}
	x.tasks.close(t)
	x.handle(abi.Event{Kind: abi.EventTimer, ID: t.ID, Code: abi.TimerWoken})
	if next := x.launch(true); next != nil {
		x.spawn(next)
	}
	return true
}
