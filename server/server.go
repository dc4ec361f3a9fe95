// Package server is the self-hosted gateway: the host, the control plane and the dashboard in one process, with a durable
// store. `postern serve` runs it.
package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
)

// Server is a running gateway.
type Server struct {
	config  Config
	store   store.Store
	objects *host.StoredObjects
	host    *host.Host
}

// New opens the store and builds the gateway. It fails if the configuration is invalid.
func New(ctx context.Context, c Config) (*Server, error) {
	opened, err := openStore(ctx, &c)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, store: opened}
	return s, s.build()
}

// build creates the host over the store.
func (s *Server) build() error {
	c := &s.config
	cfg := abi.Config{Catalog: catalog.Default}
	for name, value := range c.Env {
		cfg.Env = append(cfg.Env, abi.Header{Name: name, Value: value})
	}
	parsed, problem := config.Parse(cfg)
	if problem != "" {
		return errors.New(problem)
	}
	makeEngine := host.NewNative
	if c.Test.MakeEngine != nil {
		makeEngine = c.Test.MakeEngine
	}
	engine, err := makeEngine(cfg)
	if err != nil {
		return err
	}
	var time store.Clock = clock{}
	if c.Test.Clock != nil {
		time = c.Test.Clock
	}
	stats := &host.Stats{}
	s.objects = &host.StoredObjects{Engine: engine, Store: s.store, Stats: stats, Send: c.Test.Send}
	var objects host.Objects = s.objects
	if c.Test.Objects != nil {
		objects = c.Test.Objects(objects)
	}
	s.host, err = host.New(host.Options{
		Engine: engine, Clock: time, KV: s.store, Objects: objects, Stats: stats,
		Control: newControl(c, objects, time, parsed), TrustedProxies: c.TrustedProxies, Observer: c.Observer, Log: c.Test.Log,
	})
	if err == nil {
		watch(c.Observer, Parts{Config: parsed, Store: s.store, Host: s.host, Objects: objects, Stats: stats})
	}
	return err
}

// Handler serves the gateway, the control plane and the dashboard.
func (s *Server) Handler() http.Handler { return s.host }

// Host returns the host, for tests.
func (s *Server) Host() *host.Host { return s.host }

// Objects returns the objects, for tests.
func (s *Server) Objects() *host.StoredObjects { return s.objects }

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	listener, err := s.listen()
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.host, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.WithoutCancel(ctx))
	}()
	if !s.config.Test.NoTimers {
		go s.runAlarms(ctx)
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.host.Wait()
	s.objects.Wait()
	return s.store.Close()
}

func (s *Server) listen() (net.Listener, error) {
	if s.config.Test.Listener != nil {
		return s.config.Test.Listener, nil
	}
	return net.Listen("tcp", s.config.Listen)
}

const alarmPoll = 100 * time.Millisecond

// runAlarms fires alarms until ctx ends.
func (s *Server) runAlarms(ctx context.Context) {
	ticker := time.NewTicker(alarmPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for {
			if rang, err := s.objects.Ring(ctx); err != nil || !rang {
				break
			}
		}
	}
}
