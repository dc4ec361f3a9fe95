package keymeter_test

import (
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/testobject"
)

// tree is a test harness: Ledgers by name, and the meters of keys. The calls follow the protocol of an exchange.
type tree struct {
	*testing.T
	now     uint64
	ledgers map[string]*testobject.Object
	budgets map[string]money.Pico
	periods map[string]calendar.Period
	keys    map[string]*key
	paths   map[string][]string // of each key: its Ledgers from the root down, the project last
	version uint64
	own     doc.KeyBudget // of the keys placed next

	projects map[string]*doc.Project // their paths
	soft     map[string]bool         // nodes that stop nothing
	lowered  map[string]uint64       // how often a budget was lowered; records that are put later have it
	// fault decides on a delivery from a Ledger's outbox: 0 makes it, 1 loses the confirmation, 2 loses the command.
	fault func() int
}

func newTree(t *testing.T) *tree {
	return &tree{T: t, now: start, ledgers: map[string]*testobject.Object{}, budgets: map[string]money.Pico{},
		periods: map[string]calendar.Period{}, keys: map[string]*key{}, paths: map[string][]string{},
		projects: map[string]*doc.Project{}, soft: map[string]bool{}, lowered: map[string]uint64{}, fault: func() int { return 0 }}
}

// give creates a Ledger, or changes its budget.
func (w *tree) give(name string, cycle calendar.Cycle, budget money.Pico) {
	w.Helper()
	if w.ledgers[name] == nil {
		w.ledgers[name] = &testobject.Object{Class: abi.ClassLedger, Name: name, Reads: ledger.Reads, Apply: ledger.Apply}
		w.periods[name] = calendar.NewPeriod(cycle, 0, calendar.Day(w.now))
	}
	w.budgets[name] = budget
	w.put(name, nil)
}

func (w *tree) put(name string, paths []doc.Path) {
	w.Helper()
	w.version++
	put := ledger.Put{Version: w.version, BudgetPico: w.budgets[name], Period: w.periods[name].At(calendar.Day(w.now)), Paths: paths}
	w.ledger(name, put.Encode())
}

func (w *tree) ledger(name string, command []byte) []byte {
	w.Helper()
	reply, err := w.ledgers[name].Call(w.now, command)
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	return reply
}

func (w *tree) record(name, plan string, path []string) doc.Record {
	r := record(plan)
	r.KeyID, r.ProjectID = name, path[len(path)-1]
	r.Cycle = w.periods[r.ProjectID].Cycle()
	var nodes []doc.Ancestor
	for _, id := range path[:len(path)-1] {
		node, unit := doc.UnitOf(id)
		if unit == doc.Dollars {
			nodes = append(nodes, doc.Ancestor{ID: id, Epoch: w.periods[id].Epoch(), Counted: !w.soft[id]})
		}
		if !w.soft[id] || node == r.ProjectID {
			r.Chain = append(r.Chain, doc.Node{ID: node, Name: "the group " + node, Unit: unit, Cycle: w.periods[id].Cycle(), Epoch: w.periods[id].Epoch(), Soft: w.soft[id], Lowered: w.lowered[node]})
		}
	}
	r.Own, r.Path, r.Soft, r.KeyName = w.own, w.pathOf(r.ProjectID, nodes), w.soft[r.ProjectID], "name of "+name
	w.version++
	r.Version = w.version
	return r
}

// place creates a key below the given Ledgers, or moves it.
func (w *tree) place(name, plan string, path ...string) *key {
	w.Helper()
	r := w.record(name, plan, path)
	k := w.keys[name]
	if k == nil {
		k = newKey(w.T, doc.Record{})
		k.Name, w.keys[name] = name, k
	}
	k.now, w.paths[name] = w.now, path
	k.put(doc.Active, r)
	return k
}

func (w *tree) at(k *key, level string) string {
	if level == "" {
		path := w.paths[k.Name]
		return path[len(path)-1]
	}
	return level
}

// ask asks the Ledger of a level until the Ledger grants the shortfall or has nothing left. In between, it recalls
// idle slices.
func (w *tree) ask(k *key, s *keymeter.ShortLevel) (keymeter.LevelGrant, bool) {
	w.Helper()
	name := w.at(k, s.Ledger)
	g := ledger.Grant{Key: k.Name, Period: s.Period, Epoch: s.Epoch, HeldPico: s.HeldPico, NeedPico: s.NeedPico, LeastPico: s.LeastPico}
	for range 100 {
		reply, err := ledger.DecodeGrantReply(w.ledger(name, g.Encode()))
		if err != nil {
			w.Fatal(err)
		}
		if reply.Granted {
			return keymeter.LevelGrant{Ledger: s.Ledger, Final: reply.Final,
				Grant: keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}}, true
		}
		if reply.Next <= g.After {
			return keymeter.LevelGrant{}, false
		}
		g.After = reply.Next
		for i, meter := range reply.Recall {
			w.recall(name, w.keys[meter], reply.HeldPico[i])
		}
	}
	w.Fatal("the recall does not end")
	return keymeter.LevelGrant{}, false
}

// recall takes the idle part of a slice back to its Ledger.
func (w *tree) recall(name string, k *key, held money.Pico) {
	w.Helper()
	k.now = w.now
	flush := keymeter.Flush{Recall: true, HeldPico: held}
	if path := w.paths[k.Name]; path[len(path)-1] != name {
		flush.Ledger = name
	}
	reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	if len(reply.Return) > 0 {
		w.ledger(name, reply.Return)
	}
	if len(reply.Absorbs) > 0 {
		w.ledger(name, ledger.Batch(reply.Absorbs))
	}
}

// admit admits a request as an exchange does. It returns the reservation and, if a level has nothing left, its name.
func (w *tree) admit(k *key, a keymeter.Admit) (pico money.Pico, spent string) {
	w.Helper()
	if a.Mode == 0 {
		a.Mode = keymeter.ModeReserve
	}
	for range 20 {
		k.now = w.now
		reply := k.admit(a)
		switch reply.Verdict {
		case keymeter.Admitted:
			return reply.ReservedPico, ""
		case keymeter.OverOwn:
			return 0, reply.Levels[0].Ledger
		}
		grants, none, spent := w.askAll(k, &reply)
		if spent != "" && (a.Tree.Ordered || none) {
			a.Tree = keymeter.Tree{Release: true}
			k.admit(a)
			return 0, spent
		}
		a.Tree = keymeter.Tree{Grants: grants, Ordered: true}
	}
	w.Fatal("the admission does not end")
	return 0, ""
}

// askAll asks for everything that a reply lacks. none is true if only one Ledger was called and that Ledger has
// nothing left.
func (w *tree) askAll(k *key, reply *keymeter.AdmitReply) (grants []keymeter.LevelGrant, none bool, spent string) {
	w.Helper()
	switch {
	case reply.Verdict != keymeter.Short:
		w.Fatalf("verdict %d", reply.Verdict)
	case len(reply.Levels) == 0: // the project is the only level
		reply.Levels = []keymeter.ShortLevel{
			{Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico},
		}
	}
	for i := range reply.Levels {
		g, ok := w.ask(k, &reply.Levels[i])
		if !ok {
			spent = w.at(k, reply.Levels[i].Ledger)
			continue
		}
		grants = append(grants, g)
	}
	return grants, len(grants) == 0 && len(reply.Levels) == 1, spent
}

// spent returns the spending that a Ledger knows of in its present period.
func (w *tree) spent(name string) money.Pico {
	w.Helper()
	day := calendar.Day(w.now)
	report := ledger.Report{FirstDay: day, EndDay: day + 1, Final: true}
	reply, err := ledger.DecodeReportReply(w.ledger(name, report.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	if reply.Period != w.periods[name].At(day) {
		return 0
	}
	return reply.UsedPico
}

func (w *tree) expectSpent(want map[string]money.Pico) {
	w.Helper()
	got := map[string]money.Pico{}
	for name := range want {
		got[name] = w.spent(name)
	}
	if !reflect.DeepEqual(got, want) {
		w.Errorf("spent %v, want %v", got, want)
	}
}

func (w *tree) expectAdmit(k *key, id string, amount, want money.Pico, wantSpent string) {
	w.Helper()
	pico, spent := w.admit(k, keymeter.Admit{RequestID: id, AmountPico: amount})
	if pico != want || spent != wantSpent {
		w.Errorf("%s of %d: %d reserved and %q, want %d and %q", id, amount, pico, spent, want, wantSpent)
	}
}

// company is a tree with a department and two projects, and a key in each.
func company(t *testing.T) (w *tree, first, second *key) {
	w = newTree(t)
	w.give("root", calendar.Monthly, 1000)
	w.give("grp_1", calendar.Weekly, 100)
	w.give("proj_1", calendar.Daily, 60)
	w.give("proj_2", calendar.Monthly, 500)
	return w, w.place("key_1", "wide", "root", "grp_1", "proj_1"), w.place("key_2", "wide", "root", "grp_1", "proj_2")
}

// TestEveryLevelStops checks that each level refuses a request that it cannot cover, even if the other levels can.
func TestEveryLevelStops(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 50, 50, "")
	w.expectAdmit(first, "req_2", 20, 0, "proj_1")
	w.expectAdmit(second, "req_3", 51, 0, "grp_1")
	w.expectAdmit(second, "req_4", 50, 50, "")
	w.give("grp_1", calendar.Weekly, 5000)
	w.expectAdmit(second, "req_5", 440, 440, "")
	w.give("proj_2", calendar.Monthly, 5000)
	w.expectAdmit(second, "req_6", 461, 0, "root")
	w.expectAdmit(second, "req_7", 460, 460, "")
}

// TestCostCountsAtEveryLevel checks settlements below and above the reservation, an expiry and a late settlement.
func TestCostCountsAtEveryLevel(t *testing.T) {
	w, first, second := company(t)
	for _, id := range []string{"req_1", "req_2", "req_3"} {
		w.expectAdmit(first, id, 10, 10, "")
	}
	w.expectAdmit(second, "req_4", 40, 40, "")
	first.settle("req_1", 2, 4)
	first.settle("req_2", 2, 13) // more than was reserved
	second.settle("req_4", 2, 30)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 47, "grp_1": 47, "proj_1": 17, "proj_2": 30})
	w.pass(60_000) // req_3 expires
	w.pass(10_000)
	w.pass(60_000) // its cost travels
	w.expectSpent(map[string]money.Pico{"root": 57, "grp_1": 57, "proj_1": 27, "proj_2": 30})
	first.now = w.now
	first.settle("req_3", 2, 1)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 48, "grp_1": 48, "proj_1": 18, "proj_2": 30})
	w.expectAdmit(second, "req_5", 53, 0, "grp_1")
	w.expectAdmit(second, "req_6", 52, 52, "")
}

// TestIdleSlicesReturn checks that a key's unused budget at a level goes to another key that needs it there.
func TestIdleSlicesReturn(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 60, 60, "")
	first.settle("req_1", 2, 5)
	w.expectAdmit(second, "req_2", 95, 95, "")
	second.settle("req_2", 2, 95)
	w.expectAdmit(first, "req_3", 1, 0, "grp_1")
}

// TestIdleKeyReturnsAllSlices checks that a flush of an idle key returns its slices at all levels, so that nobody has to
// recall them.
func TestIdleKeyReturnsAllSlices(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 60, 60, "")
	first.settle("req_1", 2, 5)
	w.pass(10_000) // the Ledgers know the spending
	w.now += 60_000
	first.now = w.now
	flush := keymeter.Flush{}
	first.call(flush.Encode())
	w.deliver()
	w.pass(60_000)
	delete(w.keys, "key_1") // a recall would fail
	w.expectAdmit(second, "req_2", 95, 95, "")
}

// TestMidnightAtOneLevel checks that a new period of one level changes nothing at the others, and that a request counts
// in the periods of its admission.
func TestMidnightAtOneLevel(t *testing.T) {
	w, first, second := company(t)
	w.now = (today+1)*calendar.DayMs - 1000 // a Saturday
	w.expectAdmit(first, "req_1", 50, 50, "")
	w.pass(2000)
	w.expectAdmit(first, "req_2", 45, 45, "")
	w.expectAdmit(first, "req_3", 10, 0, "grp_1")
	first.settle("req_1", 2, 20)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 20, "grp_1": 20, "proj_1": 0})
	w.expectAdmit(second, "req_4", 35, 35, "")
	w.now += calendar.DayMs // a new week
	w.expectAdmit(second, "req_5", 100, 100, "")
	w.pass(10_000)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 20 + 45 + 35, "grp_1": 0})
}

// TestMovedKey checks that requests count where they were admitted, and that requests after the move reserve budget
// on the new path.
func TestMovedKey(t *testing.T) {
	w, first, second := company(t)
	w.give("grp_2", calendar.Monthly, 30)
	w.expectAdmit(first, "req_1", 40, 40, "")
	w.expectAdmit(first, "req_2", 10, 10, "")
	w.place("key_1", "wide", "root", "grp_2", "proj_1")
	w.expectAdmit(first, "req_3", 10, 10, "")
	first.settle("req_1", 2, 25)
	first.settle("req_3", 2, 7)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 32, "grp_1": 25, "grp_2": 7, "proj_1": 32})
	w.expectAdmit(second, "req_4", 66, 0, "grp_1") // 25 are spent, and 10 are still reserved by req_2
	w.expectAdmit(second, "req_5", 65, 65, "")
	w.pass(60_000) // req_2 expires
	w.place("key_1", "wide", "root", "grp_1", "proj_1")
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 42 + 65, "grp_1": 35 + 65, "grp_2": 7, "proj_1": 42})
	w.place("key_1", "wide", "proj_1")
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 42 + 65, "grp_1": 35 + 65, "grp_2": 7, "proj_1": 42})
}

// TestExtensionsReserveAtEveryLevel checks that a stream's reservation grows at all levels or at none.
func TestExtensionsReserveAtEveryLevel(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_x", 10, 10, "")
	extend := func(total money.Pico, tree keymeter.Tree) keymeter.AdmitReply {
		t.Helper()
		e := keymeter.Extend{RequestID: "req_x", TotalPico: total, Tree: tree}
		reply, err := keymeter.DecodeAdmitReply(first.call(e.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	reply := extend(50, keymeter.Tree{})
	grants, _, spent := w.askAll(first, &reply)
	if spent != "" || len(grants) == 0 {
		t.Fatalf("%+v", reply)
	}
	for range 2 { // a repeat changes nothing
		if reply = extend(50, keymeter.Tree{Grants: grants, Ordered: true}); reply.Verdict != keymeter.Admitted || reply.ReservedPico != 50 {
			t.Fatalf("%+v", reply)
		}
	}
	w.expectAdmit(second, "req_1", 51, 0, "grp_1")
	w.expectAdmit(second, "req_2", 50, 50, "")
	reply = extend(60, keymeter.Tree{})
	if _, _, spent = w.askAll(first, &reply); spent != "grp_1" {
		t.Errorf("%q has nothing left", spent)
	}
	first.settle("req_x", 2, 45)
	second.settle("req_2", 2, 50)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 95, "grp_1": 95, "proj_1": 45, "proj_2": 50})
}

// TestRecallLeavesAnAwaitedGrant checks that a recall does not void a grant that an ordered request waits for, at the
// project and above it. The reply says how long the request may take.
func TestRecallLeavesAnAwaitedGrant(t *testing.T) {
	for _, level := range []string{"root", ""} {
		w := newTree(t)
		w.give("root", calendar.Monthly, 100)
		w.give("proj_1", calendar.Monthly, 100)
		k := w.place("key_1", "wide", "root", "proj_1")
		a := keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: 100, Tree: keymeter.Tree{Ordered: true}}
		reply := k.admit(a)
		if level == "" { // the root has granted; now the project is the first level that lacks budget
			grant, _ := w.ask(k, &reply.Levels[0])
			a.Tree.Grants = []keymeter.LevelGrant{grant}
			reply = k.admit(a)
		}
		if len(reply.Levels) != 1 || reply.Levels[0].Ledger != level {
			t.Fatalf("%+v", reply)
		}
		grant, ok := w.ask(k, &reply.Levels[0]) // in flight
		flush := keymeter.Flush{Recall: true, HeldPico: 100, Ledger: level}
		recalled, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
		if err != nil || !ok || recalled.LentMs == 0 || recalled.LentMs > 2000 || len(recalled.Absorbs)+len(recalled.Return) > 0 {
			t.Errorf("%q: %+v, %v", level, recalled, err)
		}
		if a.Tree.Grants = []keymeter.LevelGrant{grant}; level == "" {
			if reply = k.admit(a); reply.Verdict != keymeter.Admitted {
				t.Errorf("%+v", reply)
			}
		}
	}
}

// TestLeasesAtEveryLevel checks that a lease is reserved at every level, that a lost lease is booked at all of
// them, and that a late report replaces the booking.
func TestLeasesAtEveryLevel(t *testing.T) {
	w := newTree(t)
	w.give("root", calendar.Monthly, 1_000_000)
	w.give("grp_1", calendar.Weekly, 60_000)
	w.give("proj_1", calendar.Monthly, 500_000)
	k := w.place("key_1", "lending", "root", "grp_1", "proj_1")
	version := w.version
	other := w.place("key_2", "wide", "root", "grp_1", "proj_1")
	w.expectAdmit(k, "req_1", 20_000, 20_000, "")
	k.settle("req_1", 2, 0) // leaves idle slices of 20,000
	reply := k.borrowAs(keymeter.Admit{RequestID: "req_2", Version: version, Mode: keymeter.ModeReserve, AmountPico: 100}, 7)
	if reply.Verdict != keymeter.Admitted || reply.Lease.AmountPico == 0 {
		t.Fatalf("%+v", reply)
	}
	k.settle("req_2", 2, 0)
	w.expectAdmit(other, "req_3", 60_000-reply.Lease.AmountPico+1, 0, "grp_1")
	w.expectAdmit(other, "req_4", 60_000-reply.Lease.AmountPico, 60_000-reply.Lease.AmountPico, "")
	other.settle("req_4", 2, 0)
	for range 14 {
		w.pass(10_000)
	}
	lent := reply.Lease.AmountPico
	w.expectSpent(map[string]money.Pico{"root": lent, "grp_1": lent, "proj_1": lent})
	k.now = w.now
	k.report(keymeter.Report{SentMs: w.now, LeaseID: 7, Seq: 1, Close: true, Requests: []keymeter.Leased{ended("a", 70_000, 400, 300)}})
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 300, "grp_1": 300, "proj_1": 300})
}

// TestAsksOnceToLend checks a meter whose slices are too small to lend from. It asks the Ledgers of these levels
// once. If they give no more, it lends what it has.
func TestAsksOnceToLend(t *testing.T) {
	w := newTree(t)
	w.give("root", calendar.Monthly, 1000)
	w.give("proj_1", calendar.Monthly, 1000_000)
	k := w.place("key_1", "lending", "root", "proj_1")
	w.expectAdmit(k, "req_1", 1000, 1000, "")
	k.settle("req_1", 2, 0)
	a := keymeter.Admit{RequestID: "req_2", Version: w.version, Mode: keymeter.ModeReserve, AmountPico: 100}
	reply := k.borrowAs(a, 7)
	if reply.Verdict != keymeter.Short || len(reply.Levels) != 1 || reply.Levels[0].Ledger != "root" || reply.Levels[0].NeedPico != 0 {
		t.Fatalf("%+v", reply)
	}
	grants, _, _ := w.askAll(k, &reply)
	a.Tree = keymeter.Tree{Grants: grants, Ordered: true}
	if reply = k.borrowAs(a, 7); reply.Verdict != keymeter.Admitted || reply.Lease.AmountPico != 450 {
		t.Errorf("%+v", reply)
	}
}
