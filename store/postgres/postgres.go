// Package postgres keeps the store in PostgreSQL 15 or later. Several replicas may share a database. Each command is
// one transaction that locks its object's row, and the time is the database's.
package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postern-ai/postern/store"
)

// Config configures a Store. Zero values mean the defaults.
type Config struct {
	// URL is a postgres:// URL with the parameters of libpq and of pgxpool (sslmode, sslrootcert, target_session_attrs,
	// pool_max_conns, …). The tables are created in the first schema of its search_path.
	URL string
	// MaxConns limits the connections of this replica. The default is pool_max_conns in the URL, or 16.
	MaxConns int
	// MaxWaiting limits the calls that wait or run at the same time. The default is 2,000. Further calls fail with
	// store.ErrOverloaded.
	MaxWaiting int
	// Timeout limits three times: the wait of a call for its transaction, the time of the transaction, which it may share
	// with others, until its commit, and the time of the commit. The default is 5 s.
	Timeout time.Duration
	// CacheBytes limits the memory for rows of recently used objects. The default is 64 MiB.
	CacheBytes int
	// ExpiringBytes limits the size of values with an expiry in the key-value store. The default is 1 GiB. The values
	// that expire first are removed first.
	ExpiringBytes int64
	// Log receives messages about the start and end of outages. Optional.
	Log *slog.Logger
	// Clock replaces the database's time, in tests only.
	Clock store.Clock
}

// Store implements store.Store on PostgreSQL.
type Store struct {
	config  Config
	secrets []string // strings that must not appear in errors
	pool    *pgxpool.Pool
	queue   *queue
	cache   *cache
	health  *health
	reset   atomic.Int64 // Unix nanoseconds of the last reset of the pool

	hints   hints
	failed  failedAlarms
	figures figures
}

// Open connects to the database and migrates its schema. It fails if the database cannot be reached, if a migration fails
// or if a newer version of Postern has migrated the schema. Errors do not contain the URL's password.
func Open(ctx context.Context, c Config) (*Store, error) {
	all, err := migrations(embedded)
	if err != nil {
		return nil, err
	}
	return open(ctx, c, all)
}

func open(ctx context.Context, c Config, all []migration) (*Store, error) {
	c = c.withDefaults()
	config, secrets, err := c.parse()
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, secrets: secrets, queue: newQueue(c.MaxWaiting), cache: newCache(c.CacheBytes)}
	if err := s.migrate(ctx, config, all); err != nil {
		return nil, fmt.Errorf("PostgreSQL: %s", s.scrub(err))
	}
	s.health = newHealth(config, c.Log, func() { s.pool.Reset() })
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		s.health.close()
		return nil, fmt.Errorf("PostgreSQL: %s", s.scrub(err))
	}
	return s, nil
}

// Close implements store.Store. It waits for the calls in progress, whose time is limited.
func (s *Store) Close() error {
	s.health.close()
	s.pool.Close()
	return nil
}

// time returns the time of a transaction: a test's time, or the database's.
func (s *Store) time(database int64) uint64 {
	if s.config.Clock != nil {
		return s.config.Clock.Now()
	}
	return uint64(database)
}

// testTime returns the parameter for theTime. It is nil for the database's time.
func (s *Store) testTime() *int64 {
	if s.config.Clock == nil {
		return nil
	}
	now := int64(s.config.Clock.Now())
	return &now
}
