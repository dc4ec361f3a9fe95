package main

import (
	"context"
	"errors"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/sqlite"
)

// openStore opens the configured PostgreSQL store, as the server does.
func openStore(ctx context.Context, c *server.Config) (store.Store, error) {
	opened, err := postgres.Open(ctx, postgres.Config{URL: c.Database})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// isInUse reports whether an error means that a running server is using the store.
func isInUse(err error) bool { return errors.Is(err, sqlite.ErrInUse) }

// inspect checks the SQLite database without leaving any files behind.
func inspect(ctx context.Context, c *server.Config) error { return sqlite.Inspect(ctx, c.Data) }
