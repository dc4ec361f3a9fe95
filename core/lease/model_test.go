package lease_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/testobject"
)

const (
	start      = 20_778*calendar.DayMs + 8*calendar.HourMs // 2026-11-21
	lifetimeMs = 60_000
	perSecond  = 400
	perDay     = 3000
	concurrent = 160
)

var plans = func() *config.Config {
	overlay := fmt.Sprintf(`{"plans":[{"name":"lending","perSecond":%d,"perDay":%d,"concurrent":%d,"budget":"1","lease":{"ms":2000,"requests":64}}]}`, perSecond, perDay, concurrent)
	parsed, wrong := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: config.EnvCatalog, Value: overlay}}})
	if wrong != "" {
		panic(wrong)
	}
	return parsed
}()

// world is one key's meter and the isolates that admit requests with its leases. Messages between them are delayed,
// lost, repeated and reordered.
type world struct {
	t        *rapid.T
	now      uint64
	meter    *testobject.Object
	isolates []*isolate
	messages []*message
	requests []*request
	admitted []uint64 // times of admissions
	granted  money.Pico
	absorbed ledger.Usage
	leases   uint64 // random IDs so far
	lossless bool   // no isolate has died
	taken    int    // requests that leases have admitted
}

// isolate contains an entry, the isolate's clock, and the exchanges whose keeper timers are running.
type isolate struct {
	entry  []byte
	offset uint64
	kept   *lease.Entry // nil: the isolate keeps the entry only encoded
	timers []timer
	dead   bool
}

type timer struct{ exchange, dueMs uint64 }

// message is a command on its way to the meter, or its reply on its way back.
type message struct {
	*isolate
	exchange uint64
	command  []byte
	reply    []byte
	applied  bool
	request  *request      // the request of an admission; nil: the message belongs to a report
	asked    lease.Asked   // with an admission
	sent     lease.Sending // of a report
}

type request struct {
	*isolate
	id         string
	exchange   uint64
	amount     money.Pico
	leased     bool
	reserved   bool // the meter has admitted it
	running    bool
	settled    bool
	admittedMs uint64
	costPico   money.Pico
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: start, lossless: true, granted: rapid.SampledFrom([]money.Pico{money.Dollar, 50_000, 5_000}).Draw(t, "budget")}
	w.meter = &testobject.Object{Class: abi.ClassKeyMeter, Name: "hash", Reads: keymeter.Reads, Apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		return keymeter.Apply(plans, in)
	}}
	put := keymeter.Put{Status: doc.Active, Record: doc.Record{
		Version: 2, KeyID: "key_1", ProjectID: "proj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: "lending",
	}}
	w.call(put.Encode())
	for range rapid.IntRange(1, 3).Draw(t, "isolates") {
		i := &isolate{offset: rapid.Uint64Range(0, calendar.HourMs).Draw(t, "offset")}
		if rapid.Bool().Draw(t, "decoded") {
			i.kept = &lease.Entry{}
		}
		w.isolates = append(w.isolates, i)
	}
	return w
}

func (w *world) call(command []byte) []byte {
	reply, err := w.meter.Call(w.now, command)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// clock returns the isolate's time.
func (w *world) clock(i *isolate) uint64 { return w.now + i.offset }

// step changes an isolate's entry, as one step of an exchange does. If the isolate keeps its entry decoded, another step
// runs first whose result is discarded, as if the real one had overtaken it.
func (w *world) step(i *isolate, change func(e *lease.Entry)) {
	e := lease.Decode(i.entry)
	if i.kept == nil {
		change(e)
		i.entry, _ = e.Encode()
	} else {
		w.discarded(i, i.kept.Copy())
		e = i.kept.Copy()
		change(e)
		if encoded, _ := i.kept.Encode(); string(encoded) != string(i.entry) {
			w.t.Fatalf("a step changed the entry that it read from %x to %x", i.entry, encoded)
		}
		if i.entry, _ = e.Encode(); i.entry == nil {
			e = &lease.Entry{}
		}
		i.kept = e
	}
	if len(i.entry) > 64<<10 {
		w.t.Fatalf("the entry has %d bytes", len(i.entry))
	}
}

// discarded changes a copy of the entry in every way that changes a list.
func (w *world) discarded(i *isolate, e *lease.Entry) {
	now := w.clock(i)
	requests, _ := e.Unreported()
	for _, l := range requests {
		e.Extend(now, l.RequestID, l.AmountPico+1)
		e.Settle(now, &keymeter.Settle{RequestID: l.RequestID, Outcome: keymeter.Served, Model: "other"})
	}
	e.Take(now, &lease.Request{ID: "discarded", Version: 2, Model: "other", AmountPico: 1, LifetimeMs: lifetimeMs})
	e.Settle(now, &keymeter.Settle{RequestID: "registered", Outcome: keymeter.Served, Model: "other"})
	e.Count(now, 1, &ledger.EndCount{Hour: now / calendar.HourMs, Model: "other", Count: 1}, &ledger.Record{ID: "discarded"})
	e.Report(now, true)
}

// arrive simulates a request that arrives at an isolate, as an exchange handles it in takeLease.
func (w *world) arrive(i *isolate, amount money.Pico) {
	q := &request{isolate: i, id: fmt.Sprint("req_", len(w.requests)), exchange: uint64(len(w.requests)) + 1, amount: amount}
	w.requests = append(w.requests, q)
	w.step(i, func(e *lease.Entry) {
		now := w.clock(i)
		if e.Take(now, &lease.Request{ID: q.id, Version: 2, Model: "m", AmountPico: amount, LifetimeMs: lifetimeMs}) {
			w.taken++
			q.leased, q.running, q.admittedMs = true, true, w.now
			w.admitted = append(w.admitted, w.now)
			w.reportIfDue(e, i, q.exchange)
			w.keep(e, i, q.exchange)
			return
		}
		w.leases++
		id, _ := e.Ask(now, 2, w.leases, q.exchange)
		w.sendAdmit(q, lease.Asked{ID: id, SentMs: now, Version: 2}, keymeter.Grant{})
	})
}

func (w *world) sendAdmit(q *request, asked lease.Asked, grant keymeter.Grant) {
	command := keymeter.Admit{
		RequestID: q.id, Version: 2, Mode: keymeter.ModeReserve, Model: "m", AmountPico: q.amount, LifetimeMs: lifetimeMs, Grant: grant, LeaseID: asked.ID,
	}
	w.messages = append(w.messages, &message{isolate: q.isolate, exchange: q.exchange, command: command.Encode(), request: q, asked: asked})
}

func (w *world) reportIfDue(e *lease.Entry, i *isolate, exchange uint64) {
	if e.Due() && !e.InFlight() {
		w.report(e, i, exchange, true)
	}
}

func (w *world) report(e *lease.Entry, i *isolate, exchange uint64, urgent bool) {
	if command, sent := e.Report(w.clock(i), urgent); command != nil {
		w.messages = append(w.messages, &message{isolate: i, exchange: exchange, command: command, sent: sent})
	}
}

func (w *world) keep(e *lease.Entry, i *isolate, exchange uint64) {
	if e.Keep(w.clock(i), exchange) {
		w.sleep(i, exchange)
	}
}

func (w *world) sleep(i *isolate, exchange uint64) {
	if !slices.ContainsFunc(i.timers, func(t timer) bool { return t.exchange == exchange }) {
		i.timers = append(i.timers, timer{exchange, w.now + lease.ReportMs})
	}
}

// wake runs the keeper's timer, as an exchange does in onLease.
func (w *world) wake(i *isolate, at int) {
	exchange := i.timers[at].exchange
	i.timers = slices.Delete(i.timers, at, at+1)
	w.step(i, func(e *lease.Entry) {
		duty := e.Wake(w.clock(i), exchange)
		if duty == lease.Send && !w.reporting(i, exchange) {
			w.report(e, i, exchange, false)
		}
		if duty == lease.Sleep || duty == lease.Send && !w.reporting(i, exchange) {
			w.sleep(i, exchange)
		}
	})
}

// reporting reports whether the exchange is waiting for the reply to a report.
func (w *world) reporting(i *isolate, exchange uint64) bool {
	return slices.ContainsFunc(w.messages, func(m *message) bool { return m.isolate == i && m.exchange == exchange && m.sent.Number != 0 })
}

// TestConservation checks that isolates with leases admit no more than the limits and spend no more than the budget.
// Every request is counted once, with its cost, however messages are delayed, repeated, lost and reordered.
func TestConservation(t *testing.T) {
	leased := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			w.act(rapid.SampledFrom(actions).Draw(t, "action"))
			w.check()
		}
		w.finish()
		w.check()
		w.checkUsage()
		leased += w.taken
	})
	if leased == 0 {
		t.Error("no lease has admitted a request")
	}
}
