package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/postern-ai/postern/store"
)

// maxFailed limits the number of failed alarms that a replica remembers.
const maxFailed = 100

// failedAlarms lists the objects whose alarms failed most recently, oldest first.
type failedAlarms struct {
	mu  sync.Mutex
	ids []int64
}

func (f *failedAlarms) add(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids = append(f.ids, id); len(f.ids) > maxFailed {
		f.ids = f.ids[1:]
	}
}

// all returns the list. It never returns nil, which would be NULL in a statement.
func (f *failedAlarms) all() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]int64{}, f.ids...)
}

// clear empties the list. It reports whether the list had entries.
func (f *failedAlarms) clear() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	any := len(f.ids) > 0
	f.ids = nil
	return any
}

// Ring implements store.Store. Replicas share the alarms: objects that another transaction has locked are skipped. If
// the command of an alarm fails, the alarm waits until all other due alarms have rung.
func (s *Store) Ring(ctx context.Context, command func(store.Object, store.Rows, uint64) error) (rang bool, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		due, err := s.due(ctx)
		if err != nil || !due {
			return err
		}
		return s.repeat(ctx, func() (err error) {
			rang, err = s.ring(ctx, s.failed.all(), command)
			if err == nil && !rang && s.failed.clear() {
				rang, err = s.ring(ctx, []int64{}, command)
			}
			return err
		})
	})
	if rang || err != nil {
		s.count(err)
	}
	return rang && err == nil, err
}

// due reports whether an alarm is due. It takes one round trip, without a transaction.
func (s *Store) due(ctx context.Context) (bool, error) {
	now, alarm, err := s.next(ctx)
	return alarm != 0 && alarm <= now, err
}

func (s *Store) ring(ctx context.Context, except []int64, command func(store.Object, store.Rows, uint64) error) (bool, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, s.notAcquired(ctx, err)
	}
	defer conn.Release()
	t := &transaction{store: s, conn: conn, ctx: ctx}
	found, err := t.beginDue(except)
	if err != nil {
		return false, t.fail(uncommitted{err})
	}
	if !found {
		t.rollback()
		return false, nil
	}
	w := &waiter{command: func(rows store.Rows, now uint64) error { return command(t.object, rows, now) }}
	if err = t.apply(w); err == nil {
		err = errors.Join(t.finish(), w.err)
	}
	if err != nil {
		s.failed.add(t.id)
	}
	return err == nil, err
}

// NextAlarm implements store.Store.
func (s *Store) NextAlarm(ctx context.Context) (nowMs, alarmMs uint64, err error) {
	err = s.call(ctx, func(ctx context.Context) (err error) {
		nowMs, alarmMs, err = s.next(ctx)
		return err
	})
	return nowMs, alarmMs, err
}

func (s *Store) next(ctx context.Context) (nowMs, alarmMs uint64, err error) {
	var now int64
	var alarm *int64
	err = s.single(ctx, func() error { return s.pool.QueryRow(ctx, stNext, s.testTime()).Scan(&now, &alarm) })
	return uint64(now), unsigned(alarm), err
}
