package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// upstream is a fetch in progress. One timer watches both its total timeout and that of its current phase.
type upstream struct {
	cut    context.Context // Host.cut
	cancel context.CancelFunc

	mu      sync.Mutex
	timer   *time.Timer
	rings   time.Time // when the timer fires
	total   time.Time // zero: no timeout
	phase   time.Time // zero: no timeout
	fault   uint64    // of the phase
	expired uint64    // fault of the timeout that has passed, 0 if none has
}

// limit begins a phase with a timeout; 0 ms is no timeout. A timer that fires too early for the new phase sets itself again,
// so that a stream moves no timer at every chunk.
func (u *upstream) limit(ms, fault uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.phase, u.fault = after(ms), fault
	u.schedule()
}

// after returns the time in ms milliseconds, or the zero time if ms is 0.
func after(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(ms) * time.Millisecond)
}

// schedule makes the timer fire at the next timeout or before it.
func (u *upstream) schedule() {
	next := u.total
	if next.IsZero() || !u.phase.IsZero() && u.phase.Before(next) {
		next = u.phase
	}
	switch {
	case next.IsZero() || !u.rings.IsZero() && !next.Before(u.rings):
		return
	case u.timer == nil:
		u.timer = time.AfterFunc(time.Until(next), u.ring)
	default:
		u.timer.Reset(time.Until(next))
	}
	u.rings = next
}

// ring cancels the fetch if a timeout has passed.
func (u *upstream) ring() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.rings = time.Time{}
	switch {
	case !u.phase.IsZero() && !now.Before(u.phase):
		u.expired = u.fault
	case !u.total.IsZero() && !now.Before(u.total):
		u.expired = abi.FaultTotal
	default:
		u.schedule()
		return
	}
	u.phase, u.total = time.Time{}, time.Time{}
	u.cancel()
}

// stop ends all timeouts.
func (u *upstream) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.phase, u.total = time.Time{}, time.Time{}
	if u.timer != nil {
		u.timer.Stop()
	}
}

// reason returns the fault of the timeout that has passed, FaultCut after Host.Cut, or else the fault given.
func (u *upstream) reason(otherwise uint64) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.expired != 0:
		return u.expired
	case u.cut.Err() != nil:
		return abi.FaultCut
	}
	return otherwise
}

// fetch carries out an ActionFetch and returns its last event.
func (x *exchange) fetch(t *task, body []byte, w watched) abi.Event {
	u := &upstream{cut: x.host.cut, cancel: t.cancel, total: after(t.TotalMs)}
	u.limit(t.HeadMs, abi.FaultHead)
	defer u.stop()
	request, err := http.NewRequestWithContext(t.ctx, t.Method, t.URL, bytes.NewReader(body))
	if err != nil {
		return fault(t.Action, abi.FaultUndelivered)
	}
	for _, header := range t.Headers {
		request.Header.Set(header.Name, header.Value)
	}
	response, err := x.host.client.Do(request)
	if err != nil {
		return fault(t.Action, u.reason(abi.FaultConnect))
	}
	defer response.Body.Close()
	w.head(response.StatusCode)
	u.limit(t.FirstByteMs, abi.FaultFirstByte)
	event := abi.Event{Kind: abi.EventResponse, ID: t.ID, Code: uint64(response.StatusCode)}
	event.Headers = pick(nil, response.Header, x.host.responseFields)
	if uint64(response.StatusCode) == t.Stream {
		event.Kind = abi.EventHead
		return x.pump(t, u, response.Body, event)
	}
	data, code := u.readAll(response, t.Action)
	if code != 0 {
		return fault(t.Action, code)
	}
	event.Data = data
	return event
}

// firstChunkBytes is the size of a stream's first chunk. Chunks grow up to the action's limit while they are full: most
// streams send little at a time, and an idle one holds its buffer.
const firstChunkBytes = 2 << 10

// pump passes a response to the core in chunks. The idle timeout pauses while the client is slow to read, and while the core has
// paused the fetch.
func (x *exchange) pump(t *task, u *upstream, body io.Reader, head abi.Event) abi.Event {
	if !x.deliver(t, head) {
		return fault(t.Action, u.reason(abi.FaultBroken))
	}
	chunk := make([]byte, min(t.Limit, firstChunkBytes))
	for {
		n, err := body.Read(chunk)
		if n > 0 {
			u.limit(0, 0)
			// A copy, because the core's output may share memory with its event.
			if !x.deliver(t, abi.Event{Kind: abi.EventChunk, ID: t.ID, Data: bytes.Clone(chunk[:n])}) || !x.awaitResume(t) {
				return fault(t.Action, u.reason(abi.FaultBroken))
			}
			u.limit(t.IdleMs, abi.FaultIdle)
			if n == len(chunk) && uint64(n) < t.Limit {
				chunk = make([]byte, min(t.Limit, uint64(4*n)))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return abi.Event{Kind: abi.EventEnd, ID: t.ID}
		case err != nil:
			return fault(t.Action, u.reason(abi.FaultBroken))
		}
	}
}

// Bounds of the first allocation for a whole response. A provider that announces its length saves further ones, up to the
// larger bound: only sent bytes may take memory.
const (
	minBodyBytes = 4 << 10
	maxBodyGuess = 64 << 10
)

func (u *upstream) readAll(response *http.Response, a *abi.Action) ([]byte, uint64) {
	// One byte more, so that the read that finds the end does not grow the slice.
	data := make([]byte, 0, min(max(response.ContentLength+1, minBodyBytes), maxBodyGuess))
	for {
		data = slices.Grow(data, 1)
		n, err := response.Body.Read(data[len(data):cap(data)])
		if n > 0 {
			u.limit(a.IdleMs, abi.FaultIdle)
			data = data[:len(data)+n]
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
