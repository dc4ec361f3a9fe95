package keymeter_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// restless nodes have more budget than anybody can spend. Their cycle changes, and so does whether they stop requests.
var restless = []string{"grp_3", "dep_1"}

// books contains the usage admitted below each node and in each project.
type books map[bookedAt]ledger.Usage

type bookedAt struct {
	ledger, project string
	day             uint64
}

func (b books) add(e *entry, u ledger.Usage) {
	for _, name := range e.path {
		at := bookedAt{name, e.path[len(e.path)-1], calendar.Day(e.admitted)}
		sum := b[at]
		sum.Plus(&u)
		b[at] = sum
	}
}

// served is the usage of a settled request.
func served(cost money.Pico) ledger.Usage {
	u := ledger.Usage{Requests: 1, Prompt: 1, Completion: 1, CostPico: cost}
	u.Latency.Add(7)
	return u
}

// settleLate settles a request that has expired. If its meter's alarm is late, the request has not expired there.
func (f *forest) settleLate(at int) {
	e := f.late[at]
	f.late = slices.Delete(f.late, at, at+1)
	cost := money.Pico(f.Int64N(e.pico + 1))
	f.charge(&e, cost-e.pico)
	u, expired := served(cost), ^uint64(0)
	u.Requests, u.Expired, u.CostPico = 0, expired, cost-e.pico
	f.books.add(&e, u)
	f.keys[e.key].now = f.now
	f.keys[e.key].settle(e.id, 2, cost)
	f.pass(10_000) // until then, the Ledgers do not know the refund
}

// change gives a node another cycle, or changes whether it stops requests. The keys learn it later.
func (f *forest) change(name string) {
	if f.IntN(2) == 0 {
		f.soft[name] = !f.soft[name]
		return
	}
	cycles := []calendar.Cycle{calendar.Monthly, calendar.Weekly, calendar.Daily}
	f.periods[name] = calendar.NewPeriod(cycles[f.IntN(3)], f.periods[name].Epoch()+1, calendar.Day(f.now))
	f.give(name, 0, f.budgets[name])
}

// forward makes the project of a key send its usage now. The caller may stop in between.
func (f *forest) forward(key string) {
	path := f.paths[key]
	project := path[len(path)-1]
	reply, err := ledger.DecodeForwardReply(f.ledger(project, ledger.Forward()))
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range reply.Deliveries {
		if f.IntN(4) == 0 {
			return
		}
		f.ledger(d.Name, d.Data)
	}
}

// checkSpent compares what the Ledgers know of their present periods with the books.
func (f *forest) checkSpent() {
	for name := range f.budgets {
		period := f.periods[name].At(calendar.Day(f.now))
		want := f.spent[account{name, period}]
		if slices.Contains(restless, name) {
			want = 0
			for at, u := range f.books {
				if at.ledger == name && period.Contains(at.day) {
					want += u.CostPico
				}
			}
		}
		if got := f.tree.spent(name); got != want {
			f.Errorf("%s knows %d spent, want %d", name, got, want)
		}
	}
}

// checkUsage compares the usage of all Ledgers with the books.
func (f *forest) checkUsage() {
	got := books{}
	for name := range f.budgets {
		project := f.projects[name] != nil
		byDay := map[uint64]ledger.Usage{}
		for _, g := range f.usage(name, ledger.ByDetail) {
			at := bookedAt{name, g.KeyID, g.Usage.Day}
			if project {
				at.project = name
			}
			sum, day := got[at], byDay[g.Usage.Day]
			sum.Plus(&g.Usage)
			day.Plus(&g.Usage)
			got[at], byDay[g.Usage.Day] = sum, day
		}
		for _, g := range f.usage(name, ledger.ByModelDay) {
			u := g.Usage
			u.Day, u.Model = 0, ""
			if u != byDay[g.Usage.Day] {
				f.Errorf("%s, day %d: %+v, and by project %+v", name, g.Usage.Day, u, byDay[g.Usage.Day])
			}
		}
	}
	if !maps.Equal(got, f.books) {
		for at, want := range f.books {
			if got[at] != want {
				f.Errorf("%v: %+v, want %+v", at, got[at], want)
			}
		}
		f.Errorf("%d sums, want %d", len(got), len(f.books))
	}
}

func (w *tree) usage(name string, by ledger.Grouping) []ledger.Group {
	w.Helper()
	query := ledger.Query{EndDay: today + 100, By: by}
	reply, err := ledger.DecodeQueryReply(w.ledger(name, query.Encode()))
	if err != nil || reply.Next != "" {
		w.Fatalf("%v %+v", err, reply)
	}
	return reply.Groups
}

// costs returns the cost of all usage in a Ledger, by model.
func (w *tree) costs(name string) map[string]money.Pico {
	w.Helper()
	sums := map[string]money.Pico{}
	for _, g := range w.usage(name, ledger.ByModel) {
		if g.Usage.CostPico != 0 {
			sums[g.Usage.Model] = g.Usage.CostPico
		}
	}
	return sums
}

// pathOf returns the number of a project's path after the project's Ledger has learned the path.
func (w *tree) pathOf(project string, nodes []doc.Ancestor) uint64 {
	p := w.projects[project]
	if p == nil {
		p = new(doc.Project)
		w.projects[project] = p
	}
	before := p.Path
	if p.SetAncestors(nodes); p.Path > before {
		w.put(project, p.Paths)
	}
	return p.Path
}

func (w *tree) deliver() {
	w.Helper()
	for _, k := range w.keys {
		names, deliveries, err := k.Outbox()
		if err != nil {
			w.Fatal(err)
		}
		for i := range deliveries {
			w.ledger(deliveries[i].Name, deliveries[i].Data)
		}
		k.Delete(names...)
	}
	for _, name := range slices.Sorted(maps.Keys(w.ledgers)) {
		w.deliverFrom(name)
	}
}

// deliverFrom makes the deliveries of a Ledger, in order and up to the first that is not confirmed.
func (w *tree) deliverFrom(name string) {
	w.Helper()
	rows, deliveries, err := w.ledgers[name].Outbox()
	if err != nil {
		w.Fatal(err)
	}
	for i, d := range deliveries {
		fault := w.fault()
		if fault < 2 && w.ledgers[d.Name] != nil { // summaries go to the root even if there is none
			w.ledger(d.Name, d.Data)
		}
		if fault > 0 {
			return
		}
		w.ledgers[name].Delete(rows[i])
	}
}

// pass moves the time and runs the alarms that are due.
func (w *tree) pass(ms uint64) {
	w.Helper()
	w.now += ms
	for _, k := range w.keys {
		k.now = w.now
		if _, err := k.Ring(w.now); err != nil {
			w.Fatal(err)
		}
	}
	for _, l := range w.ledgers {
		if _, err := l.Ring(w.now); err != nil {
			w.Fatal(err)
		}
	}
	w.deliver()
}

// TestLeasesCountOnTheirPath checks that the requests of a lease count where the lease began, even if they are reported
// after the key has moved, or after the lost lease was booked.
func TestLeasesCountOnTheirPath(t *testing.T) {
	w := newTree(t)
	for _, name := range []string{"root", "grp_1", "grp_2", "proj_1"} {
		w.give(name, calendar.Monthly, 1_000_000)
	}
	k := w.place("key_1", "lending", "root", "grp_1", "proj_1")
	w.expectAdmit(k, "req_1", 20_000, 20_000, "")
	k.settle("req_1", 2, 0)
	lend := func(request string, id uint64) keymeter.Lease {
		t.Helper()
		reply := k.borrowAs(keymeter.Admit{RequestID: request, Version: w.version, Mode: keymeter.ModeReserve, AmountPico: 100}, id)
		if reply.Verdict != keymeter.Admitted || reply.Lease.AmountPico == 0 {
			t.Fatalf("%+v", reply)
		}
		k.settle(request, 2, 0)
		return reply.Lease
	}
	report := func(id, seq uint64, closes bool, requests ...keymeter.Leased) {
		k.now = w.now
		k.report(keymeter.Report{SentMs: w.now, LeaseID: id, Seq: seq, Close: closes, Requests: requests})
	}
	lend("req_2", 7)
	w.place("key_1", "lending", "root", "grp_2", "proj_1")
	report(7, 1, true, ended("a", 100, 400, 300))
	for range 8 {
		w.pass(10_000)
	}
	for name, want := range map[string]money.Pico{"root": 300, "grp_1": 300, "grp_2": 0} {
		if got := w.costs(name)["m"]; got != want {
			t.Errorf("%s has %d, want %d", name, got, want)
		}
	}
	w.expectAdmit(k, "req_3", 20_000, 20_000, "")
	k.settle("req_3", 2, 0)
	lent := lend("req_4", 8).AmountPico
	w.place("key_1", "lending", "root", "grp_1", "proj_1")
	for range 20 {
		w.pass(10_000)
	}
	for name, want := range map[string]money.Pico{"root": lent, "grp_1": 0, "grp_2": lent} {
		if got := w.costs(name)[keymeter.Unreported]; got != want {
			t.Errorf("%s has %d unreported, want %d", name, got, want)
		}
	}
	report(8, 1, true, ended("b", 190_000, 400, 50))
	for range 8 {
		w.pass(10_000)
	}
	for name, want := range map[string]map[string]money.Pico{"root": {"m": 350}, "grp_1": {"m": 300}, "grp_2": {"m": 50}} {
		if got := w.costs(name); !maps.Equal(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
}

// TestExpiryCountsOnItsPath checks an expired request and its late settlement after the key has moved.
func TestExpiryCountsOnItsPath(t *testing.T) {
	w, first, _ := company(t)
	w.give("grp_2", calendar.Monthly, 30)
	w.expectAdmit(first, "req_1", 10, 10, "")
	w.place("key_1", "wide", "root", "grp_2", "proj_1")
	for range 14 {
		w.pass(10_000)
	}
	for name, want := range map[string]money.Pico{"root": 10, "grp_1": 10, "grp_2": 0} {
		if got := w.costs(name)["m"]; got != want {
			t.Errorf("%s has %d, want %d", name, got, want)
		}
	}
	first.now = w.now
	first.settle("req_1", 2, 3)
	for range 8 {
		w.pass(10_000)
	}
	for name, want := range map[string]money.Pico{"root": 3, "grp_1": 3, "grp_2": 0} {
		if got := w.costs(name)["m"]; got != want {
			t.Errorf("after the settlement, %s has %d, want %d", name, got, want)
		}
	}
}

// TestOlderRowsThanPaths checks that a key from before its project had a path begins to count above the project, and that
// its earlier requests do not.
func TestOlderRowsThanPaths(t *testing.T) {
	w := newTree(t)
	w.give("grp_1", calendar.Monthly, 100)
	w.give("proj_1", calendar.Monthly, 100)
	k := w.place("key_1", "wide", "proj_1")
	w.expectAdmit(k, "req_1", 10, 10, "")
	w.expectAdmit(k, "req_2", 10, 10, "")
	k.settle("req_2", 2, 4)
	if format := k.Rows["h"][0]; format != 5 {
		t.Errorf("without a tree, the row has format %d", format)
	}
	w.soft["grp_1"] = true
	w.place("key_1", "wide", "grp_1", "proj_1")
	w.expectAdmit(k, "req_3", 10, 10, "")
	k.settle("req_1", 2, 3)
	k.settle("req_3", 2, 2)
	for range 8 {
		w.pass(10_000)
	}
	if got := w.costs("grp_1")["m"]; got != 2 {
		t.Errorf("the group has %d, want 2", got)
	}
	w.expectSpent(map[string]money.Pico{"grp_1": 2, "proj_1": 9})
	if p := w.projects["proj_1"]; p.Path != 1 || p.Paths[0].Nodes[0] != (doc.Ancestor{ID: "grp_1"}) {
		t.Errorf("%+v", p)
	}
}
