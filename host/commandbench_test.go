package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/store/memory"
	"github.com/postern-ai/postern/store/sqlite"

	"github.com/postern-ai/postern/store"
)

// BenchmarkCommands runs the commands of requests, an admission and a settlement each, with 64 requests at the same
// time, of one key or of many. An iteration is one request.
func BenchmarkCommands(b *testing.B) {
	for _, backend := range []string{"memory", "sqlite"} {
		for _, count := range []int64{1, 64} {
			b.Run(fmt.Sprintf("%s/%d keys", backend, count), func(b *testing.B) { benchmarkCommands(b, backend, count) })
		}
	}
}

func benchmarkCommands(b *testing.B, backend string, count int64) {
	var rows store.Store = memory.New(systemClock{})
	if backend == "sqlite" {
		s, err := sqlite.Open(context.Background(), sqlite.Config{Dir: b.TempDir(), Durability: sqlite.Process})
		if err != nil {
			b.Fatal(err)
		}
		rows = s
	}
	defer func() { _ = rows.Close() }()
	objects := &StoredObjects{Engine: newNative(b), Store: rows, Stats: &Stats{}}
	defer objects.Wait()
	for i := range count {
		openMeter(b, objects, fmt.Sprint("key ", i))
	}
	var n atomic.Int64
	start := cpuTime()
	defer func() { b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op") }()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			i := n.Add(1)
			benchRequest(b, objects, fmt.Sprint("key ", i%count), fmt.Sprintf("req_%032d", i))
		}
	})
}

// cpuTime returns the process's CPU time in nanoseconds. Unlike the elapsed time, it does not depend on other programs.
func cpuTime() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// openMeter creates a key's meter, and grants it a slice that is large enough.
func openMeter(b *testing.B, objects *StoredObjects, name string) {
	project := doc.Project{ID: testProject, Plan: "unlimited", CacheTTLSeconds: 3600}
	key := doc.Key{ID: "key_1", ProjectID: testProject, Kind: keys.Gateway, Environment: keys.Production}
	put := keymeter.Put{Status: doc.Active, Record: doc.NewRecord(&key, 1, &project, 1)}
	benchCall(b, objects, name, put.Encode())
	admit := benchAdmit("first")
	reply, err := keymeter.DecodeAdmitReply(benchCall(b, objects, name, admit.Encode()))
	if err != nil || reply.Verdict != keymeter.Short {
		b.Fatal(reply, err)
	}
	admit.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: 1000_000 * money.Dollar}
	benchCall(b, objects, name, admit.Encode())
}

func benchCall(b *testing.B, objects *StoredObjects, name string, command []byte) []byte {
	reply, err := objects.Call(context.Background(), abi.ClassKeyMeter, name, "", command)
	if err != nil {
		b.Error(err)
	}
	return reply
}

func benchAdmit(id string) keymeter.Admit {
	return keymeter.Admit{RequestID: id, Version: 2, Mode: keymeter.ModeReserve, Model: "gpt-4.1-mini", AmountPico: money.Dollar / 1000, LifetimeMs: 600_000}
}

func benchRequest(b *testing.B, objects *StoredObjects, name, id string) {
	admit := benchAdmit(id)
	benchCall(b, objects, name, admit.Encode())
	settle := keymeter.Settle{
		RequestID: id, Outcome: keymeter.Served, Model: "gpt-4.1-mini", Tokens: keymeter.Tokens{Prompt: 100, Completion: 20}, CostPico: money.Dollar / 10_000, Missed: true,
		Trace: keymeter.Trace{Provider: "openai", Agent: "OpenAI/Python 1.99.0", Status: 200, DurationMs: 12, Cache: ledger.CacheMiss},
	}
	benchCall(b, objects, name, settle.Encode())
}
