package conformance

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// parallel is a group of concurrent requests.
type parallel struct {
	c         *fixture
	responses []reply
	errs      []error
	all       sync.WaitGroup
	mu        sync.Mutex
	done      int // number of finished requests
}

// parallel sends n requests at once. form builds request i.
func (c *fixture) parallel(n int, form func(int) request) *parallel {
	w := &parallel{c: c, responses: make([]reply, n), errs: make([]error, n)}
	for i := range n {
		w.all.Go(func() {
			w.responses[i], w.errs[i] = c.run.do(form(i))
			w.mu.Lock()
			w.done++
			w.mu.Unlock()
		})
	}
	return w
}

// waitUntilHeld waits until every request is either held by the provider or finished.
func (w *parallel) waitUntilHeld(held func() int) {
	w.c.Helper()
	answered := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.done
	}
	end := time.Now().Add(3 * patience)
	for held()+answered() < len(w.responses) {
		if time.Now().After(end) {
			w.c.Fatalf("of %d requests the provider holds %d, %d are finished", len(w.responses), held(), answered())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// statuses waits for all responses and counts them by status.
func (w *parallel) statuses() map[int]int {
	w.c.Helper()
	w.all.Wait()
	counts := map[int]int{}
	for i := range w.responses {
		w.c.must(w.errs[i])
		counts[w.responses[i].status]++
	}
	w.c.must(w.c.settled())
	return counts
}

func (w *parallel) want(want map[int]int) {
	w.c.Helper()
	if got := w.statuses(); !maps.Equal(got, want) {
		w.c.Errorf("statuses %v, want %v", got, want)
	}
}

func (c *fixture) completion(key, members string, n int) request {
	body := fmt.Sprintf(`{%s,"messages":[{"role":"user","content":"Hello %04d"}]}`, members, n)
	return request{method: "POST", path: "/v1/chat/completions", body: body,
		headers: map[string]string{"x-api-key": c.names[key], "content-type": "application/json"}}
}

// used returns the project's spending in dollars.
func (c *fixture) used(project, key string) float64 {
	c.Helper()
	c.do("advance 1s")
	got, err := c.run.do(request{method: "GET", path: "/api/usage?projectId=" + c.names[project], headers: map[string]string{"x-api-key": c.names[key]}})
	c.must(err)
	return gjson.GetBytes(got.body, "budget.used").Num
}

func (c *fixture) stat(name string) int64 {
	c.Helper()
	got, err := c.controlBody(http.MethodGet, "stats", nil)
	c.must(err)
	return gjson.GetBytes(got, name).Int()
}

// TestBurstsFillTheBudget checks a burst of non-streaming requests on one key. The number of requests that get 200 is
// exactly the number of reservations that the budget covers. The others get 402, never 503. With its message
// overhead, "Hello 0000" has at most 20 tokens.
func TestBurstsFillTheBudget(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	for _, row := range []struct { // Claude's inference location may raise the price by a tenth
		name, members, budget string
		fit                   int
	}{
		{"all fit in ten dollars", `"model":"gpt-5.4","max_tokens":4096`, "10", 50},
		{"all fit in a hundred dollars", `"model":"claude-opus-4-6","max_tokens":32000`, "100", 50},
		{"one fits", `"model":"gpt-5.4","max_tokens":4096`, "0.0621", 1},
		{"none fits", `"model":"gpt-5.4","max_tokens":4096`, "0.0614", 0},
		{"half of them fit", `"model":"gpt-5.4","max_tokens":4096`, "1.55", 25},
		{"twelve expensive requests fit", `"model":"claude-opus-4-6","max_tokens":32000`, "10.67", 12},
		{"49 of 50 fit", `"model":"claude-opus-4-6","max_tokens":32000`, "43.9", 49},
	} {
		t.Run(row.name, func(t *testing.T) {
			upstream.Reset()
			c := newFixture(t, upstream, deployment(upstream))
			c.do("project site plan=unlimited budget="+row.budget, "key live site", "upstream hold times=51", "fault Ledger=slow")
			w := c.parallel(50, func(n int) request { return c.completion("live", row.members, n) })
			w.waitUntilHeld(upstream.Held)
			upstream.Release()
			want := map[int]int{200: row.fit, 402: 50 - row.fit}
			maps.DeleteFunc(want, func(_, n int) bool { return n == 0 })
			w.want(want)
			c.wantUpstream(row.fit)
		})
	}
}

// TestBurstOverKeys sends a burst of non-streaming requests with ten keys of a project. The keys recall slices from
// each other.
func TestBurstOverKeys(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	c.do("project site plan=unlimited budget=1.55")
	for k := range 10 {
		c.do(fmt.Sprintf("key k%d site", k))
	}
	c.do("upstream hold times=51", "fault Ledger=slow")
	w := c.parallel(50, func(n int) request {
		return c.completion("k"+strconv.Itoa(n%10), `"model":"gpt-5.4","max_tokens":4096`, n)
	})
	w.waitUntilHeld(upstream.Held)
	upstream.Release()
	w.want(map[int]int{200: 25, 402: 25})
}

// TestBurstOfHundreds checks that 500 requests at once with sufficient budget all succeed with few calls to the Ledger.
func TestBurstOfHundreds(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	for name, members := range map[string]string{
		"with max tokens": `"model":"gpt-5.4","max_tokens":4096`, "without max tokens": `"model":"only"`, "streams": `"model":"only","stream":true`,
	} {
		t.Run(name, func(t *testing.T) {
			upstream.Reset()
			c := newFixture(t, upstream, deployment(upstream))
			c.do("project site plan=unlimited budget=1000", "key live site", "upstream hold times=500", "stats reset", "fault Ledger=slow")
			w := c.parallel(500, func(n int) request { return c.completion("live", members, n) })
			w.waitUntilHeld(upstream.Held)
			if calls := c.stat("objectCalls.Ledger"); calls > 3*500 || calls == 0 {
				t.Errorf("%d calls to the Ledger", calls)
			}
			upstream.Release()
			w.want(map[int]int{200: 500})
			t.Logf("%d calls to the Ledger, %d to meters", c.stat("objectCalls.Ledger"), c.stat("objectCalls.KeyMeter"))
		})
	}
}

// TestIdleSlicesAreRecalled checks that the unused slices of 200 keys are available to another key.
func TestIdleSlicesAreRecalled(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	c.do("project site plan=unlimited budget=1", "key late site")
	const idle = 200
	for k := range idle {
		c.do(fmt.Sprintf("key k%d site", k))
	}
	w := c.parallel(idle, func(n int) request { return c.completion("k"+strconv.Itoa(n), `"model":"only","max_tokens":100`, n) })
	w.want(map[int]int{200: idle})
	// The keys spent 4 cents of the dollar. Reserving 95 cents needs the slices of nearly all of them.
	got, err := c.run.do(c.completion("late", `"model":"only","max_tokens":475000`, 1))
	c.must(err)
	if got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got, err = c.run.do(c.completion("late", `"model":"only","max_tokens":485000`, 2)); err != nil || got.status != 402 {
		t.Errorf("more than the remaining budget: %d %s %v", got.status, got.body, err)
	}
}

// maxTokensProvider reports the maximum allowed completion tokens for each request, up to 100,000. It holds all
// responses until its gate is closed.
type maxTokensProvider struct {
	*tamperingProxy
	mu     sync.Mutex
	held   int
	tokens uint64 // sum over all responses
	gate   chan struct{}
}

const mostTokens = 100_000

func newMaxTokensProvider(t *testing.T) *maxTokensProvider {
	n := &maxTokensProvider{tamperingProxy: &tamperingProxy{upstream: NewUpstream()}, gate: make(chan struct{})}
	t.Cleanup(n.upstream.Close)
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

func (n *maxTokensProvider) holds() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

func (n *maxTokensProvider) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	length := uint64(mostTokens)
	for _, path := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "generationConfig.maxOutputTokens"} {
		if v := gjson.GetBytes(body, path); v.Exists() {
			length = min(length, v.Uint())
		}
	}
	length *= max(1, gjson.GetBytes(body, "n").Uint())
	n.mu.Lock()
	n.held++
	n.tokens += length
	n.mu.Unlock()
	<-n.gate
	n.pass(w, r, body, func(answer []byte) []byte {
		for _, member := range []string{"completion_tokens", "output_tokens", "candidatesTokenCount"} {
			answer = replacing(member, strconv.FormatUint(length, 10))(answer)
		}
		return answer
	})
}

// TestBudgetIsNotExceeded sends simultaneous non-streaming requests without max tokens to a provider that uses all
// allowed tokens. Together they must not cost more than the budget plus the amount by which their prompts were
// underestimated.
func TestBudgetIsNotExceeded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, path, body string
		budget           float64
		atLeast          int     // minimum number of successes
		prompt           float64 // dollars for a prompt of 100 tokens
	}{
		{"openai", "/v1/chat/completions", `{"model":"gpt-5.4","messages":[{"role":"user","content":"%d"}]}`, 10, 6, 2.5e-4},
		{"openai, reasoning", "/v1/chat/completions", `{"model":"gpt-5.4","reasoning_effort":"high","messages":[{"role":"user","content":"%d"}]}`, 10, 5, 2.5e-4},
		{"openai to anthropic, reasoning", "/v1/chat/completions", `{"model":"claude-opus-4-6","reasoning_effort":"high","messages":[{"role":"user","content":"%d"}]}`, 20, 6, 5e-4},
		{"native, with max tokens", "/api/ai/chat", `{"stream":false,"quality":"cheap","maxTokens":4000,"messages":[{"role":"user","content":"%d"}]}`, 0.1, 11, 1e-4},
		{"openai to gemini", "/v1/chat/completions", `{"model":"twin","messages":[{"role":"user","content":"%d"}]}`, 0.5, 7, 1e-4},
		{"openai to cohere", "/v1/chat/completions", `{"model":"herald","messages":[{"role":"user","content":"%d"}]}`, 0.5, 7, 1e-4},
		{"responses", "/v1/responses", `{"model":"sage","input":"%d"}`, 0.5, 7, 1e-4},
		{"a route", "/v1/chat/completions", `{"model":"verses","messages":[{"role":"user","content":"%d"}]}`, 2, 3, 1e-4},
		{"several choices each", "/v1/chat/completions", `{"model":"only","n":3,"messages":[{"role":"user","content":"%d"}]}`, 1, 5, 1e-4},
		{"less than one full response", "/v1/chat/completions", `{"model":"only","messages":[{"role":"user","content":"%d"}]}`, 0.02, 1, 1e-4},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := newMaxTokensProvider(t)
			c := newFixture(t, n.upstream, deploymentBehind(n.upstream, n.URL))
			c.do(fmt.Sprintf("project site plan=unlimited budget=%v", row.budget), "key live site")
			w := c.parallel(50, func(i int) request {
				return request{method: "POST", path: row.path, body: fmt.Sprintf(row.body, i),
					headers: map[string]string{"x-api-key": c.names["live"], "content-type": "application/json"}}
			})
			w.waitUntilHeld(n.holds)
			close(n.gate)
			got := w.statuses()
			if got[200] < row.atLeast || got[200]+got[402] != 50 {
				t.Errorf("statuses %v", got)
			}
			used := c.used("site", "live")
			if most := row.budget + float64(got[200])*row.prompt; used > most || used == 0 {
				t.Errorf("spent %v of %v, %d responses", used, row.budget, got[200])
			}
			t.Logf("%v, spent %v of %v, %d tokens", got, used, row.budget, n.tokens)
		})
	}
}

// TestUnusedReservationsAreReleased checks that settling a request immediately releases the unused part of its
// reservation. Fifty requests in sequence each reserve nearly the entire budget.
func TestUnusedReservationsAreReleased(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	c.do("project site plan=unlimited budget=0.1", "key live site")
	for n := range 50 {
		got, err := c.run.do(c.completion("live", `"model":"only"`, n))
		c.must(err)
		if got.status != 200 {
			t.Fatalf("after %d requests: %d %s", n, got.status, got.body)
		}
		c.must(c.settled())
	}
	if used := c.used("site", "live"); !near(used, 50*0.0002) {
		t.Errorf("used %v", used)
	}
}
