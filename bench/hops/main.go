// Command hops counts the platform operations of each kind of request in the Go host, which runs the same core and
// the same loop as the Worker. It prints the means as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
)

// Requests of each kind. The busy ones last 10 s, so that they include the usage reports, one every 5 s.
const (
	busyRequests   = 500
	sparseRequests = 50
)

// Milliseconds between requests of the key.
const (
	busyMs   = 20
	sparseMs = 20_000
)

const completion = `{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`

// clock is virtual: measure advances it.
type clock struct{ ms uint64 }

func (c *clock) Now() uint64 { return c.ms }

type counts struct {
	Name        string  `json:"name"`
	ObjectCalls float64 `json:"objectCalls"`
	KVReads     float64 `json:"kvReads"`
	KVWrites    float64 `json:"kvWrites"`
	RowsRead    float64 `json:"rowsRead"`
	RowsWritten float64 `json:"rowsWritten"`
	AlarmsSet   float64 `json:"alarmsSet"`
	Steps       float64 `json:"steps"`
}

type bench struct {
	clock   *clock
	stats   *host.Stats
	objects *host.StoredObjects
	host    *host.Host
	key     string
}

func main() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, completion)
	}))
	defer upstream.Close()
	b, err := newBench(upstream.URL)
	if err != nil {
		log.Fatal(err)
	}
	all := []counts{
		b.measure("uncached, the key's first", 1, busyMs, "cold%d", nil),
		b.measure("uncached, 50 per second", busyRequests, busyMs, "unique%d", nil),
		b.measure("hit in memory", busyRequests, busyMs, "unique1", nil),
		b.measure("hit in KV", busyRequests, busyMs, "unique%d", b.host.Evict),
		b.measure("rejected: unknown key", busyRequests, busyMs, "", nil),
		b.measure("uncached, every 20 s", sparseRequests, sparseMs, "sparse%d", nil),
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}

func newBench(upstream string) (*bench, error) {
	b := &bench{clock: &clock{uint64(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())}, stats: &host.Stats{}}
	engine, err := host.NewNative(abi.Config{Catalog: catalog.Default, Env: []abi.Header{
		{Name: "OPENAI_BASE_URL", Value: upstream + "/v1"}, {Name: "OPENAI_API_KEY", Value: "sk-bench"},
	}})
	if err != nil {
		return nil, err
	}
	kv := memory.New(b.clock)
	b.objects = &host.StoredObjects{Engine: engine, Store: kv, Stats: b.stats}
	if err := b.seed(kv); err != nil {
		return nil, err
	}
	b.host, err = host.New(host.Options{Engine: engine, Clock: b.clock, KV: kv, Objects: b.objects, Stats: b.stats})
	return b, err
}

func (b *bench) seed(kv store.KV) error {
	b.key = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1})
	project := doc.Project{ID: "proj_bench", Plan: "unlimited", CacheTTLSeconds: 3600}
	key := doc.Key{ID: "key_bench", ProjectID: project.ID, Kind: keys.Gateway, Environment: keys.Production}
	put := keymeter.Put{Status: doc.Active, Record: doc.NewRecord(&key, 1, &project, 1)}
	budget := ledger.Put{Version: 1, BudgetPico: 1000 * int64(money.Dollar)}
	ctx, hash := context.Background(), keys.Hash(b.key)
	if _, err := b.objects.Call(ctx, abi.ClassLedger, project.ID, "", budget.Encode()); err != nil {
		return err
	}
	if _, err := b.objects.Call(ctx, abi.ClassKeyMeter, hash, "", put.Encode()); err != nil {
		return err
	}
	return kv.Write(ctx, doc.RecordKey(hash), put.Record.Encode(), 0)
}

// measure runs n requests, intervalMs apart, with their alarms and deliveries, and returns the means. An empty prompt
// sends an unknown key.
func (b *bench) measure(name string, n int, intervalMs uint64, prompt string, before func()) counts {
	start := b.totals()
	for i := range n {
		if before != nil {
			before()
		}
		b.send(prompt, i)
		b.clock.ms += intervalMs
		b.ring()
		b.objects.Wait()
	}
	end, mean := b.totals(), func(start, end float64) float64 { return (end - start) / float64(n) }
	return counts{
		name, mean(start.ObjectCalls, end.ObjectCalls), mean(start.KVReads, end.KVReads),
		mean(start.KVWrites, end.KVWrites), mean(start.RowsRead, end.RowsRead),
		mean(start.RowsWritten, end.RowsWritten), mean(start.AlarmsSet, end.AlarmsSet), mean(start.Steps, end.Steps),
	}
}

// totals returns the counts since the start. All kinds share one Stats, because each object keeps the Stats it was
// created with.
func (b *bench) totals() counts {
	s := b.stats
	calls := s.ObjectCalls[abi.ClassKeyMeter].Load() + s.ObjectCalls[abi.ClassLedger].Load()
	return counts{
		"", float64(calls), float64(s.KVReads.Load()), float64(s.KVWrites.Load()), float64(s.RowsRead.Load()),
		float64(s.RowsWritten.Load()), float64(s.AlarmsSet.Load()), float64(s.Steps.Load()),
	}
}

func (b *bench) send(prompt string, i int) {
	key, want := b.key, http.StatusOK
	if prompt == "" {
		key, want = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{9}), http.StatusUnauthorized
	}
	if strings.Contains(prompt, "%d") {
		prompt = fmt.Sprintf(prompt, i)
	}
	body := strings.NewReader(`{"messages":[{"role":"user","content":"` + prompt + `"}]}`)
	request := httptest.NewRequest(http.MethodPost, "/api/ai/complete", body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-Key", key)
	answer := httptest.NewRecorder()
	b.host.ServeHTTP(answer, request)
	b.host.Wait()
	if answer.Code != want {
		log.Fatalf("%s: %d %s", prompt, answer.Code, answer.Body)
	}
}

// ring fires the alarms that are due.
func (b *bench) ring() {
	for {
		if rang, err := b.objects.Ring(context.Background()); err != nil || !rang {
			return
		}
	}
}
