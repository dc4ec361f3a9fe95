package sim_test

import "slices"

// shrink removes everything from a plan that is not necessary for the failure: items, repetitions, faults, responses
// and words. The result still violates the same rule.
func shrink(p *plan, rule string, b func() defect) *plan {
	s := &shrinker{best: clone(p), rule: rule, defect: b}
	for again := true; again && s.runs < maxShrinks; {
		again = s.items() || s.projectsAndKeys() || s.settings()
	}
	return s.best
}

const maxShrinks = 4000

type shrinker struct {
	best   *plan
	rule   string
	defect func() defect
	runs   int
}

func clone(p *plan) *plan {
	c := *p
	c.Projects, c.Keys, c.Items = slices.Clone(p.Projects), slices.Clone(p.Keys), slices.Clone(p.Items)
	for i := range c.Items {
		c.Items[i].Behaviors = slices.Clone(c.Items[i].Behaviors)
	}
	return &c
}

// try keeps a change if the plan still violates the rule.
func (s *shrinker) try(change func(*plan)) bool {
	c := clone(s.best)
	change(c)
	if s.runs++; s.runs > maxShrinks || c.text() == s.best.text() {
		return false
	}
	if f := run(c, s.defect(), &stats{}, nil); f == nil || f.rule != s.rule {
		return false
	}
	s.best = c
	return true
}

// items removes items. It tries the longest runs of items first.
func (s *shrinker) items() (smaller bool) {
	for n := len(s.best.Items) / 2; n >= 1; n /= 2 {
		for at := 0; at+n <= len(s.best.Items); {
			if s.try(func(p *plan) { p.Items = slices.Delete(p.Items, at, at+n) }) {
				smaller = true
			} else {
				at += n
			}
		}
	}
	for i := range s.best.Items {
		smaller = s.item(i) || smaller
	}
	return smaller
}

func (s *shrinker) item(i int) (simpler bool) {
	try := func(change func(*item)) { simpler = s.try(func(p *plan) { change(&p.Items[i]) }) || simpler }
	for s.best.Items[i].Times > 1 && s.try(func(p *plan) { p.Items[i].Times /= 2 }) {
		simpler = true
	}
	for s.best.Items[i].Times > 1 && s.try(func(p *plan) { p.Items[i].Times-- }) {
		simpler = true
	}
	try(func(it *item) { it.Times = 0 })
	try(func(it *item) { it.Every = 0 })
	try(func(it *item) { it.Leave, it.Quiet = 0, false })
	try(func(it *item) { it.Idem = "" })
	try(func(it *item) { it.JSON = false })
	try(func(it *item) { it.N, it.Think = 0, 0 })
	try(func(it *item) { it.Cache = "" })
	try(func(it *item) { it.Stream = false })
	try(func(it *item) { it.Isolate = 0 })
	try(func(it *item) { it.Key = 0 })
	try(func(it *item) { it.At = 0 })
	try(func(it *item) { it.Seed = uint64(i + 1) })
	try(func(it *item) { it.Prompt, it.Words = 0, 3 })
	try(func(it *item) {
		if it.Do == "ask" && it.Path != "embed" && it.Path != "compact" {
			it.Path = "openai"
		}
	})
	for len(s.best.Items[i].Behaviors) > 1 && s.try(func(p *plan) { p.Items[i].Behaviors = p.Items[i].Behaviors[:len(p.Items[i].Behaviors)-1] }) {
		simpler = true
	}
	for j := range s.best.Items[i].Behaviors {
		plain := s.best.Items[i].Behaviors[j]
		for _, change := range []func(*behavior){
			func(a *behavior) { *a = behavior{Out: plain.Out, Text: plain.Text} },
			func(a *behavior) { a.Ms, a.Gap = 0, 0 },
			func(a *behavior) { a.Chunks, a.After = 1, 0 },
			func(a *behavior) { a.Length, a.Over = false, false },
			func(a *behavior) { a.Retry, a.Cut = "", 0 },
			func(a *behavior) { a.In = 0 },
			func(a *behavior) { a.Cached, a.Write = 0, 0 },
			func(a *behavior) { a.JSON = false },
			func(a *behavior) { a.Text = 3 },
			func(a *behavior) { a.Out = 20 },
		} {
			try(func(it *item) { change(&it.Behaviors[j]) })
		}
	}
	return simpler
}

// projectsAndKeys removes and simplifies keys and projects.
func (s *shrinker) projectsAndKeys() (smaller bool) {
	for i := len(s.best.Keys) - 1; i > 0; i-- {
		smaller = s.try(func(p *plan) {
			p.Keys = slices.Delete(p.Keys, i, i+1)
			for n := range p.Items {
				if p.Items[n].Key >= i {
					p.Items[n].Key--
				}
			}
		}) || smaller
	}
	for i := range s.best.Keys {
		smaller = s.try(func(p *plan) { p.Keys[i] = keyPlan{Project: p.Keys[i].Project} }) || smaller
		smaller = s.try(func(p *plan) { p.Keys[i].Project = 0 }) || smaller
	}
	for i := range s.best.Projects {
		smaller = s.try(func(p *plan) { p.Projects[i].CacheTTL = 0 }) || smaller
		smaller = s.try(func(p *plan) { p.Projects[i].Plan = "open" }) || smaller
		smaller = s.try(func(p *plan) { p.Projects[i].Cycle, p.Projects[i].Alerts, p.Projects[i].Unbounded = 0, false, false }) || smaller
	}
	for i := 0; i < len(s.best.Projects) && len(s.best.Projects) > 1; i++ {
		smaller = s.try(func(p *plan) {
			p.Projects = p.Projects[i : i+1]
			for n := range p.Keys {
				p.Keys[n].Project = 0
			}
		}) || smaller
	}
	return s.try(func(p *plan) {
		for _, k := range p.Keys {
			if k.Project > 0 {
				return
			}
		}
		p.Projects = p.Projects[:1]
	}) || smaller
}

// settings turns off unneeded faults and settings.
func (s *shrinker) settings() (smaller bool) {
	for _, change := range []func(*plan){
		func(p *plan) { p.Faults = faults{} },
		func(p *plan) { p.Faults.Calls = false },
		func(p *plan) { p.Faults.Overload, p.Faults.Late = false, false },
		func(p *plan) { p.Faults.Outbox = false },
		func(p *plan) { p.Faults.Alarms = false },
		func(p *plan) { p.Faults.Stale = false },
		func(p *plan) { p.Faults.Evict = false },
		func(p *plan) { p.Isolates = 1 },
		func(p *plan) { p.Start = noon },
		func(p *plan) { p.Delay = "" },
		func(p *plan) {
			if p.Delay == "long" {
				p.Delay = "short"
			}
		},
	} {
		smaller = s.try(change) || smaller
	}
	return smaller
}
