package postgres_test

import (
	"crypto/rand"
	"errors"
	"strconv"
	"testing"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/storetest"
)

// TestExpiringValuesAreBounded: above the limit, only the values that expire first are removed.
func TestExpiringValuesAreBounded(t *testing.T) {
	const values, bytes, limit = 600, 2000, 500_000
	s := open(t, postgres.Config{URL: database(t), ExpiringBytes: limit, Clock: storetest.NewClock()})
	value := make([]byte, bytes)
	_, _ = rand.Read(value) // cannot be compressed
	for i := range values {
		if err := s.Write(t.Context(), "cache/"+strconv.Itoa(i), value, uint64(1000+i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(t.Context(), "key/1", value, 0); err != nil {
		t.Fatal(err)
	}
	total := 0
	for {
		removed, err := s.Expire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if removed == 0 {
			break
		}
		total += removed
	}
	if kept := values - total; kept > limit/bytes || kept < limit/bytes*9/10 {
		t.Errorf("%d of %d values are kept, want about %d", kept, values, limit/bytes)
	}
	for key, want := range map[string]bool{"cache/0": false, "cache/599": true, "key/1": true} {
		if _, ok, err := s.Read(t.Context(), key); ok != want || err != nil {
			t.Errorf("%s: %v %v, want %v", key, ok, err, want)
		}
	}
}

func TestLargeValue(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t)})
	if err := s.Write(t.Context(), "k", make([]byte, store.MaxCommandBytes+1), 60); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if err := s.Write(t.Context(), "k", make([]byte, store.MaxCommandBytes), 60); err != nil {
		t.Error(err)
	}
}
