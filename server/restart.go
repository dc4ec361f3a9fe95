package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/store"
)

// soleStore is a store that only one process uses at a time. When a process ends, so does all work that it had in
// progress.
type soleStore interface {
	// Alarmed returns the objects of a class that have an alarm.
	Alarmed(abi.Class) []store.Object
}

// restarting is the number of meters that restartMeters calls at the same time. The calls then share commits.
const restarting = 64

// restartMeters tells the meters of a soleStore that the requests of the previous process have ended. Every meter
// with a request in progress has an alarm. If the call to a meter fails, the meter's requests count as in progress
// until their reservations expire.
func (s *Server) restartMeters(ctx context.Context) {
	sole, ok := s.store.(soleStore)
	if !ok {
		return
	}
	command := (&keymeter.Restart{}).Encode()
	meters := make(chan store.Object)
	var failed atomic.Int64
	var working sync.WaitGroup
	for range restarting {
		working.Go(func() {
			for meter := range meters {
				if _, err := s.objects.Call(ctx, meter.Class, meter.Name, "", command); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	for _, meter := range sole.Alarmed(abi.ClassKeyMeter) {
		meters <- meter
	}
	close(meters)
	working.Wait()
	if n := failed.Load(); n > 0 {
		s.log().Error("keys were not told of the restart: their requests from before count as in progress until their reservations expire", "keys", n)
	}
}
