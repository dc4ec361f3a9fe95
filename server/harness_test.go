package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
)

const (
	testToken = "an-owner-token-for-tests"
	giveUp    = 20 * time.Second // long, because only a failing test waits for it
)

// buffer is a writer that tests can read at any time.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// provider is a provider whose streams begin at once and then wait for the test before they continue.
type provider struct {
	*httptest.Server
	more  chan string   // pieces of the streams' text; the streams end when it is closed
	left  chan struct{} // one token for each stream that the gateway disconnected
	calls chan struct{} // a token per request
}

const streamStart = `{"choices":[{"index":0,"delta":{"role":"assistant","content":%q}}]}`

func newProvider(t testing.TB) *provider {
	p := &provider{more: make(chan string), left: make(chan struct{}, 100), calls: make(chan struct{}, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.calls <- struct{}{}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(io.Discard, r.Body)
		p.send(w, "first")
		for {
			select {
			case text, open := <-p.more:
				if !open {
					_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`+"\n\ndata: [DONE]\n\n")
					return
				}
				p.send(w, text)
			case <-r.Context().Done():
				p.left <- struct{}{}
				return
			}
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) send(w http.ResponseWriter, text string) {
	_, _ = fmt.Fprintf(w, "data: "+streamStart+"\n\n", text)
	_ = http.NewResponseController(w).Flush()
}

// running is a server with a listener and a project with a production key.
type running struct {
	*Server
	t       testing.TB
	url     string
	client  *http.Client
	log     *buffer
	key     string
	project string
	config  Config
	stop    context.CancelFunc // shuts down
	result  chan error         // of Run
}

// kept is a store that stays open when a server closes it, so another server can use it.
type kept struct{ store.Store }

func (kept) Close() error { return nil }

// testConfig returns a configuration with a free address and no data directory.
func testConfig(p *provider) Config {
	c := Config{
		Env:    map[string]string{"POSTERN_ADMIN_TOKEN": testToken},
		Listen: "127.0.0.1:0", OpsListen: "off", Drain: giveUp, Test: Test{Store: kept{memory.New(clock{})}},
	}
	if p != nil {
		maps.Copy(c.Env, map[string]string{"OPENAI_BASE_URL": p.URL + "/v1", "OPENAI_API_KEY": "sk-upstream-secret"})
	}
	return c
}

// start starts a server. Before the server runs, change edits it.
func start(t testing.TB, c Config, change func(*Server)) *running {
	t.Helper()
	r := &running{t: t, log: &buffer{}, result: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	c.Log = slog.New(slog.NewTextHandler(r.log, nil))
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r.Server, r.config = s, c
	if change != nil {
		change(s)
	}
	if c.Test.Listener == nil {
		if s.config.Test.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	r.url = "http://" + s.config.Test.Listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.result <- s.Run(ctx) }()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		stop()
		r.wait()
	})
	eventually(t, "ready", func() bool {
		if len(r.result) > 0 {
			t.Fatalf("Run returned %v", r.wait())
		}
		return s.Ready(t.Context()) == nil
	})
	r.project = r.admin("POST", "", `{"name":"Test","plan":"unlimited"}`)["id"].(string)
	r.key = r.admin("POST", "/"+r.project+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)["value"].(string)
	return r
}

func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.result:
		r.result <- err
		return err
	case <-time.After(giveUp + 2*settleTimeout):
		r.t.Fatal("the server does not end")
		return nil
	}
}

func (r *running) admin(method, path, body string) map[string]any {
	r.t.Helper()
	request, _ := http.NewRequest(method, r.url+"/api/admin/projects"+path, strings.NewReader(body))
	request.Header = http.Header{"Authorization": {"Bearer " + testToken}, "Content-Type": {"application/json"}}
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	var reply map[string]any
	if err := json.Unmarshal(text, &reply); err != nil || response.StatusCode >= 300 {
		r.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	return reply
}

func (r *running) request(stream bool, text string) *http.Request {
	body := fmt.Sprintf(`{"model":"gpt-4.1-mini","stream":%t,"messages":[{"role":"user","content":%q}]}`, stream, text)
	request, _ := http.NewRequestWithContext(r.t.Context(), "POST", r.url+"/v1/chat/completions", strings.NewReader(body))
	request.Header = http.Header{
		"Authorization": {"Bearer " + r.key}, "Content-Type": {"application/json"},
		"Cache-Control": {"no-store"}, // each request reaches the provider
	}
	return request
}

// stream is a streamed response in progress.
type stream struct {
	t        testing.TB
	response *http.Response
	lines    *bufio.Reader
}

// openStream starts a stream and reads its first piece.
func (r *running) openStream() *stream {
	r.t.Helper()
	response, err := r.client.Do(r.request(true, "hello"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = response.Body.Close() })
	s := &stream{r.t, response, bufio.NewReader(response.Body)}
	s.until("first")
	return s
}

// until reads up to a line that contains a text and returns that line.
func (s *stream) until(text string) string {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if strings.Contains(line, text) {
			return line
		}
		if err != nil {
			s.t.Fatalf("the stream ended with %v before %q", err, text)
		}
	}
}

func (s *stream) rest() (string, error) {
	data, err := io.ReadAll(s.lines)
	return string(data), err
}

func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(giveUp); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s after %v", what, giveUp)
		}
	}
}

// requests waits until the project has n requests and returns them, newest first.
func (r *running) requests(n int) (found []any) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d requests recorded", n), func() bool {
		found, _ = r.admin("GET", "/"+r.project+"/requests", "")["requests"].([]any)
		return len(found) >= n
	})
	return found
}
