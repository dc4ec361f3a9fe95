package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/sqlite"
)

func openStore(ctx context.Context, c *Config) (store.Store, error) {
	switch {
	case c.Test.Store != nil:
		return c.Test.Store, nil
	case c.Database != "":
		return postgres.Open(ctx, postgres.Config{URL: c.Database, Log: c.Log})
	}
	open := sqlite.Config{Dir: c.Data, Durability: sqlite.Durability(c.Durability), Clock: clock{}, Log: c.Log}
	// The first start creates the database before the secrets. If there are secrets but no database, the database was
	// lost.
	if _, err := os.Lstat(filepath.Join(c.Data, SecretsFile)); err == nil {
		open.MustExist = true
	}
	if c.Test.Clock != nil {
		open.Clock = c.Test.Clock
	}
	opened, err := sqlite.Open(ctx, open)
	switch {
	case errors.Is(err, sqlite.ErrMissing):
		return nil, fmt.Errorf("%s has %s, but its database %s is missing, empty or without tables: restore a backup with postern restore, "+
			"or delete %[2]s to start with new data", c.Data, SecretsFile, sqlite.DatabaseFile)
	case err != nil:
		return nil, fmt.Errorf("POSTERN_DATA: %w", err)
	}
	return opened, nil
}

// used reports whether the store contains data. If the store does not know, it returns false.
func (s *Server) used(ctx context.Context) (bool, error) {
	if known, ok := s.store.(interface {
		Used(context.Context) (bool, error)
	}); ok {
		return known.Used(ctx)
	}
	return false, nil
}
