package sim_test

import "github.com/postern-ai/postern/core/money"

// noon is November 18, 2026, 12:00 UTC. This is far from the start of a day or month.
const noon = 20_775*dayMs + 12*hourMs

// generate creates the plan for a seed. Half of the plans have no faults, only load.
func generate(seed uint64) *plan {
	g := &generator{rng: fork(seed, 0), p: &plan{Seed: seed, Start: noon, Isolates: 1}}
	g.p.Delay = pick(g.rng, "", "short", "short", "long")
	g.faults()
	switch g.below(20) {
	case 0:
		g.idleSlices()
	case 1:
		g.deficit()
	case 5:
		g.repeats()
	case 2, 3, 4:
		g.projectsAndKeys(1, 1)
		g.burst()
	default:
		g.projectsAndKeys(2, 4)
		g.mixed()
	}
	if g.one(12) {
		g.midnight()
	}
	g.govern()
	g.lend()
	g.flood()
	g.addRepeats()
	g.order()
	return g.p
}

// midnight moves the start to a time at most ten seconds before the end of a month. It also varies the budget cycles.
func (g *generator) midnight() {
	g.p.Start = 20_787*dayMs + dayMs - g.between(1, 10_000)
	for i := range g.p.Projects {
		g.p.Projects[i].Cycle = uint8(g.below(3))
	}
}

type generator struct {
	*rng
	p      *plan
	calm   bool // no fault classes and no incidents of isolates, clocks and KV
	honest bool // providers respond and report correct usage
}

func (g *generator) faults() {
	g.calm, g.honest = !g.one(2), g.one(2)
	if g.calm {
		g.p.Isolates = int(g.between(1, 2))
		return
	}
	g.p.Isolates = int(g.between(1, 3))
	f := &g.p.Faults
	f.Calls, f.Overload, f.Outbox = g.one(2), g.one(5), g.one(3)
	f.Late = g.one(3)
	f.Alarms, f.Stale, f.Evict = g.one(3), g.one(2), g.one(3)
}

// projectsAndKeys creates projects and keys. A budget is tiny, enough for a few requests, or ample.
func (g *generator) projectsAndKeys(projects, keys uint64) {
	for range g.between(1, projects) {
		g.p.Projects = append(g.p.Projects, projectPlan{
			Budget: pick(g.rng, money.Cent/10, money.Cent, 5*money.Cent, money.Dollar/4, money.Dollar, 10*money.Dollar, 100*money.Dollar),
			Plan:   pick(g.rng, "open", "open", "open", "free", "tight", "concurrent", "tokens"), CacheTTL: pick(g.rng, uint64(0), 0, 30, 3600),
			Unbounded: g.one(15), Alerts: g.one(6),
		})
	}
	for range g.between(1, keys) {
		k := keyPlan{Project: int(g.below(uint64(len(g.p.Projects)))), Test: g.one(25)}
		if g.one(12) {
			k.Models = pick(g.rng, []string{"alpha"}, []string{"cheap"}, []string{"gamma", "beta"})
		}
		if g.one(12) {
			k.PerSecond = g.between(1, 4)
		}
		g.p.Keys = append(g.p.Keys, k)
	}
}

func (g *generator) add(it item) { g.p.Items = append(g.p.Items, it) }

// mixed adds requests, retries, operator changes and incidents.
func (g *generator) mixed() {
	span := pick(g.rng, uint64(0), 50, 2000, 20_000, 200_000)
	for range g.between(1, 8) {
		it := g.request()
		it.At = g.below(span + 1)
		if g.one(4) {
			it.Times, it.Every = int(g.between(2, 12)), pick(g.rng, uint64(0), 0, 1, 40, 900)
		}
		g.add(it)
		if g.one(5) { // a duplicate at the same time, or a later repeat
			again := it
			again.At += g.below(4000)
			again.Seed, again.Times = g.next(), 0
			g.add(again)
		}
	}
	if g.one(3) {
		for range g.between(1, 4) {
			g.operator(span)
		}
	}
	if !g.calm {
		g.incidents(span)
	}
	if g.p.Faults.Late { // reveals the state after a late settle
		it := g.request()
		it.At, it.Key = hourMs, 0
		g.add(it)
	}
}

func (g *generator) request() item {
	it := item{Do: "ask", Seed: g.next(), Key: int(g.below(uint64(len(g.p.Keys)))), Isolate: int(g.below(uint64(g.p.Isolates)))}
	it.Path = pick(g.rng, "complete", "chat", "chat", "openai", "openai", "openai", "responses", "responses", "anthropic", "anthropic", "embed", "compact")
	it.Stream = g.one(2)
	switch it.Path {
	case "complete", "chat":
		it.Model = pick(g.rng, "cheap", "balanced", "frontier")
	case "embed":
		it.Model, it.Stream = "vector", false
	case "compact":
		it.Model, it.Stream = pick(g.rng, "zeta", "duo", "duo", "balanced", "alpha"), false
	default:
		it.Model = pick(g.rng, "alpha", "beta", "gamma", "omega", "zeta", "duo", "duo", "duo", "small", "gratis", "cheap", "balanced", "frontier", "p1/alpha")
	}
	it.Max = pick(g.rng, uint64(0), 0, 1, 30, 500, 4096, 32_000)
	if it.Path == "anthropic" {
		it.Max = max(it.Max, 1)
	}
	it.JSON = g.one(6) && (it.Path == "complete" || it.Path == "chat")
	if it.Path == "openai" && g.one(8) {
		it.N = g.between(2, 4)
	}
	if g.one(8) {
		it.Think = pick(g.rng, uint64(1024), 3000)
	}
	it.Prompt, it.Words = g.below(3), pick(g.rng, uint64(3), 5, 40, 700)
	if g.one(8) {
		it.Idem = pick(g.rng, "once", "twice")
	}
	if g.one(8) {
		it.Cache = pick(g.rng, "no-store", "no-cache", "max-age=5")
	}
	if g.one(8) {
		it.Leave, it.Quiet = g.between(1, pick(g.rng, uint64(5), 300, 4000)), g.one(2)
	}
	g.vary(&it)
	for range g.between(1, 3) {
		it.Behaviors = append(it.Behaviors, g.behavior())
	}
	return it
}

// vary changes some requests: it makes them invalid, sends them to other endpoints, or lets them ask for unknown
// models.
func (g *generator) vary(it *item) {
	switch g.below(24) {
	case 0:
		it.Path, it.Model, it.Stream = "count", pick(g.rng, "gamma", "alpha"), false
	case 1:
		it.Path = pick(g.rng, "models", "health", "usage")
	case 2:
		it.Bad = pick(g.rng, "body", "type", "key", "malformed")
		if it.Bad == "body" {
			it.Path = "openai"
		}
	case 3:
		if it.Path == "openai" {
			it.Model = pick(g.rng, "lost", "nobody", "delta")
		}
	}
}

// behavior creates the behavior of a provider in one attempt.
func (g *generator) behavior() behavior {
	a := behavior{
		Ms: pick(g.rng, uint64(0), 1, 30, 800, 9000), Out: pick(g.rng, uint64(1), 20, 300, 4000, 100_000), Text: pick(g.rng, uint64(1), 8, 60, 900),
		Chunks: g.between(1, 6), Gap: pick(g.rng, uint64(0), 1, 50, 700), In: pick(g.rng, uint64(0), 0, 0, 90, 150, 190),
	}
	if g.one(8) {
		a.In = pick(g.rng, uint64(400), 3000, 100_000)
	}
	if g.one(6) {
		a.Length = true
	}
	a.JSON = g.one(3)
	if g.one(3) {
		a.Cached, a.Write = pick(g.rng, uint64(0), 40, 60), pick(g.rng, uint64(0), 25, 40)
	}
	if g.one(5) {
		a.Cut = pick(g.rng, uint64(50), 333, 4000, 64_000)
	}
	if g.honest || g.one(2) {
		return a
	}
	switch g.below(3) {
	case 0:
		a.Status = pick(g.rng, uint64(429), 500, 503, 529, 400, 401, 404, 408)
		if a.Status != 400 && g.one(3) {
			a.Retry = pick(g.rng, "1", "0.2", "30", "Wed, 18 Nov 2026 12:00:20 GMT")
		}
	case 1:
		a.Fault = pick(g.rng, "connect", "head", "byte", "total", "idle", "cut", "type", "truncated", "error")
		a.After = g.below(4)
	case 2:
		a.Lie = pick(g.rng, "none", "negative", "absurd", "fraction", "text")
		a.Over = g.one(3)
	}
	return a
}

func (g *generator) operator(span uint64) {
	it := item{
		At: g.below(span + 1), Seed: g.next(), Key: int(g.below(uint64(len(g.p.Keys)))), Project: int(g.below(uint64(len(g.p.Projects)))),
		Do: pick(g.rng, "deactivate", "deactivate", "activate", "delete", "budget", "plan", "policy", "route", "rotate", "keymodels", "cache", "archive", "restore"),
	}
	switch it.Do {
	case "budget":
		it.Amount = pick(g.rng, 0, money.Cent/10, 5*money.Cent, 10*money.Dollar)
	case "plan":
		it.Name = pick(g.rng, "open", "free", "tight", "concurrent")
	case "policy", "keymodels":
		it.Names = pick(g.rng, nil, []string{"cheap", "alpha"}, []string{"gamma"}, []string{"omega", "vector"})
	case "route":
		it.Names = pick(g.rng, nil, []string{"beta", "gamma"}, []string{"small"}, []string{"delta", "alpha"})
		it.Name = pick(g.rng, "cheap", "balanced", "frontier")
	case "rotate":
		it.Ms = pick(g.rng, int64(0), 500, 60_000)
	case "cache":
		it.Amount = pick(g.rng, int64(0), 60)
	}
	g.add(it)
}

// incidents adds incidents of isolates, clocks and KV.
func (g *generator) incidents(span uint64) {
	if g.one(2) {
		g.add(item{At: g.below(span + 3000), Do: pick(g.rng, "kill", "kill", "cut"), Isolate: int(g.below(3))})
	}
	if g.one(5) {
		g.add(item{At: g.below(span + 1), Do: "kv", Ms: int64(g.between(1, 3000))})
	}
	if g.one(5) {
		g.add(item{
			At: g.below(span + 1), Do: "jump", Name: pick(g.rng, "objects", "isolate"), Isolate: int(g.below(3)),
			Ms: pick(g.rng, int64(-hourMs), -2000, 2000, hourMs),
		})
	}
}

// burst adds many requests of one key at the same time. Sometimes, the budget is enough for them.
func (g *generator) burst() {
	it := g.request()
	it.Bad, it.Idem, it.Leave = "", "", 0
	if it.Path == "models" || it.Path == "health" || it.Path == "usage" || it.Path == "count" {
		it.Path, it.Model, it.Max = "openai", "omega", 4096
	}
	it.Times, it.Every = int(g.between(8, 40)), pick(g.rng, uint64(0), 0, 1, 20)
	g.add(it)
	if g.one(2) {
		late := g.request()
		late.At = g.between(1000, 400_000)
		g.add(late)
	}
	if !g.calm {
		g.incidents(2000)
	}
}

// idleSlices adds many keys that each use a little. Then it adds one key that needs nearly all of the budget that is
// left.
func (g *generator) idleSlices() {
	n := int(g.between(5, 50))
	g.p.Projects = []projectPlan{{Budget: pick(g.rng, money.Pico(2), 4, 10) * money.Dollar, Plan: "open"}}
	for k := range n + 1 {
		g.p.Keys = append(g.p.Keys, keyPlan{})
		if k == n {
			break
		}
		g.add(item{
			At: uint64(k), Do: "ask", Seed: g.next(), Key: k, Path: "openai", Model: "omega", Max: g.between(100, 2500), Words: 3,
			Behaviors: []behavior{{Out: 10, Text: 3, Ms: 10}},
		})
	}
	g.add(item{
		At: 100_000, Do: "ask", Seed: g.next(), Key: n, Path: "openai", Model: "omega", Max: g.between(1000, 60_000), Words: 3,
		Times: int(g.between(1, 4)), Behaviors: []behavior{{Out: 10, Text: 3, Ms: 10}},
	})
}

// repeats adds one request many times. It comes from several keys and projects, with and without the cache, and with
// and without idempotency keys.
func (g *generator) repeats() {
	g.projectsAndKeys(3, 5)
	for i := range g.p.Projects {
		g.p.Projects[i].CacheTTL = pick(g.rng, uint64(30), 30, 3600)
		g.p.Projects[i].Budget = max(g.p.Projects[i].Budget, money.Dollar)
	}
	it := g.request()
	it.Bad, it.Leave, it.Cache = "", 0, ""
	for range g.between(2, 10) {
		again := it
		again.At, again.Seed, again.Key = g.below(50_000), g.next(), int(g.below(uint64(len(g.p.Keys))))
		if g.one(3) {
			again.Stream = !again.Stream && it.Path != "embed" && it.Path != "compact"
		}
		if g.one(4) {
			again.Cache = pick(g.rng, "no-store", "no-cache", "max-age=5")
		}
		g.add(again)
	}
	if g.one(3) {
		g.operator(50_000)
	}
	if !g.calm {
		g.incidents(50_000)
	}
}

// deficit adds a key whose first request costs far more than the estimate.
func (g *generator) deficit() {
	g.projectsAndKeys(1, 2)
	it := g.request()
	it.Bad, it.Key = "", 0
	it.Path, it.Model, it.Max, it.Stream = "openai", pick(g.rng, "gamma", "omega", "beta"), g.between(1, 300), false
	it.Behaviors = []behavior{{Out: 30, Text: 3, In: pick(g.rng, uint64(3000), 100_000, 1_000_000)}}
	g.add(it)
	for range g.between(1, 3) {
		late := g.request()
		late.At, late.Key = g.between(1000, 30_000), 0
		g.add(late)
	}
}

// order sorts the items by time with a stable sort.
func (g *generator) order() {
	items := g.p.Items
	for i := 1; i < len(items); i++ {
		for j := i; j > 0 && items[j].At < items[j-1].At; j-- {
			items[j], items[j-1] = items[j-1], items[j]
		}
	}
}
