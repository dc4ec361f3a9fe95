package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

const openaiRequest = `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`

// isForwarded reports whether a path goes to the control plane.
func isForwarded(t *testing.T, path string) bool {
	h := request{method: "GET", path: path, key: "-"}.run(t)
	return len(h.all(abi.ActionForward)) > 0
}

func TestControlPlanePathsNeedValidEscapes(t *testing.T) {
	for _, path := range []string{"/dashboard", "/dashboard/x", "/openapi.yaml", "/api/admin/a%2Fb"} {
		if !isForwarded(t, path) {
			t.Errorf("%s is not forwarded", path)
		}
	}
	for _, path := range []string{"/dashboards", "/openapi.yaml/", "/openapi.yamls", "/openapi", "/dashboard/%"} {
		if isForwarded(t, path) {
			t.Errorf("%s is forwarded", path)
		}
	}
}

func TestModelPathNeedsAName(t *testing.T) {
	equal(t, "status of /v1/models/", request{method: "GET", path: "/v1/models/"}.run(t).status(), 404)
	equal(t, "status of /v1/models/gpt", request{method: "GET", path: "/v1/models/gpt"}.run(t).status(), 200)
}

func TestModelEndpoint(t *testing.T) {
	contains(t, "a model", request{method: "GET", path: "/v1/models/gpt"}.run(t).responseBody(), `"id":"gpt"`, `"owned_by":"openai"`)
	contains(t, "a tier", request{method: "GET", path: "/v1/models/balanced"}.run(t).responseBody(), `"id":"balanced"`, `"owned_by":"postern"`)
	// A tier hides a model with the same name.
	both := `{"models":[{"name":"balanced","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"}]}`
	contains(t, "a tier that hides a model", request{method: "GET", path: "/v1/models/balanced", overlay: both}.run(t).responseBody(), `"owned_by":"postern"`)
	// The query does not change the name.
	equal(t, "status with the name in the query", request{method: "GET", path: "/v1/models/nothing", query: "gpt"}.run(t).status(), 404)
}

// TestModelsDialect: the model lists of both APIs have the same path. A header decides which of them is served.
// Elsewhere, the header has no effect.
func TestModelsDialect(t *testing.T) {
	version := []abi.Header{{Name: "anthropic-version", Value: "2023-06-01"}}
	contains(t, "models for OpenAI's SDKs", request{method: "GET", path: "/v1/models"}.run(t).responseBody(), `"object":"list"`)
	contains(t, "models for Anthropic's SDKs", request{method: "GET", path: "/v1/models", headers: version}.run(t).responseBody(), `"has_more":false`)
	h := request{path: "/v1/chat/completions", headers: version, body: openaiRequest, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	contains(t, "a chat completion", h.responseBody(), `"choices":[`)
	h = request{path: "/v1/chat/completions", headers: version, body: "{}"}.run(t)
	equal(t, "an error has Anthropic's form", strings.Contains(h.responseBody(), `"type":"error"`), false)
}

func TestModerationsAreChecked(t *testing.T) {
	equal(t, "status without an input", request{path: "/v1/moderations", body: `{"model":"nothing"}`}.run(t).status(), 400)
	equal(t, "status of an unknown model", request{path: "/v1/moderations", body: `{"model":"nothing","input":"Hello"}`}.run(t).status(), 404)
}

func TestContentType(t *testing.T) {
	for kind, message := range map[string]string{"": "is required; send application/json", "text/plain": `must be application/json, got \"text/plain\"`} {
		h := request{path: "/api/ai/complete", body: nativeCompletion, headers: []abi.Header{{Name: "content-type", Value: kind}}}.run(t)
		equal(t, "status", h.status(), 415)
		contains(t, "response to the type "+kind, h.responseBody(), message)
	}
}

func TestContentLengthLimit(t *testing.T) {
	send := func(length string) *host {
		return request{path: "/v1/chat/completions", body: openaiRequest, headers: []abi.Header{{Name: "content-length", Value: length}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	}
	h := send("4000001")
	equal(t, "status", h.status(), 413)
	equal(t, "body reads", len(h.all(abi.ActionReadBody)), 0)
	equal(t, "status at the limit", send("4000000").status(), 200)
	equal(t, "status of a short body", send("90").status(), 200)
}

// TestBetas: only listed values are forwarded, whatever their date. Other values are named in the response. In strict
// mode, they are rejected.
func TestBetas(t *testing.T) {
	const listed = "context-1m-2025-08-07,claude-code-20250219,compact-2026-09-04"
	send := func(beta, strict string) *host {
		return request{
			path: "/v1/messages", headers: []abi.Header{{Name: "anthropic-beta", Value: beta}, {Name: "x-postern-strict", Value: strict}},
			body:     `{"model":"claude","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`,
			provider: [][]abi.Event{wholeResponse(200, anthropicResponse)},
		}.run(t)
	}
	padded := listed + strings.Repeat(" ", 1024-len(listed))
	for beta, want := range map[string]struct{ passed, dropped string }{
		listed: {listed, ""}, padded: {listed, ""}, padded + " ": {"", "anthropic-beta"}, "effort\t": {"", "anthropic-beta"}, " effort , ,fast-mode-2026-02-01": {"effort,fast-mode-2026-02-01", ""},
		"dearer-2026-11-01,pdfs-2024-09-25": {"pdfs-2024-09-25", "anthropic-beta:dearer-2026-11-01"}, "a b,x/y": {}, "context-1m-x": {"", "anthropic-beta:context-1m-x"},
		"fast-mode-2026-02-01x": {"", "anthropic-beta:fast-mode-2026-02-01x"},
	} {
		h := send(beta, "false")
		equal(t, fmt.Sprintf("beta for %.20q", beta), headerValue(h.one(abi.ActionFetch).Headers, "anthropic-beta"), want.passed)
		equal(t, fmt.Sprintf("dropped of %.20q", beta), h.header("x-postern-dropped-params"), want.dropped)
	}
	equal(t, "status of listed values in strict mode", send(listed, "true").status(), 200)
	h := send("dearer-2026-11-01", "true")
	equal(t, "status of other values in strict mode", h.status(), 400)
	contains(t, "response", h.responseBody(), `anthropic-beta \"dearer-2026-11-01\" is not a value that the catalog forwards`)
	equal(t, "fetches", len(h.all(abi.ActionFetch)), 0)
}

func TestRequestIDHeaderForAnthropicSDKs(t *testing.T) {
	equal(t, "request-id of /v1/messages", request{path: "/v1/messages", key: "-"}.run(t).header("request-id"), "req_1")
	equal(t, "request-id of /v1/embeddings", request{path: "/v1/embeddings", key: "-"}.run(t).header("request-id"), "")
}

func TestServerTiming(t *testing.T) {
	answered := request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	equal(t, "server-timing", answered.header("server-timing"), "total;dur=0, admit;dur=0, upstream;dur=0")
	equal(t, "server-timing of a refusal", request{path: "/v1/chat/completions", body: "{"}.run(t).header("server-timing"), "total;dur=0, admit;dur=0")
	equal(t, "server-timing without admission", request{path: "/v1/chat/completions", key: "-"}.run(t).header("server-timing"), "total;dur=0")
}

var (
	second = keymeter.Window{WindowMs: 1000, Limit: 10, Remaining: 7, ResetMs: 1}
	day    = keymeter.Window{WindowMs: 86_400_000, Limit: 1000, Remaining: 8, ResetMs: 43_200_000}
	tokens = keymeter.Window{Tokens: true, WindowMs: 60_000, Limit: 5000, Remaining: 3, ResetMs: 1500}
)

func withRemaining(w keymeter.Window, remaining uint64) keymeter.Window {
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
	equal(t, "limit of the window with the least remaining", h.header("x-ratelimit-limit-requests"), "10")
	equal(t, "its remaining requests", h.header("x-ratelimit-remaining-requests"), "7")
	equal(t, "its reset", h.header("x-ratelimit-reset-requests"), "1")
	equal(t, "token limit", h.header("x-ratelimit-limit-tokens"), "5000")
	equal(t, "limit of the window with the least remaining, in second place", headers(withRemaining(second, 9), day).header("x-ratelimit-limit-requests"), "1000")
	equal(t, "request limit with token windows only", headers(tokens).header("x-ratelimit-limit-requests"), "")
	equal(t, "ratelimit without windows", headers().header("ratelimit"), "")
}

func TestExhaustedDailyLimitIsNotRetryable(t *testing.T) {
	for _, c := range []struct {
		windows               []keymeter.Window
		retryMs               uint64
		retry, after, afterMs string
	}{
		{[]keymeter.Window{withRemaining(second, 0), day}, 1, "", "1", "1"},
		{[]keymeter.Window{day, withRemaining(tokens, 0)}, 1500, "", "2", "1500"},
		{[]keymeter.Window{day, {Tokens: true, WindowMs: 60_000, Limit: 5000, ResetMs: 60_999}}, 60_999, "", "60", "60000"},
		{[]keymeter.Window{second, withRemaining(day, 0)}, 43200_000, "false", "", ""},
		{[]keymeter.Window{withRemaining(second, 0), withRemaining(day, 0)}, 43200_000, "false", "", ""},
	} {
		limited := &keymeter.AdmitReply{Verdict: keymeter.RateLimited, RetryMs: c.retryMs, Windows: c.windows}
		h := request{path: "/v1/chat/completions", body: openaiRequest, verdicts: []*keymeter.AdmitReply{limited}}.run(t)
		equal(t, "status", h.status(), 429)
		equal(t, "retry-after", h.header("retry-after"), c.after)
		equal(t, "retry-after-ms", h.header("retry-after-ms"), c.afterMs)
		equal(t, fmt.Sprintf("x-should-retry with %v", c.windows), h.header("x-should-retry"), c.retry)
	}
	// The last request of the day fails for another reason, so the daily limit does not matter.
	h := request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(500, ""), wholeResponse(500, "")},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, Windows: []keymeter.Window{withRemaining(day, 0)}}}}.run(t)
	equal(t, "x-should-retry of a 502", h.header("x-should-retry"), "")
}

func TestLogLevelByStatus(t *testing.T) {
	for status, level := range map[uint64]string{200: "info", 400: "info", 500: "error"} {
		h := request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(status, openaiResponse)}}.run(t)
		contains(t, "log", h.log(), `"level":"`+level+`"`)
		severity := uint64(0)
		if level == "error" {
			severity = 1
		}
		equal(t, "log code", h.one(abi.ActionLog).Code, severity)
	}
}
