// Package server is the self-hosted gateway: the host, the control plane and the dashboard in one process, with a
// durable store. `postern serve` runs it.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
)

// Server is a gateway. Reload replaces its deployment, but not its store.
type Server struct {
	config      Config // as passed to New; the parts that Reload replaces are in deployment.config
	store       store.Store
	clock       store.Clock
	transport   *http.Transport
	objects     *host.StoredObjects
	stats       *host.Stats
	alarms      *alarms
	stall       stalls
	logger      atomic.Pointer[slog.Logger]
	certificate atomic.Pointer[tls.Certificate]
	state       atomic.Int32 // a phase
	probed      atomic.Bool  // a readiness probe was received
	bound       atomic.Pointer[net.Addr]

	swapping sync.RWMutex // guards current
	current  *deployment

	reloading sync.Mutex
	retired   sync.WaitGroup // replaced deployments that still have exchanges
	cutting   context.Context
	cutAll    context.CancelFunc
}

// phase is the state of a Server.
type phase = int32

const (
	starting phase = iota
	ready
	draining
)

// New opens the store and builds the gateway. It fails if the configuration is invalid.
func New(ctx context.Context, c Config) (*Server, error) {
	c.setDefaults()
	s := &Server{config: c, clock: clock{}, transport: host.NewTransport(), stats: &host.Stats{}, stall: defaultStalls}
	s.cutting, s.cutAll = context.WithCancel(context.Background())
	s.logger.Store(c.Log)
	if c.Test.Clock != nil {
		s.clock = c.Test.Clock
	}
	if err := requireSecrets(&c); err != nil {
		return nil, err
	}
	certificate, err := loadCertificate(&c)
	if err != nil {
		return nil, err
	}
	s.certificate.Store(certificate)
	if s.store, err = openStore(ctx, &c); err != nil {
		return nil, err
	}
	s.objects = &host.StoredObjects{
		Store: s.store, Stats: s.stats, Send: c.Test.Send, Panicked: s.panicked,
	}
	s.alarms = newAlarms(s)
	s.objects.Alarm = s.alarms.notify
	err = s.addSecrets(ctx, &c)
	var d *deployment
	if err == nil {
		d, err = s.build(c)
	}
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.install(d)
	s.restartMeters(ctx)
	return s, nil
}

func (s *Server) log() *slog.Logger { return s.logger.Load() }

// Handler serves the gateway, the control plane and the dashboard.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := s.enter()
		defer d.requests.Done()
		if s.state.Load() == draining { // sends the next request to another replica
			w.Header().Set("Connection", "close")
		}
		d.host.ServeHTTP(w, r)
	})
}

// Host returns the host, for tests.
func (s *Server) Host() *host.Host { return s.deployment().host }

// Objects returns the objects, for tests.
func (s *Server) Objects() *host.StoredObjects { return s.objects }

// Ready returns nil if the server accepts requests and its store can commit a change. Otherwise it returns
// ErrStarting, ErrDraining or the store's error.
func (s *Server) Ready(ctx context.Context) error {
	switch s.state.Load() {
	case starting:
		return ErrStarting
	case draining:
		return ErrDraining
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return s.store.Check(ctx)
}

const checkTimeout = 5 * time.Second
