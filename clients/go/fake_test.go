package postern

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	okCompletion = `{"text":"Hi","provider":"mock","model":"m","cacheHit":false,"usage":{"totalTokens":3,"costCents":0.5}}`
	okStream     = "data: {\"type\":\"delta\",\"text\":\"Hi\"}\n\n" +
		"data: {\"type\":\"done\",\"provider\":\"mock\",\"model\":\"m\",\"usage\":{\"costCents\":0.5}}\n\ndata: [DONE]\n\n"
)

var hello = CompletionParams{Messages: []Message{User("Hello!")}}

// answer sends a status and a body. The first characters of the body determine the content type.
func answer(w http.ResponseWriter, status int, body string) {
	kind := "application/json"
	if body != "" && body[0] == 'd' {
		kind = "text/event-stream"
	}
	w.Header().Set("content-type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// openBodies is a transport that counts what a call must release: response bodies and contexts. A parent context
// refers to each child context until that context is done.
type openBodies struct {
	http.RoundTripper
	open     atomic.Int64
	mu       sync.Mutex
	contexts []context.Context
}

func (o *openBodies) live() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(slices.DeleteFunc(o.contexts, func(ctx context.Context) bool { return ctx.Err() != nil }))
}

func (o *openBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.contexts = append(o.contexts, r.Context())
	o.mu.Unlock()
	response, err := o.RoundTripper.RoundTrip(r)
	if err == nil {
		o.open.Add(1)
		response.Body = &countedBody{response.Body, o, atomic.Bool{}}
	}
	return response, err
}

type countedBody struct {
	io.ReadCloser
	counter *openBodies
	closed  atomic.Bool
}

func (b *countedBody) Close() error {
	if !b.closed.Swap(true) {
		b.counter.open.Add(-1)
	}
	return b.ReadCloser.Close()
}

// newFake returns a client for a server with the given handler. The client does not wait between attempts. When the
// test ends, newFake checks that no body is open and no goroutine is left.
func newFake(t *testing.T, handler http.HandlerFunc, opts ...Option) *Client {
	before := runtime.NumGoroutine()
	server := httptest.NewServer(handler)
	transport := &http.Transport{}
	bodies := &openBodies{RoundTripper: transport}
	client, err := New(append([]Option{
		WithAPIKey(tableKey), WithBaseURL(server.URL), WithHTTPClient(&http.Client{Transport: bodies}), WithLogging(Logging{Level: LogOff}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	client.sleep = func(context.Context, time.Duration) {}
	t.Cleanup(func() {
		if n := bodies.open.Load(); n != 0 {
			t.Errorf("%d response bodies are open", n)
		}
		if n := bodies.live(); n != 0 {
			t.Errorf("%d contexts are not done", n)
		}
		transport.CloseIdleConnections()
		server.Close()
		for end := time.Now().Add(closeTimeout); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<16)
				t.Fatalf("%d goroutines, want %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
	})
	return client
}

// newScripted returns a client for a server that sends the given bodies in order. When there are no more, the server
// repeats the last one.
func newScripted(t *testing.T, status int, bodies ...string) *Client {
	var n atomic.Int64
	return newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, status, bodies[min(int(n.Add(1)), len(bodies))-1])
	})
}

func newLogger(w io.Writer) *slog.Logger { return slog.New(newPrettyHandler(w)) }
