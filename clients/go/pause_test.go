package postern

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// limited is a client whose calls get status 429. They then wait until the test releases or aborts them.
type limited struct {
	*Client
	pauses chan time.Duration
	leave  chan bool
	group  sync.WaitGroup
}

// newLimited returns a client whose random number is always one half.
func newLimited(t *testing.T) *limited {
	l := &limited{pauses: make(chan time.Duration), leave: make(chan bool)}
	l.Client = newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("retry-after-ms", "1000")
		answer(w, http.StatusTooManyRequests, `{"error":"Rate limit exceeded"}`)
	}, WithRetries(1))
	l.random = func() float64 { return 0.5 }
	l.sleep = func(ctx context.Context, d time.Duration) {
		l.pauses <- d
		select {
		case <-l.leave:
		case <-ctx.Done():
		}
	}
	return l
}

// start starts a call. When the call ends, end gets its error.
func (l *limited) start(ctx context.Context, end func(error)) {
	l.group.Add(1)
	go func() {
		defer l.group.Done()
		_, err := l.Health.Get(ctx)
		end(err)
	}()
}

func (l *limited) wantPause(t *testing.T, about string, want time.Duration) {
	t.Helper()
	if got := <-l.pauses; got != want {
		t.Errorf("%s: waits %v, want %v", about, got, want)
	}
}

func wantRateLimit(t *testing.T, err error) {
	var wrong *RateLimitError
	if !errors.As(err, &wrong) {
		t.Error(err)
	}
}

func TestPausesOfSeveralCalls(t *testing.T) {
	l := newLimited(t)
	const n = 250
	refused := func(err error) { wantRateLimit(t, err) }
	for range n {
		l.start(context.Background(), refused)
	}
	var got, want []time.Duration
	for i := range n {
		got = append(got, <-l.pauses)
		want = append(want, time.Second+min(time.Duration(i)*100*time.Millisecond, 10*time.Second)*7/8)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for range n {
		l.leave <- true
	}
	l.group.Wait()
	l.start(context.Background(), refused)
	l.wantPause(t, "alone again", time.Second)
	l.leave <- true
	l.group.Wait()
}

func TestAbortedPauseIsNotCounted(t *testing.T) {
	l := newLimited(t)
	gone := make(chan bool)
	ctx, cancel := context.WithCancel(context.Background())
	l.start(ctx, func(err error) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(gone)
	})
	l.wantPause(t, "first", time.Second)
	cancel()
	<-gone
	l.start(context.Background(), func(error) {})
	l.wantPause(t, "after an aborted one", time.Second)
	l.start(context.Background(), func(error) {})
	l.wantPause(t, "with another one", 1087500*time.Microsecond)
	l.leave <- true
	l.leave <- true
	l.group.Wait()
}

// TestOwnPausesAreNotCounted is about pauses that the gateway did not ask for. They must have their usual length and
// must not lengthen other pauses.
func TestOwnPausesAreNotCounted(t *testing.T) {
	l := newLimited(t)
	other := newScripted(t, http.StatusInternalServerError, `{}`)
	other.random, other.sleep = l.random, l.sleep
	other.pausing.Add(1)
	l.group.Add(1)
	go func() {
		defer l.group.Done()
		_, _ = other.Health.Get(context.Background(), WithRetries(1))
	}()
	l.wantPause(t, "its own", 437500*time.Microsecond)
	if n := other.pausing.Load(); n != 1 {
		t.Errorf("%d calls are counted", n)
	}
	l.leave <- true
	l.group.Wait()
}
