package postgres

import (
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/postern-ai/postern/test/pgtest"
)

// newDatabase returns the name and the URL of an empty database.
func newDatabase(t *testing.T) (server *pgtest.Server, name, url string) {
	t.Helper()
	server = pgtest.Shared(t)
	name = server.Database(t)
	return server, name, server.URL(name)
}

func query(t *testing.T, server *pgtest.Server, database, sql string) string {
	t.Helper()
	text, err := server.Query(t.Context(), database, sql)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOlderBinaryRefuses: a binary that does not know the newest migration does not start.
func TestOlderBinaryRefuses(t *testing.T) {
	_, _, url := newDatabase(t)
	all, err := migrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	newer := append(all, migration{len(all) + 1, "later", "ALTER TABLE postern_objects ADD later int"})
	s, err := open(t.Context(), Config{URL: url}, newer)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := Open(t.Context(), Config{URL: url}); err == nil || !strings.Contains(err.Error(), "schema version") {
		t.Errorf("got %v", err)
	}
}

// TestFailedMigration: if a migration fails, nothing of it and of the migrations before it is left. The next start
// repeats them all.
func TestFailedMigration(t *testing.T) {
	server, name, url := newDatabase(t)
	all, err := migrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	failing := append(all, migration{len(all) + 1, "failing", "CREATE TABLE half (n int); INSERT INTO half VALUES (1); SELECT 1/0"})
	if _, err := open(t.Context(), Config{URL: url}, failing); err == nil || !strings.Contains(err.Error(), "failing") {
		t.Errorf("got %v", err)
	}
	const tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'postern%' OR relname = 'half'"
	if n := query(t, server, name, tables); n != "0" {
		t.Errorf("%s tables and indexes are left", n)
	}
	s, err := Open(t.Context(), Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := open(t.Context(), Config{URL: url}, failing); err == nil {
		t.Error("no error")
	}
	if n := query(t, server, name, "SELECT max(version) FROM postern_migrations"); n != "1" {
		t.Errorf("version %s", n)
	}
}

// TestReplicasStartTogether: replicas that start on an empty database at the same time migrate it once.
func TestReplicasStartTogether(t *testing.T) {
	server, name, url := newDatabase(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := Open(t.Context(), Config{URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			_ = s.Close()
		})
	}
	all.Wait()
	if n := query(t, server, name, "SELECT count(*) FROM postern_migrations"); n != "1" {
		t.Errorf("%s migrations applied", n)
	}
}

func TestMigrationNumbers(t *testing.T) {
	for _, names := range [][]string{{"0002_a.sql"}, {"0001_a.sql", "0003_b.sql"}, {"0001_a.sql", "0001_b.sql"}, {"first.sql"}} {
		files := fstest.MapFS{}
		for _, name := range names {
			files["migrations/"+name] = &fstest.MapFile{}
		}
		if _, err := migrations(files); err == nil {
			t.Errorf("%v: no error", names)
		}
	}
}
