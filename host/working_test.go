package host

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestWorkWhileWaiting: work may begin while others wait, even at the moment when they return.
func TestWorkWhileWaiting(t *testing.T) {
	var w working
	var all sync.WaitGroup
	var begun, ended atomic.Int64
	for range 8 {
		all.Go(func() {
			for range 2000 {
				begun.Add(1)
				w.Go(func() { ended.Add(1) })
				w.Wait()
			}
		})
	}
	all.Wait()
	w.Wait()
	if begun.Load() != ended.Load() {
		t.Errorf("%d begun, %d ended when Wait returned", begun.Load(), ended.Load())
	}
}
