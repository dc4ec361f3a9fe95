package exchange_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// isolate simulates an isolate in which many exchanges with unknown keys run. Replies to their actions arrive at
// once.
type isolate struct {
	*testing.T
	config  *config.Config
	nowMs   uint64
	shared  []byte
	pinned  map[string][]byte
	all     []*denied
	meters  int          // calls to meters
	tallies []abi.Action // calls to Ledgers
	down    bool         // Ledgers do not respond
}

type denied struct {
	state  []byte
	pins   string
	timers []abi.Action // KeepMs is when the timer fires
	status uint64
}

func (i *isolate) send(key string) uint64 {
	e := &denied{}
	i.all = append(i.all, e)
	head := []abi.Header{
		{Name: ":id", Value: fmt.Sprint("req_", len(i.all))}, {Name: ":method", Value: "GET"}, {Name: ":path", Value: "/v1/models"},
		{Name: ":address", Value: "192.0.2.1"}, {Name: "x-api-key", Value: key},
	}
	i.step(e, abi.Event{Kind: abi.EventRequest, Headers: head, Data: fmt.Appendf(nil, "%016d", len(i.all))})
	return e.status
}

func (i *isolate) step(e *denied, event abi.Event) {
	out := exchange.Step(i.config, &abi.StepInput{NowMs: i.nowMs, Shared: i.shared, State: e.state, Pinned: i.pinned[e.pins], Event: event})
	e.state = out.State
	if out.SharedChanged {
		i.shared = out.Shared
	}
	if out.PinnedChanged {
		i.pinned[e.pins] = out.Pinned
	}
	for at := range out.Actions {
		i.perform(e, &out.Actions[at])
	}
}

func (i *isolate) perform(e *denied, a *abi.Action) {
	reply := abi.Event{Kind: abi.EventReply, ID: a.ID}
	switch a.Kind {
	case abi.ActionRead:
		i.step(e, abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent})
	case abi.ActionPin:
		e.pins = a.Key
	case abi.ActionRespond:
		e.status = a.Code
	case abi.ActionWait:
		wait := *a
		wait.KeepMs += i.nowMs
		e.timers = append(e.timers, wait)
	case abi.ActionCancel:
		e.timers = slices.DeleteFunc(e.timers, func(o abi.Action) bool { return o.ID == a.ID })
	case abi.ActionCall:
		if reply.Data = (&keymeter.AdmitReply{Verdict: keymeter.Unknown}).Encode(); a.Class == abi.ClassKeyMeter {
			i.meters++
		} else {
			i.tallies = append(i.tallies, *a)
			if reply.Data = nil; i.down {
				reply.Code = abi.OutcomeFailed
			}
		}
		i.step(e, reply)
	}
}

// wait advances the clock in steps of ten milliseconds.
func (i *isolate) wait(ms uint64) {
	for end := i.nowMs + ms; i.nowMs < end; i.nowMs += 10 {
		for _, e := range i.all {
			for len(e.timers) > 0 && e.timers[0].KeepMs <= i.nowMs {
				id := e.timers[0].ID
				e.timers = e.timers[1:]
				i.step(e, abi.Event{Kind: abi.EventTimer, ID: id})
			}
		}
	}
}

// counted sums the tallies. It ignores repeats.
func (i *isolate) counted() (counts [ledger.Ends]uint64) {
	seen := []string{}
	for _, a := range i.tallies {
		tally, err := ledger.DecodeTally(a.Data)
		if err != nil || a.Class != abi.ClassLedger || a.Name != ledger.Root || a.Region != "" || tally.KeyID != "" || len(tally.Records) > 0 {
			i.Fatalf("%v: tally %+v to %q in %q", err, tally, a.Name, a.Region)
		}
		if number := fmt.Sprint(tally.Source, tally.Seq); slices.Contains(seen, number) {
			continue
		} else {
			seen = append(seen, number)
		}
		for _, c := range tally.Counts {
			if counts[c.End] += c.Count; c.Model != "" || c.Booked != ledger.NotBooked || c.Hour != noon/3_600_000 {
				i.Errorf("%+v", c)
			}
		}
	}
	return counts
}

func newIsolate(t *testing.T) *isolate {
	return &isolate{T: t, config: configured(t, ""), nowMs: noon, pinned: map[string][]byte{}}
}

// TestDeniedKeysAreCounted sends one request without a key, one with a malformed key and one with an unknown key.
func TestDeniedKeysAreCounted(t *testing.T) {
	i := newIsolate(t)
	unknown := keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{7})
	for _, key := range []string{"", "sk_live_short", unknown} {
		if status := i.send(key); status != 401 {
			t.Errorf("%q: %d", key, status)
		}
	}
	i.wait(4000)
	if len(i.tallies) > 0 {
		t.Error("counted before five seconds")
	}
	i.wait(2000)
	if got := i.counted(); got != [ledger.Ends]uint64{ledger.EndUnauthorized: 3} || len(i.tallies) != 1 || i.meters != 1 {
		t.Errorf("%v in %d tallies, %d calls to meters", got, len(i.tallies), i.meters)
	}
	i.wait(20_000)
	for _, e := range i.all {
		if len(e.timers) > 0 || len(i.tallies) != 1 {
			t.Fatalf("%d tallies, and an exchange waits: %+v", len(i.tallies), e.timers)
		}
	}
}

// TestDeniedKeysWithoutLedger checks that an unacknowledged tally is sent again with the same number.
func TestDeniedKeysWithoutLedger(t *testing.T) {
	i := newIsolate(t)
	i.down = true
	i.send("sk_live_short")
	i.wait(12_000)
	i.down = false
	i.wait(10_000)
	if got := i.counted(); got != [ledger.Ends]uint64{ledger.EndUnauthorized: 1} || len(i.tallies) != 3 {
		t.Errorf("%v in %d tallies", got, len(i.tallies))
	}
}

// TestFloodOfDeniedKeys sends a thousand requests in ten seconds. Half of them have a malformed key, and half guess
// keys from one address.
func TestFloodOfDeniedKeys(t *testing.T) {
	i := newIsolate(t)
	statuses := map[uint64]uint64{}
	for n := range 1000 {
		key := "sk_live_short"
		if n%2 == 1 {
			key = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{byte(n), byte(n >> 8), 9})
		}
		statuses[i.send(key)]++
		i.wait(10)
	}
	i.wait(10_000)
	got := i.counted()
	if got[ledger.EndUnauthorized] != statuses[401] || got[ledger.EndLimited] != statuses[429] || statuses[401]+statuses[429] != 1000 || statuses[401] != 500+30 {
		t.Errorf("counted %v, responses %v", got, statuses)
	}
	if len(i.tallies) != 2 && len(i.tallies) != 3 || i.meters != 30 {
		t.Errorf("%d tallies, %d calls to meters", len(i.tallies), i.meters)
	}
	if len(i.pinned) != 1 {
		t.Errorf("%d pinned entries", len(i.pinned))
	}
}
