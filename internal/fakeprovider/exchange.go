package fakeprovider

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"
)

// exchange is one request being served.
type exchange struct {
	server   *Server
	w        http.ResponseWriter
	r        *http.Request
	flush    *http.ResponseController
	request  *request
	seen     *Seen
	b        Behaviour
	finished bool // everything that was to be sent was sent
}

const page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n" +
	"<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>\n"

func (x *exchange) run() {
	if !x.before() {
		return
	}
	if x.b.Kind == "status" {
		x.fail(&refusal{status: max(x.b.Status, 400)})
		return
	}
	if x.b.Kind == "status-html" {
		if x.b.Status == 0 {
			x.b.Status = http.StatusBadGateway
		}
		x.send("text/html", []byte(page))
		return
	}
	if x.b.Body == "" {
		if refused := x.request.refuse(); refused != nil {
			x.b = Behaviour{Kind: "answer"}
			x.fail(refused)
			return
		}
	}
	x.answer()
}

// before does what comes before a head; false if there will be none.
func (x *exchange) before() bool {
	switch x.b.Kind {
	case "hold":
		x.server.hold(x.r)
	case "late-head":
		late := x.b.DelayMs
		if late == 0 {
			late = defaultLateMs
		}
		return x.sleep(late)
	case "hang":
		x.untilLeft()
		return false
	case "drop":
		panic(http.ErrAbortHandler)
	}
	return true
}

// hold makes a request wait at the gate.
func (s *Server) hold(r *http.Request) {
	s.mu.Lock()
	s.held++
	gate := s.gate
	s.mu.Unlock()
	select {
	case <-gate:
	case <-r.Context().Done():
	}
}

func (x *exchange) answer() {
	q := x.request
	prompt := q.prompt()
	if x.b.raw() || x.b.Status >= 300 || !prompt.stream {
		x.whole(&prompt)
		return
	}
	a := respond(&prompt, &x.b)
	x.head(q.wire.framing.contentType(), -1)
	x.stream(q.wire.events(a))
}

// whole sends a body in one piece, or in as many as its kind says.
func (x *exchange) whole(p *prompt) {
	switch {
	case x.b.Kind == "wrong-type" && x.b.Body == "":
		x.send("text/html", []byte(page))
	case x.b.Kind == "wrong-type":
		x.send("text/html", []byte(x.b.Body))
	case x.b.Body != "":
		x.send("application/json", []byte(x.b.Body))
	default:
		x.send("application/json", x.request.whole(p, &x.b))
	}
}

// fail sends the family's own error.
func (x *exchange) fail(f *refusal) {
	if f.message == "" {
		f.message = "The provider says " + strconv.Itoa(f.status) + "."
	}
	body, headers := x.request.failure(f)
	for name, value := range headers {
		x.w.Header().Set(name, value)
	}
	if x.b.Body != "" {
		body = []byte(x.b.Body)
	}
	x.b.Status = f.status
	x.send("application/json", body)
}

// head sends the response head; length below 0: not known before.
func (x *exchange) head(contentType string, length int) {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set(x.request.idHeader(), "req_fake")
	for name, value := range x.b.Headers {
		h.Set(name, value)
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	status := max(x.b.Status, 200)
	x.w.WriteHeader(status)
	x.server.mu.Lock()
	x.seen.Status = status
	x.server.mu.Unlock()
}

// send sends a body that is at hand.
func (x *exchange) send(contentType string, body []byte) {
	switch x.b.Kind {
	case "silent":
		x.head(contentType, len(body))
		_ = x.flush.Flush()
		x.untilLeft()
	case "stall":
		x.head(contentType, len(body))
		if x.write(body[:len(body)/2]) {
			x.untilLeft()
		}
	case "broken":
		x.head(contentType, len(body))
		_ = x.write(body[:len(body)/2])
		x.reset()
	case "truncated":
		x.head(contentType, len(body)/2)
		x.finished = x.write(body[:len(body)/2])
	case "huge":
		x.head(contentType, -1)
		x.finished = x.repeat(make([]byte, 1<<20), 12)
	case "endless":
		x.head(contentType, -1)
		_ = x.write(body[:len(body)/2]) && x.repeat(bytes.Repeat([]byte(" \n"), 1<<9), 1<<40)
	case "bytewise":
		x.head(contentType, len(body))
		x.finished = x.bytewise(body)
	default:
		x.head(contentType, len(body))
		x.finished = x.write(body)
	}
}

// write sends bytes at once; false if the client has left.
func (x *exchange) write(data []byte) bool {
	if x.r.Context().Err() != nil {
		return false
	}
	_, err := x.w.Write(data)
	return err == nil && x.flush.Flush() == nil
}

func (x *exchange) bytewise(data []byte) bool {
	for i := range data {
		if !x.write(data[i : i+1]) {
			return false
		}
	}
	return true
}

func (x *exchange) repeat(data []byte, times int) bool {
	for range times {
		if !x.write(data) {
			return false
		}
	}
	return true
}

// sleep waits; false if the client left meanwhile.
func (x *exchange) sleep(ms int) bool {
	if ms <= 0 {
		return x.r.Context().Err() == nil
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.r.Context().Done():
		return false
	}
}

func (x *exchange) untilLeft() { <-x.r.Context().Done() }

// reset breaks the connection so that the client sees ECONNRESET and no clean end.
func (x *exchange) reset() {
	time.Sleep(20 * time.Millisecond) // for what was written to arrive: a reset overtakes it otherwise
	conn, _, err := x.flush.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x.finished = true
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
