package host

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

func (x *exchange) fetch(a *abi.Action) {
	if x.host.cut.Err() != nil {
		x.answer(fault(a, abi.FaultClosing))
		return
	}
	x.host.Stats.Fetches.Add(1)
	body, w := x.buffers.body(a.Body), x.watch(a)
	x.start(a, func(t *task) abi.Event {
		event := x.send(t, body, w)
		w.end(!x.isOpen(t), event)
		return event
	})
}

// send sends the request of a fetch. It returns the last event of the fetch.
func (x *exchange) send(t *task, body []byte, w watched) abi.Event {
	limits := &timeouts{cut: x.host.cut, cancel: t.cancel, end: after(t.TotalMs)}
	limits.phase(t.HeadMs, abi.FaultHead)
	defer limits.stop()
	request, err := http.NewRequestWithContext(t.ctx, t.Method, t.URL, bytes.NewReader(body))
	if err != nil {
		return fault(&t.Action, abi.FaultUndelivered)
	}
	for _, header := range t.Headers {
		request.Header.Set(header.Name, header.Value)
	}
	response, err := x.host.client.Do(request)
	if err != nil {
		return fault(&t.Action, limits.reason(abi.FaultConnect))
	}
	defer response.Body.Close()
	w.head(response.StatusCode)
	limits.phase(t.FirstByteMs, abi.FaultFirstByte)
	event := abi.Event{Kind: abi.EventResponse, ID: t.ID, Code: uint64(response.StatusCode)}
	event.Headers = pick(nil, response.Header, x.host.responseFields)
	if uint64(response.StatusCode) == t.Stream {
		event.Kind = abi.EventHead
		return x.pump(t, limits, response.Body, event)
	}
	data, code := readAll(limits, response, &t.Action)
	if code != 0 {
		return fault(&t.Action, code)
	}
	event.Data = data
	return event
}

// firstChunkBytes is the size of a stream's first chunk. When a chunk is full, the next one is larger, up to the
// action's limit. The first is small because most streams send little at a time, and an idle stream holds its buffer.
const firstChunkBytes = 2 << 10

// pump passes a response to the core in chunks. The idle timeout does not run while the client is slow to read or the
// core has paused the fetch.
func (x *exchange) pump(t *task, limits *timeouts, body io.Reader, head abi.Event) abi.Event {
	if !x.deliver(t, head) {
		return fault(&t.Action, limits.reason(abi.FaultBroken))
	}
	chunk := make([]byte, min(t.Limit, firstChunkBytes))
	for {
		n, err := body.Read(chunk)
		if n > 0 {
			limits.phase(0, 0)
			// The data is copied, because the core's output may share memory with its event.
			if !x.deliver(t, abi.Event{Kind: abi.EventChunk, ID: t.ID, Data: bytes.Clone(chunk[:n])}) || !x.awaitResume(t) {
				return fault(&t.Action, limits.reason(abi.FaultBroken))
			}
			limits.phase(t.IdleMs, abi.FaultIdle)
			if n == len(chunk) && uint64(n) < t.Limit {
				chunk = make([]byte, min(t.Limit, uint64(4*n)))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return abi.Event{Kind: abi.EventEnd, ID: t.ID}
		case err != nil:
			return fault(&t.Action, limits.reason(abi.FaultBroken))
		}
	}
}

// awaitResume waits while a fetch is paused. It returns false if the fetch is canceled during that time.
func (x *exchange) awaitResume(t *task) bool {
	x.mu.Lock()
	gate := t.gate
	x.mu.Unlock()
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// Sizes of the first allocation for a body. If its sender announces the length, that saves further allocations. The
// upper limit keeps a sender from reserving memory for bytes that it never sends.
const (
	unknownBodyBytes = 4 << 10
	maxBodyGuess     = 64 << 10
)

// bodyRoom returns an empty slice for a body of the announced length. A negative length is unknown.
func bodyRoom(length int64) []byte {
	if length < 0 {
		length = unknownBodyBytes
	}
	// The extra byte lets the read that finds the end run without growing the slice.
	return make([]byte, 0, min(length, maxBodyGuess)+1)
}

func readAll(limits *timeouts, response *http.Response, a *abi.Action) ([]byte, uint64) {
	data := bodyRoom(response.ContentLength)
	for {
		data = slices.Grow(data, 1)
		n, err := response.Body.Read(data[len(data):cap(data)])
		if n > 0 {
			limits.phase(a.IdleMs, abi.FaultIdle)
			data = data[:len(data)+n]
		}
		switch {
		case uint64(len(data)) > a.Limit:
			return nil, abi.FaultTooLarge
		case errors.Is(err, io.EOF):
			return data, 0
		case err != nil:
			return nil, limits.reason(abi.FaultBroken)
		}
	}
}

// watch tells the exchange's observer that a fetch starts.
func (x *exchange) watch(a *abi.Action) (w watched) {
	if x.observed != nil {
		w.ObservedAttempt = x.observed.Attempt(a, x.stepper)
	}
	return w
}
