package sqlite

import (
	"sync/atomic"
	"time"
)

// counters are the store's statistics.
type counters struct {
	pendingBytes  atomic.Int64
	overloaded    atomic.Int64
	commits       atomic.Int64
	failures      atomic.Int64
	commands      atomic.Int64
	commitNanos   atomic.Int64
	databaseBytes atomic.Int64
}

func (c *counters) committed(g *group, took time.Duration, err error) {
	if err != nil {
		c.failures.Add(1)
		return
	}
	c.commits.Add(1)
	c.commands.Add(int64(g.commands))
	c.commitNanos.Add(int64(took))
}
