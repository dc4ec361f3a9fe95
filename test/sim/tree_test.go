package sim_test

import (
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// node is the world's record of a budget: its latest settings and its accounts. The budget is a project's, a group's,
// the deployment's or a key's. It counts dollars, requests or tokens.
type node struct {
	w             *world
	number        int // index in the world's nodes
	id            string
	unit          doc.Unit
	key           *key   // the key whose own budget it is, without a Ledger; nil: there is a Ledger
	budgetVersion uint64 // version of the Ledger's budget
	budget        int64  // budget in the Ledger, in the unit; dollars are in picodollars
	maxBudget     int64  // the largest budget so far
	cycle         calendar.Cycle
	periods       map[uint64]*period // by first day
	free          []level            // history of budget - spent - reserved
	jumped        bool
}

type period struct {
	node     *node
	spent    int64 // settled or expired at the meters
	reserved int64
	excess   int64 // allowed cost beyond the reservations
	// lowered is set once a lower budget has been acknowledged. cap is then the largest allowed sum of spent and
	// reserved amounts.
	lowered bool
	cap     int64
	shares  map[*key]*share // of tokens
}

// share is what a key has spent and reserved of a budget of tokens. Tokens count when a request is settled, so a request
// in flight may exceed the budget. The key's slice was at least floor since its last admission.
type share struct{ now, floor int64 }

// group is a group of the world, or the deployment.
type group struct {
	node
	parent *group
}

func (gp *groupPlan) limits() doc.PeriodLimits {
	return doc.PeriodLimits{Requests: gp.Requests, Tokens: gp.Tokens}
}

func (pp *projectPlan) limits() doc.PeriodLimits {
	return doc.PeriodLimits{Requests: pp.Requests, Tokens: pp.Tokens}
}

func (kp *keyPlan) budget() doc.KeyBudget {
	limits := doc.PeriodLimits{Requests: kp.Requests, Tokens: kp.Tokens}
	return doc.KeyBudget{Budgeted: kp.Budget > 0, BudgetPico: kp.Budget, Limits: limits, Cycle: calendar.Cycle(kp.Cycle)}
}

// addLimits adds the nodes that count requests and tokens.
func (w *world) addLimits(id string, cycle calendar.Cycle, limits doc.PeriodLimits) {
	for _, u := range [...]doc.Unit{doc.Requests, doc.Tokens} {
		if limits.Of(u) > 0 {
			w.addNode(&node{w: w, id: doc.LedgerName(id, u), unit: u, cycle: cycle, periods: map[uint64]*period{}})
		}
	}
}

// addOwn adds the nodes of a key's own budgets.
func (k *key) addOwn(b doc.KeyBudget) {
	for _, o := range b.Own() {
		n := &node{w: k.w, id: doc.LedgerName(k.id, o.Unit), unit: o.Unit, key: k, budget: o.Limit, maxBudget: o.Limit, cycle: b.Cycle, periods: map[uint64]*period{}}
		k.w.addNode(n)
		k.own = append(k.own, n)
		n.changed()
	}
}

func (w *world) deliverAll(all []abi.Delivery) {
	for _, d := range all {
		w.deliverNow(d)
	}
}

func (w *world) addNode(n *node) {
	n.number = len(w.nodes)
	w.nodes = append(w.nodes, n)
}

// node returns the node of a Ledger.
func (w *world) node(ledger string) *node {
	at := slices.IndexFunc(w.nodes, func(n *node) bool { return n.id == ledger })
	return w.nodes[at]
}

// period returns the budget period that contains a time of the objects' clocks.
func (n *node) period(clockMs uint64) *period {
	first, _ := n.cycle.Bounds(clockMs / dayMs)
	if n.periods[first] == nil {
		n.periods[first] = &period{node: n}
	}
	return n.periods[first]
}

// changed records the current free balance.
func (n *node) changed() {
	t := n.period(uint64(int64(n.w.now) + n.w.objectOffset))
	free := n.budget - t.spent - t.reserved
	if n.unit == doc.Dollars && n.w.prompt() {
		free += n.idle()
	}
	n.free = append(n.free, level{n.w.now, free, n.budget - t.spent - t.reserved})
}

// changed records the free balances of the nodes that may be above the key.
func (k *key) changed() {
	if len(k.w.groups) == 0 {
		k.project.changed()
		return
	}
	for _, n := range k.w.nodes {
		if n.key == nil || n.key == k {
			n.changed()
		}
	}
}

// places are the periods in which an amount counts: the project's last, and those of the budgets above it.
type places []*period

// places returns the present periods of the key's meter.
func (k *key) places(clockMs uint64) (ps places) {
	at := max(clockMs, k.day*dayMs)
	for _, above := range k.state().record.Chain {
		ps = append(ps, k.w.node(above.Ledger()).period(at))
	}
	ps = append(ps, k.project.period(at))
	for _, n := range k.own {
		ps = append(ps, n.period(at))
	}
	return ps
}

// present returns the places of a request that the key's meter admits now.
func (k *key) present() places { return k.places(uint64(int64(k.w.now) + k.w.objectOffset)) }

// at reports whether one of the periods is of the node.
func (ps places) at(n *node) bool {
	return slices.ContainsFunc(ps, func(t *period) bool { return t.node == n })
}

// book adds amounts of a key's requests.
func (ps places) book(k *key, reserved, spent budget.Amounts) {
	for _, t := range ps {
		more, used := reserved.Of(t.node.unit), spent.Of(t.node.unit)
		t.reserved += more
		t.spent += used
		s := t.share(k)
		s.now += more + used
		s.floor = min(s.floor, s.now)
	}
}

func (t *period) share(k *key) *share {
	if t.shares == nil {
		t.shares = map[*key]*share{}
	}
	if t.shares[k] == nil {
		t.shares[k] = &share{}
	}
	return t.shares[k]
}

// pico returns an amount of dollars.
func pico(amount int64) budget.Amounts { return budget.Amounts{Pico: amount} }

// one is what the admission of a request counts: a request. As long as the request runs, it also reserves a token.
var one = budget.Amounts{Requests: 1}

// allow adds to the cost that may exceed the reservations.
func (ps places) allow(excess int64) {
	for _, t := range ps {
		if t.node.unit == doc.Dollars {
			t.excess += excess
		}
	}
}

// checkReserved checks I3 at reservation time, at each level: reserved plus spent stays within the budget. extends
// means that a reservation has grown.
func (ps places) checkReserved(k *key, about string, extends bool) {
	for _, t := range ps {
		n, committed := t.node, t.spent+t.reserved
		if n.unit != doc.Dollars && extends {
			continue // it counted when it was admitted
		}
		if n.unit == doc.Tokens {
			committed = t.admitted(k)
		}
		limit := t.limit()
		if extends && !k.present().at(n) {
			limit = n.maxBudget // a stream from before a move may use what its key still holds there
		}
		if committed > limit+t.excess && !n.jumped {
			n.w.fail("I3", "%s: %s has reserved %d and spent %d; the budget was at most %d, the allowed excess is %d", about, n.id, t.reserved, t.spent, limit, t.excess)
		}
	}
}

// admitted records that a key's slice covers what the key has spent and reserved. It returns the least sum of all slices.
func (t *period) admitted(k *key) (sum int64) {
	t.share(k).floor = t.share(k).now
	for _, s := range t.shares {
		sum += s.floor
	}
	return sum
}

// checkSpent checks I3 after a settlement.
func (ps places) checkSpent(about string) {
	for _, t := range ps {
		if n := t.node; n.unit != doc.Tokens && t.spent > n.maxBudget+t.excess && !n.jumped {
			n.w.fail("I3", "%s: %s has spent %d; the budget was never above %d, the allowed excess is %d", about, n.id, t.spent, n.maxBudget, t.excess)
		}
	}
}

// limit returns the largest amount that may be spent and reserved.
func (t *period) limit() int64 {
	if t.lowered {
		return t.cap
	}
	return t.node.maxBudget
}

// balances returns, for each node, the index of its present free balance.
func (w *world) balances() (all []int) {
	for _, n := range w.nodes {
		all = append(all, len(n.free)-1)
	}
	return all
}

// freeFrom returns the index of the first free balance of a node that is relevant for the request.
func (x *exchange) freeFrom(n *node) int {
	if n.number >= len(x.history.freeFrom) { // the node is newer
		return 0
	}
	return max(0, x.history.freeFrom[n.number])
}

// counted reports whether a budget of requests or tokens may have refused the request.
func (x *exchange) counted() bool {
	return slices.ContainsFunc(x.nodes(), func(n *node) bool { return n.unit != doc.Dollars })
}

func (x *exchange) inTree() bool { return len(x.nodes()) > 1 }

// nodes returns the budgets that the request may have needed: its project's, and those above its project at some time
// since the arrival.
func (x *exchange) nodes() []*node {
	if x.history.nodes != nil {
		return x.history.nodes
	}
	all := append([]*node{&x.project.node}, x.key.own...)
	for _, st := range x.key.statesSince(x.history.arrivedAt) {
		if x.done && st.at > x.history.endedAt {
			break
		}
		for _, above := range st.record.Chain {
			if n := x.w.node(above.Ledger()); !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	if x.over {
		x.history.nodes = all
	}
	return all
}

func (x *exchange) mayUse(n *node) bool {
	return n == &x.project.node || len(x.w.groups) > 0 && (n.key == nil || n.key == x.key) && slices.Contains(x.nodes(), n)
}

// sharesBudget reports whether two requests may have needed the same budget.
func (x *exchange) sharesBudget(o *exchange) bool {
	return x.project == o.project || len(x.w.groups) > 0 && slices.ContainsFunc(x.nodes(), o.mayUse)
}

// setUpGroups creates the plan's groups before the start. It returns the writes of their documents.
func (w *world) setUpGroups() (writes []directory.Write) {
	for i, gp := range w.plan.Groups {
		g := &group{node: node{w: w, id: doc.Root, cycle: calendar.Cycle(gp.Cycle), periods: map[uint64]*period{}}}
		if i > 0 {
			g.id, g.parent = fmt.Sprint(doc.GroupPrefix, i), w.groups[gp.Parent]
		}
		w.groups = append(w.groups, g)
		w.addNode(&g.node)
		w.addLimits(g.id, g.cycle, gp.limits())
		d := w.groupDocument(i)
		w.deliverAll(directory.BudgetsTo(&d, w.now))
		g.changed()
		writes = append(writes, directory.Write{Key: doc.GroupKey(g.id), Value: d.Encode()})
	}
	return writes
}

// groupDocument returns the first document of a group.
func (w *world) groupDocument(i int) directory.Group {
	gp, g := w.plan.Groups[i], w.groups[i]
	d := doc.Group{ID: g.id, Name: g.id, Budgeted: !gp.Unlimited, BudgetPico: gp.Budget, Cycle: g.cycle, Limits: gp.limits()}
	if i > 0 {
		d.Parent = g.parent.id
	}
	return directory.Group{Version: 1, Group: d}
}

// join puts a new project into a group.
func (w *world) join(p *directory.Project, at int) {
	if len(w.groups) == 0 {
		return
	}
	if at > 0 {
		p.Group = w.groups[at].id
	}
	for g := w.groups[at]; g != nil; g = g.parent {
		i := slices.Index(w.groups, g)
		if d := w.groupDocument(i); d.Stops() {
			p.Chain = append(d.Nodes(), p.Chain...)
		}
	}
}

// put records a budget that the Ledger has received.
func (n *node) put(command []byte) {
	if version, pico := readBudget(command); version > n.budgetVersion {
		n.w.logf("the ledger of %s has a budget of %d, version %d", n.id, pico, version)
		n.budgetVersion, n.budget, n.maxBudget = version, pico, max(n.maxBudget, pico)
		for _, t := range n.periods {
			t.cap = max(t.cap, pico)
		}
		n.changed()
	}
}
