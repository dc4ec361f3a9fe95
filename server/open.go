package server

import (
	"context"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
	"github.com/postern-ai/postern/store/postgres"
)

// openStore opens the configured store.
func openStore(ctx context.Context, c *Config) (store.Store, error) {
	switch {
	case c.Test.Store != nil:
		return c.Test.Store, nil
	case c.Database != "":
		return postgres.Open(ctx, postgres.Config{URL: c.Database})
	}
	return memory.New(clock{}), nil
}
