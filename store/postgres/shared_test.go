package postgres_test

import (
	"testing"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		return open(t, postgres.Config{URL: database(t), Clock: clock})
	})
}
