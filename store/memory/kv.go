package memory

import (
	"bytes"
	"context"
)

type value struct {
	data      []byte
	expiresMs uint64 // 0: never
}

func (v *value) expired(now uint64) bool { return v.expiresMs != 0 && v.expiresMs <= now }

// Read implements store.KV.
func (s *Store) Read(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.refuse(ctx); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.kv[key]
	if !ok || v.expired(s.clock.Now()) {
		return nil, false, nil
	}
	return v.data, true, nil
}

// Write implements store.KV.
func (s *Store) Write(ctx context.Context, key string, data []byte, ttlSeconds uint64) error {
	if err := s.refuse(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, data, ttlSeconds)
	return nil
}

// put stores a copy of a value. The caller holds s.mu.
func (s *Store) put(key string, data []byte, ttlSeconds uint64) {
	if len(data) == 0 {
		delete(s.kv, key)
		return
	}
	v := value{data: bytes.Clone(data)}
	if ttlSeconds > 0 {
		v.expiresMs = s.clock.Now() + ttlSeconds*1000
	}
	s.kv[key] = v
}

// expireBatch is the maximum number of values that one call of Expire removes.
const expireBatch = 1000

// Expire implements store.Store.
func (s *Store) Expire(ctx context.Context) (removed int, err error) {
	if err := s.refuse(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, v := range s.kv {
		if removed < expireBatch && v.expired(s.clock.Now()) {
			delete(s.kv, key)
			removed++
		}
	}
	return removed, nil
}
