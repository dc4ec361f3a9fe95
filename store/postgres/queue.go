package postgres

import (
	"context"
	"sync"

	"github.com/postern-ai/postern/store"
)

// queue makes this process's commands on an object wait for each other. They wait without a connection. Otherwise, a
// busy object would use up the pool. Commands are served in order of arrival.
type queue struct {
	mu      sync.Mutex
	max     int
	waiting int // calls that wait or run
	objects map[store.Object]*turn
}

type turn struct {
	users int
	token chan struct{}
	busy  chan struct{} // closed to end all waits
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

// lock waits for the object's turn until ctx or giveUp ends the wait. If it returns nil, the caller must call unlock.
func (q *queue) lock(ctx context.Context, o store.Object) error {
	q.mu.Lock()
	t := q.objects[o]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1), busy: make(chan struct{})}
		q.objects[o] = t
	}
	t.users++
	busy := t.busy
	q.mu.Unlock()
	select {
	case t.token <- struct{}{}:
		return nil
	case <-busy:
		q.release(o)
		return errBusy
	case <-ctx.Done():
		q.release(o)
		return ctx.Err()
	}
}

// giveUp ends all waits for an object's turn. The command whose turn it is has waited for another replica until its
// timeout. Every other command would have to wait just as long.
func (q *queue) giveUp(o store.Object) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	close(t.busy)
	t.busy = make(chan struct{})
}

func (q *queue) unlock(o store.Object) {
	q.mu.Lock()
	t := q.objects[o]
	q.mu.Unlock()
	<-t.token
	q.release(o)
}

func (q *queue) release(o store.Object) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.objects[o]
	if t.users--; t.users == 0 {
		delete(q.objects, o)
	}
}
