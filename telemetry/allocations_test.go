package telemetry

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	shipped "github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/server"
)

const benchLine = `{"level":"info","timeMs":1700000000123,"requestId":"req_0123456789abcdef0123456789abcdef","route":"/v1/chat/completions","status":200,` +
	`"code":"","durationMs":12,"projectId":"proj_1","keyId":"key_1","provider":"openai","model":"gpt-4.1","cache":"miss","promptTokens":100,` +
	`"completionTokens":50,"costCents":0.0123,"attempts":1,"attemptResults":"openai/gpt-4.1=200","stream":true}`

func benchTelemetry(t testing.TB) *Telemetry {
	o, err := New(context.Background(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	parsed, problem := config.Parse(abi.Config{Catalog: shipped.Default})
	if problem != "" {
		t.Fatal(problem)
	}
	o.Watch(server.Parts{Config: parsed})
	return o
}

// observe reports one streamed request with one attempt to the observer.
func observe(o *Telemetry, fetch *abi.Action, piece, line []byte) {
	x := o.Begin("", benchRequest)
	a := x.Attempt(fetch, nil)
	a.Head(200)
	x.Head(200, benchHeaders, true)
	for range 10 {
		x.Sent(piece)
	}
	a.End(0, false)
	x.Log(line)
	x.End()
}

var (
	benchRequest = httptest.NewRequest("POST", "/v1/chat/completions", nil)
	benchHeaders = []abi.Header{{Name: "content-type", Value: "text/event-stream"}, {Name: "x-postern-governor", Value: "approve; risk=0; policy=2"}}
)

// TestAllocations checks that a request costs few allocations. It does not count the decoding of the exchange's state
// for each attempt.
func TestAllocations(t *testing.T) {
	o := benchTelemetry(t)
	fetch, piece, line := &abi.Action{}, []byte("data: x\n\n"), []byte(benchLine)
	if n := testing.AllocsPerRun(1000, func() { observe(o, fetch, piece, line) }); n > 3 {
		t.Errorf("%v allocations per request, want at most 3", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	o := benchTelemetry(b)
	fetch, piece, line := &abi.Action{}, []byte("data: x\n\n"), []byte(benchLine)
	b.ReportAllocs()
	for b.Loop() {
		observe(o, fetch, piece, line)
	}
}
