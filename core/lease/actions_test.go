package lease_test

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// actions are the steps of the model. Frequent ones are listed several times.
var actions = []string{
	"serve", "arrive", "serve", "burst", "settle", "settle all", "serve", "extend", "pass", "wake", "deliver", "serve", "arrive", "wake", "deliver", "deliver",
	"settle", "serve", "burst", "repeat", "lose command", "serve", "lose reply", "pass long", "clock back", "die", "flush", "recall",
}

func (w *world) act(action string) {
	switch action {
	case "serve":
		w.arrive(w.anyIsolate(), 100)
		w.deliverAll()
		w.pass(50)
	case "arrive":
		w.arrive(w.anyIsolate(), rapid.Int64Range(0, 200).Draw(w.t, "amount"))
	case "burst":
		i, n := w.anyIsolate(), rapid.IntRange(2, 40).Draw(w.t, "requests")
		for range n {
			w.arrive(i, 100)
		}
	case "settle":
		if q := w.anyRunning(); q != nil {
			w.settle(q, rapid.Int64Range(0, q.amount).Draw(w.t, "cost"))
		}
	case "settle all":
		for _, q := range w.requests {
			if q.running {
				w.settle(q, q.amount)
			}
		}
	case "extend":
		if q := w.anyRunning(); q != nil && q.leased {
			w.extend(q, q.amount+rapid.Int64Range(1, 500).Draw(w.t, "more"))
		}
	case "pass":
		w.pass(rapid.Uint64Range(0, 700).Draw(w.t, "ms"))
	case "pass long":
		w.pass(rapid.SampledFrom([]uint64{2500, 10_000, 20_000}).Draw(w.t, "ms"))
	case "wake":
		if i := w.anyIsolate(); len(i.timers) > 0 {
			w.wakeDue(i)
		}
	case "clock back":
		i := w.anyIsolate()
		i.offset -= min(i.offset, calendar.HourMs/2)
		w.arrive(i, 10)
	case "die":
		if rapid.IntRange(0, 5).Draw(w.t, "dies") == 0 {
			w.die(w.anyIsolate())
		}
	case "flush":
		w.flush(false)
	case "recall":
		w.flush(true)
	default:
		w.actOnMessage(action)
	}
}

func (w *world) anyIsolate() *isolate {
	return w.isolates[rapid.IntRange(0, len(w.isolates)-1).Draw(w.t, "isolate")]
}

func (w *world) anyRunning() *request {
	var list []*request
	for _, q := range w.requests {
		if q.running {
			list = append(list, q)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(w.t, "request")]
}

// pass advances the clock. It runs the meter's alarm, but not yet the timers that are due.
func (w *world) pass(ms uint64) {
	end := w.now + ms
	for w.meter.AlarmMs != 0 && w.meter.AlarmMs <= end {
		w.now = max(w.now, w.meter.AlarmMs)
		if _, err := w.meter.Ring(w.now); err != nil {
			w.t.Fatal(err)
		}
	}
	w.now = end
}

// wakeDue advances the clock to the isolate's first timer and runs it.
func (w *world) wakeDue(i *isolate) {
	if due := i.timers[0].dueMs; due > w.now {
		w.pass(due - w.now)
	}
	w.wake(i, 0)
}

// settle ends a request, as an exchange does in settleLeased. The settle of a request without a lease goes directly
// to the meter.
func (w *world) settle(q *request, cost money.Pico) {
	q.running, q.settled, q.costPico = false, true, cost
	s := keymeter.Settle{RequestID: q.id, Outcome: keymeter.Served, Model: "m", CostPico: cost}
	w.step(q.isolate, func(e *lease.Entry) {
		if !q.leased || !e.Settle(w.clock(q.isolate), &s) {
			w.call(s.Encode())
		} else {
			w.reportIfDue(e, q.isolate, q.exchange)
		}
		w.keep(e, q.isolate, q.exchange)
	})
}

// extend raises the reservation of a leased request, as an exchange does in extendLease.
func (w *world) extend(q *request, total money.Pico) {
	w.step(q.isolate, func(e *lease.Entry) {
		standing, done := e.Extend(w.clock(q.isolate), q.id, total)
		switch {
		case done:
			q.amount = total
		case standing == lease.Registered:
			command := keymeter.Extend{RequestID: q.id, TotalPico: total}
			if reply, err := keymeter.DecodeAdmitReply(w.call(command.Encode())); err == nil && reply.Verdict == keymeter.Admitted {
				q.amount = reply.ReservedPico
			}
		case standing == lease.Unregistered && !e.InFlight():
			w.report(e, q.isolate, q.exchange, true)
		}
	})
}

// die ends an isolate, with its entry, requests and timers. A new isolate takes its place. Messages from the old one
// still arrive.
func (w *world) die(i *isolate) {
	w.lossless, i.dead = false, true
	for _, q := range w.requests {
		if q.isolate == i && q.running {
			q.running = false
		}
	}
	w.isolates[slices.Index(w.isolates, i)] = &isolate{offset: i.offset}
}

func (w *world) flush(recall bool) {
	command := keymeter.Flush{Recall: recall}
	reply, err := keymeter.DecodeFlushReply(w.call(command.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, data := range reply.Absorbs {
		batch, err := ledger.DecodeAbsorb(data)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range batch.Usage {
			w.absorbed.Plus(&batch.Usage[i])
		}
	}
	rows, _, err := w.meter.Outbox()
	if err != nil {
		w.t.Fatal(err)
	}
	w.meter.Delete(rows...)
}

// actOnMessage delivers, repeats or drops a message. The command is delivered first, then its reply.
func (w *world) actOnMessage(action string) {
	if len(w.messages) == 0 {
		return
	}
	at := rapid.IntRange(0, len(w.messages)-1).Draw(w.t, "message")
	m := w.messages[at]
	switch action {
	case "repeat":
		m.apply(w)
		return
	case "deliver":
		if !m.applied {
			m.apply(w)
			return
		}
		w.messages = slices.Delete(w.messages, at, at+1)
		w.replied(m, true)
	case "lose command", "lose reply":
		if action == "lose reply" {
			m.apply(w)
		}
		w.messages = slices.Delete(w.messages, at, at+1)
		w.replied(m, false)
	}
}
