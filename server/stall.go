package server

import (
	"io"
	"net/http"
	"time"
)

// stalls contains the time limits for requests and responses that make no progress.
type stalls struct {
	write time.Duration // longest time in which the client accepts nothing of the response
	read  time.Duration // longest time in which nothing of the request body arrives
	// A request body may take bodyBase and one additional second for every bodyRate bytes.
	bodyBase time.Duration
	bodyRate int64
}

// defaultStalls are long: a phone in a tunnel must not lose its response.
var defaultStalls = stalls{write: time.Minute, read: time.Minute, bodyBase: 2 * time.Minute, bodyRate: 4 << 10}

const (
	pieceBytes   = 64 << 10         // maximum bytes of one write; each write counts as progress
	closeTimeout = 10 * time.Second // time for the rest of an unread body, which net/http discards
)

// bound limits the time of a body and of a response. If one of them stalls, it fails as if the connection were
// broken.
func (l stalls) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		bounded := &boundWriter{ResponseWriter: w, control: control, limit: l.write}
		var body *boundBody
		if r.Body != nil && r.Body != http.NoBody {
			body = &boundBody{ReadCloser: r.Body, control: control, limits: l}
			// The copy of the request gets the bounded body. The original keeps its own, because net/http looks at
			// that body to see whether the client waits for "100 Continue".
			r = r.WithContext(r.Context())
			r.Body = body
		}
		next.ServeHTTP(bounded, r)
		_ = control.SetWriteDeadline(time.Now().Add(l.write)) // time for the data that net/http still has to write
		switch {
		case body == nil || r.ProtoMajor > 1 || body.err == io.EOF:
		case body.err == http.ErrBodyReadAfterClose:
			// Before a response that exceeds its buffer, net/http has read the rest of the body and closed it, or
			// decided to close the connection.
		case body.err != nil:
			// The response was sent before the whole body had arrived. Without this line, net/http would read the
			// rest of the body as the next request; see Host.allowEarlyResponse.
			_ = control.Flush()
			panic(http.ErrAbortHandler)
		case r.Header.Get("Expect") != "":
			linger(control, body.ReadCloser)
		default:
			_ = control.SetReadDeadline(time.Now().Add(closeTimeout))
		}
	})
}

// Limits of linger.
const (
	lingerTimeout = time.Second
	lingerBytes   = 8 << 20
)

// linger waits until the client of an early response closes the connection. After a request with Expect, net/http
// would close the connection at once. If the client is sending the body anyway, it would then lose the response.
func linger(control *http.ResponseController, body io.Reader) {
	_ = control.Flush()
	_ = control.SetReadDeadline(time.Now().Add(lingerTimeout))
	_, _ = io.CopyN(io.Discard, body, lingerBytes)
}

// limited runs f and calls expire if f takes longer than limit. It does not use a deadline of net/http: such a
// deadline would also end an HTTP/2 stream between two writes.
func limited(timer **time.Timer, limit time.Duration, expire func(), f func()) {
	if *timer == nil {
		*timer = time.AfterFunc(limit, expire)
	} else {
		(*timer).Reset(limit)
	}
	f()
	(*timer).Stop()
}

// past is a deadline that makes an operation in progress fail.
var past = time.Unix(1, 0)

type boundWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	timer   *time.Timer
}

func (b *boundWriter) expire() { _ = b.control.SetWriteDeadline(past) }

// Write writes in pieces. Each piece has its own time limit.
func (b *boundWriter) Write(data []byte) (written int, err error) {
	for err == nil {
		piece := data[written:min(written+pieceBytes, len(data))]
		var n int
		limited(&b.timer, b.limit, b.expire, func() { n, err = b.ResponseWriter.Write(piece) })
		if written += n; written == len(data) {
			break
		}
	}
	return written, err
}

// FlushError supports http.ResponseController.
func (b *boundWriter) FlushError() (err error) {
	limited(&b.timer, b.limit, b.expire, func() { err = b.control.Flush() })
	return err
}

// Unwrap supports http.ResponseController.
func (b *boundWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// boundBody is a request body. It limits the time of each read, and the body must arrive at a minimum rate.
type boundBody struct {
	io.ReadCloser
	control *http.ResponseController
	limits  stalls
	started time.Time
	bytes   int64
	timer   *time.Timer
	err     error // of the last read
}

func (b *boundBody) expire() { _ = b.control.SetReadDeadline(past) }

// Read implements io.Reader.
func (b *boundBody) Read(p []byte) (n int, err error) {
	if b.started.IsZero() {
		b.started = time.Now()
	}
	end := b.started.Add(b.limits.bodyBase + time.Duration(b.bytes/b.limits.bodyRate)*time.Second)
	limited(&b.timer, min(b.limits.read, time.Until(end)), b.expire, func() { n, err = b.ReadCloser.Read(p) })
	b.bytes += int64(n)
	b.err = err
	return n, err
}
