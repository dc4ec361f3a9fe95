// Package fakeprovider is a provider on this machine that speaks the real wire format of each family over
// HTTP, checks requests as the real one does, and misbehaves on command. It shares no code with the core: what
// the core says of a format is tested against it.
//
// The family is told by the path, so one server stands in for all of them; what comes before the paths below
// is free:
//
//	/chat/completions, /embeddings              OpenAI and those who speak like it
//	/responses                                  OpenAI
//	/openai/deployments/X/chat/completions      Azure; also below /openai/v1
//	/ai/v1/chat/completions                     Workers AI
//	/mistral/…/chat/completions                 Mistral
//	/deepseek/…/chat/completions                DeepSeek
//	/messages, /messages/count_tokens           Anthropic
//	/models/X:generateContent and the like      Gemini
//	/model/X/converse, /converse-stream, /invoke  Bedrock
//	/v2/chat, /chat, /embed                     Cohere
//	/__fake/…                                   control.go
package fakeprovider

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Server is the provider. AWSSecret, if it is set before the first request, makes it check Bedrock's
// signatures themselves and not their shape only.
type Server struct {
	*httptest.Server
	AWSSecret string

	mu     sync.Mutex
	queue  []Behaviour
	seen   []*Seen
	active int
	held   int           // requests at the gate
	gate   chan struct{} // closed when they may go on
}

// Seen is a request as the server got it, and what became of it.
type Seen struct {
	Method string      `json:"method"`
	Path   string      `json:"path"` // as it was sent, escapes and all
	Query  string      `json:"query"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Family string      `json:"family"`
	Op     string      `json:"op"` // chat, embed or count

	At         time.Time `json:"at"`
	Done       bool      `json:"done"`       // it is over
	Status     int       `json:"status"`     // of the answer; 0: no head was sent
	EventsSent int       `json:"eventsSent"` // of a stream
	Left       bool      `json:"left"`       // the client left before the end
	LeftAt     time.Time `json:"leftAt"`
}

// New starts one on a free port. Without commands it answers every request well.
func New() *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fakeprovider: no port on 127.0.0.1: " + err.Error())
	}
	return NewAt(listener)
}

// NewAt starts one on a listener.
func NewAt(listener net.Listener) *Server {
	s := &Server{gate: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	_ = s.Server.Listener.Close()
	s.Server.Listener = listener
	s.Start()
	return s
}

// Close ends the server and everything that it serves.
func (s *Server) Close() {
	s.Release()
	s.CloseClientConnections()
	s.Server.Close()
}

// Reset forgets commands and requests, and lets go what it holds.
func (s *Server) Reset() {
	s.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.seen = nil, nil
}

// Release lets the held requests go on to a good answer.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gate)
	s.held, s.gate = 0, make(chan struct{})
}

// Held is how many requests wait for Release.
func (s *Server) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Active is how many requests are being served.
func (s *Server) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// Next queues what to do with the next request of its family that has no command yet.
func (s *Server) Next(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, b)
}

// Seen is all requests since the last Reset, as they stand now.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Seen, len(s.seen))
	for i, one := range s.seen {
		all[i] = *one
	}
	return all
}

// take records a request and finds its command.
func (s *Server) take(q *request) (*Seen, Behaviour) {
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
			return seen, b
		}
	}
	return seen, Behaviour{Kind: "answer"}
}

// done records how a request ended.
func (s *Server) done(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	x.seen.Done = true
	if x.finished || x.r.Context().Err() == nil {
		return
	}
	x.seen.Left, x.seen.LeftAt = true, time.Now()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.control(w, r) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	q := newRequest(r, body, s.AWSSecret)
	x := &exchange{server: s, w: w, r: r, flush: http.NewResponseController(w), request: q}
	x.seen, x.b = s.take(q)
	defer s.done(x)
	x.run()
}
