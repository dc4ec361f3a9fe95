package host

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxIdleWorkers limits the goroutines that wait for work, and with them the memory of their stacks.
	maxIdleWorkers = 32
	// trimPeriod is how long a worker stays idle before it ends, and at most twice that.
	trimPeriod = time.Second
)

// workers run functions in goroutines. When its function has returned, a goroutine waits for the next one. A new
// goroutine would have to grow its stack, in several steps, before it could run a step of the core. A function never
// waits: if no goroutine is idle, it gets a new one. The zero value is ready to use.
type workers struct {
	mu       sync.Mutex
	idle     []chan func() // one for each idle worker; the last worker is the next to get a function
	least    int           // the smallest number of idle workers since the last trim
	trimming bool          // a timer calls trim
}

// run runs f in a goroutine. f must not panic.
func (w *workers) run(f func()) {
	w.mu.Lock()
	last := len(w.idle) - 1
	if last < 0 {
		w.mu.Unlock()
		go w.work(f)
		return
	}
	next := w.idle[last]
	w.idle, w.least = w.idle[:last], min(w.least, last)
	w.mu.Unlock()
	next <- f // does not block, because a worker empties its channel before it becomes idle
}

// work runs f and all functions that follow.
func (w *workers) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		if f(); !w.rest(next) {
			return
		}
		f = <-next
	}
}

// rest makes a worker idle. If enough workers are idle, it returns false.
func (w *workers) rest(next chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.idle) == maxIdleWorkers {
		return false
	}
	w.idle = append(w.idle, next)
	if !w.trimming {
		w.trimming, w.least = true, 0
		time.AfterFunc(trimPeriod, w.trim)
	}
	return true
}

// trim ends the workers that have been idle since the last trim. While any are left, it is called again.
func (w *workers) trim() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, next := range w.idle[:w.least] {
		close(next)
	}
	w.idle = slices.Delete(w.idle, 0, w.least)
	if w.least, w.trimming = len(w.idle), len(w.idle) > 0; w.trimming {
		time.AfterFunc(trimPeriod, w.trim)
	}
}
