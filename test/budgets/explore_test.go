package budgets

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
)

var month = calendar.NewPeriod(calendar.Monthly, 0, today)

// scenario is a tree and the requests that compete for its budgets.
type scenario struct {
	paths   [][]int // of each meter: its Ledgers from the root down
	budgets []int64
	daily   []int  // Ledgers whose budgets are per day; the others' are per month
	counted []int  // Ledgers that count requests; the others count dollars
	idle    []idle // granted to a meter before, and not used
	wants   []int64
	least   int64   // sufficient if a Ledger has no more; 0: wants
	of      []int   // the meter of each request
	costs   []int64 // see world
	late    bool    // begins a second before midnight

	losses, crashes, ticks int
}

// idle is a grant to a meter that does not use it.
type idle struct {
	meter, level int
	pico         int64
}

func (s *scenario) world() *world {
	w := &world{
		now: start, losses: s.losses, crashes: s.crashes, ticks: s.ticks, costs: s.costs, budgets: s.budgets, counted: s.counted,
	}
	if s.late {
		w.now = (today+1)*calendar.DayMs - 1000
	}
	for at, pico := range s.budgets {
		p := month
		if slices.Contains(s.daily, at) {
			p = calendar.NewPeriod(calendar.Daily, 0, today)
		}
		w.ledgers, w.periods = append(w.ledgers, map[string][]byte{}), append(w.periods, p)
		w.give(at, pico, p)
	}
	for i, path := range s.paths {
		m := meter{name: fmt.Sprint("meter", i), path: path, seq: make([]uint64, len(path)), out: make([][]batch, len(path))}
		var above []string
		for _, at := range path[:len(path)-1] {
			above = append(above, w.name(at))
		}
		m.chain = budget.NewChain(above...)
		w.advance(&m)
		w.meters = append(w.meters, m)
	}
	for _, g := range s.idle {
		w.idle(&w.meters[g.meter], g.level, g.pico)
	}
	for i, want := range s.wants {
		least := s.least
		if least == 0 {
			least = want
		}
		w.reqs = append(w.reqs, request{id: fmt.Sprint("req", i), meter: s.of[i], want: want, least: least})
		w.admit(&w.reqs[i])
	}
	return w
}

func (w *world) count(o outcome) (n int) {
	for i := range w.reqs {
		if w.reqs[i].outcome == o {
			n++
		}
	}
	return n
}

// outcomes lists the outcomes of all requests.
func (w *world) outcomes() string {
	return fmt.Sprintf("%d admitted, %d refused, %d unavailable, %d at the limit of calls", w.count(admitted), w.count(refused), w.count(unavailable), w.count(guarded))
}

// explore follows all orders of a scenario's events. After the last one, exactly want requests are admitted and the others
// refused; with a negative number, the scenario has faults, and only the invariants hold.
func (s *scenario) explore(t *testing.T, want int) (states, calls int) {
	t.Helper()
	return search(t, s.world(), 3_000_000, (*world).overspent, func(w *world) string {
		if n := w.count(guarded); n > 0 || want >= 0 && (w.count(admitted) != want || w.count(refused) != len(w.reqs)-want) {
			return w.outcomes()
		}
		return w.leaks()
	})
}

var path = []int{0, 1, 2}

// TestOneWins: two requests of two meters want the last budget of one level or of several, wherever it is: unused at the
// Ledgers, or idle at either meter. In every order of events exactly as many are admitted as the budgets cover.
func TestOneWins(t *testing.T) {
	states, calls := 0, 0
	for _, budgets := range [][]int64{{1, 1, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 1}, {1, 1, 2}, {2, 1, 1}, {1, 2, 1}, {2, 2, 2}} {
		for at := range 27 {
			s := scenario{paths: [][]int{path, path}, budgets: budgets, wants: []int64{1, 1}, of: []int{0, 1}}
			for level, n := 0, at; level < 3; level, n = level+1, n/3 {
				if n%3 > 0 {
					s.idle = append(s.idle, idle{n%3 - 1, level, 1})
				}
			}
			n, most := s.explore(t, int(slices.Min(budgets)))
			if t.Failed() {
				t.Fatalf("budgets %v, idle %+v", budgets, s.idle)
			}
			states, calls = states+n, max(calls, most)
		}
	}
	t.Logf("%d states, at most %d calls", states, calls)
}

// TestScenarios explores other trees, amounts and faults.
func TestScenarios(t *testing.T) {
	two := [][]int{{0, 1}, {0, 1}}
	fork, fork3 := [][]int{{0, 1}, {0, 2}}, [][]int{{0, 1, 2}, {0, 1, 2}}
	for name, c := range map[string]struct {
		scenario
		want int
	}{
		"two projects, one root dollar":         {scenario{paths: fork, budgets: []int64{1, 1, 1}, wants: []int64{1, 1}, of: []int{0, 1}}, 1},
		"two projects, idle at the other":       {scenario{paths: fork, budgets: []int64{1, 1, 1}, idle: []idle{{0, 0, 1}, {1, 1, 1}}, wants: []int64{1, 1}, of: []int{0, 1}}, 1},
		"three requests, one dollar":            {scenario{paths: two, budgets: []int64{1, 1}, wants: []int64{1, 1, 1}, of: []int{0, 0, 1}}, 1},
		"three requests, two dollars":           {scenario{paths: two, budgets: []int64{2, 2}, wants: []int64{1, 1, 1}, of: []int{0, 0, 1}}, 2},
		"one key, one dollar":                   {scenario{paths: two[:1], budgets: []int64{1, 1}, wants: []int64{1, 1}, of: []int{0, 0}}, 1},
		"swapped dollars at both levels":        {scenario{paths: two, budgets: []int64{2, 2}, idle: []idle{{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}}, wants: []int64{2, 2}, of: []int{0, 1}}, 1},
		"less than wanted":                      {scenario{paths: two, budgets: []int64{3, 3}, wants: []int64{2, 2}, least: 1, of: []int{0, 1}}, 2},
		"less than wanted, at different levels": {scenario{paths: two, budgets: []int64{4, 3}, idle: []idle{{1, 1, 2}}, wants: []int64{2, 2}, least: 1, of: []int{0, 1}}, 2},
		"requests above dollars":                {scenario{paths: two, counted: []int{0}, budgets: []int64{1, 4}, wants: []int64{2, 2}, of: []int{0, 1}}, 1},
		"dollars above requests":                {scenario{paths: fork3, counted: []int{1}, budgets: []int64{2, 1, 4}, wants: []int64{2, 2}, of: []int{0, 1}}, 1},
		"requests, idle at the other":           {scenario{paths: two, counted: []int{0}, budgets: []int64{2, 4}, idle: []idle{{0, 0, 1}, {1, 0, 1}}, wants: []int64{2, 2}, of: []int{0, 1}}, 2},
		"three requests, two are allowed":       {scenario{paths: two, counted: []int{0}, budgets: []int64{2, 9}, wants: []int64{1, 1, 1}, of: []int{0, 0, 1}}, 2},
		"requests, a lost call":                 {scenario{paths: two, counted: []int{0}, budgets: []int64{1, 2}, wants: []int64{2, 2}, of: []int{0, 1}, losses: 1}, -1},
		"requests, a crash":                     {scenario{paths: two, counted: []int{0}, budgets: []int64{1, 2}, wants: []int64{2, 2}, of: []int{0, 1}, crashes: 1}, -1},
		"requests at midnight":                  {scenario{paths: two, counted: []int{0}, budgets: []int64{1, 4}, daily: []int{0}, wants: []int64{2, 2}, of: []int{0, 1}, late: true, ticks: 2}, -1},
		"a lost call":                           {scenario{paths: two, budgets: []int64{1, 1}, wants: []int64{1, 1}, of: []int{0, 1}, losses: 1}, -1},
		"two lost calls":                        {scenario{paths: two, budgets: []int64{2, 1}, wants: []int64{1, 1}, of: []int{0, 1}, losses: 2}, -1},
		"a crash":                               {scenario{paths: two, budgets: []int64{1, 1}, wants: []int64{1, 1}, of: []int{0, 1}, crashes: 1}, -1},
		"a crash and a lost call":               {scenario{paths: two, budgets: []int64{1, 2}, wants: []int64{1, 1}, of: []int{0, 1}, crashes: 1, losses: 1}, -1},
		"slow calls":                            {scenario{paths: two, budgets: []int64{1, 1}, wants: []int64{1, 1}, of: []int{0, 1}, ticks: 3}, -1},
		"midnight at the project":               {scenario{paths: two, budgets: []int64{1, 1}, daily: []int{1}, wants: []int64{1, 1}, of: []int{0, 1}, late: true, ticks: 2}, -1},
		"midnight at the root":                  {scenario{paths: two, budgets: []int64{1, 2}, daily: []int{0}, wants: []int64{1, 1}, of: []int{0, 1}, late: true, ticks: 2}, -1},
		"cheap requests":                        {scenario{paths: two, budgets: []int64{2, 2}, wants: []int64{2, 2}, of: []int{0, 1}, costs: []int64{0, 1, 2}}, -1},
		"cheap requests, a crash":               {scenario{paths: two, budgets: []int64{2, 3}, wants: []int64{2, 2}, of: []int{0, 1}, costs: []int64{0, 2}, crashes: 1}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			states, calls := c.explore(t, c.want)
			t.Logf("%d states, at most %d calls", states, calls)
		})
	}
}
