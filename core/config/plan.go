package config

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/money"
)

// Lease is the share of a key's limits that its meter lends to an edge location. The share counts as used until the
// lease ends. A change to the key or its project is acknowledged only after that. With the zero Lease, the plan's
// meters never lend.
type Lease struct {
	DurationMs uint64 // duration of one lease: MinLeaseMs to MaxLeaseMs
	Requests   uint64 // maximum admissions of one lease: 1 to MaxLeaseRequests
}

// The limits of a plan's lease. A meter does not lend for less than MinLeaseMs. MaxLeaseMs is also the longest time
// that a deactivation may have to wait.
const (
	MinLeaseMs       = 100
	MaxLeaseMs       = 2000
	MaxLeaseRequests = 4096
)

func (p *parser) plan(o *object) {
	plan := Plan{Name: o.entryName("plans")}
	o.number(&plan.Production.PerSecond, "perSecond")
	o.number(&plan.Production.PerDay, "perDay")
	o.number(&plan.Production.TokensPerMinute, "tokensPerMinute")
	o.number(&plan.Development.TokensPerMinute, "developmentTokensPerMinute")
	o.number(&plan.Development.PerSecond, "developmentPerSecond")
	o.number(&plan.Development.PerDay, "developmentPerDay")
	plan.Concurrent = 200
	plan.Governor = o.flag("governor")
	o.number(&plan.Concurrent, "concurrent")
	plan.BudgetPico = o.amount("budget", money.Dollar, "budget of plan "+plan.Name)
	if v := o.get("lease"); v.Exists() {
		plan.Lease = p.lease(&plan, o, v)
	}
	for i := range p.config.Plans {
		if p.config.Plans[i].Name == plan.Name {
			p.config.Plans[i] = plan
			return
		}
	}
	p.config.Plans = append(p.config.Plans, plan)
}

// lease reads the lease of a plan. Both fields are required, because a missing limit must not mean that there is
// none.
func (p *parser) lease(plan *Plan, o *object, v gjson.Result) (l Lease) {
	if !v.IsObject() {
		o.wrong("lease", `an object such as {"ms": 2000, "requests": 512}`, v)
		return l
	}
	m := p.object(v)
	l.DurationMs = m.within("ms", plan, MinLeaseMs, MaxLeaseMs)
	l.Requests = m.within("requests", plan, 1, MaxLeaseRequests)
	m.close()
	return l
}

// within reads a required integer of a plan's lease.
func (o *object) within(member string, plan *Plan, least, most uint64) uint64 {
	v := o.get(member)
	if n := v.Num; v.Type == gjson.Number && n >= float64(least) && n <= float64(most) && n == float64(uint64(n)) {
		return uint64(n)
	}
	got := "none"
	if v.Exists() {
		got = clip(v.Raw)
	}
	o.p.failIn("lease." + member + " of plan " + plan.Name + " must be an integer from " + strconv.FormatUint(least, 10) +
		" to " + strconv.FormatUint(most, 10) + ", got " + got)
	return 0
}
