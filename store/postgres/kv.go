package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postern-ai/postern/store"
)

const (
	// maxTTLSeconds is a hundred years.
	maxTTLSeconds = 100 * 366 * 86400
	expireBatch   = 500
)

// Read implements store.KV.
func (s *Store) Read(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		return s.single(ctx, func() error { return s.pool.QueryRow(ctx, stReadKV, s.testTime(), key).Scan(&value) })
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Write implements store.KV. A value with an expiry may be lost if the database crashes.
func (s *Store) Write(ctx context.Context, key string, value []byte, ttlSeconds uint64) error {
	if len(value) > store.MaxCommandBytes {
		return fmt.Errorf("%w: %d bytes under one key", store.ErrTooLarge, len(value))
	}
	return s.exec(ctx, func(ctx context.Context) (pgconn.CommandTag, error) {
		switch {
		case len(value) == 0:
			return s.pool.Exec(ctx, stDeleteKV, key)
		case ttlSeconds == 0:
			return s.pool.Exec(ctx, stWriteKV, key, value)
		}
		return s.pool.Exec(ctx, stCacheKV, s.testTime(), key, value, int64(min(ttlSeconds, maxTTLSeconds))*1000)
	})
}

// Expire implements store.Store. If the values take too much space, it also removes some that have not expired yet.
// Replicas may call it at the same time.
func (s *Store) Expire(ctx context.Context) (removed int, err error) {
	removed, err = s.remove(ctx, stExpireKV, s.testTime(), expireBatch)
	if err != nil || removed > 0 {
		return removed, err
	}
	var size int64 // size of the table including its free space; a query for it is cheap
	err = s.call(ctx, func(ctx context.Context) error {
		return s.single(ctx, func() error { return s.pool.QueryRow(ctx, stSizeKV).Scan(&size) })
	})
	if err != nil || size <= s.config.ExpiringBytes {
		return 0, err
	}
	return s.remove(ctx, stEvictKV, s.config.ExpiringBytes, expireBatch)
}

// remove runs a statement that deletes values and returns their number.
func (s *Store) remove(ctx context.Context, statement string, args ...any) (removed int, err error) {
	err = s.exec(ctx, func(ctx context.Context) (pgconn.CommandTag, error) {
		tag, err := s.pool.Exec(ctx, statement, args...)
		removed = int(tag.RowsAffected())
		return tag, err
	})
	return removed, err
}

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error {
	return s.exec(ctx, func(ctx context.Context) (pgconn.CommandTag, error) { return s.pool.Exec(ctx, stCheck) })
}

// exec runs one statement as a transaction.
func (s *Store) exec(ctx context.Context, f func(context.Context) (pgconn.CommandTag, error)) error {
	return s.call(ctx, func(ctx context.Context) error {
		return s.single(ctx, func() error {
			_, err := f(ctx)
			return err
		})
	})
}

// single runs one statement and repeats it if its error allows that. The statement must be safe to repeat.
func (s *Store) single(ctx context.Context, f func() error) error {
	return s.repeat(ctx, func() error {
		err := f()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, pgx.ErrNoRows):
			return commandError{err}
		case !alive(err):
			s.reconnect(err)
		}
		return uncommitted{err}
	})
}
