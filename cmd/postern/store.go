package main

import (
	"context"
	"errors"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
)

// openStore opens the configured store, as the server does.
var openStore func(ctx context.Context, c *server.Config) (store.Store, error)

// isInUse reports whether a running server has the store.
func isInUse(err error) bool { return errors.Is(err, errInUse) }

var errInUse = errors.New("in use")

// checkIntegrity checks the data of the configured store.
var checkIntegrity func(ctx context.Context, c *server.Config) error
