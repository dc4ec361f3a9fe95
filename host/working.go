package host

import "sync"

// working runs work in goroutines and counts it. It is not a sync.WaitGroup, because there, no new work may begin while Wait
// returns. Here, new work begins whenever a request arrives.
type working struct {
	workers workers

	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil while nobody waits
}

// Add counts n more pieces of work.
func (w *working) Add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n += n; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Done ends one piece of work.
func (w *working) Done() { w.Add(-1) }

// Go runs f in a goroutine and counts it as work. f must not panic.
func (w *working) Go(f func()) {
	w.Add(1)
	w.workers.run(func() {
		defer w.Done()
		f()
	})
}

// Wait blocks until no work is in progress.
func (w *working) Wait() {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	<-idle
}
