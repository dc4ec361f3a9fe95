package exchange_test

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
)

// TestDescribeFetch: after the step that requested a fetch, observers can describe the fetch from the state.
func TestDescribeFetch(t *testing.T) {
	holdFetch := func(_ *host, a *abi.Action) bool { return a.Kind == abi.ActionFetch }
	for path, c := range map[string]struct {
		body string
		want exchange.Fetch
	}{
		"/v1/chat/completions":      {streamRequest, exchange.Fetch{Provider: "openai", Model: "gpt", Purpose: exchange.ForChat, Stream: true}},
		"/v1/embeddings":            {`{"model":"vectors","input":"Hello"}`, exchange.Fetch{Provider: "openai", Model: "vectors", Purpose: exchange.ForEmbeddings}},
		"/v1/messages/count_tokens": {`{"model":"claude","messages":[{"role":"user","content":"Hello"}]}`, exchange.Fetch{Provider: "anthropic", Model: "claude", Purpose: exchange.ForCount}},
	} {
		h := request{path: path, body: c.body, hold: holdFetch}.run(t)
		id := h.one(abi.ActionFetch).ID
		got, ok := exchange.DescribeFetch(h.config, id, h.State)
		if !ok || got != c.want {
			t.Errorf("%s: got %+v, %t, want %+v", path, got, ok, c.want)
		}
		if _, ok := exchange.DescribeFetch(h.config, id+1, h.State); ok {
			t.Errorf("%s: another action is a fetch", path)
		}
		if _, ok := exchange.DescribeFetch(h.config, id, h.State[1:]); ok {
			t.Errorf("%s: a malformed state describes a fetch", path)
		}
	}
	h := request{path: "/v1/chat/completions", body: "{}"}.run(t)
	if got, ok := exchange.DescribeFetch(h.config, 5, h.State); ok {
		t.Errorf("a rejected request has the fetch %+v", got)
	}
}

func TestIsKeepAlive(t *testing.T) {
	equal(t, "a comment", exchange.IsKeepAlive([]byte(": keep-alive\n\n")), true)
	equal(t, "an event", exchange.IsKeepAlive([]byte("data: {}\n\n")), false)
}
