package host

import (
	"net/http"
	"strconv"

	"github.com/postern-ai/postern/core/abi"
)

// callerResponse is the response to the caller. The exchange's mu guards it.
type callerResponse struct {
	body     *requestBody
	writer   http.ResponseWriter
	observed ObservedExchange // nil: none
	answered chan struct{}    // closed when nothing more is written to the client
	done     bool             // answered is closed
	started  bool             // the head was sent
	opened   bool             // the body is a stream
	broken   bool             // the response was cut off; may be read without mu once answered is closed
	lastWord []byte           // end of a stream if the core fails
}

// respond sends a complete response. The response to HEAD has the Content-Length but no body.
func (r *callerResponse) respond(status uint64, headers []abi.Header, body []byte) {
	if r.done {
		return
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		r.writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	r.head(status, headers)
	if r.body.request.Method != http.MethodHead {
		_, _ = r.writer.Write(body)
	}
	_ = http.NewResponseController(r.writer).Flush() // the client may still be sending the request body
	r.finish()
}

func (r *callerResponse) head(status uint64, headers []abi.Header) {
	r.body.allowEarlyResponse()
	if r.observed != nil {
		r.observed.Head(status, headers, r.opened)
	}
	for _, header := range headers {
		r.writer.Header().Set(header.Name, header.Value)
	}
	r.writer.WriteHeader(int(status))
	r.started = true
}

// finish ends the response. Nothing more is written.
func (r *callerResponse) finish() {
	if !r.done {
		r.done = true
		close(r.answered)
	}
}
