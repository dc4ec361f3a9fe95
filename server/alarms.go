package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	alarmWorkers = 8
	// alarmPoll is the longest sleep. Another replica may have set an earlier alarm, or somebody may have changed a
	// clock.
	alarmPoll = time.Second
	// alarmLate is the pause while an alarm is due but all workers are busy.
	alarmLate = 20 * time.Millisecond
)

type alarms struct {
	server  *Server
	workers chan struct{} // one token for each running worker
	changed chan struct{} // signals that the next alarm may be earlier, or that a worker has ended
	mu      sync.Mutex
	nextMs  uint64    // the alarm until which run sleeps; 0: none
	blocked time.Time // pause until this time, because the store has failed
	backoff backoff
	failing bool // the last alarm could not be fired; the disk may be full

	logged   time.Time // when a failure was last logged
	unlogged int       // failures since then
}

func newAlarms(s *Server) *alarms {
	return &alarms{server: s, workers: make(chan struct{}, alarmWorkers), changed: make(chan struct{}, 1)}
}

// notify wakes run if an alarm is earlier than the end of run's sleep. It implements host.StoredObjects.Alarm.
func (a *alarms) notify(atMs uint64) {
	a.mu.Lock()
	earlier := a.nextMs == 0 || atMs < a.nextMs
	a.mu.Unlock()
	if earlier {
		a.wake()
	}
}

func (a *alarms) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// run fires alarms until ctx ends, and returns when its workers have ended.
func (a *alarms) run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	for ctx.Err() == nil {
		sleep := alarmPoll
		a.server.guarded("alarms_failed", func() (err error) {
			sleep, err = a.turn(ctx, &working)
			return err
		})
		timer := time.NewTimer(sleep)
		select {
		case <-ctx.Done():
		case <-a.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// turn starts a worker if an alarm is due, and returns how long to sleep.
func (a *alarms) turn(ctx context.Context, working *sync.WaitGroup) (time.Duration, error) {
	if wait := a.blockedFor(); wait > 0 {
		return wait, nil
	}
	now, at, err := a.server.store.NextAlarm(ctx)
	if ctx.Err() != nil {
		return 0, nil
	}
	a.note(at, err)
	switch {
	case err != nil:
		return a.blockedFor(), err
	case at == 0:
		return alarmPoll, nil
	case at > now:
		return min(alarmPoll, time.Duration(at-now)*time.Millisecond), nil
	}
	a.start(ctx, working)
	return alarmLate, nil
}

func (a *alarms) blockedFor() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Until(a.blocked)
}

// note records the time of the next alarm, or a failure of the store.
func (a *alarms) note(nextMs uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.nextMs = nextMs; err != nil {
		a.blocked = time.Now().Add(a.backoff.next())
	} else if !a.failing {
		a.backoff.reset()
	}
}

func (a *alarms) tried(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failing = err != nil; !a.failing {
		a.backoff.reset()
		return
	}
	if a.nextMs = 0; time.Now().After(a.blocked) { // workers that fail at the same time count as one failure
		a.blocked = time.Now().Add(a.backoff.next())
	}
}

// start starts a worker, unless enough are running.
func (a *alarms) start(ctx context.Context, working *sync.WaitGroup) {
	select {
	case a.workers <- struct{}{}:
	default:
		return
	}
	working.Go(func() {
		defer a.wake()
		defer func() { <-a.workers }()
		a.server.guarded("alarm_failed", func() error { return a.rarely(a.work(ctx, working)) })
	})
}

// rarely returns an error to log, but at most once a second: workers may fail many times a second. Otherwise, it
// returns nil.
func (a *alarms) rarely(err error) error {
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unlogged++; time.Since(a.logged) < time.Second {
		return nil
	}
	failures := a.unlogged
	a.logged, a.unlogged = time.Now(), 0
	if failures == 1 {
		return err
	}
	return fmt.Errorf("%d failures since the last message; the latest: %w", failures, err)
}

// work fires alarms until none is due. If it finds a second one, it starts another worker, because there may be more
// alarms than one worker can fire.
func (a *alarms) work(ctx context.Context, working *sync.WaitGroup) error {
	var failure error
	for n := 0; ; n++ {
		rang, err := a.server.objects.Ring(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if rang == (err == nil) {
			a.tried(err)
		}
		if !rang {
			return errors.Join(failure, err)
		}
		if err != nil {
			failure = err // the object's alarm is set again
		}
		if n == 1 {
			a.start(ctx, working)
		}
	}
}
