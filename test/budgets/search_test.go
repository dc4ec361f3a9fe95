package budgets

import (
	"fmt"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"slices"
	"strings"
	"testing"
)

// step is one event and the state after it.
type step struct {
	name string
	next *world
}

// steps returns every event that may happen next. Time passes when nothing else can happen, or at any time while ticks
// are left.
func (w *world) steps() (steps []step) {
	add := func(name string, change func(*world)) {
		next := w.clone()
		change(next)
		steps = append(steps, step{name, next})
	}
	for i := range w.reqs {
		r := &w.reqs[i]
		for j := range r.calls {
			c := &r.calls[j]
			name := fmt.Sprintf("%s: %s %d", r.id, callNames[c.kind], c.level)
			if !c.delivered {
				add(name+" is delivered", func(n *world) { n.deliver(&n.reqs[i], &n.reqs[i].calls[j]) })
			} else {
				add(name+" is answered", func(n *world) { n.take(&n.reqs[i], j) })
			}
			if w.losses > 0 && !c.failed {
				add(name+" fails", func(n *world) { n.losses--; n.reqs[i].calls[j].delivered, n.reqs[i].calls[j].failed = true, true })
			}
		}
		if r.phase == waiting && r.wakeMs <= w.now {
			add(r.id+" wakes", func(n *world) { n.admit(&n.reqs[i]) })
		}
		for _, cost := range w.costs {
			if r.outcome == admitted && !r.settled {
				add(fmt.Sprintf("%s costs %d", r.id, cost), func(n *world) { n.settle(&n.reqs[i], cost) })
			}
		}
		if w.crashes > 0 && r.phase != done {
			add(r.id+" crashes", func(n *world) { n.crashes--; n.end(&n.reqs[i], crashed) })
		}
	}
	for i := range w.meters {
		for level, out := range w.meters[i].out {
			if len(out) > 0 && !w.delivering(i, level) {
				add(fmt.Sprintf("%s reports %d", w.meters[i].name, level), func(n *world) {
					n.absorb(&n.meters[i], level, slices.Clone(n.meters[i].out[level]))
				})
			}
		}
	}
	if w.ticks > 0 {
		add("a second passes", func(n *world) { n.ticks--; n.now += 1000 })
	}
	if len(steps) == 0 {
		if wake := w.nextWake(); wake > 0 {
			add("time passes", func(n *world) { n.now = wake })
		}
	}
	return steps
}

var callNames = [...]string{"admit", "grant", "flush", "absorb", "release"}

// delivering reports whether a request has the batches of a level.
func (w *world) delivering(meter, level int) bool {
	for i := range w.reqs {
		for _, c := range w.reqs[i].calls {
			if c.meter == meter && c.level == level && (c.kind == callFlush || c.kind == callAbsorb) {
				return true
			}
		}
	}
	return false
}

func (w *world) nextWake() (ms uint64) {
	for i := range w.reqs {
		if r := &w.reqs[i]; r.phase == waiting && (ms == 0 || r.wakeMs < ms) {
			ms = r.wakeMs
		}
	}
	return ms
}

// search follows all orders of events. check is called for every state, and end for those after which nothing happens.
func search(t *testing.T, first *world, maxStates int, check, end func(*world) string) (states, mostCalls int) {
	t.Helper()
	type node struct {
		*world
		from int
		name string
	}
	nodes, seen := []node{{first, -1, ""}}, map[[32]byte]bool{first.key(): true}
	path := func(at int) string {
		var names []string
		for ; at >= 0; at = nodes[at].from {
			names = append(names, nodes[at].name)
		}
		slices.Reverse(names)
		return strings.Join(names, "\n\t")
	}
	for at := 0; at < len(nodes); at++ {
		w := nodes[at].world
		for i := range w.reqs {
			mostCalls = max(mostCalls, w.reqs[i].made)
		}
		problem := check(w)
		steps := w.steps()
		if problem == "" && len(steps) == 0 {
			problem = end(w)
		}
		if problem != "" {
			t.Errorf("%s:\n%s", problem, path(at))
			return len(nodes), mostCalls
		}
		for _, s := range steps {
			if key := s.next.key(); !seen[key] {
				seen[key] = true
				nodes = append(nodes, node{s.next, at, s.name})
			}
		}
		nodes[at].world = nil
		if len(nodes) > maxStates {
			t.Fatalf("more than %d states", maxStates)
		}
	}
	return len(nodes), mostCalls
}

// overspent checks that no Ledger's budget is exceeded by the reservations and the spending of its meters.
func (w *world) overspent() string {
	type account struct {
		ledger int
		calendar.Period
	}
	used := map[account]int64{}
	for i := range w.meters {
		m := &w.meters[i]
		for level, at := range m.path {
			l := &m.chain.Levels[level]
			for _, s := range [...]*budget.Slice{&l.Slice, &l.Previous} {
				used[account{at, s.Period}] += s.Reserved + s.Spent
			}
		}
	}
	for a, pico := range used {
		if pico > w.budgets[a.ledger] {
			return fmt.Sprintf("Ledger %d: %d of %d are used", a.ledger, pico, w.budgets[a.ledger])
		}
	}
	return w.problem
}

// leaks checks a world in which nothing happens anymore. When incomplete reservations have lapsed and the meters have
// returned what they do not use, each Ledger can grant all that is not spent or reserved, and no more.
func (w *world) leaks() string {
	w = w.clone()
	w.now += budget.HoldMs
	left := slices.Clone(w.budgets)
	for i := range w.meters {
		m := &w.meters[i]
		w.advance(m)
		for level, at := range m.path {
			m.chain.Recall(w.now, level, 0)
			m.report(level, 0)
			w.absorb(m, level, slices.Clone(m.out[level]))
			s := &m.chain.Levels[level].Slice
			if left[at] -= s.Spent + s.Reserved; s.Reserved != w.reserved(m, level) {
				return fmt.Sprintf("%s has %d reserved at level %d, and %d for open requests", m.name, s.Reserved, level, w.reserved(m, level))
			}
		}
	}
	for at, pico := range left {
		if pico > 0 && !w.probe(at, pico) {
			return fmt.Sprintf("Ledger %d does not grant the %d that nobody uses", at, pico)
		}
		if w.probe(at, pico+1) {
			return fmt.Sprintf("Ledger %d grants more than the %d that nobody uses", at, pico)
		}
	}
	return ""
}

// reserved adds up the open reservations that count in a level's present period. Requests are not reserved but spent.
func (w *world) reserved(m *meter, level int) (pico int64) {
	if slices.Contains(w.counted, m.path[level]) {
		return 0
	}
	for _, o := range m.open {
		if o.periods[level] == m.chain.Levels[level].Slice.Period {
			pico += o.pico
		}
	}
	return pico
}

// probe reports whether a Ledger grants an amount to a new meter.
func (w *world) probe(at int, pico int64) bool {
	w = w.clone()
	ask := ledger.Grant{Key: "probe", Period: w.periods[at].At(calendar.Day(w.now)), Epoch: 1, NeedPico: pico, LeastPico: pico}
	reply, err := ledger.DecodeGrantReply(w.object(at, ask.Encode()))
	return err == nil && reply.Granted && reply.TotalPico >= pico
}
