package ledger_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// family is a project's Ledger and those of the nodes above it.
type family struct {
	*harness
	nodes map[string]*harness
	sent  int // Contributions
}

func newFamily(t *testing.T, paths ...doc.Path) *family {
	f := &family{harness: newHarness(t), nodes: map[string]*harness{}}
	for _, name := range []string{"root", "grp_1", "grp_2"} {
		f.nodes[name] = newHarness(t)
		f.nodes[name].Name = name
	}
	f.putPaths(paths...)
	return f
}

// path is a path whose nodes have a budget that stops requests, except those with a "~" before their names.
func path(number uint64, names ...string) doc.Path {
	p := doc.Path{Number: number}
	for _, name := range names {
		id, soft := strings.CutPrefix(name, "~")
		p.Nodes = append(p.Nodes, doc.Ancestor{ID: id, Counted: !soft})
	}
	return p
}

func (f *family) putPaths(paths ...doc.Path) {
	f.Helper()
	f.version++
	put := ledger.Put{Version: f.version, BudgetPico: 100 * money.Dollar, Period: month(), Paths: paths}
	f.call(put.Encode())
}

func (f *family) budget(node string, dollars int64, period calendar.Period, to doc.Alerts) {
	f.Helper()
	f.nodes[node].now = f.now
	f.nodes[node].put(dollars, period, to)
}

// use is usage of one request.
func use(number, day uint64, model string, cents int64) ledger.Usage {
	return ledger.Usage{Day: day, Hour: 8, Model: model, Requests: 1, CostPico: cents * money.Cent, Path: ledger.Path{Number: number}}
}

// pass advances the clock, runs the alarm if it is due, and makes the deliveries, each twice.
func (f *family) pass(ms uint64) {
	f.Helper()
	f.now += ms
	if _, err := f.Ring(f.now); err != nil {
		f.Fatal(err)
	}
	f.deliver()
}

func (f *family) deliver() {
	f.Helper()
	keys, deliveries, err := f.Outbox()
	if err != nil {
		f.Fatal(err)
	}
	for i, d := range deliveries {
		if keys[i] == "o/ffffffffffff" {
			continue // the summary
		}
		f.send(d)
		f.send(d)
		f.sent++
	}
	f.Delete(keys...)
}

func (f *family) send(d abi.Delivery) {
	f.Helper()
	n := f.nodes[d.Name]
	if n == nil || d.Class != abi.ClassLedger || d.Region != "" {
		f.Fatalf("%+v", d)
	}
	n.now = f.now
	n.call(d.Data)
}

// has checks the usage of a node by project, day and model.
func (f *family) has(node string, want ...ledger.Usage) {
	f.Helper()
	n := f.nodes[node]
	var byProject, byDay []ledger.Group
	for _, u := range want {
		u.Hour, u.Path = 0, ledger.Path{}
		byProject = append(byProject, ledger.Group{KeyID: "proj_1", Usage: u})
		byDay = append(byDay, ledger.Group{Usage: u})
	}
	n.expectGroups(ledger.Query{EndDay: today + 9, By: ledger.ByDetail}, byProject...)
	n.expectGroups(ledger.Query{EndDay: today + 9, By: ledger.ByModelDay}, byDay...)
}

func (f *family) spent(node string, cents int64) {
	f.Helper()
	if r := f.nodes[node].report(); r.UsedPico != cents*money.Cent {
		f.Errorf("%s has spent %d picodollars, want %d cents", node, r.UsedPico, cents)
	}
}

// TestUsageReachesTheNodes checks that every node above a project has its usage within a minute, once and by path. The
// first usage is sent at once.
func TestUsageReachesTheNodes(t *testing.T) {
	f := newFamily(t, path(1, "root", "grp_1"))
	f.absorb(use(1, today, "a", 5), use(0, today, "a", 1))
	f.deliver()
	f.has("root", use(1, today, "a", 5))
	f.absorb(use(1, today, "a", 2), use(1, today-1, "b", 3))
	f.pass(30_000)
	f.has("root", use(1, today, "a", 5))
	f.putPaths(path(1, "root", "grp_1"), path(2, "root", "grp_2"))
	f.absorb(use(2, today, "a", 10))
	f.pass(30_000)
	two := use(1, today, "a", 7)
	two.Requests = 2
	f.has("grp_1", use(1, today-1, "b", 3), two)
	f.has("grp_2", use(2, today, "a", 10))
	three := use(1, today, "a", 17)
	three.Requests = 3
	f.has("root", use(1, today-1, "b", 3), three)
	if f.sent != 2+3 {
		t.Errorf("%d Contributions, want one for each node", f.sent)
	}
	f.pass(600_000) // a quiet project
	f.absorb(use(1, today, "b", 1))
	f.deliver()
	f.has("grp_1", use(1, today-1, "b", 3), two, use(1, today, "b", 1))
	if f.sent != 7 {
		t.Errorf("%d Contributions, want two more", f.sent)
	}
}

// TestWholeUsageReachesTheNodes checks that a Contribution has every counter, and that a negative one wraps back.
func TestWholeUsageReachesTheNodes(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	u := ledger.Usage{
		Day: today, Model: "m", Requests: 9, Hits: 1, Misses: 2, Failed: 3, Prompt: 4, Completion: 5, CostPico: 6, Estimated: 7, Expired: 8,
		PromptCache: ledger.PromptCache{Read: 1, Written: 2, SavedPico: -3}, Attempts: ledger.Attempts{Rescued: 2, Opened: 1}, Path: ledger.Path{Number: 1},
	}
	u.Latency.Add(40)
	f.absorb(u)
	f.pass(60_000)
	f.has("root", u)
	late := ledger.Usage{Day: today, Model: "m", Path: ledger.Path{Number: 1}, CostPico: -6}
	late.Requests--
	late.Expired -= 8
	f.absorb(late)
	f.pass(60_000)
	u.Requests, u.Expired, u.CostPico = 8, 0, 0
	f.has("root", u)
}

// TestSoftBudgetsCount checks that a budget that stops nothing counts the contributed costs, and sends its alerts. Costs
// that the meters report do not count twice.
func TestSoftBudgetsCount(t *testing.T) {
	f := newFamily(t, path(1, "root", "~grp_1"), path(2, "root", "grp_1"))
	f.budget("root", 1, month(), doc.Alerts{})
	f.budget("grp_1", 1, calendar.NewPeriod(calendar.Weekly, 0, today), hook)
	f.absorb(use(1, today, "a", 79), use(2, today, "a", 10), use(1, today-7, "a", 50))
	f.pass(60_000)
	f.spent("root", 0)
	f.spent("grp_1", 79)
	if posts := f.nodes["grp_1"].takePosts(); len(posts) != 0 {
		t.Errorf("%+v", posts)
	}
	f.absorb(use(1, today, "a", 1))
	f.pass(60_000)
	if posts := f.nodes["grp_1"].takePosts(); len(posts) != 1 || !strings.Contains(string(posts[0].Body), `"thresholdPercent":80`) {
		t.Errorf("%+v", posts)
	}
	f.budget("grp_1", 1, calendar.NewPeriod(calendar.Weekly, 0, today), hook) // now it stops requests
	f.spent("grp_1", 80)
	ask := ledger.Grant{Key: "meter", Period: calendar.NewPeriod(calendar.Weekly, 0, today), Epoch: 1, NeedPico: 21 * money.Cent, LeastPico: 21 * money.Cent}
	if g, err := ledger.DecodeGrantReply(f.nodes["grp_1"].call(ask.Encode())); err != nil || g.Granted {
		t.Errorf("%v %+v", err, g)
	}
}

// TestNewCycleFindsTheUsage checks that a node's new period starts with the costs of its days, and that usage of the
// earlier cycle counts when it arrives. Usage that was reserved in the new one is reported by the meters.
func TestNewCycleFindsTheUsage(t *testing.T) {
	next := path(2, "root")
	next.Nodes[0].Epoch = 1
	f := newFamily(t, path(1, "root"))
	f.absorb(use(1, today, "a", 5), use(1, today-1, "a", 20))
	f.pass(60_000)
	f.budget("root", 9, month(), doc.Alerts{})
	f.spent("root", 25) // the first budget
	f.budget("root", 9, calendar.NewPeriod(calendar.Daily, 1, today), doc.Alerts{})
	f.spent("root", 5)
	ahead := use(1, today, "a", 100)
	ahead.Path.Ahead = 1
	f.absorb(use(1, today, "a", 1), ahead, use(1, today-1, "a", 40))
	f.putPaths(path(1, "root"), next)
	f.absorb(use(2, today, "a", 200))
	f.pass(60_000)
	f.spent("root", 6)
	f.budget("root", 9, calendar.NewPeriod(calendar.Total, 2, today), doc.Alerts{})
	f.absorb(use(2, today, "a", 1)) // admitted before the credits were bought
	f.pass(60_000)
	f.spent("root", 0)
	f.budget("root", 9, calendar.NewPeriod(calendar.Monthly, 3, today), doc.Alerts{})
	f.spent("root", 5+20+1+100+40+200+1)
}

// TestUsageBeforeItsPath checks that usage waits for the Put with its path.
func TestUsageBeforeItsPath(t *testing.T) {
	f := newFamily(t)
	f.absorb(use(2, today, "a", 5))
	f.pass(60_000)
	f.has("root")
	f.putPaths(path(2, "root"))
	f.pass(60_000)
	f.has("root", use(2, today, "a", 5))
	if f.sent != 1 {
		t.Errorf("%d Contributions", f.sent)
	}
}

// TestPathsAreBounded checks that a Ledger remembers the last 32 paths, and that usage of an earlier one counts in the
// first of these, so that the deployment's usage is complete.
func TestPathsAreBounded(t *testing.T) {
	f := newFamily(t)
	for n := uint64(1); n <= 40; n++ {
		f.putPaths(path(n, "root"))
	}
	f.absorb(use(1, today, "a", 1), use(8, today, "a", 1), use(9, today, "a", 2), use(40, today, "a", 4))
	f.pass(60_000)
	four := use(1, today, "a", 8)
	four.Requests = 4
	f.has("root", four)
}

// TestForgottenPathIsNoSpending checks that usage of a forgotten path does not count toward a budget: the meters have
// reported it to the budget of its own path.
func TestForgottenPathIsNoSpending(t *testing.T) {
	f := newFamily(t, path(5, "~grp_1"))
	f.budget("grp_1", 100, month(), doc.Alerts{})
	f.absorb(use(4, today, "a", 7), use(5, today, "a", 2))
	f.pass(60_000)
	sum := use(5, today, "a", 9)
	sum.Requests = 2
	f.has("grp_1", sum)
	f.spent("grp_1", 2)
}

// TestForward checks that a caller can have the pending usage at once, in addition to the outbox.
func TestForward(t *testing.T) {
	f := newFamily(t, path(1, "root", "grp_1"))
	forward := func() ledger.ForwardReply {
		t.Helper()
		reply, err := ledger.DecodeForwardReply(f.call(ledger.Forward()))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if reply := forward(); len(reply.Deliveries) != 0 || reply.More {
		t.Errorf("nothing is pending: %+v", reply)
	}
	f.absorb(use(1, today, "a", 5))
	first := forward()
	f.absorb(use(1, today, "a", 7))
	second := forward()
	if len(first.Deliveries) != 2 || len(second.Deliveries) != 4 || second.More || !reflect.DeepEqual(second.Deliveries[:2], first.Deliveries) {
		t.Errorf("%+v\n%+v", first, second)
	}
	two := use(1, today, "a", 12)
	two.Requests = 2
	for _, d := range second.Deliveries {
		f.send(d)
	}
	f.has("root", two)
	f.deliver()
	f.has("root", two)
	f.has("grp_1", two)
	for range 40 {
		f.absorb(use(1, today, "a", 1))
		if second = forward(); second.More {
			break
		}
	}
	if len(second.Deliveries) != 64 || !second.More {
		t.Errorf("%d deliveries, more: %t", len(second.Deliveries), second.More)
	}
}

// TestManyModels checks that much usage is sent at once, in parts that a commit can hold.
func TestManyModels(t *testing.T) {
	f := newFamily(t, path(1, "~root"))
	f.budget("root", 9, month(), doc.Alerts{})
	var list, want []ledger.Usage
	for i := range 300 {
		list = append(list, use(1, today, fmt.Sprintf("m%03d", i), 1))
		want = append(want, list[i])
	}
	f.absorb(list...)
	f.deliver()
	f.has("root", want...)
	f.spent("root", 300)
	if f.sent != 3 {
		t.Errorf("%d Contributions", f.sent)
	}
}

// TestWithoutATree checks that a batch and a Put without paths have the layouts that older objects read, and that a
// path is added at their ends. Nothing else of the Ledger differs, either.
func TestWithoutATree(t *testing.T) {
	u := use(0, today, "a", 5)
	absorb, put := ledger.Absorb{Key: "meter", Seq: 1, Usage: []ledger.Usage{u}}, ledger.Put{Version: 1, Period: month(), Policy: []byte("p")}
	for name, encode := range map[string]func() []byte{"batch": absorb.Encode, "put": put.Encode} {
		absorb.Usage[0].Path, put.Paths = ledger.Path{}, nil
		without := encode()
		absorb.Usage[0].Path, put.Paths = ledger.Path{Number: 3, Ahead: 1 << 16}, []doc.Path{path(3, "root")}
		if with := encode(); len(with) <= len(without) || !strings.HasPrefix(string(with), string(without)) {
			t.Errorf("%s: %x, and without a path %x", name, with, without)
		}
	}
	if got, err := ledger.DecodeAbsorb(absorb.Encode()); err != nil || got.Usage[0] != absorb.Usage[0] {
		t.Errorf("%v %+v", err, got)
	}
	b := newHarness(t)
	b.put(9, month(), hook)
	b.absorb(u)
	if _, err := b.Ring(b.now + 60_000); err != nil {
		t.Fatal(err)
	}
	for key, value := range b.Rows {
		switch {
		case key == "up", strings.HasPrefix(key, "o/") && key != "o/ffffffffffff":
			t.Errorf("row %s", key)
		case strings.HasPrefix(key, "u/"), strings.HasPrefix(key, "x/"):
			if value[0] != 2 {
				t.Errorf("row %s has format %d", key, value[0])
			}
		}
	}
}

// TestMalformedContribution checks that malformed commands and rows are errors.
func TestMalformedContribution(t *testing.T) {
	good := ledger.Contribution{Project: "proj_1", Seq: 1, Usage: []ledger.Usage{use(0, today, "a", 1)}, Spent: []ledger.Spending{{Day: today, CostPico: 1}}}
	node := newHarness(t)
	node.Name = "grp_1"
	for _, spoil := range []func(*ledger.Contribution){
		func(q *ledger.Contribution) { q.Project = "" },
		func(q *ledger.Contribution) { q.Project = "a/b" },
		func(q *ledger.Contribution) { q.Seq = 0 },
		func(q *ledger.Contribution) { q.Usage = nil },
		func(q *ledger.Contribution) { q.Usage = make([]ledger.Usage, 129) },
	} {
		bad := good
		spoil(&bad)
		if _, err := node.Call(node.now, bad.Encode()); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
	whole := good.Encode()
	for n := 1; n < len(whole); n++ {
		if _, err := node.Call(node.now, whole[:n]); err == nil {
			t.Errorf("accepted %x", whole[:n])
		}
	}
	node.call(whole)
	later := good
	later.Seq = 2
	for key := range node.Rows {
		if kind := key[:2]; kind == "u/" || kind == "x/" {
			kept := node.Rows[key]
			node.Rows[key] = []byte{6}
			if _, err := node.Call(node.now, later.Encode()); err == nil {
				t.Errorf("decoded %s", key)
			}
			node.Rows[key] = kept
		}
	}
	f := newFamily(t, path(1, "root"))
	f.Rows["up"] = []byte{2}
	absorb := ledger.Absorb{Key: "meter", Seq: 1, Usage: []ledger.Usage{use(1, today, "a", 1)}}
	for _, command := range [][]byte{absorb.Encode(), ledger.Forward(), nil} {
		if _, err := f.Call(f.now, command); err == nil {
			t.Errorf("%x decodes the row", command)
		}
	}
}
