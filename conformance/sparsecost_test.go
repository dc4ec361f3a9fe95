package conformance

import (
	"testing"
	"time"
)

// TestCostOfSparseTraffic counts what a request costs if its key sends one every 20 seconds for an hour, and one every
// minute. The counts include alarms, reports of usage, and the project's summaries. docs/project/performance.md has the
// figures, and -v prints them.
func TestCostOfSparseTraffic(t *testing.T) {
	t.Parallel()
	upstream := newUpstream(t)
	for _, c := range []struct {
		interval time.Duration
		most     cost
	}{
		{20 * time.Second, cost{3, 4, 5}},
		{time.Minute, cost{5, 8, 10}},
	} {
		x := newFixture(t, upstream, deployment(upstream))
		x.do("project site budget=1000", "key live site")
		x.pace("live", 1, c.interval)
		x.do("advance 90s", "stats reset")
		n := int(time.Hour / c.interval)
		x.pace("live", n, c.interval)
		x.do("advance 600s")
		got := x.costs(n)
		t.Logf("a request every %v: %.2f calls, %.2f rows, $%.2f", c.interval, got.calls, got.rows, got.dollars)
		if got.exceeds(c.most) {
			t.Errorf("a request every %v: %.2f calls, %.2f rows, $%.2f, want at most %v", c.interval, got.calls, got.rows, got.dollars, c.most)
		}
	}
}
