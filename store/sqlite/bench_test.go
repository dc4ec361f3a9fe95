package sqlite_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
)

// BenchmarkCommand runs commands that read two small rows and replace them, on one object or on many.
func BenchmarkCommand(b *testing.B) {
	for _, objects := range []int64{1, 1000} {
		b.Run(fmt.Sprint(objects, " objects"), func(b *testing.B) {
			s, err := sqlite.Open(ctx, sqlite.Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			var n atomic.Int64
			value := make([]byte, 500)
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(p *testing.PB) {
				rows := []abi.Row{{Key: "a", Value: value}, {Key: "b", Value: value}}
				for p.Next() {
					o := store.Object{Class: abi.ClassKeyMeter, Name: fmt.Sprint(n.Add(1) % objects)}
					err := s.Run(ctx, o, func(r store.Rows, _ uint64) error {
						if _, err := r.Read(abi.Range{Start: "a", End: "c", Limit: 9}); err != nil {
							return err
						}
						return r.Commit(rows, nil, 0)
					})
					if err != nil {
						b.Error(err)
					}
				}
			})
			stats := s.Stats()
			b.ReportMetric(float64(stats.Commands)/float64(stats.Commits), "commands/commit")
		})
	}
}
