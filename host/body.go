package host

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
)

type requestBody struct {
	request *http.Request
	writer  http.ResponseWriter
	reading sync.WaitGroup
	// requested means that a read of the body has begun. The exchange's mu guards it. It may also be read without mu
	// once response.answered is closed.
	requested bool
	complete  atomic.Bool // the whole body has been read
}

func (b *requestBody) begin() {
	b.requested = true
	b.reading.Add(1)
}

// read reads the body. It does not stop when it is canceled, because HTTP/1.1 requires the body to be consumed
// anyway.
func (b *requestBody) read(t *task) abi.Event {
	defer b.reading.Done()
	event := abi.Event{Kind: abi.EventBody, ID: t.ID}
	data, err := appendAll(bodyRoom(b.request.ContentLength), io.LimitReader(b.request.Body, int64(t.Limit)+1))
	switch {
	case err != nil:
		event.Code = abi.OutcomeFailed
	case uint64(len(data)) > t.Limit:
		event.Code = abi.OutcomeTooLarge
	default:
		event.Data = data
		b.complete.Store(true)
	}
	return event
}

// appendAll appends everything that r returns to data.
func appendAll(data []byte, r io.Reader) ([]byte, error) {
	for {
		data = slices.Grow(data, 1)
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// allowEarlyResponse lets the response be sent before the request body has arrived. Otherwise, net/http would wait
// for the pending read, and the read would wait for the client. If drain will not read all of the body, the response
// says that the connection closes, or else the client's next request on it would be reset.
func (b *requestBody) allowEarlyResponse() {
	if b.request.ContentLength == 0 || b.awaitsContinue() {
		return
	}
	_ = http.NewResponseController(b.writer).EnableFullDuplex()
	if b.request.ProtoMajor == 1 && b.request.ContentLength > abi.DrainBytes && !b.complete.Load() {
		b.writer.Header().Set("Connection", "close")
	}
}

// drain reads the rest of the body so that the connection can be reused.
func (b *requestBody) drain() {
	b.reading.Wait()
	if b.request.ContentLength != 0 && !b.awaitsContinue() {
		_, _ = io.CopyN(io.Discard, b.request.Body, abi.DrainBytes)
	}
}

// awaitsContinue reports whether the client waits for "100 Continue", which the first read of the body sends. Until
// then, the client sends no body. If the body is never read, the server closes the connection.
func (b *requestBody) awaitsContinue() bool {
	return b.request.Header.Get("Expect") != "" && !b.requested
}
