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

// crowd is requests that are under way together.
type crowd struct {
	c       *cell
	answers []reply
	errs    []error
	all     sync.WaitGroup
	mu      sync.Mutex
	done    int // of them are answered
}

// crowd sends n requests at once; form gets the number of each.
func (c *cell) crowd(n int, form func(int) request) *crowd {
	w := &crowd{c: c, answers: make([]reply, n), errs: make([]error, n)}
	for i := range n {
		w.all.Go(func() {
			w.answers[i], w.errs[i] = c.run.do(form(i))
			w.mu.Lock()
			w.done++
			w.mu.Unlock()
		})
	}
	return w
}

// gathered waits until held of them are held by the provider, and all others are answered.
func (w *crowd) gathered(held func() int) {
	w.c.Helper()
	answered := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.done
	}
	end := time.Now().Add(3 * patience)
	for held()+answered() < len(w.answers) {
		if time.Now().After(end) {
			w.c.Fatalf("of %d the provider holds %d, %d are answered", len(w.answers), held(), answered())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// statuses waits for all answers and counts them.
func (w *crowd) statuses() map[int]int {
	w.c.Helper()
	w.all.Wait()
	counts := map[int]int{}
	for i := range w.answers {
		w.c.must(w.errs[i])
		counts[w.answers[i].status]++
	}
	w.c.must(w.c.settled())
	return counts
}

func (w *crowd) want(want map[int]int) {
	w.c.Helper()
	if got := w.statuses(); !maps.Equal(got, want) {
		w.c.Errorf("answered %v, want %v", got, want)
	}
}

// completion is a request in OpenAI's family.
func (c *cell) completion(key, members string, n int) request {
	body := fmt.Sprintf(`{%s,"messages":[{"role":"user","content":"Hello %04d"}]}`, members, n)
	return request{method: "POST", path: "/v1/chat/completions", body: body,
		headers: map[string]string{"x-api-key": c.names[key], "content-type": "application/json"}}
}

// used is what the project has spent, in dollars.
func (c *cell) used(project, key string) float64 {
	c.Helper()
	c.do("advance 1s")
	got, err := c.run.do(request{method: "GET", path: "/api/usage?projectId=" + c.names[project], headers: map[string]string{"x-api-key": c.names[key]}})
	c.must(err)
	return gjson.GetBytes(got.body, "budget.used").Num
}

func (c *cell) stat(name string) int64 {
	c.Helper()
	got, err := c.controlBody(http.MethodGet, "stats", nil)
	c.must(err)
	return gjson.GetBytes(got, name).Int()
}

// TestBurstsFit: of whole calls at once on one key exactly those get through that the budget covers, and the
// others are told that it is spent; none hears of an outage. "Hello 0000" is at most 20 tokens with all around it.
func TestBurstsFit(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	for _, row := range []struct {
		name, members, budget string
		fit                   int
	}{
		{"all fit in ten dollars", `"model":"gpt-5.4","max_tokens":4096`, "10", 50},
		{"all fit in a hundred", `"model":"claude-opus-4-6","max_tokens":32000`, "100", 50},
		{"one fits", `"model":"gpt-5.4","max_tokens":4096`, "0.0621", 1},
		{"none fits", `"model":"gpt-5.4","max_tokens":4096`, "0.0614", 0},
		{"half of them fit", `"model":"gpt-5.4","max_tokens":4096`, "1.55", 25},
		{"twelve dear ones fit", `"model":"claude-opus-4-6","max_tokens":32000`, "9.7", 12},
		{"all but one fit", `"model":"claude-opus-4-6","max_tokens":32000`, "39.9", 49},
	} {
		t.Run(row.name, func(t *testing.T) {
			upstream.Reset()
			c := newStage(t, upstream, deployment(upstream))
			c.do("project site plan=unlimited budget="+row.budget, "key live site", "upstream hold times=51", "fault Ledger=slow")
			w := c.crowd(50, func(n int) request { return c.completion("live", row.members, n) })
			w.gathered(upstream.Held)
			upstream.Release()
			want := map[int]int{200: row.fit, 402: 50 - row.fit}
			maps.DeleteFunc(want, func(_, n int) bool { return n == 0 })
			w.want(want)
			c.upstreamSaw(row.fit)
		})
	}
}

// TestBurstOverKeys: the same over ten keys of the project, which take each other's slices.
func TestBurstOverKeys(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	c := newStage(t, upstream, deployment(upstream))
	c.do("project site plan=unlimited budget=1.55")
	for k := range 10 {
		c.do(fmt.Sprintf("key k%d site", k))
	}
	c.do("upstream hold times=51", "fault Ledger=slow")
	w := c.crowd(50, func(n int) request {
		return c.completion("k"+strconv.Itoa(n%10), `"model":"gpt-5.4","max_tokens":4096`, n)
	})
	w.gathered(upstream.Held)
	upstream.Release()
	w.want(map[int]int{200: 25, 402: 25})
}

// TestBurstOfHundreds: 500 at once with money enough are all answered, for few questions to the Ledger.
func TestBurstOfHundreds(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	for name, members := range map[string]string{
		"with a limit": `"model":"gpt-5.4","max_tokens":4096`, "without one": `"model":"only"`, "streams": `"model":"only","stream":true`,
	} {
		t.Run(name, func(t *testing.T) {
			upstream.Reset()
			c := newStage(t, upstream, deployment(upstream))
			c.do("project site plan=unlimited budget=1000", "key live site", "upstream hold times=500", "stats reset", "fault Ledger=slow")
			w := c.crowd(500, func(n int) request { return c.completion("live", members, n) })
			w.gathered(upstream.Held)
			if calls := c.stat("objectCalls.Ledger"); calls > 3*500 || calls == 0 {
				t.Errorf("the Ledger was asked %d times", calls)
			}
			upstream.Release()
			w.want(map[int]int{200: 500})
			t.Logf("the Ledger was asked %d times, meters %d", c.stat("objectCalls.Ledger"), c.stat("objectCalls.KeyMeter"))
		})
	}
}

// TestIdleSlices: what 200 keys hold and do not need is there for another one.
func TestIdleSlices(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	c := newStage(t, upstream, deployment(upstream))
	c.do("project site plan=unlimited budget=1", "key late site")
	const idle = 200
	for k := range idle {
		c.do(fmt.Sprintf("key k%d site", k))
	}
	w := c.crowd(idle, func(n int) request { return c.completion("k"+strconv.Itoa(n), `"model":"only","max_tokens":100`, n) })
	w.want(map[int]int{200: idle})
	// They have spent 4 cents of the dollar. 0.95 dollars are left without the slices of nearly all of them.
	got, err := c.run.do(c.completion("late", `"model":"only","max_tokens":475000`, 1))
	c.must(err)
	if got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got, err = c.run.do(c.completion("late", `"model":"only","max_tokens":485000`, 2)); err != nil || got.status != 402 {
		t.Errorf("more than there is: %d %s %v", got.status, got.body, err)
	}
}

// novelist answers each request with as much as it may, up to 100,000 tokens, and says so. It holds them until
// it is told to go on.
type novelist struct {
	*liar
	mu     sync.Mutex
	held   int
	tokens uint64 // of all its answers
	gate   chan struct{}
}

const novel = 100_000

func newNovelist(t *testing.T) *novelist {
	n := &novelist{liar: &liar{upstream: NewUpstream()}, gate: make(chan struct{})}
	t.Cleanup(n.upstream.Close)
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Server.Close)
	return n
}

func (n *novelist) holds() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

func (n *novelist) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	length := uint64(novel)
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
			answer = telling(member, strconv.FormatUint(length, 10))(answer)
		}
		return answer
	})
}

// TestBudgetHolds: whole calls at once that name no limit, to a provider that writes a novel for each and says so
// honestly. They spend the budget, but not more than it and what their prompts are longer than they look.
func TestBudgetHolds(t *testing.T) {
	for _, row := range []struct {
		name, path, body string
		budget           float64
		atLeast          int     // so many are answered
		prompt           float64 // what a prompt of 100 tokens costs
	}{
		{"openai", "/v1/chat/completions", `{"model":"gpt-5.4","messages":[{"role":"user","content":"%d"}]}`, 10, 6, 2.5e-4},
		{"openai, thinking", "/v1/chat/completions", `{"model":"gpt-5.4","reasoning_effort":"high","messages":[{"role":"user","content":"%d"}]}`, 10, 5, 2.5e-4},
		{"openai to anthropic, thinking", "/v1/chat/completions", `{"model":"claude-opus-4-6","reasoning_effort":"high","messages":[{"role":"user","content":"%d"}]}`, 20, 6, 5e-4},
		{"native, with its own limit", "/api/ai/chat", `{"stream":false,"quality":"cheap","maxTokens":4000,"messages":[{"role":"user","content":"%d"}]}`, 0.1, 11, 1e-4},
		{"openai to gemini", "/v1/chat/completions", `{"model":"twin","messages":[{"role":"user","content":"%d"}]}`, 0.5, 7, 1e-4},
		{"openai to cohere", "/v1/chat/completions", `{"model":"herald","messages":[{"role":"user","content":"%d"}]}`, 0.5, 7, 1e-4},
		{"responses", "/v1/responses", `{"model":"sage","input":"%d"}`, 0.5, 7, 1e-4},
		{"a route", "/v1/chat/completions", `{"model":"verses","messages":[{"role":"user","content":"%d"}]}`, 2, 3, 1e-4},
		{"several answers each", "/v1/chat/completions", `{"model":"only","n":3,"messages":[{"role":"user","content":"%d"}]}`, 1, 5, 1e-4},
		{"less than one novel", "/v1/chat/completions", `{"model":"only","messages":[{"role":"user","content":"%d"}]}`, 0.02, 1, 1e-4},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := newNovelist(t)
			c := newStage(t, n.upstream, deploymentBehind(n.upstream, n.URL))
			c.do(fmt.Sprintf("project site plan=unlimited budget=%v", row.budget), "key live site")
			w := c.crowd(50, func(i int) request {
				return request{method: "POST", path: row.path, body: fmt.Sprintf(row.body, i),
					headers: map[string]string{"x-api-key": c.names["live"], "content-type": "application/json"}}
			})
			w.gathered(n.holds)
			close(n.gate)
			got := w.statuses()
			if got[200] < row.atLeast || got[200]+got[402] != 50 {
				t.Errorf("answered %v", got)
			}
			used := c.used("site", "live")
			if most := row.budget + float64(got[200])*row.prompt; used > most || used == 0 {
				t.Errorf("spent %v of %v, %d answers", used, row.budget, got[200])
			}
			t.Logf("%v, spent %v of %v, %d tokens", got, used, row.budget, n.tokens)
		})
	}
}

// TestReservesComeBack: what answers did not use of their reservations is there for the next at once: fifty after
// one another, each reserving nearly all there is.
func TestReservesComeBack(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	c := newStage(t, upstream, deployment(upstream))
	c.do("project site plan=unlimited budget=0.1", "key live site")
	for n := range 50 {
		got, err := c.run.do(c.completion("live", `"model":"only"`, n))
		c.must(err)
		if got.status != 200 {
			t.Fatalf("after %d: %d %s", n, got.status, got.body)
		}
		c.must(c.settled())
	}
	if used := c.used("site", "live"); !near(used, 50*0.0002) {
		t.Errorf("used %v", used)
	}
}
