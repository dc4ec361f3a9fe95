package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// flood makes some streams of a plan so long and fast that they exhaust their reservations. They send many events, at
// once or in bursts, and some exceed the requested limit. Some budgets are small. The store may be slow or silent for
// a while.
func (g *generator) flood() {
	r := fork(g.p.Seed, 23)
	if !r.one(6) {
		return
	}
	if !g.calm {
		g.p.Faults.Slow = r.one(2)
	}
	for i := range g.p.Projects {
		if r.one(2) {
			g.p.Projects[i].Budget = pick(r, money.Cent/10, money.Cent, 3*money.Cent, money.Dollar/10, money.Dollar/3)
		}
	}
	for i := range g.p.Items {
		it := &g.p.Items[i]
		if it.Do != "ask" || it.Path == "embed" || it.Path == "count" || it.Times > 8 {
			continue
		}
		it.Stream, it.JSON, it.N = true, false, 0
		if r.one(2) && it.Path != "anthropic" { // Anthropic requires max_tokens
			it.Max = 0
		}
		for n := range it.Behaviors {
			b := &it.Behaviors[n]
			b.Out, b.Text, b.Over = 100_000, pick(r, uint64(1500), 6000, 15_000), r.one(2)
			b.Chunks, b.Gap = pick(r, uint64(10), 60, 300), pick(r, uint64(0), 0, 1, 20)
			b.Cut = pick(r, uint64(0), 0, 4000, 64_000)
		}
	}
}

// slowly delays a stream's call for more budget by up to 40 seconds, as if the store were slow or silent for a while.
func (x *exchange) slowly(a *abi.Action, draw uint64, run func(func([]byte, bool)), finish func([]byte, bool)) bool {
	extends := a.Class == abi.ClassKeyMeter && op(a.Data) == opExtend || a.Class == abi.ClassLedger && op(a.Data) == opGrant && x.streaming() != nil
	if !x.w.plan.Faults.Slow || !extends || draw < 20 {
		return false
	}
	x.w.stats.Faults++
	x.history.faulty, x.history.failed = true, true
	late := pick(x.random, uint64(30), 300, 3000, 12_000, 40_000)
	x.w.logf("%s: a call for more budget takes %d ms", x.id, late)
	if draw < 30 { // the command is on time, but its reply is late
		run(func(reply []byte, ok bool) { x.w.after(late, func() { finish(reply, ok) }) })
	} else {
		x.w.after(late, func() { run(finish) })
	}
	return true
}
