package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/postern-ai/postern/store"
)

const (
	maxAttempts = 5
	// maxPause is half of the longest pause before the first repetition. With each repetition, the longest pause
	// doubles.
	maxPause = 20 * time.Millisecond
)

// Run implements store.Store. Commands of one object that arrive while another one runs share a transaction. A command
// may be called several times. Only the last call counts.
func (s *Store) Run(ctx context.Context, o store.Object, command store.Command) error {
	return s.command(ctx, func(ctx context.Context) error {
		w := s.queue.join(o, command)
		leads, err := s.queue.wait(ctx, o, w)
		if leads {
			s.lead(ctx, o)
			return w.err
		}
		return err
	})
}

// lead runs the commands that wait for an object, in one transaction. It does not end with the context of the caller
// whose command leads, because the others wait for it.
func (s *Store) lead(ctx context.Context, o store.Object) {
	defer s.queue.pass(o)
	ctx, leave := s.committing(ctx)
	defer leave()
	together, ran, err := s.queue.take(o), 0, errPanic
	defer func() {
		if err != nil {
			finish(together, err)
			return
		}
		s.queue.putBack(o, together[ran:])
		for _, w := range together[:ran] {
			close(w.done)
		}
	}()
	err = s.repeat(ctx, func() (err error) {
		ran, err = s.run(ctx, o, together)
		if server := serverError(err); server != nil && server.Code == lockNotAvailable {
			s.queue.giveUp(o)
			return errBusy
		}
		return err
	})
}

// command runs a command in the way that call runs f, and counts it.
func (s *Store) command(ctx context.Context, f func(context.Context) error) error {
	err := s.call(ctx, f)
	s.count(err)
	return err
}

func (s *Store) count(err error) {
	s.figures.commands.Add(1)
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOverloaded) {
		s.figures.failed.Add(1)
	}
}

// call limits the time of a call and the number of calls.
func (s *Store) call(ctx context.Context, f func(context.Context) error) error {
	if !s.queue.enter() {
		return fmt.Errorf("%w: %d calls are waiting", store.ErrOverloaded, s.config.MaxWaiting)
	}
	defer s.queue.leave()
	if s.health.isDown() {
		return s.unavailable(errDown)
	}
	ctx, leave := s.health.enter(ctx)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return s.outcome(f(ctx))
}

// outcome converts the error of a call to the error that the caller gets.
func (s *Store) outcome(err error) error {
	var own commandError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	case errors.Is(err, errUnknown):
		s.figures.unknown.Add(1)
	case s.health.isDown():
		return s.unavailable(errDown)
	case errors.Is(err, store.ErrOverloaded):
		return err
	}
	return s.unavailable(err)
}

// committing returns a context for work that must continue when the caller's context ends. It ends after the timeout,
// or when the server is down.
func (s *Store) committing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, leave := s.health.cutting(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	return ctx, func() {
		cancel()
		leave()
	}
}

// repeat repeats a transaction that has certainly not committed, as long as that may help.
func (s *Store) repeat(ctx context.Context, f func() error) (err error) {
	for attempt := range maxAttempts {
		if attempt > 0 {
			s.figures.retries.Add(1)
			select {
			case <-time.After(rand.N(maxPause << attempt)):
			case <-ctx.Done():
				return err
			}
		}
		if err = f(); err == nil || !repeatable(err) {
			return err
		}
	}
	return err
}

// run runs the first commands of a list in a transaction, and returns how many. Their own errors are in the list.
func (s *Store) run(ctx context.Context, o store.Object, together []*waiter) (ran int, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, s.notAcquired(ctx, err)
	}
	defer conn.Release()
	t := &transaction{store: s, conn: conn, ctx: ctx, object: o}
	if err := t.begin(); err != nil {
		return 0, t.fail(uncommitted{err})
	}
	for began := time.Now(); ran < len(together) && (ran == 0 || t.rows.bytes < store.MaxCommandBytes && time.Since(began) < maxTogetherTime); {
		if err := t.apply(together[ran]); err != nil {
			return 0, err
		}
		ran++
	}
	return ran, t.finish()
}

// notAcquired returns an error that says why there was no connection: the server does not respond, or the pool is in
// use.
func (s *Store) notAcquired(ctx context.Context, err error) error {
	if stat := s.pool.Stat(); ctx.Err() != nil && stat.AcquiredConns() >= stat.MaxConns() {
		return fmt.Errorf("%w: all %d connections to PostgreSQL are in use", store.ErrOverloaded, stat.MaxConns())
	}
	s.health.connectionFailed(err)
	return uncommitted{err}
}

// apply runs a command in a transaction that has begun. The command's own error does not end the transaction.
func (t *transaction) apply(w *waiter) error {
	w.err = nil
	t.rows.begin(t)
	err := w.command(&t.rows, t.nowMs)
	switch {
	case t.rows.failed != nil:
		return t.fail(uncommitted{t.rows.failed})
	case err != nil:
		w.err = commandError{err}
	default:
		t.rows.apply()
		t.applied++
	}
	return nil
}

// finish commits the changes of all commands. If all commands have failed, there is nothing to commit.
func (t *transaction) finish() error {
	if t.applied == 0 {
		t.rollback()
		t.keep()
		return nil
	}
	if err := t.commit(); err != nil {
		return t.fail(err)
	}
	t.keep()
	return nil
}

// keep stores the facts for the object's next command.
func (t *transaction) keep() {
	if t.id != 0 {
		t.store.cache.put(&cached{t.object, t.version, t.shared, t.facts})
	}
}

// fail ends the transaction after a database error.
func (t *transaction) fail(err error) error {
	if alive(err) || errors.Is(err, errAppeared) {
		t.rollback()
		return err
	}
	// The other connections have probably failed, too.
	_ = t.conn.Conn().PgConn().Conn().Close()
	t.store.reconnect(err)
	return err
}

// reconnect closes the idle connections, at most once a second, and checks that the server is up.
func (s *Store) reconnect(err error) {
	s.health.connectionFailed(err)
	now := time.Now().UnixNano()
	if last := s.reset.Load(); now-last > int64(time.Second) && s.reset.CompareAndSwap(last, now) {
		s.pool.Reset()
	}
}
