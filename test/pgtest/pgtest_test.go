package pgtest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func count(t *testing.T, s *Server, database string) string {
	t.Helper()
	n, err := s.Query(t.Context(), database, "SELECT count(*) FROM things")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRestartAndKill checks that a restart and a crash keep all commits and the port.
func TestRestartAndKill(t *testing.T) {
	s := Start(t)
	database := s.Database(t)
	do(t, s.Exec(t.Context(), database, "CREATE TABLE things (n int)", "INSERT INTO things VALUES (1)"))
	do(t, s.Restart())
	do(t, s.Exec(t.Context(), database, "INSERT INTO things VALUES (2)"))
	do(t, s.Kill())
	if err := s.Exec(t.Context(), database, "SELECT 1"); err == nil {
		t.Error("a killed server answers")
	}
	do(t, s.Start())
	if n := count(t, s, database); n != "2" {
		t.Errorf("%s rows, want 2", n)
	}
}

// TestPromotion checks that a promoted standby has every row that its primary committed.
func TestPromotion(t *testing.T) {
	s := Start(t)
	database := s.Database(t)
	do(t, s.Exec(t.Context(), database, "CREATE TABLE things (n int)"))
	standby := s.Standby(t)
	do(t, s.Exec(t.Context(), database, "INSERT INTO things VALUES (1)"))
	do(t, s.Kill())
	do(t, standby.Promote(t.Context()))
	do(t, standby.Exec(t.Context(), database, "INSERT INTO things VALUES (2)"))
	if n := count(t, standby, database); n != "2" {
		t.Errorf("%s rows, want 2", n)
	}
}

func TestSharedDatabasesAreSeparate(t *testing.T) {
	s := Shared(t)
	a, b := s.Database(t), s.Database(t)
	do(t, s.Exec(t.Context(), a, "CREATE TABLE things (n int)"))
	if s.Exec(t.Context(), b, "SELECT * FROM things") == nil {
		t.Error("a table is visible in another database")
	}
	if s != Shared(t) {
		t.Error("Shared returned another server")
	}
}
