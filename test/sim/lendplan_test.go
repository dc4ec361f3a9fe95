package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/money"
)

var lendingPlans = [...]string{"lending", "rated", "daily", "slots"}

// lend gives half of the worlds plans that lend, and keys that are busy enough for leases. It has its own random
// numbers, so the rest of a seed's plan does not depend on it.
func (g *generator) lend() {
	own := *g
	own.rng = fork(g.p.Seed, 15)
	if own.one(2) {
		return
	}
	for i := range g.p.Projects {
		p := &g.p.Projects[i]
		if !own.one(4) {
			p.Plan = pick(own.rng, lendingPlans[:]...)
		}
		if own.one(2) {
			p.Budget = max(p.Budget, money.Dollar)
		}
	}
	for i := range g.p.Items {
		it := &g.p.Items[i]
		if it.Do == "plan" && own.one(2) {
			it.Name = pick(own.rng, lendingPlans[:]...)
		}
	}
	own.hot()
	g.p.Drift, g.p.Cut = own.one(3), own.one(2)
	if !own.calm && own.one(3) {
		g.p.Faults.Late = true
	}
}

// hot adds requests of one key that follow each other so quickly that its meter lends. It also adds events that may
// affect the key's leases.
func (g *generator) hot() {
	start, key := uint64(0), g.lendingKey()
	for range g.between(1, 3) {
		it := g.busy(key)
		it.At = start + g.below(500)
		g.add(it)
		if !g.p.Faults.Calls && g.one(8) { // all at once, while the leases are active
			flood := it
			flood.At, flood.Times, flood.Every, flood.Seed = it.At+g.between(1200, 4000), int(g.between(30, 220)), pick(g.rng, uint64(0), 1, 4), g.next()
			g.add(flood)
		}
		if g.one(3) { // after a pause
			later := it
			later.At, later.Seed = it.At+g.between(2000, 20_000), g.next()
			g.add(later)
		}
		start += g.below(6000)
	}
	span := start + 8000
	for g.one(3) {
		g.operator(span)
		g.p.Items[len(g.p.Items)-1].Key = key
	}
	for g.one(3) {
		it := g.request()
		it.At, it.Path, it.Bad, it.Key = g.below(span), "usage", "", key
		g.add(it)
	}
	if !g.calm {
		g.mishaps(span)
	}
}

// mishaps adds isolate deaths and clock jumps.
func (g *generator) mishaps(span uint64) {
	for g.one(2) {
		g.add(item{At: g.below(span), Do: "kill", Isolate: int(g.below(3))})
	}
	for g.one(2) {
		g.add(item{
			At: g.below(span), Do: "jump", Name: pick(g.rng, "objects", "isolate", "isolate"), Isolate: int(g.below(3)),
			Ms: pick(g.rng, int64(-hourMs), -5000, -2000, -1000, -300, -90, 300, 2000, hourMs),
		})
	}
}

// lendingKey returns a key of a project whose plan lends. If there is none, it returns any key.
func (g *generator) lendingKey() int {
	for range 8 {
		n := int(g.below(uint64(len(g.p.Keys))))
		k := &g.p.Keys[n]
		if slices.Contains(lendingPlans[:], g.p.Projects[k.Project].Plan) {
			if !g.one(8) {
				*k = keyPlan{Project: k.Project}
			}
			return n
		}
	}
	return 0
}

// busy creates a request that is repeated. Most of these requests are so small that a budget is enough for many of
// them.
func (g *generator) busy(key int) item {
	it := g.request()
	it.Key, it.Bad = key, ""
	it.Times, it.Every = int(g.between(4, 40)), pick(g.rng, uint64(20), 60, 150, 300, 700)
	if g.one(5) {
		return it
	}
	it.Idem, it.JSON, it.N, it.Think, it.Path = "", false, 0, 0, "openai"
	it.Model = pick(g.rng, "alpha", "alpha", "beta", "small", "gratis", "gamma", "cheap")
	it.Max = pick(g.rng, uint64(0), 1, 30, 500)
	if !g.one(4) {
		it.Leave, it.Quiet = 0, false
	}
	if g.one(2) {
		it.Cache = "no-store"
	}
	for i := range it.Behaviors {
		b := &it.Behaviors[i]
		b.Ms = pick(g.rng, uint64(0), 30, 300, 900, 3000, 9000)
		if it.Stream && g.one(2) { // its reservation will be extended
			b.Out, b.Text, b.Chunks, b.Gap = 100_000, pick(g.rng, uint64(900), 3000, 6000), g.between(2, 12), pick(g.rng, uint64(50), 300, 900)
			it.Max = 0
		}
	}
	return it
}
