package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/server/corewasm"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/telemetry/logging"
)

// deployment is built from one configuration. Reload replaces it, but an exchange stays in the deployment in which it
// began.
type deployment struct {
	config  Config // includes the secrets of the data directory
	parsed  *config.Config
	engine  host.Engine
	host    *host.Host
	control *control.Service
	objects host.Objects
	// requests counts the calls to the deployment's host that are in progress and may still start an exchange.
	requests sync.WaitGroup
}

// enter returns the current deployment and counts a new request in it. The caller must end the request.
func (s *Server) enter() *deployment {
	s.swapping.RLock()
	defer s.swapping.RUnlock()
	s.current.requests.Add(1)
	return s.current
}

func (s *Server) deployment() *deployment {
	s.swapping.RLock()
	defer s.swapping.RUnlock()
	return s.current
}

// wait blocks until no exchange is in progress. While it runs, no new requests may start.
func (d *deployment) wait() {
	d.requests.Wait()
	d.host.Wait()
}

func (s *Server) build(c Config) (*deployment, error) {
	cfg := abi.Config{Catalog: catalog.Default}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		cfg.Env = append(cfg.Env, abi.Header{Name: name, Value: c.Env[name]})
	}
	parsed, problem := config.Parse(cfg)
	if problem != "" {
		return nil, errors.New(problem)
	}
	d := &deployment{config: c, parsed: parsed, objects: s.objects}
	if c.Test.Objects != nil {
		d.objects = c.Test.Objects(d.objects)
	}
	var err error
	if d.control, err = s.newControl(d); err != nil {
		return nil, err
	}
	if d.engine, err = makeEngine(&c, cfg); err != nil {
		return nil, err
	}
	lines := logging.Lines(c.Log)
	if c.Test.Log != nil {
		lines = c.Test.Log
	}
	d.host, err = host.New(host.Options{
		Engine: d.engine, Clock: s.clock, MachineClock: s.clock == store.Clock(clock{}), KV: s.store, Objects: d.objects, Stats: s.stats, Control: d.control,
		TrustedProxies: c.TrustedProxies, Observer: c.Observer, Log: lines, Transport: s.transport, Panicked: s.panicked,
		Persistence: persistence(&c),
	})
	return d, err
}

// settleFor is how long a settlement is retried while the database is down. It is shorter than the lifetime of a
// reservation.
const settleFor = 5 * time.Minute

// persistence returns settleFor, or the test's value for a test's store.
func persistence(c *Config) time.Duration {
	if c.Test.Store != nil {
		return c.Test.Persistence
	}
	return settleFor
}

// install puts a deployment into service and returns the previous one, which is nil on startup.
func (s *Server) install(d *deployment) (before *deployment) {
	context.AfterFunc(s.cutting, d.host.Cut)
	watch(d.config.Observer, Parts{Config: d.parsed, Store: s.store, Host: d.host, Objects: d.objects, Stats: s.stats})
	s.objects.Replace(d.engine)
	s.swapping.Lock()
	defer s.swapping.Unlock()
	before, s.current = s.current, d
	return before
}

func makeEngine(c *Config, cfg abi.Config) (host.Engine, error) {
	switch {
	case c.Test.MakeEngine != nil:
		return c.Test.MakeEngine(cfg)
	case c.Engine == "native":
		return host.NewNative(cfg)
	case c.Engine != "wasm":
		return nil, fmt.Errorf("POSTERN_ENGINE must be native or wasm, got %q", c.Engine)
	}
	module, err := corewasm.Module()
	if err != nil {
		return nil, err
	}
	return host.NewWasm(context.Background(), module, cfg)
}

// close frees the engine, which must not have calls in progress.
func (d *deployment) close() {
	if w, ok := d.engine.(*host.Wasm); ok {
		_ = w.Close(context.Background())
	}
}
