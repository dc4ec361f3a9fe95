package host

import (
	"testing"
	"testing/synctest"
	"time"
)

func idle(w *workers) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.idle)
}

// TestWorkersNeverWait: a function runs at once, even if all workers are busy with functions that block.
func TestWorkersNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workers
		defer time.Sleep(3 * trimPeriod) // until they have ended
		release := make(chan struct{})
		for range 2 { // the second time, maxIdleWorkers functions run on idle workers
			running := make(chan struct{})
			for range 3 * maxIdleWorkers {
				w.run(func() {
					running <- struct{}{}
					<-release
				})
			}
			for range 3 * maxIdleWorkers {
				<-running
			}
			for range 3 * maxIdleWorkers {
				release <- struct{}{}
			}
			synctest.Wait()
			if n := idle(&w); n != maxIdleWorkers {
				t.Errorf("%d workers are idle, want %d", n, maxIdleWorkers)
			}
		}
	})
}

// TestWorkersEnd: idle workers end, except workers with something to do since the last trim.
func TestWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workers
		burst := func(n int) {
			release := make(chan struct{})
			for range n {
				w.run(func() { <-release })
			}
			close(release)
			synctest.Wait()
		}
		sleep := func() {
			time.Sleep(trimPeriod)
			synctest.Wait()
		}
		burst(10)
		for range 3 {
			sleep()
			if burst(4); idle(&w) < 4 {
				t.Errorf("%d workers are idle, want at least 4", idle(&w))
			}
		}
		if idle(&w) != 4 {
			t.Errorf("%d workers are idle, want 4", idle(&w))
		}
		sleep()
		if sleep(); idle(&w) != 0 {
			t.Errorf("%d workers are idle, want 0", idle(&w))
		}
	})
}
