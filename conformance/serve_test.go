package conformance

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
)

// onSQLite returns a function that opens an empty SQLite store, in a new directory each time.
func onSQLite(t *testing.T) func(store.Clock) (store.Store, error) {
	folder, n := t.TempDir(), 0
	return func(clock store.Clock) (store.Store, error) {
		last := filepath.Join(folder, strconv.Itoa(n))
		if err := os.RemoveAll(last); err != nil {
			return nil, err
		}
		n++
		return sqlite.Open(context.Background(), sqlite.Config{Dir: filepath.Join(folder, strconv.Itoa(n)), Clock: clock})
	}
}

// newServe starts the self-hosted server in its default form: the native core on SQLite.
func newServe(t *testing.T, upstream *Upstream) *Runner {
	t.Helper()
	local, err := NewLocalOn(deployment(upstream), host.NewNative, onSQLite(t))
	return runnerOf(t, upstream, local, err)
}

func TestServe(t *testing.T) { runAll(t, newServe) }
