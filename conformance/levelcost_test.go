package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// cost is what a request costs on Cloudflare. Calls include alarms that ring, and rows include alarms that are set.
type cost struct{ calls, rows, dollars float64 }

func (a cost) minus(b cost) cost {
	return cost{a.calls - b.calls, a.rows - b.rows, a.dollars - b.dollars}
}

// exceeds reports whether a cost is more than its target. Sums of counts divided by counts are not exact.
func (a cost) exceeds(most cost) bool {
	const rounding = 1e-9
	return a.calls > most.calls+rounding || a.rows > most.rows+rounding || a.dollars > most.dollars+rounding
}

// listPrices are the prices of bench/prices.json, in dollars per million.
type listPrices struct {
	Prices struct {
		WorkerRequests, ObjectRequests, RowsRead, RowsWritten float64
	}
}

// costs returns the counts since the last reset, divided by n.
func (c *fixture) costs(n int) cost {
	c.Helper()
	stats := must(c.controlBody("GET", "stats", nil))
	sum := func(names ...string) (total float64) {
		for _, name := range names {
			v := gjson.GetBytes(stats, name)
			total += v.Num
			v.ForEach(func(name, v gjson.Result) bool {
				if name.Str != "" {
					total += v.Num // by class
				}
				return true
			})
		}
		return total / float64(n)
	}
	a := cost{calls: sum("objectCalls", "alarmsRung"), rows: sum("rowsWritten", "alarmsSet")}
	p := listPrices{}
	c.must(json.Unmarshal(must(os.ReadFile("../bench/prices.json")), &p))
	a.dollars = p.Prices.WorkerRequests + p.Prices.ObjectRequests*a.calls + p.Prices.RowsWritten*a.rows + p.Prices.RowsRead*sum("rowsRead")
	return a
}

// chain creates a project with n Ledgers on its path: the root's, those of a department and a team, and its own.
func (c *fixture) chain(n int) {
	c.Helper()
	parent := "root"
	for i, name := range []string{"root", "department", "team"}[:n-1] {
		if i == 0 {
			c.script(name, "== one\nadmin PATCH /api/admin/groups/root\n  {\"budget\":1000}")
			continue
		}
		c.script(name, fmt.Sprintf("== one\nadmin POST /api/admin/groups\n  {\"name\":%q,\"parent\":%q,\"budget\":1000}", name, parent))
		parent = gjson.GetBytes(c.last.body, "id").Str
	}
	project := "project site budget=1000"
	if parent != "root" {
		project += " group=" + parent
	}
	c.do(project)
}

// pace sends n different requests of a key, one every interval.
func (c *fixture) pace(key string, n int, interval time.Duration) {
	c.Helper()
	for range n {
		c.must(c.moveClock(c.now.Add(interval), Step{}))
		got, err := c.run.do(c.completion(key, `"model":"only"`, int(c.now.UnixMilli())))
		c.must(err)
		if got.status != 200 {
			c.Fatalf("%d %s", got.status, got.body)
		}
	}
}

// coldCalls returns the calls to meters and to Ledgers before a key's first request reaches the provider.
func (c *fixture) coldCalls(upstream *Upstream, key string) (meters, ledgers int64) {
	c.Helper()
	c.do("upstream hold", "stats reset")
	w := c.parallel(1, func(int) request { return c.completion(key, `"model":"only"`, 0) })
	w.waitUntilHeld(upstream.Held)
	meters, ledgers = c.stat("objectCalls.KeyMeter"), c.stat("objectCalls.Ledger")
	upstream.Release()
	w.want(map[int]int{200: 1})
	c.do("advance 90s")
	return meters, ledgers
}

// TestCostOfALevel counts what each Ledger above the project adds to a request: to the first request of a key, and to
// a request of a key with 10 requests per second. docs/guides/limits-and-budgets.md has the figures, and -v prints them.
func TestCostOfALevel(t *testing.T) {
	t.Parallel()
	const coldKeys, warmRequests = 10, 600
	upstream := newUpstream(t)
	// Of each further Ledger. The first requests share their project's call per minute with the usage, and its alarm.
	coldMost, warmMost := cost{1.3, 5, 5.5}, cost{0.02, 0.05, 0.10}
	var cold, warm [5]cost
	for n := 1; n <= 4; n++ {
		c := newFixture(t, upstream, deployment(upstream))
		c.chain(n)
		for k := range coldKeys + 1 {
			c.do(fmt.Sprintf("key k%d site", k))
		}
		if meters, ledgers := c.coldCalls(upstream, "k10"); meters != 2 || ledgers != int64(n) {
			t.Errorf("%d Ledgers: %d calls to meters and %d to Ledgers before the answer, want 2 and %d", n, meters, ledgers, n)
		}
		c.do("stats reset")
		for k := range coldKeys {
			c.pace(fmt.Sprint("k", k), 1, time.Second)
		}
		c.do("advance 90s")
		cold[n] = c.costs(coldKeys)
		c.pace("k10", 3, time.Second)
		c.do("advance 90s", "stats reset")
		c.pace("k10", warmRequests, 100*time.Millisecond)
		c.do("advance 90s")
		warm[n] = c.costs(warmRequests)
		t.Logf("%d Ledgers: first request %.3f, later %.3f", n, cold[n], warm[n])
		if n == 1 {
			continue
		}
		if more := cold[n].minus(cold[n-1]); more.exceeds(coldMost) {
			t.Errorf("Ledger %d adds %.3f to a key's first request, want at most %.3f", n, more, coldMost)
		}
		if more := warm[n].minus(warm[n-1]); more.exceeds(warmMost) {
			t.Errorf("Ledger %d adds %.3f to a later request, want at most %.3f", n, more, warmMost)
		}
	}
}
