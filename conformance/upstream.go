// Package conformance runs scenarios, written as text, against any host of the core.
package conformance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
)

// Upstream is a provider on this machine that speaks real HTTP and misbehaves on command.
type Upstream struct {
	*httptest.Server
	mu    sync.Mutex
	queue []Behaviour
	seen  []Seen
	held  int           // requests at the gate
	gate  chan struct{} // closed when they may go on
}

// Behaviour is what the upstream does with one request.
type Behaviour struct {
	Kind    string // "answer" or a misbehaviour: see serve
	Status  int
	Headers map[string]string
	Body    string
}

// Seen is a request as the upstream got it.
type Seen struct {
	Path   string
	Header http.Header
	Body   string
}

// NewUpstream starts one. Without commands it answers every request well.
func NewUpstream() *Upstream {
	u := &Upstream{gate: make(chan struct{})}
	u.Server = httptest.NewServer(http.HandlerFunc(u.serve))
	return u
}

// Reset forgets commands and requests, and lets go what it holds.
func (u *Upstream) Reset() {
	u.Release()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queue, u.seen = nil, nil
}

// Release lets the held requests go on to a good answer.
func (u *Upstream) Release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.gate)
	u.held, u.gate = 0, make(chan struct{})
}

// Held is how many requests wait for Release.
func (u *Upstream) Held() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held
}

// hold makes a request wait at the gate.
func (u *Upstream) hold(r *http.Request) {
	u.mu.Lock()
	u.held++
	gate := u.gate
	u.mu.Unlock()
	select {
	case <-gate:
	case <-r.Context().Done():
	}
}

// Next queues what to do with the next request that has no command yet.
func (u *Upstream) Next(b Behaviour) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queue = append(u.queue, b)
}

// Seen is all requests since the last Reset.
func (u *Upstream) Seen() []Seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Seen(nil), u.seen...)
}

func (u *Upstream) take(r *http.Request) Behaviour {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen = append(u.seen, Seen{r.URL.Path, r.Header.Clone(), string(body)})
	if len(u.queue) == 0 {
		return Behaviour{Kind: "answer"}
	}
	b := u.queue[0]
	u.queue = u.queue[1:]
	return b
}

// GoodAnswer is what a well-behaved provider says.
const GoodAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"m","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"Hello from upstream"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150}}`

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	b := u.take(r)
	switch b.Kind {
	case "hold": // until it is released
		u.hold(r)
	case "hang": // no response head, ever
		<-r.Context().Done()
		return
	case "drop": // the connection breaks before a response head
		panic(http.ErrAbortHandler)
	}
	body := b.Body
	if body == "" {
		body = GoodAnswer
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range b.Headers {
		w.Header().Set(name, value)
	}
	if b.Kind == "broken" || b.Kind == "stall" || b.Kind == "silent" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(max(b.Status, 200))
	u.send(w, r, b.Kind, body)
}

func (u *Upstream) send(w http.ResponseWriter, r *http.Request, kind, body string) {
	flush := http.NewResponseController(w)
	switch kind {
	case "silent": // a head, but no byte of the body
		_ = flush.Flush()
		<-r.Context().Done()
	case "stall": // half a body, then nothing
		_, _ = io.WriteString(w, body[:len(body)/2])
		_ = flush.Flush()
		<-r.Context().Done()
	case "broken": // half a body, then the connection breaks
		_, _ = io.WriteString(w, body[:len(body)/2])
		_ = flush.Flush()
		panic(http.ErrAbortHandler)
	case "truncated": // a whole response with half an answer in it
		_, _ = io.WriteString(w, body[:len(body)/2])
	case "huge":
		chunk := make([]byte, 1<<20)
		for range 12 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	default:
		_, _ = io.WriteString(w, body)
	}
}
