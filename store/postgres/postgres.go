// Package postgres keeps the store in PostgreSQL 15 or later. Several replicas may share a database: each command is one
// transaction that locks its object's row, and the time is the database's.
package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postern-ai/postern/store"
)

// Config configures a Store. Zero values mean the defaults.
type Config struct {
	// URL is a postgres:// URL with the parameters of libpq and of pgxpool (sslmode, sslrootcert, target_session_attrs,
	// pool_max_conns, …). The tables are created in the first schema of its search_path.
	URL string
	// MaxConns limits the connections of this replica; default: pool_max_conns of the URL, or 16.
	MaxConns int
	// MaxWaiting limits the calls that wait or run at a time; default 2,000. Further calls fail with store.ErrOverloaded.
	MaxWaiting int
	// Timeout limits the time of a call until its commit, waiting included, and then the time of the commit; default 5 s.
	Timeout time.Duration
	// CacheBytes limits the memory for rows of recently used objects; default 64 MiB.
	CacheBytes int
	// Clock replaces the database's time, in tests only.
	Clock store.Clock
}

// Store implements store.Store on PostgreSQL.
type Store struct {
	pool *pgxpool.Pool
}

// Stats are the counters of a Store since it was opened, and the state of its pool.
type Stats struct {
	Commands       uint64  // transactions of commands and alarms that committed
	Failures       uint64  // commands and alarms that failed with ErrUnavailable or ErrOverloaded
	Retries        uint64  // repeated transactions
	UnknownCommits uint64  // commits whose outcome is unknown
	Seconds        float64 // time of all commands and alarms, waiting included
	CacheHits      uint64  // reads of ranges from memory
	CacheMisses    uint64  // reads of ranges from the database
	Waiting        int     // calls that wait or run
	Conns          int     // open connections
	IdleConns      int     // of which idle
	MaxConns       int     // limit of open connections
}

var errTODO = errors.New("store/postgres: not implemented yet")

// Open connects to the database and migrates its schema. It fails if the database cannot be reached, if a migration fails
// or if a newer version of Postern has migrated the schema. Errors do not contain the URL's password.
func Open(ctx context.Context, c Config) (*Store, error) { return nil, errTODO }

// Stats returns the counters.
func (s *Store) Stats() Stats { return Stats{} }
