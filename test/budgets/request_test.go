package budgets

import (
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

type phase uint8

const (
	admitting phase = iota
	granting
	recalling
	waiting
	done
)

type outcome uint8

const (
	undecided   outcome = iota
	admitted            // reserved at all levels
	refused             // 402
	unavailable         // 503 because a call failed
	guarded             // 503 because of maxCalls
	crashed
)

// maxCalls is the number of object calls after which a request gives up.
const maxCalls = 40

// request is the part of an exchange that obtains its reservation.
type request struct {
	id          string
	meter       int
	want, least int64

	phase   phase
	outcome outcome
	pico    int64 // admitted
	settled bool
	made    int // calls
	wakeMs  uint64

	ordered bool // it has asked all levels at once, and one had nothing left or gave too little
	final   uint64
	grants  []budget.Grant     // for the next admit
	short   []budget.Shortfall // being asked for
	spent   bool               // a Ledger's spending has reached its budget

	after       string // cursor of the recall
	recalled    bool   // a meter has returned budget
	unreachable bool   // a meter did not respond
	lentMs      uint64

	calls []call
}

type callKind uint8

const (
	callAdmit callKind = iota
	callGrant
	callFlush
	callAbsorb
	callRelease
)

// call is one call of an object that has not been answered yet.
type call struct {
	kind      callKind
	level     int
	meter     int // callFlush, callAbsorb
	heldPico  int64
	batches   []batch // callAbsorb
	ask       ledger.Grant
	delivered bool
	failed    bool
	// replies
	pico   int64
	short  []budget.Shortfall
	grant  ledger.GrantReply
	waitMs uint64
}

func (w *world) send(r *request, c call) {
	r.made++
	r.calls = append(r.calls, c)
}

func (w *world) admit(r *request) {
	if r.made >= maxCalls {
		w.end(r, guarded)
		return
	}
	r.phase = admitting
	w.send(r, call{kind: callAdmit})
}

// end decides the request. An incomplete reservation is released; if the release is lost, it lapses.
func (w *world) end(r *request, o outcome) {
	if o == refused && len(w.costs) == 0 && !w.exhausted(r) {
		w.problem = r.id + " was refused, and every level has enough for it"
	}
	r.phase, r.outcome = done, o
	r.calls = nil
	if r.ordered && o != admitted && o != crashed {
		r.calls = []call{{kind: callRelease}}
	}
}

// exhausted reports whether a level's budget is too small for the request in addition to its spending and its complete
// reservations.
func (w *world) exhausted(r *request) bool {
	used := make([]int64, len(w.budgets))
	for i := range w.meters {
		m := &w.meters[i]
		for level, at := range m.path {
			used[at] += m.chain.Levels[level].Slice.Spent
			for _, o := range m.open {
				if o.periods[level] == m.chain.Levels[level].Slice.Period && !slices.Contains(w.counted, at) {
					used[at] += o.pico
				}
			}
		}
	}
	for _, at := range w.meters[r.meter].path {
		needed := r.least
		if slices.Contains(w.counted, at) {
			needed = 1
		}
		if used[at]+needed > w.budgets[at] {
			return true
		}
	}
	return false
}

// deliver applies a call at its object.
func (w *world) deliver(r *request, c *call) {
	c.delivered = true
	m := &w.meters[r.meter]
	switch c.kind {
	case callAdmit:
		c.pico, c.short = w.apply(m, r)
	case callGrant:
		reply, err := ledger.DecodeGrantReply(w.object(m.path[c.level], c.ask.Encode()))
		if err != nil {
			panic(err)
		}
		c.grant = reply
	case callFlush:
		other := &w.meters[c.meter]
		w.advance(other)
		returned, waitMs := other.chain.Recall(w.now, c.level, c.heldPico)
		if returned {
			other.report(c.level, 0)
		}
		c.waitMs, c.batches = waitMs, slices.Clone(other.out[c.level])
	case callAbsorb:
		w.absorb(&w.meters[c.meter], c.level, c.batches)
	case callRelease:
		m.chain.Release(r.id)
	}
}

// apply is the meter's admission: it is idempotent.
func (w *world) apply(m *meter, r *request) (int64, []budget.Shortfall) {
	w.advance(m)
	for _, g := range r.grants {
		m.chain.Accept(g)
	}
	for _, o := range m.open {
		if o.id == r.id {
			return o.pico, nil
		}
	}
	pico, short := m.chain.Reserve(w.now, &budget.Request{ID: r.id, Want: budget.Amounts{Pico: r.want, Requests: 1}, LeastPico: r.least, Final: r.final, Ordered: r.ordered})
	if len(short) == 0 {
		var periods []calendar.Period
		for i := range m.chain.Levels {
			periods = append(periods, m.chain.Levels[i].Slice.Period)
		}
		m.open = append(m.open, reservation{r.id, m.chain.Project().Slice.Period, m.chain.Places(), periods, pico})
	}
	return pico, short
}

// absorb delivers batches in order. The outbox keeps the batches that the Ledger has not taken.
func (w *world) absorb(m *meter, level int, batches []batch) {
	for _, b := range batches {
		w.object(m.path[level], b.data)
		m.out[level] = slices.DeleteFunc(m.out[level], func(o batch) bool { return o.seq == b.seq })
	}
}

// take handles the reply to a call.
func (w *world) take(r *request, at int) {
	c := r.calls[at]
	r.calls = slices.Delete(r.calls, at, at+1)
	if r.phase == done {
		return
	}
	if c.failed && c.kind != callFlush && c.kind != callAbsorb {
		w.end(r, unavailable)
		return
	}
	r.unreachable = r.unreachable || c.failed
	switch c.kind {
	case callAdmit:
		w.takeAdmit(r, &c)
	case callGrant:
		w.takeGrant(r, &c)
	case callFlush:
		r.lentMs = max(r.lentMs, c.waitMs)
		if len(c.batches) > 0 {
			r.recalled = true
			w.send(r, call{kind: callAbsorb, level: c.level, meter: c.meter, batches: c.batches})
		}
		w.afterRecall(r)
	case callAbsorb:
		w.afterRecall(r)
	}
}

func (w *world) takeAdmit(r *request, c *call) {
	if len(c.short) == 0 {
		r.pico = c.pico
		w.end(r, admitted)
		return
	}
	r.grants, r.short, r.spent = nil, c.short, false
	r.after, r.recalled, r.unreachable, r.lentMs, r.final = "", false, false, 0, 0
	if r.ordered {
		r.lentMs = c.short[0].WaitMs
	}
	w.askAll(r)
}

// askAll asks the Ledgers of all levels that lack budget.
func (w *world) askAll(r *request) {
	r.phase = granting
	for _, s := range r.short {
		w.send(r, call{kind: callGrant, level: s.Level, ask: ledger.Grant{
			Key: w.meters[r.meter].name, Period: s.Period, Epoch: s.Epoch, HeldPico: s.HeldPico, NeedPico: s.NeedPico, LeastPico: s.LeastPico,
			After: r.after,
		}})
	}
}

func (w *world) takeGrant(r *request, c *call) {
	switch g := &c.grant; {
	case g.Granted:
		r.grants = append(r.grants, budget.Grant{Level: c.level, Period: g.Period, Epoch: g.Epoch, TotalPico: g.TotalPico})
		if g.Final {
			r.final |= 1 << c.level
		}
	case r.ordered:
		w.contend(r, c)
		return
	default:
		r.spent = r.spent || g.Spent && g.Next == ""
	}
	if len(r.calls) > 0 {
		return
	}
	if r.spent {
		w.end(r, refused)
		return
	}
	r.ordered = true
	w.admit(r)
}

// contend continues at the only level that an ordered request asks for, whose Ledger has nothing left.
func (w *world) contend(r *request, c *call) {
	g := &c.grant
	switch {
	case r.made >= maxCalls:
		w.end(r, guarded)
	case g.Next > r.after:
		r.after = g.Next
		if len(g.Recall) == 0 {
			w.askAll(r)
			return
		}
		r.phase = recalling
		for i, name := range g.Recall {
			other := slices.IndexFunc(w.meters, func(m meter) bool { return m.name == name })
			w.send(r, call{kind: callFlush, level: levelOf(&w.meters[other], w.meters[r.meter].path[c.level]), meter: other, heldPico: g.HeldPico[i]})
		}
	case r.recalled:
		r.recalled, r.after = false, ""
		w.askAll(r)
	case r.lentMs > 0:
		r.phase, r.wakeMs = waiting, w.now+r.lentMs
	case r.unreachable:
		w.end(r, unavailable)
	default:
		w.end(r, refused)
	}
}

func (w *world) afterRecall(r *request) {
	if len(r.calls) == 0 {
		w.askAll(r)
	}
}

// levelOf returns the level of a Ledger on a meter's path.
func levelOf(m *meter, at int) int {
	level := slices.Index(m.path, at)
	if level < 0 {
		panic(fmt.Sprint("a recall of a meter that is not below Ledger ", at))
	}
	return level
}
