package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// upstream is a fetch in progress with the timeout of its current phase.
type upstream struct {
	cancel  context.CancelFunc
	timer   *time.Timer
	expired atomic.Uint32 // fault code of the timeout that fired, 0 if none did
}

func (u *upstream) limit(ms uint64, fault uint32) {
	if u.timer != nil {
		u.timer.Stop()
	}
	if ms > 0 {
		u.timer = time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
			u.expired.CompareAndSwap(0, fault)
			u.cancel()
		})
	}
}

// fetch carries out an ActionFetch and returns its final event.
func (x *exchange) fetch(ctx context.Context, a *abi.Action, body []byte, w watched) abi.Event {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := &upstream{cancel: cancel}
	if a.TotalMs > 0 {
		total := time.AfterFunc(time.Duration(a.TotalMs)*time.Millisecond, func() {
			u.expired.CompareAndSwap(0, abi.FaultTotal)
			cancel()
		})
		defer total.Stop()
	}
	h := x.host
	uncut := context.AfterFunc(h.cut, func() {
		u.expired.CompareAndSwap(0, abi.FaultBroken)
		cancel()
	})
	defer uncut()
	u.limit(a.HeadMs, abi.FaultHead)
	defer func() { u.limit(0, 0) }()
	request, err := http.NewRequestWithContext(ctx, a.Method, a.URL, bytes.NewReader(body))
	if err != nil {
		return fault(a, abi.FaultUndelivered)
	}
	for _, header := range a.Headers {
		request.Header.Set(header.Name, header.Value)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return fault(a, u.reason(abi.FaultConnect))
	}
	defer response.Body.Close()
	w.head(response.StatusCode)
	u.limit(a.FirstByteMs, abi.FaultFirstByte)
	event := abi.Event{Kind: abi.EventResponse, ID: a.ID, Code: uint64(response.StatusCode)}
	event.Headers = pick(response.Header, h.configured.ResponseHeaders)
	if uint64(response.StatusCode) == a.Stream {
		event.Kind = abi.EventHead
		return x.pump(ctx, u, response.Body, a, event)
	}
	data, code := u.readAll(response.Body, a)
	if code != 0 {
		return fault(a, code)
	}
	event.Data = data
	return event
}

// firstChunkBytes is the size of a stream's first chunk. Chunks grow up to the action's limit while they are full: most
// streams send little at a time, and an idle one holds its buffer.
const firstChunkBytes = 2 << 10

// pump passes a response to the loop in chunks. The idle timeout pauses while the client is slow to read.
func (x *exchange) pump(ctx context.Context, u *upstream, body io.Reader, a *abi.Action, head abi.Event) abi.Event {
	if !x.deliver(ctx, delivery{Event: head, handled: make(chan struct{})}) {
		return fault(a, u.reason(abi.FaultBroken))
	}
	chunk := make([]byte, min(a.Limit, firstChunkBytes))
	for {
		n, err := body.Read(chunk)
		if n > 0 {
			u.limit(0, 0)
			piece := delivery{Event: abi.Event{Kind: abi.EventChunk, ID: a.ID, Data: chunk[:n]}, handled: make(chan struct{})}
			if !x.deliver(ctx, piece) {
				return fault(a, u.reason(abi.FaultBroken))
			}
			u.limit(a.IdleMs, abi.FaultIdle)
			if n == len(chunk) && uint64(n) < a.Limit {
				chunk = make([]byte, min(a.Limit, uint64(4*n)))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return abi.Event{Kind: abi.EventEnd, ID: a.ID}
		case err != nil:
			return fault(a, u.reason(abi.FaultBroken))
		}
	}
}

func (u *upstream) reason(otherwise uint64) uint64 {
	if code := u.expired.Load(); code != 0 {
		return uint64(code)
	}
	return otherwise
}

func (u *upstream) readAll(body io.Reader, a *abi.Action) ([]byte, uint64) {
	var data []byte
	chunk := make([]byte, 32<<10)
	for {
		n, err := body.Read(chunk)
		if n > 0 {
			u.limit(a.IdleMs, abi.FaultIdle)
			data = append(data, chunk[:n]...)
		}
		switch {
		case uint64(len(data)) > a.Limit:
			return nil, abi.FaultTooLarge
		case errors.Is(err, io.EOF):
			return data, 0
		case err != nil:
			return nil, u.reason(abi.FaultBroken)
		}
	}
}

func fault(a *abi.Action, code uint64) abi.Event {
	return abi.Event{Kind: abi.EventFault, ID: a.ID, Code: code}
}
