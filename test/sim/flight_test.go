package sim_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// flight is a request that exchanges of an isolate share, as defined in core/abi/wire.schema.
type flight struct {
	leader    *exchange
	followers int
	head      []byte
	buffer    uint64 // the buffer that the leader publishes; 0: none
	body      []byte
	limit     uint64
	landed    bool
	code      uint64
	last      []byte
	readers   []func() // run once, as soon as something changes
}

// seat is an exchange's role in a flight.
type seat struct {
	*flight
	name  string
	leads bool
	read  int
}

func (f *flight) wake() {
	readers := f.readers
	f.readers = nil
	for _, read := range readers {
		read()
	}
}

func (x *exchange) joinFlight(a *abi.Action) {
	i, e := x.isolate, abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent}
	if x.seat != nil {
		x.w.fail("contract", "%s joins a second flight", x.id)
	}
	name := x.w.place(x, a.Name)
	if value, ok := i.recall(x.w.place(x, a.Key)); a.Key != "" && ok {
		e.Code, e.Data = abi.OutcomeOK, value
	} else if f := i.flights[name]; f != nil && uint64(len(f.body)) <= f.limit {
		f.followers++
		x.seat, e.Code = &seat{flight: f, name: name}, abi.OutcomeJoined
		x.history.followed = append(x.history.followed, f.leader)
		x.w.stats.Followed++
	} else {
		f := &flight{leader: x, limit: 1 << 60}
		i.flights[name] = f
		x.seat = &seat{flight: f, name: name, leads: true}
	}
	x.ready = append(x.ready, e)
}

// followers returns the value for StepInput.Waiting.
func (x *exchange) followers() uint64 {
	if x.seat == nil || !x.seat.leads {
		return 0
	}
	return uint64(x.seat.followers)
}

// follow carries out an ActionFollow. The reply takes no time. However, other events may come before it.
func (x *exchange) follow(a *abi.Action) {
	o, s := x.outstanding(a.ID), x.seat
	var read func()
	read = func() {
		x.w.after(0, func() {
			e := abi.Event{Kind: abi.EventFlight, ID: a.ID}
			switch all := slices.Concat(s.head, s.body); {
			case o.canceled || x.over:
				return
			case s.read < len(all):
				e.Data, s.read = all[s.read:], len(all)
			case s.landed:
				e.Code, e.Data, x.seat = s.code, s.last, nil
			default:
				s.readers = append(s.readers, read)
				return
			}
			x.reply(o, e, true)
		})
	}
	read()
}

func (x *exchange) publish(a *abi.Action) {
	s := x.seat
	s.head, s.buffer, s.body, s.limit = x.join(a.Body), a.Buffer, x.Content((*host)(x), a.Buffer), a.Limit
	s.wake()
}

// grow takes the new content of a published buffer.
func (x *exchange) grow(buffer uint64) {
	if s := x.seat; s != nil && s.leads && s.buffer == buffer {
		s.body = x.Buffers.Content(buffer)
		s.wake()
	}
}

// land ends the exchange's role in its flight.
func (x *exchange) land(code uint64, data []byte) {
	s := x.seat
	if x.seat = nil; s == nil {
		return
	}
	if !s.leads {
		s.followers--
		return
	}
	s.landed, s.code, s.last = true, code, data
	if x.isolate.flights[s.name] == s.flight {
		delete(x.isolate.flights, s.name)
	}
	s.wake()
}

// cut ends one exchange of the isolate. If it can, it chooses a leader with followers.
func (i *isolate) cut() {
	if len(i.running) == 0 {
		return
	}
	at := max(0, slices.IndexFunc(i.running, func(x *exchange) bool { return x.followers() > 0 }))
	i.running[at].cut()
}

// looksDeadMs is how long followers take to notice that their leader has died.
const looksDeadMs = 4000

// cut ends one exchange in the way that a platform gives it up, for example because its client disconnected long ago.
// The exchange's flight lands when the followers notice.
func (x *exchange) cut() {
	s := x.seat
	x.seat = nil
	x.w.logf("%s is ended by the platform", x.id)
	x.leaveUnkept()
	x.w.stats.Faults++
	x.die()
	if s != nil && s.leads {
		x.w.after(looksDeadMs, func() {
			x.seat = s
			x.land(abi.FlightFailed, nil)
		})
	}
}

// TestHungProvider sends identical requests for a provider that does not respond. No matter how long requests keep
// coming, the provider is called at most twice. No exchange takes the lead and then gives up.
func TestHungProvider(t *testing.T) {
	p, err := parsePlan(`
world {"seed":1,"start":1795003200000,"isolates":1}
project {"budget":1000000000000000,"plan":"open","cacheTtl":30}
key {"project":0}
item {"at":0,"do":"ask","seed":1,"path":"openai","model":"gamma","max":30,"words":3,"times":40,"every":3000,"answers":[{"fault":"head"}]}
item {"at":1000,"do":"ask","seed":2,"path":"openai","model":"gamma","max":30,"words":3,"times":60,"every":2,"answers":[{"fault":"head"}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(p, noDefect(), &stats{}, nil)
	for i := range p.Items {
		w.schedule(i)
	}
	w.drain()
	if len(w.fetches) > 2 || w.stats.Steps > 30*len(w.exchanges) {
		t.Errorf("%d requests: %d calls of the provider, %d steps", len(w.exchanges), len(w.fetches), w.stats.Steps)
	}
	for _, x := range w.exchanges {
		if x.history.status != 504 {
			t.Errorf("%s got %d", x.id, x.history.status)
		}
	}
}
