package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// waiting is an exchange in the queue of its pinned entry.
type waiting struct {
	x *exchange
	o *open
}

func (q *waiting) ended() bool { return q.o.canceled || q.x.over || q.x.open[q.o.id] != q.o }

func (i *isolate) queue(x *exchange, o *open, first bool) {
	i.w.stats.Queued++
	at := len(i.queues[x.pinned])
	if first {
		at = 0
	}
	i.queues[x.pinned] = slices.Insert(i.queues[x.pinned], at, &waiting{x, o})
}

// wake wakes the first n exchanges of a queue a little later. If one no longer waits then, the next one gets its turn.
func (i *isolate) wake(key string, n uint64) {
	for range min(n, uint64(len(i.queues[key]))) {
		q := i.queues[key][0]
		i.queues[key] = i.queues[key][1:]
		i.w.after(i.w.delay(i.random), func() {
			if q.ended() {
				i.wake(key, 1)
				return
			}
			i.w.stats.Woken++
			q.x.reply(q.o, abi.Event{Kind: abi.EventTimer, ID: q.o.id, Code: abi.TimerWoken}, true)
		})
	}
}
