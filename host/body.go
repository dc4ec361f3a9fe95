package host

import (
	"context"
	"io"
	"net/http"

	"github.com/postern-ai/postern/core/abi"
)

// drainBytes is how much is read of a body that nobody wants, as in the Worker. With more to come the server
// closes the connection, and a caller that is still sending may not see its answer.
const drainBytes = 8 << 20

// readBody reads on when the action was cancelled: the body has to be read by somebody.
func (x *exchange) readBody(_ context.Context, a *abi.Action) abi.Event {
	defer x.reading.Done()
	event := abi.Event{Kind: abi.EventBody, ID: a.ID}
	data, err := io.ReadAll(io.LimitReader(x.request.Body, int64(a.Limit)+1))
	switch {
	case err != nil:
		event.Code = abi.OutcomeFailed
	case uint64(len(data)) > a.Limit:
		event.Code = abi.OutcomeTooLarge
	default:
		event.Data = data
	}
	return event
}

// answerBeside lets the answer go out while the body is still coming in. Without it the server would wait for a
// read that is under way, and that for the caller.
func (x *exchange) answerBeside() {
	if x.request.ContentLength != 0 && !expectsContinue(x.request) {
		_ = http.NewResponseController(x.writer).EnableFullDuplex()
	}
}

// drain reads what the caller still sends after the answer, so that the connection can be used again.
func (x *exchange) drain() {
	x.reading.Wait()
	if x.request.ContentLength != 0 && !expectsContinue(x.request) {
		_, _ = io.CopyN(io.Discard, x.request.Body, drainBytes)
	}
}

// expectsContinue: a caller that has not been told to go on sends no body, and the server closes the connection.
func expectsContinue(r *http.Request) bool { return r.Header.Get("Expect") != "" }
