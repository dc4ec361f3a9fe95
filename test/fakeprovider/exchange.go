package fakeprovider

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"
)

type exchange struct {
	server   *Server
	w        http.ResponseWriter
	r        *http.Request
	flush    *http.ResponseController
	request  *request
	seen     *Seen
	b        Behavior
	finished bool // everything was sent
}

const errorPage = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n" +
	"<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>\n"

func (x *exchange) run() {
	if !x.beforeHead() {
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
		x.send("text/html", []byte(errorPage))
		return
	}
	if x.b.Body == "" {
		if refusal := x.request.refuse(); refusal != nil {
			x.b = Behavior{Kind: "answer"}
			x.fail(refusal)
			return
		}
	}
	x.answer()
}

// beforeHead does what the behavior requires before the response header. It returns false if no header will be sent.
func (x *exchange) beforeHead() bool {
	switch x.b.Kind {
	case "hold":
		x.server.hold(x.r)
	case "late-head":
		delay := x.b.DelayMs
		if delay == 0 {
			delay = defaultLateMs
		}
		return x.sleep(delay)
	case "hang":
		x.waitForDisconnect()
		return false
	case "drop":
		panic(http.ErrAbortHandler)
	}
	return true
}

// hold blocks a request until Release or a disconnect.
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
	if x.b.isWhole() || x.b.Status >= 300 || !prompt.stream {
		x.whole(&prompt)
		return
	}
	a := x.respond(&prompt)
	x.head(q.wire.framing.contentType(), -1)
	x.stream(q.wire.events(a))
}

func (x *exchange) whole(p *prompt) {
	switch {
	case x.b.Kind == "wrong-type" && x.b.Body == "":
		x.send("text/html", []byte(errorPage))
	case x.b.Kind == "wrong-type":
		x.send("text/html", []byte(x.b.Body))
	case x.b.Body != "":
		x.send("application/json", []byte(x.b.Body))
	default:
		x.send("application/json", x.request.whole(x.respond(p), &x.b))
	}
}

// respond chooses the content of the response, and records its usage.
func (x *exchange) respond(p *prompt) *answer {
	a := respond(p, &x.b)
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	if x.request.op == "chat" {
		x.seen.Usage = a.reported(x.request.family())
	}
	return a
}

func (x *exchange) fail(f *refusal) {
	if f.message == "" {
		f.message = "The provider returned status " + strconv.Itoa(f.status) + "."
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

// head sends the response header. A negative length means that it is unknown.
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

func (x *exchange) send(contentType string, body []byte) {
	switch x.b.Kind {
	case "silent":
		x.head(contentType, len(body))
		_ = x.flush.Flush()
		x.waitForDisconnect()
	case "stall":
		x.head(contentType, len(body))
		if x.write(body[:len(body)/2]) {
			x.waitForDisconnect()
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

// write sends bytes and flushes. It returns false if the client disconnected.
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

// sleep waits. It returns false if the client disconnected.
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

func (x *exchange) waitForDisconnect() { <-x.r.Context().Done() }

// reset resets the connection. The client sees ECONNRESET instead of a clean end.
func (x *exchange) reset() {
	time.Sleep(20 * time.Millisecond) // so that the reset does not overtake the written data
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
