package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/host"
)

// TestParallelFailures checks that all concurrent failures are counted. A circuit opens after exactly the configured
// number of failures.
func TestParallelFailures(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	const enough = 100
	c.do("routing retries=0 coolAfter="+strconv.Itoa(enough), "project site plan=unlimited budget=1000", "key live site")
	single := func(n int) request { return c.completion("live", `"model":"only","max_tokens":10`, n) }
	fails := func(n int) {
		t.Helper()
		c.queue(Behavior{Kind: "hold", Status: 500}, n)
		w := c.parallel(n, single)
		w.waitUntilHeld(upstream.Held)
		upstream.Release()
		w.want(map[int]int{502: n})
	}
	// next sends a request to a route with two targets and returns its attempts.
	next := func(round int) string {
		t.Helper()
		got, err := c.run.do(c.completion("live", `"model":"balanced","max_tokens":10`, round))
		c.must(err)
		c.must(c.settled())
		return got.header.Get("X-Postern-Attempts")
	}
	for round := range 5 {
		fails(enough - 1)
		if got := next(2 * round); got != "1; openai/only=200" {
			t.Fatalf("after %d failures: %s", enough-1, got)
		}
		fails(enough)
		if got := next(2*round + 1); got != "1; openai/spare=200" {
			t.Fatalf("after %d failures: %s", enough, got)
		}
		c.do("evict")
	}
}

// onWallClock is like newFixture, with a host on the real clock.
func onWallClock(t *testing.T, upstream *Upstream, routing string) *fixture {
	c, local := newFixtureOf(t, upstream, deployment(upstream))
	c.do("routing " + routing)
	local.wall.Store(true)
	c.do("project demo plan=unlimited", "key live demo")
	return c
}

// TestRequestDeadline checks that a request ends at its deadline even if the provider hangs on every target. An
// attempt gets only the remaining time. Comments in a stream do not count as content.
func TestRequestDeadline(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	route := `{"routes":{"cheap":{"strategy":"ordered","targets":[{"model":"only"},{"model":"poet"},{"model":"twin"},{"model":"herald"},{"model":"spare"}]}}}`
	for _, row := range []struct {
		name, routing string
		kind          string
		stream        bool
		attempts      int // at most
	}{
		{"hang", "requestMs=700 headMs=300", "hang", false, 3},
		{"hang, one attempt", "requestMs=500", "hang", false, 1},
		{"hang, streamed", "requestMs=700 headMs=300", "hang", true, 3},
		{"half a body", "requestMs=500", "stall", false, 1},
		{"no body", "requestMs=700 firstByteMs=300", "silent", false, 3},
		{"no body, streamed", "requestMs=1300 firstByteMs=500", "silent", true, 3},
		{"comments, streamed", "requestMs=900", "chatter", true, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			upstream.Reset()
			c := onWallClock(t, upstream, row.routing)
			patched, err := c.adminCall("PATCH", "/api/admin/projects/"+c.names["demo"], route)
			if err != nil || patched.status != 200 {
				t.Fatalf("%d %s %v", patched.status, patched.body, err)
			}
			c.queue(Behavior{Kind: row.kind, DelayMs: 20}, 5)
			body := fmt.Sprintf(`{"messages":[{"role":"user","content":"Hi"}],"quality":"cheap","stream":%v}`, row.stream)
			begun := time.Now()
			got, err := c.run.do(request{method: "POST", path: "/api/ai/chat", body: body,
				headers: map[string]string{"x-api-key": c.names["live"], "content-type": "application/json"}})
			c.must(err)
			if took := time.Since(begun); took > 6*time.Second { // the timeout of each attempt is 8 seconds
				t.Errorf("the request took %v", took)
			}
			opened := strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream")
			if !opened && got.status != 504 || !strings.Contains(string(got.body), `"code":"provider_timeout"`) || strings.Contains(string(got.body), "[DONE]") {
				t.Errorf("%d %s", got.status, got.body)
			}
			if n := len(upstream.Seen()); n < 1 || n > row.attempts {
				t.Errorf("%d attempts", n)
			}
			c.do("upstream-left " + strconv.Itoa(len(upstream.Seen())))
		})
	}
}

// TestRetryAfterDates checks that the second attempt is not sent before the date in Retry-After.
func TestRetryAfterDates(t *testing.T) {
	t.Parallel()
	at := Start.Add(time.Second)
	for _, date := range []string{at.Format(http.TimeFormat), at.Format("Monday, 02-Jan-06 15:04:05 GMT"), at.Format(time.ANSIC)} {
		t.Run(date, func(t *testing.T) {
			t.Parallel()
			upstream := NewUpstream()
			defer upstream.Close()
			c := newFixture(t, upstream, deployment(upstream))
			c.do("project site", "key live site")
			c.queue(Behavior{Kind: "status", Status: 429, Headers: map[string]string{"Retry-After": date}}, 1)
			got, err := c.run.do(c.completion("live", `"model":"only"`, 1))
			c.must(err)
			seen := upstream.Seen()
			if got.status != 200 || len(seen) != 2 || seen[1].At.Sub(seen[0].At) < 900*time.Millisecond {
				t.Errorf("%d %s, %d attempts", got.status, got.body, len(seen))
			}
		})
	}
}

// forgeries are headers with which a caller may try to forge its address.
var forgeries = []string{"Cf-Connecting-Ip", "X-Forwarded-For", "X-Postern-Address", "X-Real-Ip", "True-Client-Ip", "Forwarded"}

// TestForgedAddresses checks that without a trusted proxy, only the connection determines the client's address.
func TestForgedAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, host.NewNative)
	s.local.proxies = nil
	if err := s.local.reset(nil); err != nil {
		t.Fatal(err)
	}
	s.local.Log.Take()
	ask := func(n int, path string, more ...string) int {
		headers := more
		for _, name := range forgeries {
			headers = append(headers, name, fmt.Sprintf("198.51.100.%d", n))
		}
		status, _, _ := s.send("GET", path, "", headers...)
		return status
	}
	guesses := map[int]int{}
	for n := range 40 {
		x := &run{names: map[string]string{}}
		guesses[ask(n, "/api/health", "X-Api-Key", x.expand("$forged"))]++
	}
	if guesses[401] != 30 || guesses[429] != 10 {
		t.Errorf("statuses of 40 unknown keys: %v", guesses)
	}
	tokens := map[int]int{}
	for n := range 24 {
		tokens[ask(n, "/api/admin/projects", "Authorization", "Bearer wrong-token-of-somebody")]++
		if status := ask(n, "/api/admin/projects", "Authorization", "Bearer "+AdminToken); status != 200 {
			t.Errorf("valid token after %d invalid tokens: %d", n+1, status)
		}
	}
	if tokens[401] != 5 || tokens[429] != 19 {
		t.Errorf("statuses of 24 invalid tokens: %v", tokens)
	}
	s.local.host.Wait()
	if text := string(s.local.Log.Take()); strings.Contains(text, "198.51.100.") {
		t.Errorf("the log has a forged address: %s", text)
	}
}

// TestValidTokensPassDuringLockout checks that 24 valid tokens all pass among hundreds of invalid tokens from the same
// address.
func TestValidTokensPassDuringLockout(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixture(t, upstream, deployment(upstream))
	const n = 240
	w := c.parallel(n, func(i int) request {
		token := "wrong-token-number-" + strconv.Itoa(i)
		if i%10 == 3 {
			token = AdminToken
		}
		return request{method: "GET", path: "/api/admin/projects", headers: map[string]string{"authorization": "Bearer " + token, "x-forwarded-for": "192.0.2.9"}}
	})
	w.all.Wait()
	wrong := map[int]int{}
	for i, got := range w.responses {
		c.must(w.errs[i])
		if i%10 != 3 {
			wrong[got.status]++
		} else if got.status != 200 {
			t.Errorf("valid token: %d %s", got.status, got.body)
		}
	}
	if wrong[401] < 1 || wrong[401] > 5 || wrong[401]+wrong[429] != n-n/10 {
		t.Errorf("statuses of invalid tokens: %v", wrong)
	}
}

// TestMissingFinalUsageIsEstimated checks an Anthropic stream whose usage at the start counts almost no output
// tokens. If no later usage follows, that usage is not booked as final.
func TestMissingFinalUsageIsEstimated(t *testing.T) {
	t.Parallel()
	c, l := newProxyFixture(t)
	for n, value := range []string{"null", `"12"`, "-3", ""} {
		l.change = func(b []byte) []byte {
			head, tail, _ := strings.Cut(string(b), "event: message_delta")
			return append([]byte(head+"event: message_delta"), replacing("output_tokens", value)([]byte(tail))...)
		}
		body := fmt.Sprintf(`{"model":"poet","max_tokens":9000,"stream":true,"messages":[{"role":"user","content":"count to 300 %d"}]}`, n)
		got, err := c.run.do(request{method: "POST", path: "/v1/messages", body: body, headers: map[string]string{"x-api-key": c.names["live"], "content-type": "application/json"}})
		c.must(err)
		c.must(c.settled())
		line, err := c.controlBody(http.MethodPost, "log", nil)
		c.must(err)
		if log := gjson.ParseBytes(line); got.status != 200 || !log.Get("estimated").Bool() || log.Get("completionTokens").Int() < 200 {
			t.Errorf("%q: %d, booked %s", value, got.status, log.Raw)
		}
	}
}
