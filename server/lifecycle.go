package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// Errors of Ready. Any other error comes from the store.
var (
	ErrStarting = errors.New("server: starting")
	ErrDraining = errors.New("server: shutting down")
)

// ErrInterrupted means that a second signal ended the server before all requests were done.
var ErrInterrupted = errors.New("server: interrupted before all requests were done")

// settleTimeout is how long canceled exchanges may take to end and settle. If they take longer, their connections are
// closed, and they get the same time again.
const settleTimeout = 5 * time.Second

// Run serves until ctx ends. Then Ready fails. After Config.DrainDelay, Run stops accepting connections and lets
// exchanges finish within Config.Drain. It cancels the exchanges that are left, waits until they have settled, and
// closes the store. A Server runs once.
func (s *Server) Run(ctx context.Context) error { return s.run(ctx, context.Background()) }

// RunSignals does the same as Run, but signals of the process control it. After SIGHUP, it calls load and reloads the
// configuration that load returns. Any other signal starts the shutdown. A second one ends the shutdown at once with
// ErrInterrupted.
func (s *Server) RunSignals(ctx context.Context, signals <-chan os.Signal, load func() (Config, error)) error {
	soft, shutDown := context.WithCancel(ctx)
	hard, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	ended := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case <-ended:
				return
			case signal := <-signals:
				switch {
				case signal == syscall.SIGHUP:
					s.reloadFrom(ctx, load)
				case soft.Err() == nil:
					s.log().Info("shutting down; a second signal ends it at once", "signal", signal.String())
					shutDown()
				default:
					interrupt()
				}
			}
		}
	})
	err := s.run(soft, hard)
	close(ended)
	shutDown()
	listening.Wait()
	return err
}

func (s *Server) reloadFrom(ctx context.Context, load func() (Config, error)) {
	c, err := load()
	if err == nil {
		err = s.Reload(ctx, c)
	}
	if err != nil {
		s.log().Error("the new configuration is invalid; the old one stays in force", "error", err.Error())
		return
	}
	s.log().Info("configuration reloaded")
}

type listeners struct {
	gateway, ops *http.Server
	connections  *connections
	failed       chan error // the gateway's listener failed
	serving      sync.WaitGroup
}

// run implements Run. If the context hard ends, it returns at once.
func (s *Server) run(soft, hard context.Context) error {
	l, err := s.open()
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(soft))
	defer stopWork()
	var working sync.WaitGroup
	if !s.config.Test.NoTimers {
		s.startWork(work, &working)
	}
	s.state.Store(ready)
	s.welcome(soft, l.connections.Addr())
	var failure error
	select {
	case <-soft.Done():
	case failure = <-l.failed:
	}
	s.state.Store(draining)
	drained := s.drain(hard, l)
	l.close()
	stopWork()
	_ = within(hard, working.Wait)
	_ = within(hard, s.objects.Wait)
	if hard.Err() != nil {
		drained = ErrInterrupted
	}
	return errors.Join(failure, drained, s.store.Close())
}

func (s *Server) open() (*listeners, error) {
	inner, err := s.config.Test.Listener, error(nil)
	if inner == nil {
		inner, err = listen(s.config.Listen)
	}
	if err != nil {
		return nil, fmt.Errorf("POSTERN_LISTEN: %w", err)
	}
	address := inner.Addr()
	s.bound.Store(&address)
	l := &listeners{failed: make(chan error, 1)}
	l.connections = newConnections(inner, s.config.MaxConnections, s.log)
	l.gateway = s.newHTTPServer(s.stall.bound(s.Handler()), s.certificate.Load() != nil)
	l.gateway.ConnState = l.connections.changed
	if err := s.openOps(l); err != nil {
		_ = inner.Close()
		return nil, err
	}
	l.serving.Go(func() {
		if err := serve(l.gateway, l.connections); !errors.Is(err, http.ErrServerClosed) {
			l.failed <- err
		}
	})
	return l, nil
}

func (s *Server) openOps(l *listeners) error {
	if s.config.OpsListen == "off" {
		return nil
	}
	inner, err := listen(s.config.OpsListen)
	if err != nil {
		return fmt.Errorf("POSTERN_OPS_LISTEN: %w", err)
	}
	l.ops = s.newHTTPServer(s.stall.bound(s.opsHandler()), false)
	connections := newConnections(inner, maxOpsConnections, s.log)
	l.ops.ConnState = connections.changed
	l.serving.Go(func() {
		if err := serve(l.ops, connections); !errors.Is(err, http.ErrServerClosed) {
			s.log().Error("the operations listener failed", "error", err.Error())
		}
	})
	return nil
}

const maxOpsConnections = 100

func (l *listeners) close() {
	_ = l.gateway.Close()
	if l.ops != nil {
		_ = l.ops.Close()
	}
	l.serving.Wait()
}

// drainDelay returns how long the server still accepts connections after a shutdown has begun.
func (s *Server) drainDelay() time.Duration {
	switch {
	case s.config.DrainDelay != DrainDelayIfProbed:
		return s.config.DrainDelay
	case s.probed.Load():
		return probedDrainDelay
	}
	return 0
}

// drain closes the gateway's listener after the drain delay and waits until no exchange is left.
func (s *Server) drain(hard context.Context, l *listeners) error {
	if delay := s.drainDelay(); delay > 0 {
		s.log().Info("not ready any more; connections are accepted until load balancers have noticed", "delay", delay.String())
		pause(hard, delay)
	}
	l.gateway.SetKeepAlivesEnabled(false)
	soft, cancel := context.WithTimeout(hard, s.config.Drain)
	defer cancel()
	if s.quiet(soft, l) {
		return nil
	}
	if hard.Err() == nil {
		s.log().Warn("shutdown: requests did not finish in time and are cut", "timeout", s.config.Drain.String())
	}
	s.cutAll()
	cut, cancel := context.WithTimeout(hard, settleTimeout)
	defer cancel()
	if s.quiet(cut, l) {
		return nil
	}
	_ = l.gateway.Close() // ends exchanges that wait for their clients
	last, cancel := context.WithTimeout(hard, settleTimeout)
	defer cancel()
	if within(last, s.waitExchanges) || hard.Err() != nil {
		return nil
	}
	return errors.New("server: some requests did not end; their reservations are settled when they expire")
}

// quiet closes the listener and waits until no exchange is in progress. It returns false if ctx ends first.
func (s *Server) quiet(ctx context.Context, l *listeners) bool {
	l.connections.closeIdle()
	_ = l.gateway.Shutdown(ctx)
	return within(ctx, s.waitExchanges)
}

func (s *Server) waitExchanges() {
	s.deployment().wait()
	s.retired.Wait()
}

// within runs a blocking function. It returns false if ctx ends before the function returns.
func within(ctx context.Context, wait func()) bool {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// opsHandler returns the handler of the operations listener.
func (s *Server) opsHandler() http.Handler {
	if s.config.Ops != nil {
		return s.config.Ops(s.probe)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.probe(r.Context()); err != nil {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
		}
	})
	return mux
}

// probe serves a readiness probe with Ready. It also records that there was a probe, because a load balancer that sends
// probes needs time to see Ready fail.
func (s *Server) probe(ctx context.Context) error {
	s.probed.Store(true)
	return s.Ready(ctx)
}

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
