package postgres

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// While calls are in progress, health checks on every tick whether bytes have arrived from the server. It counts
// ticks and does not measure time. If the process was suspended, that counts as one silent tick and not as seconds of
// silence. After suspectTicks silent ticks, health sends a probe. If no byte arrives in the next silentTicks either,
// the server is down. Health then sends probes, with a pause after each. After a successful probe, the server is up
// again.
const (
	tick         = 100 * time.Millisecond
	suspectTicks = 5
	silentTicks  = 10
	pauseTicks   = 5
	// probeTimeout limits a probe of a server that responds slowly.
	probeTimeout = 10 * time.Second
)

// errDown means that the server is known to be down.
var errDown = errors.New("the server does not answer; a probe runs in the background")

// health knows whether the server responds. If it does not, calls do not have to wait for it.
type health struct {
	hosts []*pgx.ConnConfig // to probe, in order
	reset func()            // called when the server is up again
	log   *slog.Logger

	heard   atomic.Bool   // bytes have arrived from the server since the last tick
	failed  atomic.Bool   // a connection has failed since the last tick
	running atomic.Int64  // calls in progress
	wake    chan struct{} // has a token if there may be something to watch
	up      atomic.Pointer[period]
	outages atomic.Uint64
	end     context.CancelFunc
	ended   chan struct{}
}

// period is a period of time during which the server is up.
type period struct {
	ctx context.Context // ends with the period
	cut context.CancelFunc
}

// newHealth returns the health of the server of a pool that has not been opened yet.
func newHealth(config *pgxpool.Config, log *slog.Logger, reset func()) *health {
	h := &health{reset: reset, log: log, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	config.ConnConfig.DialFunc = h.hearing(config.ConnConfig.DialFunc)
	h.hosts = hosts(config.ConnConfig)
	h.begin()
	ctx, end := context.WithCancel(context.Background())
	h.end = end
	go h.run(ctx)
	return h
}

// hosts returns a configuration for each server in a URL. A silent server then does not block probes of the others.
func hosts(config *pgx.ConnConfig) (all []*pgx.ConnConfig) {
	first := config.Copy()
	first.Fallbacks = nil
	all = append(all, first)
	for _, f := range config.Fallbacks {
		next := first.Copy()
		next.Host, next.Port, next.TLSConfig = f.Host, f.Port, f.TLSConfig
		all = append(all, next)
	}
	return all
}

func (h *health) begin() {
	ctx, cut := context.WithCancel(context.Background())
	h.up.Store(&period{ctx, cut})
}

func (h *health) close() {
	h.end()
	<-h.ended
}

// isDown reports whether the server is known to be down.
func (h *health) isDown() bool { return h.up.Load().ctx.Err() != nil }

// enter counts a call. The returned context also ends when the server is found to be down. The caller must call
// leave.
func (h *health) enter(ctx context.Context) (_ context.Context, leave func()) {
	if h.running.Add(1) == 1 {
		h.notify()
	}
	ctx, cancel := h.cutting(ctx)
	return ctx, func() {
		cancel()
		h.running.Add(-1)
	}
}

// cutting returns a context that also ends when the server is found to be down.
func (h *health) cutting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.up.Load().ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (h *health) notify() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// connectionFailed makes health send a probe at once, unless the connection was given up on purpose.
func (h *health) connectionFailed(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		h.failed.Store(true)
		h.notify()
	}
}

func (h *health) goDown(reason string) {
	if !h.isDown() {
		h.log.Error("PostgreSQL does not answer; requests fail until it does", "error", reason)
		h.outages.Add(1)
		h.up.Load().cut()
	}
}

func (h *health) goUp() {
	if h.isDown() {
		h.log.Info("PostgreSQL answers again")
		h.reset() // the old connections may have been lost
		h.begin()
	}
}

func (h *health) hearing(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &heardConn{conn, h}, nil
	}
}

type heardConn struct {
	net.Conn
	health *health
}

// Read implements net.Conn.
func (c *heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.health.heard.Load() {
		c.health.heard.Store(true)
	}
	return n, err
}
