package sqlite

import (
	"bytes"
	"context"

	"github.com/postern-ai/postern/store"
)

// Read implements store.KV. It also returns writes that are not durable yet.
func (s *Store) Read(ctx context.Context, key string) (value []byte, ok bool, err error) {
	now := s.config.Clock.Now()
	if w, found, err := s.pendingKV(key); err != nil || found {
		live := err == nil && len(w.value) > 0 && (w.expiresMs == 0 || w.expiresMs > now)
		if !live {
			return nil, false, err
		}
		return w.value, true, nil
	}
	err = s.db.read(ctx, func(r *reader) (err error) {
		value, ok, err = r.value(key, now)
		return err
	})
	return value, ok, err
}

// pendingKV returns the latest write of a key that is not durable yet. If a write has become durable just before the
// call, the caller finds it in the database, which it reads afterwards.
func (s *Store) pendingKV(key string) (w kvWrite, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return w, false, errClosed
	}
	for _, g := range []*group{s.open, s.flushing} {
		if g == nil {
			continue
		}
		if at, found := g.kvLatest[key]; found {
			return g.kv[at], true, nil
		}
	}
	return w, false, nil
}

// Write implements store.KV. It returns when the value is durable.
func (s *Store) Write(ctx context.Context, key string, value []byte, ttlSeconds uint64) error {
	if len(value) > store.MaxCommandBytes {
		return store.ErrTooLarge
	}
	w := kvWrite{key: key, value: bytes.Clone(value)}
	if ttlSeconds > 0 {
		w.expiresMs = s.config.Clock.Now() + ttlSeconds*1000
	}
	return s.add(ctx, int64(len(key)+len(value)+rowBytes), func(g *group) { g.write(w) })
}

// Expire implements store.Store.
func (s *Store) Expire(ctx context.Context) (removed int, err error) {
	now := s.config.Clock.Now()
	result := new(int)
	err = s.add(ctx, 0, func(g *group) {
		g.tasks = append(g.tasks, func(w *writer) (err error) {
			if err := bind(w.expire, int64(now), int64(expireBatch)); err != nil {
				return err
			}
			*result, err = w.remove(w.expire)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return *result, nil
}
