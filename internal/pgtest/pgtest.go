// Package pgtest runs PostgreSQL 15 servers on loopback for tests. The servers need Debian's postgresql-15, which
// `tools/setup.sh postgres` installs; a test without it fails.
package pgtest

import "testing"

// Server is a PostgreSQL server with its own data directory.
type Server struct {
	Port int
}

// Start creates and starts a server, which ends with the test.
func Start(t testing.TB) *Server { t.Helper(); t.Fatal("not implemented yet"); return nil }

// Shared returns the server that the tests of this process share. Its package needs a TestMain that calls Main.
func Shared(t testing.TB) *Server { t.Helper(); t.Fatal("not implemented yet"); return nil }

// Main runs a package's tests, then stops the shared server. It returns the exit code.
func Main(m *testing.M) int { return m.Run() }

// Database creates an empty database and returns its URL. Databases of a test are dropped when it ends.
func (s *Server) Database(t testing.TB) string { return "" }
