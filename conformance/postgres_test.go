package conformance

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// keptStore is a store that survives the resets of a Local, because opening one takes longer than most scenarios.
type keptStore struct{ *postgres.Store }

func (keptStore) Close() error { return nil }

// storePatience is the stores' timeout. It is longer than the default, because a busy machine stops a database for seconds.
const storePatience = 30 * time.Second

// postgresStores returns a MakeStore for Locals on one database. With clear, it empties the tables.
func postgresStores(t *testing.T, server *pgtest.Server, database string, clear bool) func(store.Clock) (store.Store, error) {
	var opened *postgres.Store
	t.Cleanup(func() {
		if opened != nil {
			_ = opened.Close()
		}
	})
	return func(clock store.Clock) (_ store.Store, err error) {
		if opened == nil {
			opened, err = postgres.Open(context.Background(), postgres.Config{URL: server.URL(database), Clock: clock, Timeout: storePatience})
		}
		if err == nil && clear {
			err = server.Exec(context.Background(), database, "TRUNCATE postern_objects, postern_rows, postern_kv")
		}
		return keptStore{opened}, err
	}
}

// newLocalOnPostgres starts a Local that the test ends.
func newLocalOnPostgres(t *testing.T, upstream *Upstream, makeStore func(store.Clock) (store.Store, error)) *Local {
	t.Helper()
	local, err := NewLocalOn(deployment(upstream), host.NewNative, makeStore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	return local
}

// newOnPostgres starts a native host on an empty database.
func newOnPostgres(t *testing.T, upstream *Upstream) *Runner {
	t.Helper()
	server := pgtest.Shared(t)
	local := newLocalOnPostgres(t, upstream, postgresStores(t, server, server.Database(t), true))
	return &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: newClient(), Upstream: upstream, Native: true}
}

// TestPostgres runs the scenarios that need a single process. TestReplicas runs the others.
func TestPostgres(t *testing.T) { runSome(t, newOnPostgres, needsOneProcess) }
