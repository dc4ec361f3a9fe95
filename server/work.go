package server

import (
	"context"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

// Work that no request triggers.
const (
	hourlyInterval = time.Hour
	// hourlyJitter spreads the hourly work of replicas over time. That work may be repeated safely.
	hourlyJitter    = 10 * time.Minute
	expireInterval  = 5 * time.Second // pause while there are expired values
	expireQuiet     = time.Minute
	firstWork       = time.Minute // after the start
	backoffFirst    = 100 * time.Millisecond
	backoffLongest  = 10 * time.Second
	backoffDoubling = 2
)

// startWork starts the alarms, the hourly work and the removal of expired values.
func (s *Server) startWork(ctx context.Context, working *sync.WaitGroup) {
	working.Go(func() { s.alarms.run(ctx) })
	working.Go(func() {
		repeat(ctx, firstWork+jitter(firstWork), func() time.Duration {
			s.guarded("hourly_failed", func() error { return s.deployment().control.Hourly(ctx) })
			return hourlyInterval - hourlyJitter/2 + jitter(hourlyJitter)
		})
	})
	working.Go(func() {
		repeat(ctx, jitter(expireQuiet), func() time.Duration {
			removed := 0
			s.guarded("expire_failed", func() (err error) {
				removed, err = s.store.Expire(ctx)
				return err
			})
			if removed > 0 {
				return expireInterval
			}
			return expireQuiet + jitter(expireInterval)
		})
	})
}

// repeat calls f after a pause, and again after each pause that f returns, until ctx ends.
func repeat(ctx context.Context, first time.Duration, f func() time.Duration) {
	for wait := first; ; wait = f() {
		if pause(ctx, wait); ctx.Err() != nil {
			return
		}
	}
}

// guarded runs f, and logs its error or its panic.
func (s *Server) guarded(code string, f func() error) {
	defer func() {
		if recover() != nil {
			s.panicked(code, debug.Stack())
		}
	}()
	if err := f(); err != nil {
		s.log().Error("background work failed and will be repeated", "code", code, "error", err.Error())
	}
}

// jitter returns a random duration below limit.
func jitter(limit time.Duration) time.Duration { return rand.N(limit) }

// backoff is an exponential backoff with jitter.
type backoff struct{ last time.Duration }

// next returns the pause after one more failure.
func (b *backoff) next() time.Duration {
	b.last = min(max(b.last*backoffDoubling, backoffFirst), backoffLongest)
	return b.last/2 + jitter(b.last/2)
}

func (b *backoff) reset() { b.last = 0 }
