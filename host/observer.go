package host

import (
	"net/http"

	"github.com/postern-ai/postern/core/abi"
)

// Observer is notified of the exchanges of a host, for metrics and traces. Its methods are called concurrently and must be
// fast.
type Observer interface {
	// Begin is called when a request has arrived.
	Begin(id string, r *http.Request) Observed
}

// Observed is notified of one exchange. Its methods are called by one goroutine at a time, except those of Attempt.
type Observed interface {
	// Attempt is called before a request to a provider. It may add headers, such as traceparent. The returned function is
	// called when the provider's response, or the stream, has ended: with the status, 0 if there was none, and the abi fault, 0
	// if there was none.
	Attempt(a *abi.Action, header http.Header) (end func(status int, fault uint64))
	// FirstByte is called when the first byte of the response body is sent.
	FirstByte()
	// Log is called with the exchange's log line, a JSON object.
	Log(line []byte)
	// End is called once, when the exchange has settled. status is 0 if no response was sent.
	End(status int)
}
