package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// run watches the server until ctx ends.
func (h *health) run(ctx context.Context) {
	defer close(h.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
			h.watch(ctx)
		}
	}
}

// watch returns when no call is in progress and the server is up.
func (h *health) watch(ctx context.Context) {
	w := watch{health: h}
	h.heard.Store(false)
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	defer func() {
		if w.probe != nil {
			w.probe.cancel()
			<-w.probe.ended
		}
	}()
	for h.running.Load() > 0 || h.failed.Load() || h.isDown() || w.probe != nil {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			w.tick(ctx)
		case err := <-w.result():
			w.probed(err)
		}
	}
}

type watch struct {
	*health
	silent int // ticks without a byte from the server
	pause  int // ticks until the next probe of a server that is down
	probe  *probe
}

// result returns the channel of the probe in progress. If there is none, it returns nil, which blocks.
func (w *watch) result() <-chan error {
	if w.probe == nil {
		return nil
	}
	return w.probe.ended
}

func (w *watch) tick(ctx context.Context) {
	if w.silent++; w.heard.Swap(false) {
		w.silent = 0
	}
	w.pause = max(0, w.pause-1)
	switch down := w.isDown(); {
	case w.probe != nil && w.silent >= silentTicks:
		w.goDown("no answer")
		w.probe.skip()
		w.silent = 0
	case w.probe != nil:
	case down && w.pause == 0, !down && w.silent >= suspectTicks, !down && w.failed.Swap(false):
		w.silent = 0
		w.probe = startProbe(ctx, w.hosts)
	}
}

// probed records the result of a probe. If a server refuses a connection because it is shutting down or starting, it
// is down. If it refuses for another reason, such as too many connections, it is up, and open connections still work.
func (w *watch) probed(err error) {
	w.probe, w.pause = nil, pauseTicks
	w.failed.Store(false)
	if server := serverError(err); err == nil || server != nil && !strings.HasPrefix(server.Code, "57") {
		w.goUp()
		return
	}
	w.goDown("no connection")
}

// probe is an attempt to get a response on a separate connection.
type probe struct {
	ended  chan error
	cancel context.CancelFunc
	mu     sync.Mutex
	next   context.CancelFunc // ends the attempt with the current host
}

func startProbe(ctx context.Context, hosts []*pgx.ConnConfig) *probe {
	p := &probe{ended: make(chan error, 1)}
	ctx, p.cancel = context.WithTimeout(ctx, probeTimeout)
	go func() {
		defer p.cancel()
		p.ended <- p.try(ctx, hosts)
	}()
	return p
}

// try returns nil if one of the hosts responds.
func (p *probe) try(ctx context.Context, hosts []*pgx.ConnConfig) (err error) {
	for _, host := range hosts {
		if err = p.ask(ctx, host); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (p *probe) ask(ctx context.Context, host *pgx.ConnConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.next = cancel
	p.mu.Unlock()
	conn, err := pgx.ConnectConfig(ctx, host)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol)
	return errors.Join(err, conn.Close(ctx))
}

// skip gives up the current host.
func (p *probe) skip() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		p.next()
	}
}
