package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/sqlite"
)

// openStore opens the configured store, as the server does.
func openStore(ctx context.Context, c *server.Config) (store.Store, error) {
	if c.Database != "" {
		opened, err := postgres.Open(ctx, postgres.Config{URL: c.Database})
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
	opened, err := sqlite.Open(ctx, sqlite.Config{Dir: c.Data, Durability: sqlite.Durability(c.Durability)})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// isInUse reports whether a running server has the store.
func isInUse(err error) bool { return errors.Is(err, sqlite.ErrInUse) }

// checkIntegrity checks the data of the configured store. PostgreSQL checks its own.
func checkIntegrity(ctx context.Context, c *server.Config) error {
	if c.Database != "" {
		return nil
	}
	return sqlite.CheckIntegrity(ctx, filepath.Join(c.Data, sqlite.DatabaseFile))
}
