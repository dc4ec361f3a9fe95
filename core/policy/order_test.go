package policy

import (
	"testing"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/route"
)

var latencies = map[string]uint64{"a-small": 900, "b-large": 50}

func latencyOf(model string) uint64 { return latencies[model] }

func TestExpected(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		strategy config.Strategy
		want     string
	}{
		{config.Ordered, "a-large g-one? a-small b-large=m2"},
		{config.Cheapest, "a-small g-one? b-large=m2 a-large"},
		{config.Fastest, "a-large g-one? b-large=m2 a-small"},  // unknown latencies first
		{config.Weighted, "b-large=m2 a-small a-large g-one?"}, // the weights are 4, 3 and 1; g-one with 2 is not usable
	} {
		p := routeOf("fast", c.strategy, "a-large", "g-one", "a-small", "b-large")
		p.ProviderKeys = withProviderKey("beta", "m2").ProviderKeys
		v := View{Config: cfg, Project: p}
		if got := text(Expected(v.Strategy("fast"), v.Targets("fast"), latencyOf)); got != c.want {
			t.Errorf("strategy %d: %s\nwant %s", c.strategy, got, c.want)
		}
	}
}

// TestExpectedMatchesRoute compares Expected with core/route. It compares the order for strategies that sort, and how
// often each target is drawn first for the weighted strategy.
func TestExpectedMatchesRoute(t *testing.T) {
	cfg := testConfig(t)
	var circuits route.Circuits
	for model, ms := range latencies {
		circuits.Succeeded(model, false, ms, 1)
	}
	cost := func(m *config.Model) int64 { return m.Cost(&typical) }
	for _, s := range []config.Strategy{config.Weighted, config.Ordered, config.Cheapest, config.Fastest} {
		v := View{Config: cfg, Key: []string{"a-large", "a-small", "g-one", "twin"}, Project: routeOf("fast", s, "a-large", "b-large", "g-one", "a-small", "twin")}
		targets := v.Targets("fast")
		plain := make([]config.Target, len(targets))
		total := uint64(0)
		for i, c := range targets {
			plain[i] = c.Target
			total += c.DrawWeight()
		}
		usable := func(i int) bool { return targets[i].Usable() }
		first := map[string]uint64{}
		for n := range total {
			order := circuits.Order(s, plain, 2, func() uint64 { return n }, cost, usable)
			first[plain[order[0]].Model.Name]++
			if s == config.Weighted {
				continue
			}
			for i, c := range Expected(s, targets, latencyOf) {
				if tried := plain[order[i]].Model.Name; tried != c.Model.Name {
					t.Errorf("strategy %d: target %d is %s, want %s", s, i, tried, c.Model.Name)
				}
			}
		}
		for _, c := range targets {
			if s == config.Weighted && first[c.Model.Name] != c.DrawWeight() {
				t.Errorf("%s is drawn first %d of %d times, want %d", c.Model.Name, first[c.Model.Name], total, c.DrawWeight())
			}
		}
		if total != 1+4+5 {
			t.Errorf("the total weight is %d, want 10", total)
		}
	}
}
