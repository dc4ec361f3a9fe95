package server

import (
	"context"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/sqlite"
)

// openStore opens the configured store.
func openStore(ctx context.Context, c *Config) (store.Store, error) {
	switch {
	case c.Test.Store != nil:
		return c.Test.Store, nil
	case c.Database != "":
		return postgres.Open(ctx, postgres.Config{URL: c.Database})
	}
	open := sqlite.Config{Dir: c.Data, Durability: sqlite.Durability(c.Durability), Clock: clock{}, Log: c.Log}
	if c.Test.Clock != nil {
		open.Clock = c.Test.Clock
	}
	return sqlite.Open(ctx, open)
}
