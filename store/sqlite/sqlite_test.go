package sqlite_test

import (
	"context"
	"testing"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/store/storetest"
)

func open(t *testing.T, config sqlite.Config) *sqlite.Store {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	s, err := sqlite.Open(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	for name, config := range map[string]sqlite.Config{
		"default":           {},
		"process":           {Durability: sqlite.Process},
		"nothing in memory": {CacheBytes: 1, ObjectBytes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
				config := config
				config.Clock = clock
				return open(t, config)
			})
		})
	}
}
