package sqlite

import (
	"cmp"
	"container/heap"
	"context"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

type alarm struct {
	object  store.Object
	at      uint64 // Unix milliseconds; 0 only while the alarm rings
	order   uint64 // at, or the time of its command's last failure if that is later; alarms ring in this order
	ringing bool   // a command has taken it
	place   int    // position in the heap; -1: not in the heap
}

// alarms contains all alarms. All are in memory. Alarms that are not ringing are in a heap. Store.mu guards them.
type alarms struct {
	of    map[store.Object]*alarm
	queue alarmQueue
}

func (a *alarms) at(o store.Object) uint64 {
	if found := a.of[o]; found != nil {
		return found.at
	}
	return 0
}

// set sets an object's alarm. 0 removes it.
func (a *alarms) set(o store.Object, at uint64) {
	found := a.of[o]
	if found == nil {
		if at == 0 {
			return
		}
		if a.of == nil {
			a.of = map[store.Object]*alarm{}
		}
		found = &alarm{object: o, place: -1}
		a.of[o] = found
	}
	found.at, found.order = at, at
	a.place(found)
}

// place puts an alarm into the heap, takes it out, or deletes it.
func (a *alarms) place(found *alarm) {
	queued := found.at != 0 && !found.ringing
	switch {
	case queued && found.place < 0:
		heap.Push(&a.queue, found)
	case queued:
		heap.Fix(&a.queue, found.place)
	case found.place >= 0:
		heap.Remove(&a.queue, found.place)
	}
	if found.at == 0 && !found.ringing {
		delete(a.of, found.object)
	}
}

func (a *alarms) isDue(now uint64) bool { return len(a.queue) > 0 && a.queue[0].order <= now }

// take returns the earliest alarm if it is due, and marks it as ringing.
func (a *alarms) take(now uint64) *alarm {
	if !a.isDue(now) {
		return nil
	}
	found := a.queue[0]
	found.ringing = true
	a.place(found)
	return found
}

// alarmQueue implements heap.Interface.
type alarmQueue []*alarm

func (q alarmQueue) Len() int { return len(q) }
func (q alarmQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.object.Name, b.object.Name), cmp.Compare(a.object.Class, b.object.Class)) < 0
}
func (q alarmQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *alarmQueue) Push(x any) {
	x.(*alarm).place = len(*q)
	*q = append(*q, x.(*alarm))
}
func (q *alarmQueue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = nil
	*q = (*q)[:len(*q)-1]
	last.place = -1
	return last
}

// Ring implements store.Store. If several alarms have the same time, the object whose name sorts first rings first.
// If the command of an alarm fails, the alarm rings again after all alarms that were due at that time.
func (s *Store) Ring(ctx context.Context, command func(store.Object, store.Rows, uint64) error) (rang bool, err error) {
	s.mu.Lock()
	due := s.alarms.isDue(s.config.Clock.Now())
	s.mu.Unlock()
	if !due {
		return false, ctx.Err()
	}
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.waiting.Add(-1)
	s.mu.Lock()
	taken := s.alarms.take(s.config.Clock.Now())
	s.mu.Unlock()
	if taken == nil {
		return false, nil
	}
	defer func() { s.figures.ended(err) }()
	e := s.use(taken.object)
	defer s.release(e)
	t, err := s.ring(ctx, e, taken, command)
	if err == nil {
		err = t.wait(ctx)
	}
	return err == nil, err
}

func (s *Store) ring(ctx context.Context, e *entry, taken *alarm, command func(store.Object, store.Rows, uint64) error) (t ticket, err error) {
	failed := true
	defer func() { s.rang(taken, failed) }()
	t, err = s.execute(ctx, e, true, func(r store.Rows, now uint64) error {
		if !s.stillDue(taken, now) {
			return errNotDue
		}
		return command(e.object, r, now)
	})
	failed = err != nil && err != errNotDue
	if err == errNotDue {
		err = nil
	}
	return t, err
}

// rang marks an alarm as no longer ringing.
func (s *Store) rang(taken *alarm, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken.ringing = false
	if failed {
		taken.order = max(taken.at, s.config.Clock.Now())
	}
	s.alarms.place(taken)
}

// errNotDue ends the command of an alarm that no longer exists: the group that set it failed.
var errNotDue = errorString("store: the alarm is no longer due")

type errorString string

func (e errorString) Error() string { return string(e) }

func (s *Store) stillDue(taken *alarm, now uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return taken.at != 0 && taken.at <= now
}

// Alarmed returns the objects of a class that have an alarm, in any order.
func (s *Store) Alarmed(class abi.Class) (list []store.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.alarms.of {
		if o.Class == class {
			list = append(list, o)
		}
	}
	return list
}

// NextAlarm implements store.Store. It ignores alarms that are ringing.
func (s *Store) NextAlarm(ctx context.Context) (nowMs, alarmMs uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.alarms.queue) > 0 {
		alarmMs = s.alarms.queue[0].at
	}
	return s.config.Clock.Now(), alarmMs, ctx.Err()
}
