package host

import (
	"net/http"

	"github.com/postern-ai/postern/core/abi"
)

// open sends the head of a streamed response. It returns false if the client has disconnected.
func (r *callerResponse) open(a *abi.Action) bool {
	r.opened, r.lastWord = true, a.Data
	r.head(a.Code, a.Headers)
	return r.send(nil)
}

// send writes and flushes a chunk of the response. It blocks until the connection accepts the chunk. If the client
// has disconnected, it ends the response and returns false.
func (r *callerResponse) send(piece []byte) bool {
	if r.done {
		return true
	}
	_, err := r.writer.Write(piece)
	if err == nil {
		err = http.NewResponseController(r.writer).Flush()
	}
	if err != nil {
		r.finish()
		return false
	}
	if r.observed != nil && len(piece) > 0 {
		r.observed.Sent(piece)
	}
	return true
}
