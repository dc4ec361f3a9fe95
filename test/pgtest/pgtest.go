// Package pgtest runs PostgreSQL servers on loopback for tests. They need PostgreSQL 15 or later, which
// `tools/setup.sh postgres` installs. Without it, a test fails.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postern-ai/postern/test/freeport"
)

// User and Password are the superuser's credentials on every server.
const (
	User     = "postern"
	Password = "pgtest-password"
)

// patience limits how long a server may take to start or end.
const patience = time.Minute

// Server is a PostgreSQL server with its own data directory, on 127.0.0.1.
type Server struct {
	Port int

	dir      string   // contains the data directory and the log
	settings []string // name=value
	process  *process // nil: not running
}

// Start creates and starts a server, which ends with the test. The settings (name=value) go into postgresql.conf. The
// server does not wait for the disk, because a test kills processes, not the machine.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := create(settings)
	if s != nil {
		t.Cleanup(s.remove)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns the server that the tests of this process share. The package's TestMain must call Main.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = create(nil) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// Main runs a package's tests, then ends the shared server. It returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		if shared.server != nil {
			shared.server.remove()
		}
	}()
	return m.Run()
}

// New creates and starts a server outside of a test. The caller must call Remove.
func New(settings ...string) (*Server, error) {
	s, err := create(settings)
	if err != nil && s != nil {
		s.remove()
	}
	return s, err
}

// Remove ends the server and deletes its files.
func (s *Server) Remove() { s.remove() }

// create makes a data directory and starts a server on it.
func create(settings []string) (*Server, error) {
	s, err := newServer(settings)
	if err != nil {
		return nil, err
	}
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password), 0o644); err != nil {
		return s, err
	}
	err = run("initdb", "--no-sync", "--no-instructions", "-D", s.data(), "-U", User, "-A", "scram-sha-256",
		"--pwfile", password, "-E", "UTF8", "--locale", "C")
	if err != nil {
		return s, err
	}
	return s, s.start()
}

// newServer reserves a port and a directory that the server's user owns.
func newServer(settings []string) (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	port, err := freeport.Port()
	if err == nil {
		err = giveToUser(dir)
	}
	return &Server{Port: port, dir: dir, settings: settings}, err
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Address returns the host and port.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// URL returns the URL of a database of this server.
func (s *Server) URL(database string) string { return URLAt(s.Address(), database) }

// URLAt returns the URL of a database at an address, such as a proxy's, or at several addresses, separated by commas.
func URLAt(addresses, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Host: addresses, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

var databases atomic.Int64

// Database creates an empty database and returns its name. It is dropped when the test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if err := s.Exec(t.Context(), "postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.process != nil {
			_ = s.Exec(context.Background(), "postgres", "DROP DATABASE "+name+" WITH (FORCE)")
		}
	})
	return name
}

// Exec runs statements, each in its own transaction.
func (s *Server) Exec(ctx context.Context, database string, statements ...string) error {
	return s.with(ctx, database, func(c *pgx.Conn) error {
		for _, sql := range statements {
			if _, err := c.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// Query returns the first column of the first row of a query, as text. If there is no row, it returns "".
func (s *Server) Query(ctx context.Context, database, sql string) (text string, err error) {
	err = s.with(ctx, database, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[any])
		if err == nil && len(all) > 0 {
			text = strings.TrimSpace(fmt.Sprint(all[0]))
		}
		return err
	})
	return text, err
}

func (s *Server) with(ctx context.Context, database string, f func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	return f(c)
}

// remove ends the server and deletes its files.
func (s *Server) remove() {
	_ = s.end(quickly)
	_ = os.RemoveAll(s.dir)
}
