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

// project is a project as the world knows it: what the operator said last, and the books.
type project struct {
	w        *world
	number   int
	id       string
	told     uint64 // version of the budget that the Ledger has
	budget   int64  // as the Ledger has it
	most     int64  // the most that it ever was
	cycle    calendar.Cycle
	turns    map[uint64]*turn // by the first day
	booked   int64            // of all turns
	free     []level          // budget - spent - reserved, each value that it had
	policies []doc.Policy
	jumped   bool
	told100  bool // its owner was told that the budget is used up
}

// turn is one turn of the budget's cycle.
type turn struct {
	spent    int64 // settled or expired at the meters
	reserved int64
	excess   int64 // what settles may have cost beyond their reservations
}

// turn is the one that a time of the objects' clocks is in.
func (p *project) turn(told uint64) *turn {
	first, _ := p.cycle.Bounds(told / dayMs)
	if p.turns[first] == nil {
		p.turns[first] = &turn{}
	}
	return p.turns[first]
}

// changed notes what of the budget is free now.
func (p *project) changed() {
	t := p.turn(uint64(int64(p.w.now) + p.w.objectOffset))
	p.free = append(p.free, level{p.w.now, p.budget - t.spent - t.reserved})
}

// level is what was free from a time on.
type level struct {
	at   uint64
	free int64
}

// key is a key as the world knows it.
type key struct {
	w         *world
	number    int
	id        string
	value     string
	hash      string
	project   *project
	states    []keyState // that its meter had, the newest last
	admitted  []admission
	open      map[string]*reservation
	all       map[string]*reservation
	lost      []*reservation  // that expired, and whose requests were admitted once more
	counted   map[string]bool // ids that were admitted
	usedUp    []tokens        // that were settled
	jumped    int
	hits      uint64 // admitted as such
	day       uint64 // the largest that its meter was told
	successor *key
}

// keyState is what a meter was told, and when.
type keyState struct {
	at     uint64
	status doc.Status
	record doc.Record
}

type admission struct {
	at, day uint64
	jumped  int
	limited bool // the plan had a limit by the second
}

type tokens struct{ at, count uint64 }

// reservation is one that a meter has made.
type reservation struct {
	x         *exchange
	amount    int64
	first     int64 // amount when it was admitted
	model     string
	expiresMs uint64
	expired   bool
	settled   bool
	outcome   settleCommand
	turn      *turn
}

// reservations are all that the meter has ever made.
func (k *key) reservations() []*reservation {
	return append(slices.Collect(maps.Values(k.all)), k.lost...)
}

func (k *key) state() *keyState {
	if len(k.states) == 0 {
		return &keyState{}
	}
	return &k.states[len(k.states)-1]
}

// statesSince are those that were in force at some time since then.
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

func (k *key) limits() config.Limits {
	rec := &k.state().record
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

// newKey makes a key's value.
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
		open: map[string]*reservation{}, all: map[string]*reservation{}, counted: map[string]bool{},
	}
	k.hash = keys.Hash(k.value)
	w.keys = append(w.keys, k)
	w.byHash[k.hash] = k
	return k
}

// found makes the projects and keys of the plan, as if an operator had made them before the start.
func (w *world) found() {
	operated := slices.ContainsFunc(w.plan.Items, func(it item) bool { return isOperator(it.Do) })
	var writes []directory.Write
	var docs []directory.Project
	for i, pp := range w.plan.Projects {
		p := &project{w: w, number: i, id: fmt.Sprint("prj_", i), cycle: calendar.Cycle(pp.Cycle), turns: map[uint64]*turn{}}
		w.projects = append(w.projects, p)
		d := directory.Project{Version: 1, Project: doc.Project{ID: p.id, Name: p.id, Plan: pp.Plan, BudgetPico: pp.Budget, CacheTTLSeconds: pp.CacheTTL, Cycle: p.cycle, Unbounded: pp.Unbounded}}
		if pp.Alerts {
			d.Alerts = doc.Alerts{URL: "https://hooks.example/" + p.id, Secret: []byte("hook-secret")}
		}
		docs = append(docs, d)
		w.tell(directory.SettingsTo(&d, w.now))
		writes = append(writes, directory.Write{Key: doc.ProjectKey(p.id), Value: d.Encode()})
	}
	for _, kp := range w.plan.Keys {
		p := w.projects[kp.Project]
		k := w.newKey(p, kp.Test)
		kind, env, _ := keys.Parse(k.value)
		d := directory.Key{Version: 1, Key: doc.Key{
			ID: k.id, ProjectID: p.id, Name: k.id, Kind: kind, Environment: env, Hash: k.hash, Status: doc.Active, Models: kp.Models,
			Limits: doc.Limits{PerSecond: kp.PerSecond},
		}}
		w.tell(directory.StatusTo(&d, &docs[kp.Project]))
		w.tell(directory.RecordTo(&d, &docs[kp.Project]))
		writes = append(writes, directory.Write{Key: doc.KeyKey(p.id, k.id), Value: d.Encode()})
	}
	w.queue.push((w.now/dayMs+1)*dayMs, func() { // a budget may begin anew
		for _, p := range w.projects {
			p.changed()
		}
	})
	for operated && len(writes) > 0 {
		n := min(len(writes), directory.MaxWrites)
		commit := directory.Commit{Writes: writes[:n]}
		w.object(abi.ClassDirectory, directory.Name).call(commit.Encode())
		writes = writes[n:]
	}
}

// tell makes a delivery at once.
func (w *world) tell(d abi.Delivery) {
	if !w.accept(&d, nil) {
		w.fail("host", "%s did not take what it was told first", d.Name)
	}
}

func isOperator(do string) bool {
	switch do {
	case "ask", "kill", "jump", "kv":
		return false
	}
	return true
}
