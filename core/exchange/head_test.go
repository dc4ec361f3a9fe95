package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

const hello = `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`

// forwarded says whether a path goes to the control plane.
func forwarded(t *testing.T, path string) bool {
	h := request{method: "GET", path: path, key: "-"}.run(t)
	return len(h.all(abi.ActionForward)) > 0
}

func TestControlPlanePathsAreForwardedIfTheirEscapesAreWhole(t *testing.T) {
	for _, path := range []string{"/dashboard", "/dashboard/x", "/openapi.yaml", "/api/admin/a%2Fb", "/dashboard/%05%9a%Af%F0", "/dashboard/%00a%ff"} {
		if !forwarded(t, path) {
			t.Errorf("%s is not forwarded", path)
		}
	}
	for _, path := range []string{"/dashboards", "/openapi.yaml/", "/openapi.yamls", "/openapi", "/dashboard/%", "/dashboard/%4", "/dashboard/%g0", "/dashboard/%0g", "/dashboard/%/0", "/dashboard/%:0", "/dashboard/%`0", "/dashboard/%00%zz"} {
		if forwarded(t, path) {
			t.Errorf("%s is forwarded", path)
		}
	}
}

func TestModelPathNeedsAName(t *testing.T) {
	equal(t, "the status of /v1/models/", request{method: "GET", path: "/v1/models/"}.run(t).status(), 404)
	equal(t, "the status of /v1/models/gpt", request{method: "GET", path: "/v1/models/gpt"}.run(t).status(), 200)
}

func TestOneModelIsShown(t *testing.T) {
	want(t, "a model", request{method: "GET", path: "/v1/models/gpt"}.run(t).answered(), `"id":"gpt"`, `"owned_by":"openai"`)
	want(t, "a tier", request{method: "GET", path: "/v1/models/balanced"}.run(t).answered(), `"id":"balanced"`, `"owned_by":"postern"`)
	// A model with a tier's name is hidden: the name means the tier.
	both := `{"models":[{"name":"balanced","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"}]}`
	want(t, "a tier that hides a model", request{method: "GET", path: "/v1/models/balanced", overlay: both}.run(t).answered(), `"owned_by":"postern"`)
	// The name comes from the path alone.
	equal(t, "the status of a name in the query", request{method: "GET", path: "/v1/models/nothing", query: "gpt"}.run(t).status(), 404)
}

func TestLongBodyIsRefusedByItsHead(t *testing.T) {
	send := func(length string) *host {
		return request{path: "/v1/chat/completions", body: hello, headers: []abi.Header{{Name: "content-length", Value: length}}, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	}
	h := send("4000001")
	equal(t, "the status", h.status(), 413)
	equal(t, "bodies that were read", len(h.all(abi.ActionReadBody)), 0)
	equal(t, "the status at the limit", send("4000000").status(), 200)
	equal(t, "the status of a short one", send("90").status(), 200)
}

func TestBetaGoesOnIfItIsShortAndPrintable(t *testing.T) {
	long := strings.Repeat("b", 257)
	for beta, passed := range map[string]string{"tools-2026": "tools-2026", long[1:]: long[1:], long: "", "a\tb": "", "~ ": "~ ", "\x7f": ""} {
		h := request{
			path: "/v1/messages", headers: []abi.Header{{Name: "anthropic-beta", Value: beta}},
			body:     `{"model":"claude","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`,
			provider: [][]abi.Event{whole(200, goodMessage)},
		}.run(t)
		equal(t, fmt.Sprintf("the beta for %.20q", beta), valueOf(h.one(abi.ActionFetch).Headers, "anthropic-beta"), passed)
	}
}

func TestRequestIDHasTheNameThatSDKsRead(t *testing.T) {
	equal(t, "request-id of /v1/messages", request{path: "/v1/messages", key: "-"}.run(t).header("request-id"), "req_1")
	equal(t, "request-id of /v1/embeddings", request{path: "/v1/embeddings", key: "-"}.run(t).header("request-id"), "")
}

func TestUpstreamTimeIsToldOnlyIfThereWasAnAttempt(t *testing.T) {
	answered := request{path: "/v1/chat/completions", body: hello, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	equal(t, "server-timing", answered.header("server-timing"), "total;dur=0, admit;dur=0, upstream;dur=0")
	equal(t, "server-timing of a refusal", request{path: "/v1/chat/completions", body: "{"}.run(t).header("server-timing"), "total;dur=0, admit;dur=0")
	equal(t, "server-timing without admission", request{path: "/v1/chat/completions", key: "-"}.run(t).header("server-timing"), "total;dur=0")
}

var (
	second = keymeter.Window{WindowMs: 1000, Limit: 10, Remaining: 7, ResetMs: 1}
	day    = keymeter.Window{WindowMs: 86_400_000, Limit: 1000, Remaining: 8, ResetMs: 43_200_000}
	tokens = keymeter.Window{Tokens: true, WindowMs: 60_000, Limit: 5000, Remaining: 3, ResetMs: 1500}
)

func left(w keymeter.Window, remaining uint64) keymeter.Window {
	w.Remaining = remaining
	return w
}

func TestLimitHeaders(t *testing.T) {
	headers := func(windows ...keymeter.Window) *host {
		return request{method: "GET", path: "/api/health", verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, Windows: windows}}}.run(t)
	}
	h := headers(second, day, tokens)
	equal(t, "ratelimit", h.header("ratelimit"), `"second";r=7;t=1, "day";r=8;t=43200, "tokens";r=3;t=2`)
	equal(t, "ratelimit-policy", h.header("ratelimit-policy"), `"second";q=10;w=1, "day";q=1000;w=86400, "tokens";q=5000;w=60`)
	equal(t, "the limit with the least left", h.header("x-ratelimit-limit-requests"), "10")
	equal(t, "what is left of it", h.header("x-ratelimit-remaining-requests"), "7")
	equal(t, "when it is free again", h.header("x-ratelimit-reset-requests"), "1")
	equal(t, "the limit of tokens", h.header("x-ratelimit-limit-tokens"), "5000")
	equal(t, "the limit with the least left, later", headers(left(second, 9), day).header("x-ratelimit-limit-requests"), "1000")
	equal(t, "the limit of requests if only tokens are limited", headers(tokens).header("x-ratelimit-limit-requests"), "")
	equal(t, "ratelimit without windows", headers().header("ratelimit"), "")
}

func TestSpentDayIsNotToBeRetried(t *testing.T) {
	for _, c := range []struct {
		windows []keymeter.Window
		retry   string
	}{
		{[]keymeter.Window{left(second, 0), day}, ""},
		{[]keymeter.Window{second, left(day, 0)}, "false"},
		{[]keymeter.Window{left(second, 0), left(day, 0)}, "false"},
	} {
		limited := &keymeter.AdmitReply{Verdict: keymeter.RateLimited, RetryMs: 1500, Windows: c.windows}
		h := request{path: "/v1/chat/completions", body: hello, verdicts: []*keymeter.AdmitReply{limited}}.run(t)
		equal(t, "the status", h.status(), 429)
		equal(t, "retry-after", h.header("retry-after"), "2")
		equal(t, "retry-after-ms", h.header("retry-after-ms"), "1500")
		equal(t, fmt.Sprintf("x-should-retry with %v", c.windows), h.header("x-should-retry"), c.retry)
	}
	// The last request of a day is refused for another reason: that does not concern the day.
	h := request{path: "/v1/chat/completions", body: hello, provider: [][]abi.Event{whole(500, ""), whole(500, "")},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, Windows: []keymeter.Window{left(day, 0)}}}}.run(t)
	equal(t, "x-should-retry of a 502", h.header("x-should-retry"), "")
}

func TestLogLevelIsOfTheStatus(t *testing.T) {
	for status, level := range map[uint64]string{200: "info", 400: "info", 500: "error"} {
		h := request{path: "/v1/chat/completions", body: hello, provider: [][]abi.Event{whole(status, goodAnswer)}}.run(t)
		want(t, "the log", h.log(), `"level":"`+level+`"`)
		severity := uint64(0)
		if level == "error" {
			severity = 1
		}
		equal(t, "the log's code", h.one(abi.ActionLog).Code, severity)
	}
}
