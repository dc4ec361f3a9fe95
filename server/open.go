package server

import (
	"context"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
)

// openStore opens the configured store.
func openStore(_ context.Context, c *Config) (store.Store, error) {
	if c.Test.Store != nil {
		return c.Test.Store, nil
	}
	return memory.New(clock{}), nil
}
