package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/tidwall/gjson"
)

// company is a deployment with two departments, four teams and ten projects. The first team is about to run out of budget.
type company struct {
	*fixture
	team     string     // ID of the first team
	projects [10]string // names; those of the first team come first
}

const (
	poorProjects = 3      // projects of the first team
	poorBudget   = "1.55" // of the first team, in dollars
	poorRequests = 25     // that this covers
	poorName     = "Red team"
	drainers     = 500 // callers at once
)

// group creates a group and returns its ID.
func (c *fixture) group(name, parent, budget string) string {
	c.Helper()
	c.script(name, fmt.Sprintf("== one\nadmin POST /api/admin/groups\n  {\"name\":%q,\"parent\":%q,\"budget\":%s}", name, parent, budget))
	return gjson.GetBytes(c.last.body, "id").Str
}

func newCompany(c *fixture) *company {
	c.Helper()
	m := &company{fixture: c}
	// The provider holds the first request until the last one is admitted, which takes long on a busy machine.
	c.must(c.run.setRouting(parseStep(0, "routing headMs=60000 firstByteMs=60000 totalMs=60000 requestMs=120000")))
	first, second := c.group("First department", "root", "100"), c.group("Second department", "root", "1000")
	m.team = c.group(poorName, first, poorBudget)
	teams := []string{m.team, c.group("Blue team", first, "50"), c.group("Green team", second, "500"), c.group("Grey team", second, "500")}
	for i, team := range []int{0, 0, 0, 1, 1, 1, 2, 2, 3, 3} {
		m.projects[i] = fmt.Sprint("project", i)
		c.do(fmt.Sprintf("project %s plan=unlimited budget=100 group=%s", m.projects[i], teams[team]), fmt.Sprintf("key k%d %s", i, m.projects[i]))
	}
	return m
}

// drain sends requests with all keys at once, and checks that only the first team's callers are refused.
func (m *company) drain(upstream *Upstream) {
	m.Helper()
	m.do(fmt.Sprintf("upstream hold times=%d", drainers))
	w := m.parallel(drainers, func(n int) request {
		return m.completion(fmt.Sprint("k", n%len(m.projects)), `"model":"gpt-5.4","max_tokens":4096`, n)
	})
	w.waitUntilHeld(upstream.Held)
	upstream.Release()
	poor := drainers * poorProjects / len(m.projects)
	w.want(map[int]int{200: drainers - poor + poorRequests, 402: poor - poorRequests})
	for n := range w.responses {
		got := &w.responses[n]
		names := bytes.Contains(got.body, []byte(poorName)) && bytes.Contains(got.body, []byte("resets at"))
		if got.status == http.StatusPaymentRequired && (n%len(m.projects) >= poorProjects || !names) {
			m.Errorf("a caller of %s: %s", m.projects[n%len(m.projects)], got.body)
		}
	}
}

// wantWithinLimit checks what the first team has spent.
func (m *company) wantWithinLimit() {
	m.Helper()
	m.do("advance 60s", "admin GET /api/admin/groups/"+m.team)
	spent, budget := gjson.GetBytes(m.last.body, "spent.amount").Num, gjson.GetBytes(m.last.body, "budget").Num
	if spent <= 0 || spent > budget {
		m.Errorf("the team has spent %v of %v", spent, budget)
	}
}

// TestCallersDrainATeam sends 500 requests of a company at once, and one team's budget covers only a part of its requests.
// The other teams do not notice.
func TestCallersDrainATeam(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *Upstream) *Runner{
		"native": newNative, "wasm": newWasm, "sqlite": newServe, "postgres": newOnPostgres, "workerd": newWorkerd,
	} {
		t.Run(name, func(t *testing.T) {
			upstream := newUpstream(t)
			m := newCompany(fixtureAt(t, start(t, upstream)))
			m.drain(upstream)
			m.wantWithinLimit()
		})
	}
}
