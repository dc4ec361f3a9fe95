package budgets

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/testobject"
)

const (
	today = 20_778 // 2026-11-21
	start = today*calendar.DayMs + 8*calendar.HourMs
)

// world is one state. Its parts are values or never change after they are made, so that a copy is a snapshot.
type world struct {
	now     uint64
	ledgers []map[string][]byte // rows
	meters  []meter
	reqs    []request

	losses, crashes, ticks int     // faults that may still happen
	costs                  []int64 // of an admitted request, at most its reservation; empty: it stays open
	budgets                []int64
	counted                []int // Ledgers that count requests
	periods                []calendar.Period
	problem                string // what this state has shown to be wrong
	buf                    []byte
}

// meter is a key's meter: its chain, and the batches that its Ledgers have not acknowledged, by level.
type meter struct {
	name  string
	path  []int // the Ledger of each level
	chain budget.Chain
	seq   []uint64
	out   [][]batch
	open  []reservation
}

// reservation is an admitted request whose cost is reserved at all levels.
type reservation struct {
	id      string
	period  calendar.Period
	above   []budget.Place
	periods []calendar.Period
	pico    int64
}

type batch struct {
	seq  uint64
	data []byte
}

func (w *world) clone() *world {
	c := *w
	c.ledgers = slices.Clone(w.ledgers)
	c.meters, c.reqs = slices.Clone(w.meters), slices.Clone(w.reqs)
	for i := range c.meters {
		m := &c.meters[i]
		m.chain.Levels, m.chain.Holds = slices.Clone(m.chain.Levels), slices.Clone(m.chain.Holds)
		m.seq, m.out, m.open = slices.Clone(m.seq), slices.Clone(m.out), slices.Clone(m.open)
		for j := range m.out {
			m.out[j] = slices.Clone(m.out[j])
		}
	}
	for i := range c.reqs {
		r := &c.reqs[i]
		r.calls, r.grants, r.short = slices.Clone(r.calls), slices.Clone(r.grants), slices.Clone(r.short)
	}
	return &c
}

// key identifies the state by its hash.
func (w *world) key() [32]byte {
	b := state(w.buf[:0])
	b.numbers(w.now, uint64(w.losses), uint64(w.crashes), uint64(w.ticks))
	for _, rows := range w.ledgers {
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			if name == "b" || strings.HasPrefix(name, "k/") {
				b.text(name)
				b.text(string(rows[name]))
			}
		}
	}
	for i := range w.meters {
		b.meter(&w.meters[i])
	}
	for i := range w.reqs {
		b.request(&w.reqs[i])
	}
	w.buf = b
	return sha256.Sum256(b)
}

// state is a world in bytes.
type state []byte

func (b *state) numbers(list ...uint64) {
	for _, n := range list {
		*b = binary.AppendUvarint(*b, n)
	}
}

func (b *state) text(s string) {
	b.numbers(uint64(len(s)))
	*b = append(*b, s...)
}

func (b *state) bools(list ...bool) {
	for _, v := range list {
		if v {
			*b = append(*b, 1)
		} else {
			*b = append(*b, 0)
		}
	}
}

func (b *state) slice(s *budget.Slice) {
	b.bools(s.Live)
	b.numbers(uint64(s.Period), uint64(s.Granted), uint64(s.Spent), uint64(s.Reserved))
}

func (b *state) meter(m *meter) {
	for i := range m.chain.Levels {
		l := &m.chain.Levels[i]
		b.slice(&l.Slice)
		b.slice(&l.Previous)
		b.numbers(l.Epoch, m.seq[i], uint64(len(m.out[i])))
		for _, o := range m.out[i] {
			b.text(string(o.data))
		}
	}
	b.numbers(uint64(len(m.chain.Holds)), uint64(len(m.open)))
	for i := range m.chain.Holds {
		h := &m.chain.Holds[i]
		b.text(h.RequestID)
		b.numbers(uint64(h.Levels), uint64(h.Amounts.Pico), uint64(h.Amounts.Requests), h.UntilMs)
	}
	for i := range m.open {
		b.text(m.open[i].id)
		b.numbers(uint64(m.open[i].pico), uint64(m.open[i].periods[len(m.path)-1]))
	}
}

func (b *state) request(r *request) {
	b.numbers(uint64(r.phase), uint64(r.outcome), uint64(r.pico), uint64(r.made), r.wakeMs, r.final, r.lentMs)
	b.bools(r.ordered, r.spent, r.recalled, r.unreachable, r.settled)
	b.text(r.after)
	b.numbers(uint64(len(r.grants)), uint64(len(r.short)), uint64(len(r.calls)))
	for _, g := range r.grants {
		b.numbers(uint64(g.Level), uint64(g.Period), g.Epoch, uint64(g.TotalPico))
	}
	b.shortfalls(r.short)
	for i := range r.calls {
		b.call(&r.calls[i])
	}
}

func (b *state) shortfalls(list []budget.Shortfall) {
	for _, s := range list {
		b.numbers(uint64(s.Level), uint64(s.Period), s.Epoch, uint64(s.HeldPico), uint64(s.NeedPico), uint64(s.LeastPico), s.WaitMs)
	}
}

func (b *state) call(c *call) {
	b.numbers(uint64(c.kind), uint64(c.level), uint64(c.meter), uint64(c.heldPico), uint64(len(c.batches)), uint64(c.pico), uint64(len(c.short)), c.waitMs)
	b.bools(c.delivered, c.failed, c.grant.Granted, c.grant.Final, c.grant.Spent)
	b.shortfalls(c.short)
	b.numbers(uint64(c.grant.Period), c.grant.Epoch, uint64(c.grant.TotalPico), uint64(len(c.grant.Recall)))
	b.text(c.grant.Next)
}

// name returns the name of a Ledger.
func (w *world) name(at int) string {
	if slices.Contains(w.counted, at) {
		return doc.LedgerName(fmt.Sprint("ledger", at), doc.Requests)
	}
	return fmt.Sprint("ledger", at)
}

// object calls a Ledger.
func (w *world) object(at int, command []byte) []byte {
	o := testobject.Object{Class: abi.ClassLedger, Name: w.name(at), Reads: ledger.Reads, Apply: ledger.Apply}
	o.Rows = maps.Clone(w.ledgers[at])
	reply, err := o.Call(w.now, command)
	if err != nil {
		panic(err)
	}
	w.ledgers[at] = o.Rows
	return reply
}

// give sets a Ledger's budget.
func (w *world) give(at int, pico int64, p calendar.Period) {
	put := ledger.Put{Version: 1, BudgetPico: pico, Period: p}
	w.object(at, put.Encode())
}

// idle grants part of a level's budget to a meter, which does not use it.
func (w *world) idle(m *meter, level int, pico int64) {
	l := &m.chain.Levels[level]
	ask := ledger.Grant{Key: m.name, Period: l.Slice.Period, Epoch: l.Epoch, HeldPico: l.Slice.Granted, NeedPico: pico, LeastPico: pico}
	reply, err := ledger.DecodeGrantReply(w.object(m.path[level], ask.Encode()))
	if err != nil || !reply.Granted {
		panic(fmt.Sprint(reply, err))
	}
	m.chain.Accept(budget.Grant{Level: level, Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico})
}

// advance moves a meter to the present time.
func (w *world) advance(m *meter) {
	var periods []calendar.Period
	for _, at := range m.path {
		periods = append(periods, w.periods[at].At(calendar.Day(w.now)))
	}
	m.chain.Advance(w.now, periods...)
}

// report appends a batch for a level's Ledger to the outbox.
func (m *meter) report(level int, cost int64) {
	l := &m.chain.Levels[level]
	m.seq[level]++
	a := ledger.Absorb{
		Key: m.name, KeyID: m.name, Seq: m.seq[level], Period: l.Slice.Period, Epoch: l.Epoch, HeldPico: l.Slice.Granted,
	}
	if cost != 0 {
		first, _ := l.Slice.Period.Bounds()
		a.Usage = []ledger.Usage{{Day: first, Model: "m", Requests: 1, CostPico: cost}}
	}
	m.out[level] = append(m.out[level], batch{m.seq[level], a.Encode()})
}

// settle charges an admitted request, at most what it has reserved.
func (w *world) settle(r *request, cost int64) {
	r.settled = true
	m := &w.meters[r.meter]
	at := slices.IndexFunc(m.open, func(o reservation) bool { return o.id == r.id })
	o := m.open[at]
	m.open = slices.Delete(m.open, at, at+1)
	m.chain.Book(o.period, o.above, budget.Amounts{Pico: -o.pico}, budget.Amounts{Pico: min(cost, o.pico)})
	for level, of := range m.path {
		if slices.Contains(w.counted, of) {
			m.report(level, 1)
		} else {
			m.report(level, min(cost, o.pico))
		}
	}
}
