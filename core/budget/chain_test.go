package budget_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
)

const (
	today = 20_778 // 2026-11-21, a Saturday
	now   = today*calendar.DayMs + 8*calendar.HourMs
)

var (
	month = calendar.NewPeriod(calendar.Monthly, 0, today)
	week  = calendar.NewPeriod(calendar.Weekly, 0, today)
)

// team is the path of a key: dollars of the deployment, requests and dollars of a group. The project follows.
var team = []string{"root", "grp_1#requests", "grp_1"}

// newChain returns a chain in its first periods, which are months, without grants.
func newChain(ledgers []string, own ...budget.Own) *budget.Chain {
	c := budget.NewChain(ledgers...)
	c.SetPath(now, ledgers, own)
	var periods []calendar.Period
	for range c.Levels {
		periods = append(periods, month)
	}
	c.Advance(now, periods...)
	return &c
}

// granted returns a chain whose Ledgers have granted the totals, from the root down to the project.
func granted(ledgers []string, totals ...int64) *budget.Chain {
	c := newChain(ledgers)
	for i, total := range totals {
		grant(c, i, total)
	}
	return c
}

func grant(c *budget.Chain, level int, total int64) bool {
	l := &c.Levels[level]
	return c.Accept(budget.Grant{Level: level, Period: l.Slice.Period, Epoch: l.Epoch, TotalPico: total})
}

// dollars is a request for an amount of dollars, which counts as one request.
func dollars(id string, pico int64) *budget.Request {
	return &budget.Request{ID: id, Want: budget.Amounts{Pico: pico, Requests: 1}, LeastPico: pico}
}

func ordered(id string, pico int64) *budget.Request {
	q := dollars(id, pico)
	q.Ordered = true
	return q
}

// expect compares the slices of all levels with a list such as "10+3/20", which means that 10 of 20 are spent and 3
// reserved.
func expect(t *testing.T, c *budget.Chain, want ...string) {
	t.Helper()
	var got []string
	for i := range c.Levels {
		s := &c.Levels[i].Slice
		got = append(got, fmt.Sprintf("%d+%d/%d", s.Spent, s.Reserved, s.Granted))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestFree checks that the free dollars are those of the level with the fewest, and that other units do not matter.
func TestFree(t *testing.T) {
	c := granted(team, 30, 1, 20, 40)
	if got := c.Free(); got != 20 {
		t.Errorf("%d are free, want 20", got)
	}
	if c = granted(team, 30, 1, 20, 10); c.Free() != 10 {
		t.Errorf("%d are free, want 10", c.Free())
	}
	if !c.Counts() || newChain([]string{"root"}).Counts() {
		t.Error("only a chain with a level of requests counts something other than dollars")
	}
}

// TestLive checks that a chain needs a grant from each Ledger. A grant of 0 is one.
func TestLive(t *testing.T) {
	c := newChain(team, budget.Own{Name: "key"})
	for i := range 4 {
		if c.Live() {
			t.Fatalf("live with %d of 4 grants", i)
		}
		grant(c, i, 0)
	}
	if !c.Live() {
		t.Error("not live with all grants")
	}
}

// TestRepeatedPath checks that the same path changes only the limits of the key's own budgets, and that incomplete
// reservations continue.
func TestRepeatedPath(t *testing.T) {
	c := newChain(team, budget.Own{Name: "key", Limit: 50}, budget.Own{Name: "key#tokens", Limit: 9})
	grant(c, 0, 10)
	c.Reserve(now, ordered("req_1", 10))
	if c.SetPath(now, team, []budget.Own{{Name: "key", Limit: 60}, {Name: "key#tokens", Limit: 8}}) {
		t.Error("the same Ledgers are reported as a change")
	}
	expect(t, c, "0+10/10", "0+0/0", "0+0/0", "0+0/0", "0+0/60", "0+0/8")
	if len(c.Holds) != 1 {
		t.Errorf("%d incomplete reservations, want 1", len(c.Holds))
	}
}

// TestChangedOwnBudgets checks that a key whose own budgets change is on the same path. Its incomplete reservations end,
// and a budget that stays keeps its spending.
func TestChangedOwnBudgets(t *testing.T) {
	c := newChain([]string{"root"}, budget.Own{Name: "key", Limit: 50})
	grant(c, 0, 100)
	grant(c, 1, 100)
	c.Reserve(now, dollars("req_1", 7))
	if c.SetPath(now, []string{"root"}, []budget.Own{{Name: "key#requests", Limit: 3}, {Name: "key", Limit: 40}}) {
		t.Error("the same Ledgers are reported as a change")
	}
	expect(t, c, "0+7/100", "0+7/100", "0+0/3", "0+7/40")
	c.SetPath(now, []string{"root"}, []budget.Own{{Name: "key", Limit: 40}})
	expect(t, c, "0+7/100", "0+7/100", "0+7/40")
	c.SetPath(now, []string{"root"}, []budget.Own{{Name: "key#tokens", Limit: 40}})
	expect(t, c, "0+7/100", "0+7/100", "0+0/40")
}

// TestMove checks that a move keeps the levels that are on both paths, returns the free budget of the others, and counts
// the requests admitted before the move on the path of their admission.
func TestMove(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 100, 60, 50)
	c.Reserve(now, dollars("req_1", 20))
	places := c.Places()
	c.Reserve(now, dollars("req_2", 5))
	if !c.SetPath(now, []string{"root", "grp_2"}, nil) {
		t.Error("a move is not reported")
	}
	expect(t, c, "0+25/100", "0+0/0", "0+25/50")
	former := c.FormerNamed("grp_1")
	if former == nil || former.Slice.Granted != 25 || former.Epoch != 2 || !former.Unsent || c.FormerNamed("grp_2") != nil || c.Named("grp_1") != -1 || c.Named("grp_2") != 1 {
		t.Fatalf("%+v", c)
	}
	former.Unsent = false
	c.Book(month, places, budget.Amounts{Pico: -20}, budget.Amounts{Pico: 12})
	expect(t, c, "12+5/100", "0+0/0", "12+5/50")
	if s := &former.Slice; s.Spent != 12 || s.Reserved != 5 || !former.Unsent {
		t.Errorf("the former group has %+v", former)
	}
	c.SetPath(now, []string{"root", "grp_1"}, nil)
	expect(t, c, "12+5/100", "12+5/17", "12+5/50")
	if c.Levels[1].Epoch != 3 || c.FormerNamed("grp_1") != nil || c.FormerNamed("grp_2") == nil {
		t.Errorf("%+v", c)
	}
}

// TestNewLevelIsNew checks that a level that was never on the path has a slot of its own and an epoch that no Ledger has
// seen from this key.
func TestNewLevelIsNew(t *testing.T) {
	c := newChain([]string{"root"})
	c.SetPath(now, []string{"grp_1"}, nil)
	c.SetPath(now, []string{"grp_2"}, nil)
	if l := &c.Levels[0]; l.Slot != 3 || l.Epoch != now {
		t.Errorf("slot %d, epoch %d", l.Slot, l.Epoch)
	}
}

// TestFormerLevelWithoutBudget checks that a former level reports only if there is something to return.
func TestFormerLevelWithoutBudget(t *testing.T) {
	c := granted([]string{"root"}, 10, 50)
	c.Reserve(now, dollars("req_1", 10))
	places := c.Places()
	c.SetPath(now, nil, []budget.Own{{Name: "key", Limit: 90}})
	c.SetPath(now, nil, nil)
	c.FormerNamed("root").Unsent = false
	c.Book(month, places, budget.Amounts{}, budget.Amounts{})
	if c.FormerNamed("root").Unsent || c.FormerNamed("key").Unsent {
		t.Errorf("%+v", c.Former)
	}
	c.Book(month, places, budget.Amounts{Pico: -1}, budget.Amounts{})
	if !c.FormerNamed("root").Unsent {
		t.Error("the released budget is not reported")
	}
}

// TestFormerLevelsAreLimited checks that the newest 64 levels of former paths are kept.
func TestFormerLevelsAreLimited(t *testing.T) {
	c := newChain([]string{"grp_0"})
	for i := range 70 {
		c.SetPath(now, []string{fmt.Sprint("grp_", i+1)}, nil)
	}
	if len(c.Former) != 64 || c.FormerNamed("grp_5") != nil || c.FormerNamed("grp_6") == nil || c.FormerNamed("grp_69") == nil {
		t.Errorf("%d levels: %+v", len(c.Former), c.Former)
	}
}

// TestBook checks that amounts count in the present and the previous period, and that older periods are skipped.
func TestBook(t *testing.T) {
	c := granted([]string{"root", "root#tokens"}, 100, 100, 100)
	c.Levels[0].Unsent = false
	c.Reserve(now, &budget.Request{ID: "req_1", Want: budget.Amounts{Pico: 10, Requests: 1, Tokens: 30}, LeastPico: 10})
	places := c.Places()
	c.Book(month, places, budget.Amounts{Pico: -10, Tokens: -30}, budget.Amounts{Tokens: 4})
	expect(t, c, "0+0/100", "4+0/100", "0+0/100")
	if c.Levels[0].Unsent || !c.Levels[1].Unsent {
		t.Error("only the tokens are new to their Ledger")
	}
	next := calendar.NewPeriod(calendar.Monthly, 0, today+31)
	c.Advance(now, next, next, month)
	c.Book(month, places, budget.Amounts{}, budget.Amounts{Pico: 3, Tokens: 5})
	expect(t, c, "0+0/0", "0+0/0", "3+0/100")
	if p := &c.Levels[0].Previous; p.Period != month || p.Spent != 3 || c.Levels[1].Previous.Spent != 9 {
		t.Errorf("%+v", c.Levels)
	}
	later := calendar.NewPeriod(calendar.Monthly, 0, today+62)
	c.Advance(now, later, later, month)
	c.Book(month, places, budget.Amounts{}, budget.Amounts{Pico: 3, Tokens: 5})
	expect(t, c, "0+0/0", "0+0/0", "6+0/100")
	if c.Levels[0].Previous.Spent != 0 {
		t.Errorf("%+v", c.Levels[0])
	}
}

// TestFreeAt checks the budget of an earlier admission's periods. It is nothing if a period is over for so long that it
// is not tracked, or if there is a debt.
func TestFreeAt(t *testing.T) {
	c := granted(team, 30, 1, 20, 40)
	places := c.Places()
	if got := c.FreeAt(month, places); got != 20 {
		t.Errorf("%d are free, want 20", got)
	}
	for _, p := range [][]budget.Place{append(places[:2:2], budget.Place{Slot: 9, Period: month}), append(places[:2:2], budget.Place{Slot: places[2].Slot, Period: week})} {
		if got := c.FreeAt(month, p); got != 0 {
			t.Errorf("%d are free at %v, want 0", got, p)
		}
	}
	if got := c.FreeAt(week, places); got != 0 {
		t.Errorf("%d are free in another period of the project, want 0", got)
	}
	c.Book(month, places, budget.Amounts{}, budget.Amounts{Pico: 25})
	if got := c.FreeAt(month, places); got != 0 {
		t.Errorf("%d are free with a debt, want 0", got)
	}
}

// TestNewPeriod checks that a new period of one level begins empty, except for the key's own budget, and that only the
// incomplete reservations with the level end.
func TestNewPeriod(t *testing.T) {
	c := newChain([]string{"root", "grp_1"}, budget.Own{Name: "key", Limit: 50})
	grant(c, 0, 10)
	grant(c, 1, 10)
	c.Levels[1].RecalledMs = now
	c.Reserve(now, ordered("req_1", 10)) // holds the root and the group
	c.Reserve(now, ordered("req_2", 11)) // holds nothing, and waits for the root
	next := calendar.NewPeriod(calendar.Monthly, 0, today+31)
	c.Advance(now, month, next, month, next)
	expect(t, c, "0+0/10", "0+0/0", "0+0/0", "0+0/50")
	if l := c.Levels[1]; l.Slice.Live || l.RecalledMs != 0 || l.Previous.Granted != 10 || !c.Levels[3].Slice.Live {
		t.Errorf("%+v", c.Levels)
	}
	if len(c.Holds) != 1 || c.Holds[0].RequestID != "req_2" {
		t.Errorf("%+v", c.Holds)
	}
	c.Advance(now, month, month, month, month) // the clock went back
	if c.Levels[1].Slice.Period != next {
		t.Error("a period ended that had not begun")
	}
}

// TestNewPeriodBelow checks that an incomplete reservation does not depend on the periods of levels that it does not
// have.
func TestNewPeriodBelow(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 10)
	c.Reserve(now, ordered("req_1", 10))
	next := calendar.NewPeriod(calendar.Monthly, 0, today+31)
	c.Advance(now, month, next, month)
	expect(t, c, "0+10/10", "0+0/0", "0+0/0")
}

// TestHoldsEndIfTheClockGoesBack checks that an incomplete reservation does not last until the clock has caught up.
func TestHoldsEndIfTheClockGoesBack(t *testing.T) {
	for _, back := range []uint64{0, 1, 3600e3} {
		c := granted([]string{"root"}, 100)
		reserve(t, c, now, ordered("req_1", 10))
		c.Advance(now-back, month, month)
		if want := back == 0; (len(c.Holds) > 0) != want || (c.Levels[0].Slice.Reserved > 0) != want {
			t.Errorf("%d ms back: %+v", back, c)
		}
	}
}
