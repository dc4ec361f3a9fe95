package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
)

var _ store.Meter = (*sqlite.Store)(nil)

// TestMeasure: the figures count commands, not groups. If a command returns its own error, that is not a failure of
// the store.
func TestMeasure(t *testing.T) {
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := store.Object{Class: abi.ClassLedger, Name: "measured"}
	put := func(rows store.Rows, _ uint64) error {
		return rows.Commit([]abi.Row{{Key: "k", Value: []byte("v")}}, nil, 0)
	}
	before := s.Measure(t.Context())
	for range 3 {
		if err := s.Run(t.Context(), o, put); err != nil {
			t.Fatal(err)
		}
	}
	own := errors.New("the command's own")
	if err := s.Run(t.Context(), o, func(store.Rows, uint64) error { return own }); !errors.Is(err, own) {
		t.Fatal(err)
	}
	down := func(store.Rows, uint64) error { return store.ErrUnavailable }
	if err := s.Run(t.Context(), o, down); !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
	m := s.Measure(context.Background())
	commits := m.Commits.Count() - before.Commits.Count()
	if m.Commands-before.Commands != 5 || m.Failed-before.Failed != 1 || m.Grouped-before.Grouped != 3 || commits < 1 || commits > 3 {
		t.Errorf("before %+v, after %+v", before, m)
	}
	if m.Waiting != 0 || m.Bytes == 0 || m.Commits.Total <= 0 {
		t.Errorf("%+v", m)
	}
}
