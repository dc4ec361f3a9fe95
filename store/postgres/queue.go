package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/postern-ai/postern/store"
)

// Limits of a transaction with several commands. The second one is for the time between the first and the last command, in
// which the object's row is locked. The server ends a transaction that is idle for longer than idle_in_transaction_session_timeout.
const (
	maxTogether     = 64
	maxTogetherTime = 100 * time.Millisecond
)

// queue makes this process's commands on an object wait for each other. They wait without a connection. Otherwise, a
// busy object would use up the pool. All commands that arrive while a transaction of their object runs share the next
// one, in order of arrival.
type queue struct {
	mu      sync.Mutex
	max     int
	waiting int // calls that wait or run
	objects map[store.Object]*turn
}

// turn is the state of an object with commands: one of them leads, and the others wait.
type turn struct {
	waiting []*waiter // without the commands of the transaction that runs
}

// waiter is a command that waits for its transaction, or leads one.
type waiter struct {
	command store.Command
	err     error
	leads   chan struct{} // closed when it must run a transaction
	done    chan struct{} // closed when it has run, or cannot
}

func newQueue(max int) *queue { return &queue{max: max, objects: map[store.Object]*turn{}} }

// enter counts a call. It returns false if there are too many calls.
func (q *queue) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= q.max {
		return false
	}
	q.waiting++
	return true
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// join adds a command. If the object has no other, the command leads.
func (q *queue) join(o store.Object, command store.Command) *waiter {
	w := &waiter{command: command, leads: make(chan struct{}), done: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	if t == nil {
		t = &turn{}
		q.objects[o] = t
		close(w.leads)
	}
	t.waiting = append(t.waiting, w)
	return w
}

// take returns the commands of the next transaction. The command that leads calls it, and later pass.
func (q *queue) take(o store.Object) (together []*waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	n := min(len(t.waiting), maxTogether)
	together, t.waiting = t.waiting[:n:n], t.waiting[n:]
	return together
}

// putBack returns commands that did not run.
func (q *queue) putBack(o store.Object, rest []*waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	t.waiting = append(slices.Clone(rest), t.waiting...)
}

// pass lets the first waiting command lead.
func (q *queue) pass(o store.Object) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.passLocked(o)
}

func (q *queue) passLocked(o store.Object) {
	if t := q.objects[o]; len(t.waiting) > 0 {
		close(t.waiting[0].leads)
	} else {
		delete(q.objects, o)
	}
}

// withdraw removes a command whose context has ended. It returns false if the command is part of a transaction.
func (q *queue) withdraw(o store.Object, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	if t == nil {
		return false
	}
	at := slices.Index(t.waiting, w)
	if at < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, at, at+1)
	select {
	case <-w.leads:
		q.passLocked(o)
	default:
	}
	return true
}

// giveUp ends all waiting commands with errBusy. The transaction of their object has waited for another replica until
// its timeout. Each of them would have to wait just as long.
func (q *queue) giveUp(o store.Object) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	finish(t.waiting, errBusy)
	t.waiting = nil
}

func finish(list []*waiter, err error) {
	for _, w := range list {
		w.err = err
		close(w.done)
	}
}

// wait returns when the command must lead or is done. If the context ends before its transaction begins, the command
// is withdrawn.
func (q *queue) wait(ctx context.Context, o store.Object, w *waiter) (leads bool, err error) {
	select {
	case <-w.leads:
	case <-w.done:
		return false, w.err
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return true, nil
	}
	for !q.withdraw(o, w) { // it is part of a transaction, which may put it back
		select {
		case <-w.leads:
		case <-w.done:
			return false, w.err
		}
	}
	return false, fmt.Errorf("%w: the object is busy", store.ErrOverloaded)
}
