package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// TestUnprintableHeadersAreNotPassed: hosts never pass line breaks, but the core does not rely on that.
func TestUnprintableHeadersAreNotPassed(t *testing.T) {
	for _, value := range []string{
		"a\r\nx-api-key: stolen", "a\nb", "a\rb", "\x00", "a\x7f", "tab\tbed", "\u00e4", "\u2028", "\ufffd", "\xff", strings.Repeat("x", 1025),
	} {
		for header, path := range map[string]string{"session-id": "/v1/chat/completions", "openai-beta": "/v1/chat/completions", "anthropic-version": "/v1/messages", "anthropic-beta": "/v1/messages"} {
			model, answer := "gpt", openaiResponse
			if path == "/v1/messages" {
				model, answer = "claude", anthropicResponse
			}
			h := request{
				path: path, headers: []abi.Header{{Name: header, Value: value}},
				body:     `{"model":"` + model + `","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`,
				provider: [][]abi.Event{wholeResponse(200, answer)},
			}.run(t)
			what := fmt.Sprintf("%s %.12q", header, value)
			equal(t, "status with "+what, h.status(), 200)
			equal(t, "dropped of "+what, h.header("x-postern-dropped-params"), header)
			for _, sent := range h.one(abi.ActionFetch).Headers {
				if sent.Value == value {
					t.Errorf("%s was sent", what)
				}
			}
		}
	}
}

// TestBetaQuery: the query string of Anthropic's SDKs is forwarded, and no other query is.
func TestBetaQuery(t *testing.T) {
	for _, c := range []struct{ path, model, query, want string }{
		{"/v1/messages", "claude", "beta=true", "/messages?beta=true"},
		{"/v1/messages", "claude", "", "/messages"},
		{"/v1/messages", "claude", "beta=false", "/messages"},
		{"/v1/messages", "claude", "beta=true&key=1", "/messages"},
		{"/v1/messages", "gpt", "beta=true", "/chat/completions"},
		{"/v1/chat/completions", "claude", "beta=true", "/messages"},
		{"/v1/chat/completions", "gpt", "beta=true", "/chat/completions"},
	} {
		answer := openaiResponse
		if c.model == "claude" {
			answer = anthropicResponse
		}
		h := request{
			path: c.path, query: c.query, body: `{"model":"` + c.model + `","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`,
			provider: [][]abi.Event{wholeResponse(200, answer)},
		}.run(t)
		_, sent, _ := strings.Cut(h.one(abi.ActionFetch).URL, "/v1")
		equal(t, "URL for "+c.path+"?"+c.query+" and "+c.model, sent, c.want)
	}
}
