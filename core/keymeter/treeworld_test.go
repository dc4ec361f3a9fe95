package keymeter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// forest is a tree whose keys do random things. It keeps the books of the admitted requests and their costs.
type forest struct {
	*tree
	*rand.Rand
	names []string // of the keys
	open  []entry
	late  []entry // expired
	spent map[account]money.Pico
	books books
	count int
}

// entry is an open request: its reservation, and the accounts against which it counts.
type entry struct {
	key, id  string
	pico     money.Pico
	accounts []account
	admitted uint64
	path     []string // its Ledgers, the project last
}

type account struct {
	ledger string
	period calendar.Period
}

var forestPaths = [][]string{
	{"root", "grp_1", "proj_1"}, {"root", "grp_1", "proj_2"}, {"root", "grp_2", "proj_1"}, {"grp_1", "proj_1"}, {"root", "proj_2"}, {"proj_1"}, {"root", "grp_1", "grp_2", "proj_2"},
	{"root", "grp_3", "dep_1", "proj_1"}, {"dep_1", "proj_2"}, {"root", "grp_3", "proj_2"},
}

func newForest(t *testing.T, seed uint64) *forest {
	f := &forest{tree: newTree(t), Rand: rand.New(rand.NewPCG(seed, 0)), spent: map[account]money.Pico{}, books: books{}}
	f.fault = func() int { return max(0, f.IntN(6)-3) }
	f.now = (today+1)*calendar.DayMs - 40_000 // a Saturday; the day ends soon
	cycles := []calendar.Cycle{calendar.Monthly, calendar.Weekly, calendar.Daily}
	for _, name := range []string{"root", "grp_1", "grp_2", "proj_1", "proj_2"} {
		f.give(name, cycles[f.IntN(3)], money.Pico(20+f.IntN(200)))
	}
	for _, name := range restless {
		f.soft[name] = f.IntN(2) == 0
		f.give(name, cycles[f.IntN(3)], 1<<40)
	}
	f.soft["proj_2"] = f.IntN(3) == 0
	for i := range 3 {
		f.names = append(f.names, fmt.Sprint("key_", i))
		f.move(f.names[i])
	}
	return f
}

// move puts a key below other Ledgers. Its project stays.
func (f *forest) move(name string) {
	path := forestPaths[f.IntN(len(forestPaths))]
	if old := f.paths[name]; old != nil {
		for path[len(path)-1] != old[len(old)-1] {
			path = forestPaths[f.IntN(len(forestPaths))]
		}
	}
	f.place(name, "wide", path...)
}

func (f *forest) step() {
	k := f.keys[f.names[f.IntN(len(f.names))]]
	k.now = f.now
	switch n := f.IntN(24); {
	case n < 8:
		f.request(k)
	case n < 14 && len(f.open) > 0:
		f.settleOne(f.IntN(len(f.open)))
	case n < 16:
		f.pass(uint64(f.IntN(3000)))
	case n == 16:
		f.move(k.Name)
	case n == 17:
		f.lose(k)
	case n == 18 && len(f.open) > 0:
		f.grow(&f.open[f.IntN(len(f.open))])
	case n == 19:
		path := f.paths[k.Name]
		f.recall(path[f.IntN(len(path))], k, 0)
	case n == 20 && len(f.late) > 0:
		f.settleLate(f.IntN(len(f.late)))
	case n == 21:
		f.change(restless[f.IntN(len(restless))])
	case n == 22 && f.IntN(3) == 0:
		f.pass(61_000) // everything expires
	case n == 22:
		f.place(k.Name, "wide", f.paths[k.Name]...)
	case n == 23:
		f.forward(k.Name)
	}
}

// request admits a request, or finds out why not.
func (f *forest) request(k *key) {
	f.count++
	id, pico := fmt.Sprint("req_", f.count), money.Pico(1+f.IntN(30))
	got, spent := f.admit(k, keymeter.Admit{RequestID: id, AmountPico: pico, LeastPico: 1 + pico/2})
	if spent != "" {
		f.expectFull(spent, 1+pico/2)
		return
	}
	if got < 1+pico/2 || got > pico {
		f.Fatalf("%s: %d of %d reserved", id, got, pico)
	}
	f.open = append(f.open, f.entry(k, id, got))
}

func (f *forest) entry(k *key, id string, pico money.Pico) entry {
	e := entry{key: k.Name, id: id, pico: pico, admitted: f.now, path: f.paths[k.Name]}
	for _, name := range e.path {
		e.accounts = append(e.accounts, account{name, f.periods[name].At(calendar.Day(f.now))})
	}
	return e
}

// used returns the amount that counts against a Ledger's budget in its present period.
func (f *forest) used(name string) (pico money.Pico) {
	now := account{name, f.periods[name].At(calendar.Day(f.now))}
	for i := range f.open {
		if slices.Contains(f.open[i].accounts, now) {
			pico += f.open[i].pico
		}
	}
	return pico + f.spent[now]
}

// expectFull checks that a Ledger that refused an amount has no room for it.
func (f *forest) expectFull(name string, pico money.Pico) {
	if used := f.used(name); used+pico <= f.budgets[name] || f.soft[name] {
		f.Fatalf("%s refuses %d: %d of %d are used", name, pico, used, f.budgets[name])
	}
}

// settleOne ends a request, which cost at most its reservation.
func (f *forest) settleOne(at int) {
	e := f.open[at]
	f.open = slices.Delete(f.open, at, at+1)
	cost := money.Pico(f.Int64N(e.pico + 1))
	f.charge(&e, cost)
	f.books.add(&e, served(cost))
	f.keys[e.key].now = f.now
	f.keys[e.key].settle(e.id, 2, cost)
}

func (f *forest) charge(e *entry, cost money.Pico) {
	for _, a := range e.accounts {
		f.spent[a] += cost
	}
}

// lose asks a Ledger for budget whose grant never arrives.
func (f *forest) lose(k *key) {
	f.count++
	id := fmt.Sprint("req_", f.count)
	reply := k.admit(keymeter.Admit{RequestID: id, Mode: keymeter.ModeReserve, AmountPico: money.Pico(1 + f.IntN(40))})
	if reply.Verdict == keymeter.Admitted {
		k.settle(id, 2, 0)
		e := f.entry(k, id, 0)
		f.books.add(&e, served(0))
		return
	}
	for i := range reply.Levels {
		f.ask(k, &reply.Levels[i])
	}
}

// grow extends a request's reservation, as a stream does.
func (f *forest) grow(e *entry) {
	k := f.keys[e.key]
	k.now = f.now
	x := keymeter.Extend{RequestID: e.id, TotalPico: e.pico + money.Pico(1+f.IntN(10))}
	for range 10 {
		reply, err := keymeter.DecodeAdmitReply(k.call(x.Encode()))
		if err != nil {
			f.Fatal(err)
		}
		if reply.Verdict == keymeter.Admitted {
			e.pico = reply.ReservedPico
			return
		}
		if reply.Verdict != keymeter.Short || len(reply.Levels) == 0 {
			return
		}
		grants, _, spent := f.askAll(k, &reply)
		if spent != "" {
			release := keymeter.Admit{RequestID: e.id, Mode: keymeter.ModeReserve, Tree: keymeter.Tree{Release: true}}
			k.admit(release)
			return
		}
		x.Tree = keymeter.Tree{Grants: grants, Ordered: true}
	}
}

// expire moves expired requests to the books. Their cost is their reservation.
func (f *forest) expire() {
	f.open = slices.DeleteFunc(f.open, func(e entry) bool {
		expired := e.admitted+60_000 <= f.now
		if expired {
			f.charge(&e, e.pico)
			f.books.add(&e, ledger.Usage{Requests: 1, Expired: 1, CostPico: e.pico})
			f.late = append(f.late, e)
		}
		return expired
	})
}

// check compares the meters with the books. No budget may be exceeded, except those of soft projects. The reserved amount of each slice must be the
// sum of its open requests' reservations.
func (f *forest) check() {
	for name, budget := range f.budgets {
		if used := f.used(name); used > budget && !f.soft[name] {
			f.Fatalf("%s: %d of %d are used", name, used, budget)
		}
	}
	for _, name := range f.names {
		levels, holds, err := keymeter.LevelsOf(f.keys[name].Rows["h"])
		if err != nil || holds > 0 {
			f.Fatalf("%s: %v, %d incomplete reservations", name, err, holds)
		}
		for _, l := range levels {
			f.checkLevel(name, &l)
		}
	}
}

func (f *forest) checkLevel(name string, l *keymeter.LevelState) {
	a := account{f.at(f.keys[name], l.Ledger), l.Period}
	if slices.Contains(restless, a.ledger) {
		return // its cycle may have changed without the key knowing
	}
	reserved := money.Pico(0)
	for i := range f.open {
		if f.open[i].key == name && slices.Contains(f.open[i].accounts, a) {
			reserved += f.open[i].pico
		}
	}
	if l.ReservedPico != reserved {
		f.Fatalf("%s has %d reserved of %v, and %d for its requests", name, l.ReservedPico, a, reserved)
	}
	if free := l.Granted - l.Spent - l.ReservedPico; free < 0 && !f.soft[a.ledger] {
		f.Fatalf("%s owes %d to %v", name, -free, a)
	}
}

// TestForest checks that the meters of a tree never exceed a budget, refuse nothing that fits and lose nothing, and that
// every node has the usage that was admitted below it. Periods end, keys move, grants and Contributions are lost or
// repeated, slices are recalled, reservations are extended, some requests are settled late or never, and some nodes change
// their cycle or stop to enforce it.
func TestForest(t *testing.T) {
	for seed := range uint64(300) {
		f := newForest(t, seed)
		for range 120 {
			f.step()
			f.expire()
			f.check()
		}
		for len(f.open) > 0 {
			f.settleOne(0)
		}
		f.fault = func() int { return 0 }
		for range 5 {
			f.pass(60_000)
		}
		f.checkSpent()
		f.checkUsage()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
