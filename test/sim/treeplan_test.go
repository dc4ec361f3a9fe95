package sim_test

import "github.com/postern-ai/postern/core/money"

// generateTree creates a plan like generate, with a tree of budgets above the projects.
func generateTree(seed uint64) *plan {
	p := generate(1<<40 + seed)
	g := &generator{rng: fork(p.Seed, 41), p: p, calm: !p.Faults.any()}
	g.tree()
	g.order()
	return p
}

// tree adds the deployment's budget and up to four groups, two deep. Some of these budgets are so small that they are
// exhausted before those of the projects.
func (g *generator) tree() {
	g.p.Groups = []groupPlan{g.group(0)}
	for i := range g.below(5) {
		parent := uint64(0)
		if n := uint64(len(g.p.Groups)); i > 0 && g.one(2) {
			if parent = g.below(n); g.p.Groups[parent].Parent > 0 { // a third level
				parent = uint64(g.p.Groups[parent].Parent)
			}
		}
		g.p.Groups = append(g.p.Groups, g.group(int(parent)))
	}
	if len(g.p.Projects) == 1 && g.one(2) {
		more := g.p.Projects[0]
		g.p.Projects = append(g.p.Projects, more)
		for i := range g.p.Keys {
			g.p.Keys[i].Project = int(g.below(2))
		}
	}
	for i := range g.p.Projects {
		p := &g.p.Projects[i]
		p.Group = int(g.below(uint64(len(g.p.Groups))))
		p.Cycle = uint8(g.below(3))
		if g.one(2) {
			p.Budget = max(p.Budget, money.Dollar)
		}
		p.Requests, p.Tokens = g.requests(), g.tokens()
	}
	for i := range g.p.Keys {
		k := &g.p.Keys[i]
		if g.one(6) {
			k.Budget = pick(g.rng, money.Cent/10, money.Cent, money.Dollar/4, money.Dollar, 10*money.Dollar)
		}
		k.Requests, k.Tokens, k.Cycle = g.requests(), g.tokens(), uint8(g.below(3))
	}
	if g.one(2) {
		g.p.Start = 20_787*dayMs + dayMs - g.between(1, 10_000)
	}
	if g.one(3) {
		g.compete()
	}
	g.treeOperators()
}

// requests returns a limit of requests. Most often there is none.
func (g *generator) requests() uint64 {
	if !g.one(6) {
		return 0
	}
	return g.between(1, pick(g.rng, uint64(3), 20, 2000))
}

func (g *generator) tokens() uint64 {
	if !g.one(6) {
		return 0
	}
	return g.between(1, pick(g.rng, uint64(50), 2000, 200_000))
}

func (g *generator) group(parent int) groupPlan {
	return groupPlan{
		Parent: parent, Cycle: uint8(g.below(3)), Unlimited: g.one(5), Requests: g.requests(), Tokens: g.tokens(),
		Budget: pick(g.rng, money.Cent/10, money.Cent, 5*money.Cent, money.Dollar/4, money.Dollar, money.Dollar, 10*money.Dollar, 100*money.Dollar),
	}
}

// compete adds requests of several keys at the same time. The budgets are enough for some of them.
func (g *generator) compete() {
	it := g.request()
	it.Path, it.Model, it.Bad, it.Idem, it.Cache, it.Leave, it.Stream = "openai", pick(g.rng, "omega", "gamma"), "", "", "no-store", 0, g.one(3)
	it.Max = g.between(200, 4000)
	span := pick(g.rng, uint64(1), 1, 40, 3000)
	for range g.between(2, 5) {
		again := it
		again.Seed, again.Key, again.At = g.next(), int(g.below(uint64(len(g.p.Keys)))), g.below(span)
		again.Times, again.Every = int(g.between(1, 5)), pick(g.rng, uint64(0), 0, 5, 300)
		g.add(again)
	}
}

// treeOperators adds moves of projects and changes of the groups' budgets during the traffic.
func (g *generator) treeOperators() {
	span := uint64(1000)
	for _, it := range g.p.Items {
		span = max(span, min(it.At, 100_000)+uint64(it.Times)*it.Every)
	}
	moves := 0
	for g.one(2) {
		it := item{At: g.below(span), Seed: g.next(), Group: int(g.below(uint64(len(g.p.Groups))))}
		if it.Project = int(g.below(uint64(len(g.p.Projects)))); g.one(2) && moves < maxMoves {
			it.Do = "move"
			moves++
		} else {
			it.Do, it.Amount = "groupbudget", pick(g.rng, -1, 0, money.Cent/10, 5*money.Cent, money.Dollar, 10*money.Dollar)
		}
		g.add(it)
	}
}

// maxMoves is a number of moves after which a meter still knows all levels of the paths that its project has left.
const maxMoves = 4
