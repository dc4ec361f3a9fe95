package sim_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// project is the world's record of a project: its latest settings and its accounts.
type project struct {
	node
	number   int
	booked   int64 // sum over all periods
	policies []doc.Policy
	alerted  bool // the webhook for 100% of the budget was sent
}

// level is the free balance from a time on. free includes amounts that leases have reserved but do not need, if these
// amounts return in time. unlent does not include them.
type level struct {
	at     uint64
	free   int64
	unlent int64
}

// key is the world's record of a key.
type key struct {
	w         *world
	number    int
	id        string
	value     string
	hash      string
	project   *project
	own       []*node    // its own budgets
	states    []keyState // its meter's, oldest first
	admitted  []admission
	open      map[string]*reservation
	all       map[string]*reservation
	lost      []*reservation // expired reservations of requests that were admitted again
	usedUp    []tokens       // settled tokens
	jumped    int
	hits      uint64 // admitted cache hits
	day       uint64 // the largest day that its meter has seen
	successor *key

	remembered   int            // number of names that the meter has remembered (see remember)
	rememberedAt map[string]int // for each name, the number that it got when it was last remembered; numbers start at 1
	reserved     int            // number of reservations that the meter has made

	violations violationCounts

	leases   map[uint64]*lent
	lends    []*lent // oldest first
	leased   map[string]*reservation
	ticks    []tick // admissions in the way the meter counts them: a reported one at the time that follows from its age, an unreported one at the end of its lease
	dayLent  uint64 // admissions of the day; includes admissions that leases have
	forwards int    // forward jumps of its meter's clock
	acked    uint64 // largest version whose change has been acknowledged
}

// keyState is a state of the key at its meter, and the time of the change.
type keyState struct {
	at     uint64
	status doc.Status
	record doc.Record
}

type admission struct {
	at, day uint64
	jumped  int
	limited bool // the plan had a limit per second
}

type tokens struct{ at, count uint64 }

// reservation is a meter's reservation.
type reservation struct {
	x         *exchange
	amount    int64
	first     int64 // amount when it was admitted
	model     string
	expiresMs uint64
	number    int // position in the order of the meter's reservations
	expired   bool
	settled   bool
	outcome   settleCommand
	places    places

	lease    *lent // the lease that admitted the request; nil: the meter admitted it
	reported bool  // the meter knows about a request of a lease
	left     bool  // its settlement is, or was, in the entry
	cost     int64 // of the settlement
}

// reservations returns all reservations that the meter ever made.
func (k *key) reservations() []*reservation {
	return append(slices.Collect(maps.Values(k.all)), k.lost...)
}

func (k *key) state() *keyState {
	if len(k.states) == 0 {
		return &keyState{}
	}
	return &k.states[len(k.states)-1]
}

// statesSince returns the states that were in force at some time since at.
func (k *key) statesSince(at uint64) []keyState {
	first := 0
	for i := range k.states {
		if k.states[i].at < at {
			first = i
		}
	}
	return k.states[first:]
}

func (k *key) test() bool { return k.state().record.Environment == keys.Development }

func (k *key) limits() config.Limits { return limitsOf(&k.state().record) }

func limitsOf(rec *doc.Record) config.Limits {
	limits := worldConfig.Plan(rec.Plan).For(rec.Environment)
	narrow := func(a *uint64, b uint64) {
		if *a == 0 || b != 0 && b < *a {
			*a = b
		}
	}
	narrow(&limits.PerSecond, rec.Limits.PerSecond)
	narrow(&limits.PerDay, rec.Limits.PerDay)
	narrow(&limits.TokensPerMinute, rec.Limits.TokensPerMinute)
	return limits
}

func (w *world) newKey(p *project, test bool) *key {
	n := len(w.keys)
	env := keys.Production
	if test {
		env = keys.Development
	}
	var random [keys.RandomBytes]byte
	r := fork(w.plan.Seed, 7000+uint64(n))
	for i := range random {
		random[i] = byte(r.next())
	}
	k := &key{
		w: w, number: n, id: fmt.Sprint("key_", n), value: keys.New(keys.Gateway, env, random), project: p,
		open: map[string]*reservation{}, all: map[string]*reservation{},
		rememberedAt: map[string]int{}, leases: map[uint64]*lent{}, leased: map[string]*reservation{},
	}
	k.hash = keys.Hash(k.value)
	w.keys = append(w.keys, k)
	w.byHash[k.hash] = k
	return k
}

// setUp creates the plan's projects and keys before the start.
func (w *world) setUp() {
	operated := slices.ContainsFunc(w.plan.Items, func(it item) bool { return isOperator(it.Do) })
	writes := w.setUpGroups()
	var docs []directory.Project
	for i, pp := range w.plan.Projects {
		p := &project{node: node{w: w, id: fmt.Sprint("prj_", i), cycle: calendar.Cycle(pp.Cycle), periods: map[uint64]*period{}}, number: i}
		w.projects = append(w.projects, p)
		w.addNode(&p.node)
		w.addLimits(p.id, p.cycle, pp.limits())
		d := directory.Project{Version: 1, Project: doc.Project{ID: p.id, Name: p.id, Plan: pp.Plan, BudgetPico: pp.Budget, CacheTTLSeconds: pp.CacheTTL, Cache: w.plan.scope(), Cycle: p.cycle, Unbounded: pp.Unbounded, Limits: pp.limits()}}
		if pp.Alerts {
			d.Alerts = doc.Alerts{URL: "https://hooks.example/" + p.id, Secret: []byte("hook-secret")}
		}
		if pp.Governed {
			d.Policy = doc.Policy{Version: 1, Governor: worldGovernor}
			p.policies = append(p.policies, d.Policy)
			w.deliverNow(directory.PolicyTo(&d))
		}
		w.join(&d, pp.Group)
		docs = append(docs, d)
		w.deliverNow(directory.SettingsTo(&d, w.now))
		w.deliverAll(directory.LimitsTo(&d, w.now))
		writes = append(writes, directory.Write{Key: doc.ProjectKey(p.id), Value: d.Encode()})
	}
	for _, kp := range w.plan.Keys {
		p := w.projects[kp.Project]
		k := w.newKey(p, kp.Test)
		kind, env, _ := keys.Parse(k.value)
		d := directory.Key{Version: 1, Key: doc.Key{
			ID: k.id, ProjectID: p.id, Name: k.id, Kind: kind, Environment: env, Hash: k.hash, Status: doc.Active, Models: kp.Models,
			Limits: doc.Limits{PerSecond: kp.PerSecond}, Budget: kp.budget(),
		}}
		k.addOwn(d.Budget)
		w.deliverNow(directory.StatusTo(&d, &docs[kp.Project]))
		w.deliverNow(directory.RecordTo(&d, &docs[kp.Project]))
		writes = append(writes, directory.Write{Key: doc.KeyKey(p.id, k.id), Value: d.Encode()})
	}
	w.queue.push((w.now/dayMs+1)*dayMs, func() { // a new budget period may begin
		for _, n := range w.nodes {
			n.changed()
		}
	})
	for operated && len(writes) > 0 {
		n := min(len(writes), directory.MaxWrites)
		commit := directory.Commit{Writes: writes[:n]}
		w.object(abi.ClassDirectory, directory.Name).call(commit.Encode())
		writes = writes[n:]
	}
}

// deliverNow performs a delivery immediately.
func (w *world) deliverNow(d abi.Delivery) {
	if !w.accept(&d, nil) {
		w.fail("host", "%s failed to accept its initial delivery", d.Name)
	}
}

func isOperator(do string) bool {
	switch do {
	case "ask", "kill", "cut", "jump", "kv":
		return false
	}
	return true
}
