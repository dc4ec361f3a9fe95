package budget_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
)

// TestAccept checks that a grant raises a slice only in its period and epoch, and never lowers it.
func TestAccept(t *testing.T) {
	c := newChain([]string{"root"})
	if !grant(c, 0, 10) || grant(c, 0, 10) || grant(c, 0, 4) {
		t.Error("only the first grant changes the level")
	}
	old := budget.Grant{Level: 0, Period: month, Epoch: c.Levels[0].Epoch, TotalPico: 99}
	c.Levels[0].Return()
	if c.Accept(old) {
		t.Error("a grant of an earlier epoch counts")
	}
	early := budget.Grant{Level: 0, Period: calendar.NewPeriod(calendar.Monthly, 0, today-31), Epoch: c.Levels[0].Epoch, TotalPico: 99}
	if c.Accept(early) {
		t.Error("a grant of an earlier period counts")
	}
	expect(t, c, "0+0/0", "0+0/0")
	late := budget.Grant{Level: 0, Period: calendar.NewPeriod(calendar.Monthly, 0, today+31), Epoch: c.Levels[0].Epoch, TotalPico: 99}
	if !c.Accept(late) {
		t.Error("a grant of a new period does not count")
	}
	expect(t, c, "0+0/99", "0+0/0")
}

// TestReserve checks that a request reserves its amounts at all levels, each in its unit, or at none.
func TestReserve(t *testing.T) {
	c := granted([]string{"root", "root#requests", "root#tokens", "grp_1"}, 50, 2, 70, 30, 40)
	q := budget.Request{ID: "req_1", Want: budget.Amounts{Pico: 20, Requests: 1, Tokens: 60}, LeastPico: 20}
	if pico, short := c.Reserve(now, &q); pico != 20 || len(short) > 0 {
		t.Fatalf("%d, %+v", pico, short)
	}
	expect(t, c, "0+20/50", "1+0/2", "0+60/70", "0+20/30", "0+20/40")
	q.ID = "req_2"
	if pico, short := c.Reserve(now, &q); pico != 0 || len(short) != 2 || short[0].Level != 2 || short[1].Level != 3 {
		t.Errorf("%d, %+v", pico, short)
	}
	expect(t, c, "0+20/50", "1+0/2", "0+60/70", "0+20/30", "0+20/40")
	if _, short := c.Reserve(now, &budget.Request{ID: "req_3", Want: budget.Amounts{Pico: 10, Requests: 1, Tokens: 10}, LeastPico: 10}); len(short) > 0 {
		t.Errorf("the exact remaining amounts are not enough: %+v", short)
	}
	expect(t, c, "0+30/50", "2+0/2", "0+70/70", "0+30/30", "0+30/40")
}

// TestUnitsWithoutAmount checks that a level matters only to requests that count there. An answer from the cache costs
// requests, but no dollars.
func TestUnitsWithoutAmount(t *testing.T) {
	c := newChain([]string{"root#requests", "root#tokens"})
	counted := budget.Request{ID: "req_1", Want: budget.Amounts{Requests: 1}, Counted: true}
	if _, short := c.Reserve(now, &counted); len(short) != 1 || short[0].Level != 0 {
		t.Errorf("%+v", short)
	}
	grant(c, 0, 1)
	if _, short := c.Reserve(now, &counted); len(short) > 0 {
		t.Errorf("%+v", short)
	}
	expect(t, c, "1+0/1", "0+0/0", "0+0/0")
	free := budget.Request{ID: "req_2"}
	if _, short := c.Reserve(now, &free); len(short) != 1 || short[0].Level != 2 {
		t.Errorf("a free request needs to know that the project may spend: %+v", short)
	}
	grant(c, 2, 0)
	c.Book(month, nil, budget.Amounts{}, budget.Amounts{Pico: 5})
	if _, short := c.Reserve(now, &free); len(short) > 0 {
		t.Errorf("a debt matters to a free request: %+v", short)
	}
}

// TestShortfall checks the amounts that a level asks for: all of the wanted amount and the debt, because others wait for
// the free part too. The free part lowers only the sufficient amount.
func TestShortfall(t *testing.T) {
	for _, c := range []struct {
		spent, want, least int64
		need, sufficient   int64
	}{
		{5, 10, 10, 10, 5},
		{5, 10, 3, 10, 0},
		{5, 10, 99, 10, 5},
		{10, 10, 4, 10, 4},
		{13, 10, 4, 13, 7},
		{13, 10, 0, 13, 0}, // a stream whose reservation is sufficient
	} {
		chain := granted([]string{"root"}, 10, 1000)
		chain.Book(month, chain.Places(), budget.Amounts{}, budget.Amounts{Pico: c.spent})
		_, short := chain.Reserve(now, &budget.Request{ID: "req_1", Want: budget.Amounts{Pico: c.want}, LeastPico: c.least})
		want := budget.Shortfall{Period: month, Epoch: 1, HeldPico: 10, NeedPico: c.need, LeastPico: c.sufficient}
		if len(short) != 1 || short[0] != want {
			t.Errorf("%+v: got %+v", c, short)
		}
	}
	chain := newChain([]string{"root"})
	chain.Book(month, chain.Places(), budget.Amounts{}, budget.Amounts{Pico: 5})
	if _, short := chain.Reserve(now, &budget.Request{ID: "req_1", LeastPico: 7}); len(short) != 2 || short[0].NeedPico != 0 || short[0].LeastPico != 0 {
		t.Errorf("a free request asks for an amount: %+v", short)
	}
	chain = newChain([]string{"root#tokens"})
	grant(chain, 1, 100)
	if _, short := chain.Reserve(now, &budget.Request{ID: "req_1", Want: budget.Amounts{Pico: 9, Tokens: 20}, LeastPico: 1}); len(short) != 1 || short[0].LeastPico != 20 {
		t.Errorf("fewer tokens are sufficient: %+v", short)
	}
}

// TestFinal checks that a request takes less than it wants only if a Ledger has no more, and then the same at all
// levels.
func TestFinal(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 100, 6, 100)
	q := budget.Request{ID: "req_1", Want: budget.Amounts{Pico: 10}, LeastPico: 6}
	if _, short := c.Reserve(now, &q); len(short) != 1 || short[0].Level != 1 {
		t.Errorf("%+v", short)
	}
	q.Final = 1 << 0
	if _, short := c.Reserve(now, &q); len(short) != 1 {
		t.Errorf("another level is final: %+v", short)
	}
	q.Final, q.LeastPico = 1<<1, 7
	if _, short := c.Reserve(now, &q); len(short) != 1 {
		t.Errorf("less than sufficient: %+v", short)
	}
	q.LeastPico = 6
	if pico, short := c.Reserve(now, &q); pico != 6 || len(short) > 0 {
		t.Errorf("%d, %+v", pico, short)
	}
	expect(t, c, "0+6/100", "0+6/6", "0+6/100")
}

// TestOwnBudget checks that the key's own budget decides first, because no Ledger can raise it, and that the key may
// spend the rest of it.
func TestOwnBudget(t *testing.T) {
	c := newChain([]string{"root"}, budget.Own{Name: "key", Limit: 8}, budget.Own{Name: "key#requests", Limit: 1})
	if _, short := c.Reserve(now, dollars("req_1", 9)); len(short) != 1 || short[0].Level != 2 {
		t.Errorf("%+v", short)
	}
	grant(c, 0, 100)
	grant(c, 1, 100)
	q := dollars("req_1", 9)
	q.LeastPico = 8
	if pico, short := c.Reserve(now, q); pico != 8 || len(short) > 0 {
		t.Errorf("%d, %+v", pico, short)
	}
	expect(t, c, "0+8/100", "0+8/100", "0+8/8", "1+0/1")
	if _, short := c.Reserve(now, dollars("req_2", 0)); len(short) != 1 || short[0].Level != 3 {
		t.Errorf("%+v", short)
	}
}

// TestOrdered checks that an ordered request reserves the levels above the first one that lacks budget, asks only there,
// and that its reservation lapses 2 seconds after the last repeat.
func TestOrdered(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 10, 4)
	short := reserve(t, c, now, ordered("req_1", 10))
	if short.Level != 1 || short.HeldPico != 4 || short.NeedPico != 10 || short.WaitMs != 0 {
		t.Errorf("%+v", short)
	}
	expect(t, c, "0+10/10", "0+0/4", "0+0/0")
	grant(c, 1, 10)
	if short = reserve(t, c, now+1500, ordered("req_1", 10)); short.Level != 2 {
		t.Errorf("%+v", short)
	}
	expect(t, c, "0+10/10", "0+10/10", "0+0/0")
	grant(c, 2, 5)
	if short = reserve(t, c, now+1600, ordered("req_2", 5)); short.Level != 0 || short.NeedPico != 5 || short.WaitMs != 1900 {
		t.Errorf("%+v", short)
	}
	c.Advance(now+3499, month, month, month)
	expect(t, c, "0+10/10", "0+10/10", "0+0/5")
	c.Advance(now+3500, month, month, month)
	expect(t, c, "0+0/10", "0+0/10", "0+0/5")
}

// TestOrderedPastIncomplete checks which level an ordered request asks for while another one holds 10 of the root's 10.
// If that is all that it lacks there, it asks for a lower level that lacks more, and holds nothing.
func TestOrderedPastIncomplete(t *testing.T) {
	for _, row := range []struct {
		want, group, project int64
		level, holds         int
	}{
		{10, 4, 100, 1, 1},  // the other request does not hold the group
		{10, 10, 100, 0, 2}, // only the root lacks budget: wait
		{11, 100, 4, 0, 2},  // the root lacks more
		{10, 100, 4, 2, 1},
	} {
		c := granted([]string{"root", "grp_1"}, 10, 4)
		reserve(t, c, now, ordered("req_1", 10))
		grant(c, 1, row.group)
		grant(c, 2, row.project)
		if short := reserve(t, c, now, ordered("req_2", row.want)); short.Level != row.level || len(c.Holds) != row.holds {
			t.Errorf("%+v: got %+v and %d incomplete reservations", row, short, len(c.Holds))
		}
		if c.Levels[0].Slice.Reserved != 10 {
			t.Errorf("%d reserved", c.Levels[0].Slice.Reserved)
		}
	}
}

// TestOrderedAfterFinal checks that a level without incomplete reservations comes first, even if it has enough for the
// smaller amount that a level below has.
func TestOrderedAfterFinal(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 6, 5)
	q := budget.Request{ID: "req_1", Want: budget.Amounts{Pico: 10}, LeastPico: 5, Final: 1 << 1, Ordered: true}
	if short := reserve(t, c, now, &q); short.Level != 0 {
		t.Errorf("%+v", short)
	}
}

// reserve returns the only level that lacks budget for a request.
func reserve(t *testing.T, c *budget.Chain, now uint64, q *budget.Request) budget.Shortfall {
	t.Helper()
	pico, short := c.Reserve(now, q)
	if pico != 0 || len(short) != 1 {
		t.Fatalf("%d reserved, %+v", pico, short)
	}
	return short[0]
}

// TestIncompleteUnits checks that an incomplete reservation has the request's amount of each level's unit, and that its
// end releases the same.
func TestIncompleteUnits(t *testing.T) {
	c := granted([]string{"root#requests", "root#tokens", "grp_1"}, 5, 50, 10)
	q := budget.Request{ID: "req_1", Want: budget.Amounts{Pico: 10, Requests: 1, Tokens: 50}, LeastPico: 10, Ordered: true}
	if short := reserve(t, c, now, &q); short.Level != 3 {
		t.Errorf("%+v", short)
	}
	expect(t, c, "0+1/5", "0+50/50", "0+10/10", "0+0/0")
	c.Release("req_2")
	expect(t, c, "0+1/5", "0+50/50", "0+10/10", "0+0/0")
	c.Release("req_1")
	expect(t, c, "0+0/5", "0+0/50", "0+0/10", "0+0/0")
}

// TestIncompleteAmount checks that a request that found less than it wanted at a level wants no more at the levels below,
// and that other requests are not affected.
func TestIncompleteAmount(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 106)
	reserve(t, c, now, ordered("req_1", 100))
	q := ordered("req_2", 10)
	q.LeastPico, q.Final = 5, 1<<0
	if short := reserve(t, c, now, q); short.Level != 1 || short.NeedPico != 6 {
		t.Errorf("%+v", short)
	}
	q.Final = 0
	if short := reserve(t, c, now, q); short.Level != 1 || short.NeedPico != 6 {
		t.Errorf("%+v", short)
	}
	c.Release("req_1")
	if short := reserve(t, c, now, ordered("req_3", 50)); short.NeedPico != 50 {
		t.Errorf("%+v", short)
	}
}

// TestIncompleteCount checks that a request whose key was allowed its model in between reserves its full cost, although its
// incomplete reservation only counts the request.
func TestIncompleteCount(t *testing.T) {
	c := granted([]string{"root", "root#requests"}, 106, 0, 50)
	q := budget.Request{ID: "req_1", Want: budget.Amounts{Requests: 1}, Ordered: true, Counted: true}
	if short := reserve(t, c, now, &q); short.Level != 1 || len(c.Holds) != 1 {
		t.Errorf("%+v, %+v", short, c.Holds)
	}
	grant(c, 1, 1)
	if pico, short := c.Reserve(now, ordered("req_1", 50)); pico != 50 || len(short) > 0 {
		t.Errorf("%d reserved, %+v", pico, short)
	}
	expect(t, c, "0+50/106", "1+0/1", "0+50/50")
}

// TestRecall checks what a recall takes back: the free part of a slice, unless an ordered request waits for a grant that
// is in flight. Its answer says how long incomplete reservations may last.
func TestRecall(t *testing.T) {
	for _, c := range []struct {
		name     string
		held     int64 // as the Ledger knows it; the slice has 10
		used     int64
		waiting  bool // an ordered request, at the group's Ledger since 500 ms
		level    int
		returned bool
		waitMs   uint64
		granted  int64
	}{
		{name: "idle", held: 10, used: 4, returned: true, granted: 4},
		{name: "in use", held: 10, used: 10, granted: 10},
		{name: "in use, and a grant in flight", held: 15, used: 10, returned: true, granted: 10},
		{name: "in use, unconditional", held: 0, used: 10, returned: true, granted: 10},
		{name: "held by an incomplete reservation", held: 10, waiting: true, waitMs: 1500, granted: 10},
		{name: "awaited", level: 1, held: 15, waiting: true, waitMs: 1500, granted: 3},
		{name: "awaited, unconditional", level: 1, held: 0, waiting: true, returned: true, granted: 0},
		{name: "awaited, and none in flight", level: 1, held: 3, waiting: true, returned: true, granted: 0},
		{name: "a request waits above the level", level: 2, held: 15, waiting: true, returned: true, granted: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain := granted([]string{"root", "grp_1"}, 10, 3, 10)
			chain.Book(month, chain.Places()[:1], budget.Amounts{}, budget.Amounts{Pico: c.used})
			if c.waiting {
				reserve(t, chain, now-500, ordered("req_1", 10))
			}
			l := &chain.Levels[c.level]
			l.Unsent = false
			epoch := l.Epoch
			returned, waitMs := chain.Recall(now, c.level, c.held)
			if returned != c.returned || waitMs != c.waitMs || l.Slice.Granted != c.granted {
				t.Errorf("returned %t, %d ms, %d granted", returned, waitMs, l.Slice.Granted)
			}
			if returned && l.Epoch != epoch+1 || !returned && l.Epoch != epoch || l.Unsent != returned || (l.RecalledMs == now) != (c.held == 0) {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestWaits checks that a recall names the longest of several incomplete reservations, and that lapsed ones do not count.
func TestWaits(t *testing.T) {
	c := granted([]string{"root"}, 20)
	for i, ms := range []uint64{now - 1000, now - 200, now - 600} {
		reserve(t, c, ms, ordered(fmt.Sprint("req_", i), 5))
	}
	for _, level := range []int{0, 1} {
		if _, waitMs := c.Recall(now, level, 1); waitMs != 1800 {
			t.Errorf("level %d: %d ms, want 1800", level, waitMs)
		}
	}
	if _, waitMs := c.Recall(now+1801, 0, 1); waitMs != 0 {
		t.Errorf("%d ms, want 0", waitMs)
	}
}

// TestReturnAbove checks that a key returns the free budget of the levels above its project, and that a level without
// free budget does not change.
func TestReturnAbove(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 10, 30, 40)
	c.Reserve(now, dollars("req_1", 10))
	c.ReturnAbove()
	expect(t, c, "0+10/10", "0+10/10", "0+10/40")
	for i, returned := range []bool{false, true, false} {
		if l := &c.Levels[i]; l.Unsent != returned || (l.Epoch == 2) != returned {
			t.Errorf("%+v", l)
		}
	}
}

// TestReturnWithDebt checks that a slice with a debt keeps its grant.
func TestReturnWithDebt(t *testing.T) {
	c := granted([]string{"root"}, 10, 40)
	c.Book(month, c.Places(), budget.Amounts{}, budget.Amounts{Pico: 15})
	c.Levels[0].Return()
	expect(t, c, "15+0/10", "15+0/40")
}

// TestLower checks that a level whose budget is lower now returns its free part, that incomplete reservations with it
// end, and that others stay.
func TestLower(t *testing.T) {
	c := granted([]string{"root", "grp_1"}, 30, 20, 4)
	c.Reserve(now, dollars("req_1", 4))
	reserve(t, c, now, ordered("req_2", 17)) // holds the root, and waits for the group
	c.Lower(now, 1)
	expect(t, c, "0+21/30", "0+4/4", "0+4/4")
	if l := &c.Levels[1]; l.RecalledMs != now || !l.Unsent {
		t.Errorf("%+v", l)
	}
	c.Lower(now, 0)
	expect(t, c, "0+4/4", "0+4/4", "0+4/4")
}
