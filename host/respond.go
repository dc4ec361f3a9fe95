package host

import (
	"net/http"
	"strconv"

	"github.com/postern-ai/postern/core/abi"
)

// lastResort responds when the core failed. The cause is not logged, because it might contain request data.
func (x *exchange) lastResort() {
	x.host.logFailure("step_failed", x.id)
	switch {
	case x.done:
		return
	case x.opened:
		x.send(x.lastWord)
		x.finish()
		return
	}
	x.respond(x.host.lastAnswer(x.id))
}

// respond sends a complete response. The response to HEAD has the Content-Length but no body.
func (x *exchange) respond(status uint64, headers []abi.Header, body []byte) {
	if status != http.StatusNoContent && status != http.StatusNotModified {
		x.writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.head(status, headers)
	if x.request.Method != http.MethodHead {
		_, _ = x.writer.Write(body)
	}
	_ = http.NewResponseController(x.writer).Flush() // the client may still be sending the request body
	x.finish()
}

func (x *exchange) head(status uint64, headers []abi.Header) {
	x.allowEarlyResponse()
	if x.observed != nil {
		x.observed.Head(status, headers, x.opened)
	}
	for _, header := range headers {
		x.writer.Header().Set(header.Name, header.Value)
	}
	x.writer.WriteHeader(int(status))
	x.started = true
}

// send writes and flushes a chunk of the response, blocking until the connection accepts it.
func (x *exchange) send(piece []byte) {
	if x.done {
		return
	}
	if _, err := x.writer.Write(piece); err == nil {
		err = http.NewResponseController(x.writer).Flush()
		if err == nil {
			if x.observed != nil && len(piece) > 0 {
				x.observed.Sent(piece)
			}
			return
		}
	}
	x.answer(abi.Event{Kind: abi.EventDisconnect})
	x.finish()
}

// finish ends the response; nothing more is written.
func (x *exchange) finish() {
	if !x.done {
		x.done = true
		close(x.answered)
	}
}
