package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/store/memory"
)

// The benchmarks run exchanges on a memory store, with a provider and a client in this process, so they measure the
// allocations of the host and the core.

const benchChunks = 500

const benchCompletion = `{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"gpt-4.1-mini","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`

// cannedProvider answers every request with the same text, or with a stream that delivers one chunk per read.
type cannedProvider struct{}

func (cannedProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, _ := io.ReadAll(r.Body)
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	response.Body = io.NopCloser(strings.NewReader(benchCompletion))
	if bytes.Contains(sent, []byte(`"stream":true`)) {
		response.Header.Set("Content-Type", "text/event-stream")
		response.Body = io.NopCloser(&cannedStream{left: benchChunks})
	}
	return response, nil
}

// cannedStream is a stream that has left more chunks to deliver.
type cannedStream struct{ left int }

func (s *cannedStream) Read(p []byte) (int, error) {
	if s.left--; s.left >= 0 {
		return copy(p, `data: {"id":"c","object":"chat.completion.chunk","created":1790000000,"model":"gpt-4.1-mini",`+
			`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`+"\n\n"), nil
	}
	if s.left == -1 {
		return copy(p, `data: {"id":"c","object":"chat.completion.chunk","created":1790000000,"model":"gpt-4.1-mini",`+
			`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"), nil
	}
	return 0, io.EOF
}

type discard struct {
	header http.Header
	status int
	bytes  int
}

func (d *discard) Header() http.Header     { return d.header }
func (d *discard) WriteHeader(status int)  { d.status = status }
func (d *discard) FlushError() error       { return nil }
func (d *discard) EnableFullDuplex() error { return nil }
func (d *discard) Write(p []byte) (int, error) {
	d.bytes += len(p)
	return len(p), nil
}

type systemClock struct{}

func (systemClock) Now() uint64 { return uint64(time.Now().UnixMilli()) }

// newBenchHost returns a host with a key on a plan without limits.
func newBenchHost(b *testing.B, engine Engine) (*Host, *StoredObjects) {
	b.Helper()
	rows := memory.New(systemClock{})
	objects := &StoredObjects{Engine: engine, Store: rows, Stats: &Stats{}}
	h, err := New(Options{Engine: engine, Clock: systemClock{}, KV: rows, Objects: objects, Stats: objects.Stats, Log: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	h.client.Transport = cannedProvider{}
	project := doc.Project{ID: testProject, Plan: "unlimited", CacheTTLSeconds: 3600}
	key := doc.Key{ID: "key_1", ProjectID: testProject, Kind: keys.Gateway, Environment: keys.Production}
	put := keymeter.Put{Status: doc.Active, Record: doc.NewRecord(&key, 1, &project, 1)}
	budget := ledger.Put{Version: 1, BudgetPico: 100_000 * money.Dollar}
	_, budgetErr := objects.Call(context.Background(), abi.ClassLedger, testProject, "", budget.Encode())
	_, err = objects.Call(context.Background(), abi.ClassKeyMeter, keys.Hash(testKey(keys.Production)), "", put.Encode())
	if err != nil || budgetErr != nil {
		b.Fatal(err, budgetErr)
	}
	return h, objects
}

// benchmarkRequests runs one exchange per iteration. body gets the iteration's number.
func benchmarkRequests(b *testing.B, body func(int) string) {
	h, objects := newBenchHost(b, newNative(b))
	one := func(i int) {
		r, _ := http.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body(i)))
		r.RequestURI, r.RemoteAddr = "/v1/chat/completions", "127.0.0.1:40000"
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {testKey(keys.Production)}}
		w := &discard{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatalf("status %d", w.status)
		}
	}
	one(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		one(i)
	}
	h.Cut() // the keeper of the key's lease need not sleep until the lease ends
	h.Wait()
	objects.Wait()
}

func BenchmarkUncached(b *testing.B) {
	benchmarkRequests(b, func(i int) string {
		return fmt.Sprintf(`{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"Say hello, number %d."}]}`, i+1)
	})
}

func BenchmarkHit(b *testing.B) {
	benchmarkRequests(b, func(int) string {
		return `{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"Say hello."}]}`
	})
}

// BenchmarkStream reports the cost of a stream of 500 chunks.
func BenchmarkStream(b *testing.B) {
	benchmarkRequests(b, func(i int) string {
		return fmt.Sprintf(`{"model":"gpt-4.1-mini","stream":true,"messages":[{"role":"user","content":"Say hello, number %d."}]}`, i+1)
	})
}
