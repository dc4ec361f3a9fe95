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

// clock is the machine's clock.
type clock struct{}

func (clock) Now() uint64 { return uint64(time.Now().UnixMilli()) }

// New opens the store and builds the gateway. It fails if the configuration is invalid.
func New(ctx context.Context, c Config) (*Server, error) {
	opened, err := openStore(ctx, &c)
	if err != nil {
		return nil, err
	}
	cfg := abi.Config{Catalog: catalog.Default}
	for name, value := range c.Env {
		cfg.Env = append(cfg.Env, abi.Header{Name: name, Value: value})
	}
	parsed, problem := config.Parse(cfg)
	if problem != "" {
		return nil, errors.New(problem)
	}
	engine, err := host.NewNative(cfg)
	if err != nil {
		return nil, err
	}
	stats := &host.Stats{}
	objects := &host.StoredObjects{Engine: engine, Store: opened, Stats: stats}
	h, err := host.New(host.Options{
		Engine: engine, Clock: clock{}, KV: opened, Objects: objects, Stats: stats,
		Control: newControl(&c, objects, parsed), TrustedProxies: c.TrustedProxies,
	})
	return &Server{config: c, store: opened, objects: objects, host: h}, err
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.host, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.WithoutCancel(ctx))
	}()
	go s.runAlarms(ctx)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.host.Wait()
	s.objects.Wait()
	return s.store.Close()
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
