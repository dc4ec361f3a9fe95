package pgtest

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Standby starts a synchronous standby with streaming replication. From then on, the server commits only data that
// the standby has also written.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby, err := newServer([]string{"cluster_name=standby"})
	if standby != nil {
		t.Cleanup(standby.remove)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = run("pg_basebackup", "-d", s.URL(""), "-D", standby.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if err != nil {
		t.Fatal(err)
	}
	if err := standby.start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	if err := s.synchronous(t.Context()); err != nil {
		t.Fatal(err)
	}
	return standby
}

// synchronous waits until commits wait for the standby.
func (s *Server) synchronous(ctx context.Context) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		state, err := s.Query(ctx, "postgres", "SELECT sync_state FROM pg_stat_replication")
		if err != nil {
			return err
		}
		if state == "sync" {
			return nil
		}
	}
	return errors.New("pgtest: the standby is not synchronous\n" + s.Log())
}

// Promote makes a standby the primary. It waits until the server accepts writes, but not for a standby of the new
// primary.
func (s *Server) Promote(ctx context.Context) error {
	return s.Exec(ctx, "postgres", "SELECT pg_promote(true, 60)", "ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
}
