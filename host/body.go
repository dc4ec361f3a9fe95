package host

import (
	"io"
	"net/http"

	"github.com/postern-ai/postern/core/abi"
)

// drainBytes limits how much of an unused request body is read, as in the Worker. Beyond it the server closes the
// connection, and a client that is still sending might not see the response.
const drainBytes = 8 << 20

// readBody reads the request body. It ignores cancellation, because HTTP/1.1 requires the body to be consumed anyway.
func (x *exchange) readBody(t *task) abi.Event {
	defer x.reading.Done()
	event := abi.Event{Kind: abi.EventBody, ID: t.ID}
	data, err := io.ReadAll(io.LimitReader(x.request.Body, int64(t.Limit)+1))
	switch {
	case err != nil:
		event.Code = abi.OutcomeFailed
	case uint64(len(data)) > t.Limit:
		event.Code = abi.OutcomeTooLarge
	default:
		event.Data = data
	}
	return event
}

// allowEarlyResponse lets the response be sent before the request body has arrived. Otherwise net/http would wait for
// the pending read, and the read for the client.
func (x *exchange) allowEarlyResponse() {
	if x.request.ContentLength != 0 && !x.awaitsContinue() {
		_ = http.NewResponseController(x.writer).EnableFullDuplex()
	}
}

// drain reads the rest of the request body, so that the connection can be reused.
func (x *exchange) drain() {
	x.reading.Wait()
	if x.request.ContentLength != 0 && !x.awaitsContinue() {
		_, _ = io.CopyN(io.Discard, x.request.Body, drainBytes)
	}
}

// awaitsContinue reports whether the client waits for "100 Continue", which the first read of the body sends. Without it,
// the client sends no body, and the server closes the connection.
func (x *exchange) awaitsContinue() bool {
	return x.request.Header.Get("Expect") != "" && !x.bodyRequested
}
