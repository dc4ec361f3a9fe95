package host

import (
	"net/http"

	"github.com/postern-ai/postern/core/abi"
)

// Observer is notified of the exchanges of a host, for metrics and traces. Its methods, and the methods of the values
// that it returns, must be fast and must not block. They must not change strings and slices that are passed to them,
// and may keep them only where noted.
type Observer interface {
	// Begin is called when a request arrives. id is the request ID.
	Begin(id string, r *http.Request) ObservedExchange
	// Failed is called when the host logs one of its own failures. code is from a small set, such as
	// "kv_read_failed".
	Failed(code string)
}

// ObservedExchange is notified of one exchange. Its methods are called by one goroutine at a time.
type ObservedExchange interface {
	// Attempt is called before a fetch. state is the exchange's state after the step that requested the fetch. It is
	// valid only during the call. Attempt may append headers to the fetch, such as traceparent.
	Attempt(fetch *abi.Action, state State) ObservedAttempt
	// Head is called before the response head is sent. streamed means that the body follows in pieces.
	Head(status uint64, headers []abi.Header, streamed bool)
	// Sent is called after a piece of a streamed body has been sent.
	Sent(piece []byte)
	// Log is called with the exchange's log line, a JSON object, even if the line is not written to the log.
	Log(line []byte)
	// End is called last, when the exchange has settled. Attempts that have not ended by then were canceled.
	End()
}

// ObservedAttempt is notified of one fetch, from the goroutine of the fetch. Its methods may be called after
// ObservedExchange.End.
type ObservedAttempt interface {
	// Head is called when the response head arrives.
	Head(status int)
	// End is called when the response or stream has ended. fault is the abi fault, or 0 if the response is complete.
	// If canceled is true, the fault arose because the exchange canceled the fetch.
	End(fault uint64, canceled bool)
}

// watched is a fetch with its observer, which may be nil.
type watched struct{ ObservedAttempt }

func (w watched) head(status int) {
	if w.ObservedAttempt != nil {
		w.Head(status)
	}
}

func (w watched) end(canceled bool, event abi.Event) {
	if w.ObservedAttempt == nil {
		return
	}
	var code uint64
	if event.Kind == abi.EventFault {
		code = event.Code
	}
	w.End(code, canceled)
}
