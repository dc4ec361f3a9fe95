package host

import (
	"context"
	"slices"
	"sync"

	"github.com/postern-ai/postern/core/abi"
)

// flights holds the requests that exchanges of this host share, by name. core/abi/wire.schema defines how they work.
type flights struct {
	mu    sync.Mutex // also guards each flight; exchanges that hold their own mu may lock it
	named map[string]*flight
}

type flight struct {
	followers uint64
	head      []byte
	body      []byte // the leader's buffer; bytes are only added
	limit     uint64
	landed    bool
	code      uint64
	last      []byte
	changed   chan struct{} // closed and replaced on every change
}

// seat is the role of an exchange in a flight: leader or follower.
type seat struct {
	flights *flights
	name    string
	flight  *flight
	leads   bool
	buffer  uint64 // buffer that the leader publishes; 0: none
	read    int    // number of bytes that a follower has read
}

// join returns the value that memory holds under the key. If there is none, the exchange joins the flight with the
// given name, and join returns its seat. An empty key is never found.
func (f *flights) join(h *memoryCache, key, name string) (value []byte, s *seat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key != "" {
		if value, ok := h.read(key); ok {
			return value, nil
		}
	}
	if found := f.named[name]; found != nil && uint64(len(found.body)) <= found.limit {
		found.followers++
		return nil, &seat{flights: f, name: name, flight: found}
	}
	led := &flight{limit: ^uint64(0), changed: make(chan struct{})}
	f.named[name] = led
	return nil, &seat{flights: f, name: name, flight: led, leads: true}
}

// clear forgets all flights, so exchanges that join from now on lead new ones.
func (f *flights) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.named)
}

// wake tells the followers that something has changed. The caller holds mu.
func (f *flight) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// waiting returns the number of followers of the flight that the exchange leads.
func (s *seat) waiting() uint64 {
	if s == nil || !s.leads {
		return 0
	}
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	return s.flight.followers
}

func (s *seat) publish(a *abi.Action, head, body []byte) {
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	s.buffer = a.Buffer
	s.flight.head, s.flight.body, s.flight.limit = slices.Clone(head), body, a.Limit
	s.flight.wake()
}

// grow publishes the new content of a buffer if it is the published buffer.
func (s *seat) grow(buffer uint64, body []byte) {
	if s == nil || s.buffer != buffer {
		return
	}
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	s.flight.body = body
	s.flight.wake()
}

// leave lands the flight if the exchange leads it. Otherwise, the exchange stops following it.
func (s *seat) leave(code uint64, data []byte) {
	if s == nil {
		return
	}
	s.flights.mu.Lock()
	defer s.flights.mu.Unlock()
	f := s.flight
	if !s.leads {
		f.followers--
		return
	}
	f.landed, f.code, f.last = true, code, slices.Clone(data)
	if s.flights.named[s.name] == f {
		delete(s.flights.named, s.name)
	}
	f.wake()
}

// next blocks until there is something to read and returns it. Only one call may be in progress at a time.
func (s *seat) next(ctx context.Context) (code uint64, data []byte) {
	for {
		s.flights.mu.Lock()
		f := s.flight
		changed := f.changed
		switch all := len(f.head) + len(f.body); {
		case s.read < all:
			data = slices.Concat(f.head[min(s.read, len(f.head)):], f.body[max(0, s.read-len(f.head)):])
			s.read = all
			s.flights.mu.Unlock()
			return abi.FlightMore, data
		case f.landed:
			s.flights.mu.Unlock()
			return f.code, f.last
		}
		s.flights.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return abi.FlightFailed, nil
		}
	}
}
