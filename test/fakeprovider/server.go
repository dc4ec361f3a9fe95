// Package fakeprovider is a local provider server for tests. It speaks the real wire format of each family over
// HTTP, validates requests as the real provider does, and misbehaves on command. It shares no code with the
// core, so that tests check the core's view of each format independently.
//
// The path selects the family, so one server can act as every provider. Paths can have any prefix:
//
//	/chat/completions, /embeddings              OpenAI and compatible providers
//	/responses                                  OpenAI
//	/openai/deployments/X/chat/completions      Azure; also under /openai/v1
//	/ai/v1/chat/completions                     Workers AI
//	/mistral/…/chat/completions                 Mistral
//	/deepseek/…/chat/completions                DeepSeek
//	/messages, /messages/count_tokens           Anthropic
//	/models/X:generateContent and its variants  Gemini
//	/model/X/converse, /converse-stream, /invoke  Bedrock
//	/v2/chat, /chat, /embed                     Cohere
//	/__fake/…                                   commands; see control.go
package fakeprovider

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Server is the provider. If AWSSecret is set, it verifies Bedrock signatures. Otherwise, it checks only their
// format. AWSSecret must be set before the first request.
type Server struct {
	*httptest.Server
	AWSSecret string

	mu     sync.Mutex
	queue  []Behavior    // commands for the next requests
	rules  []Rule        // of a scripted session
	seen   []*Seen       // requests since the last Reset
	active int           // requests in progress
	held   int           // requests that are waiting for the gate
	gate   chan struct{} // closed by Release
}

// Seen is a request that the server received, and its outcome.
type Seen struct {
	Method string      `json:"method"`
	Path   string      `json:"path"` // as sent, still escaped
	Query  string      `json:"query"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Family string      `json:"family"`
	Op     string      `json:"op"` // chat, embed, count or moderate

	At             time.Time `json:"at"`
	Done           bool      `json:"done"`       // the server has finished the request
	Status         int       `json:"status"`     // of the response; 0: no response header was sent
	EventsSent     int       `json:"eventsSent"` // of a stream
	Disconnected   bool      `json:"left"`       // the client disconnected before the end of the response
	DisconnectedAt time.Time `json:"leftAt"`

	Usage *ScriptedUsage `json:"usage"` // usage of the response to a chat; nil: none
}

// New starts a server on a free port. Without commands, it gives every request a valid response.
func New() *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fakeprovider: no port on 127.0.0.1: " + err.Error())
	}
	return NewAt(listener)
}

// NewAt starts a server on a listener.
func NewAt(listener net.Listener) *Server {
	s := &Server{gate: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	_ = s.Server.Listener.Close()
	s.Server.Listener = listener
	s.Start()
	return s
}

// Close stops the server and aborts all requests.
func (s *Server) Close() {
	s.Release()
	s.CloseClientConnections()
	s.Server.Close()
}

// Reset clears all commands, rules and recorded requests, and releases held requests.
func (s *Server) Reset() {
	s.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.seen, s.rules = nil, nil, nil
}

// Release lets the held requests continue with a valid response.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gate)
	s.held, s.gate = 0, make(chan struct{})
}

// Held returns the number of requests that are waiting for Release.
func (s *Server) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Active returns the number of requests in progress.
func (s *Server) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// Next queues a command. It applies to the next request of its family that has no command yet.
func (s *Server) Next(b Behavior) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, b)
}

// Seen returns all requests since the last Reset, in their current state.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Seen, len(s.seen))
	for i, one := range s.seen {
		all[i] = *one
	}
	return all
}

// record stores a request and returns its command.
func (s *Server) record(q *request) (*Seen, Behavior) {
	r := q.r
	seen := &Seen{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone(),
		Body: string(q.body), Family: q.family(), Op: q.op, At: time.Now(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	s.active++
	for i, b := range s.queue {
		if b.Family == "" || b.Family == seen.Family || b.Family == "embeddings" && q.op == "embed" {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			b.rules = s.rules
			return seen, b
		}
	}
	return seen, Behavior{Kind: "answer", rules: s.rules}
}

// done records the end of a request.
func (s *Server) done(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	x.seen.Done = true
	if x.finished || x.r.Context().Err() == nil {
		return
	}
	x.seen.Disconnected, x.seen.DisconnectedAt = true, time.Now()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.control(w, r) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	q := newRequest(r, body, s.AWSSecret)
	x := &exchange{server: s, w: w, r: r, flush: http.NewResponseController(w), request: q}
	x.seen, x.b = s.record(q)
	defer s.done(x)
	x.run()
}
