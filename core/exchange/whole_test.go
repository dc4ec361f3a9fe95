package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

func withCache(r *doc.Record) { r.CacheTTLSeconds = 3600 }

// cacheEntry returns the cache entry that a request writes.
func cacheEntry(t *testing.T, r request) []byte {
	t.Helper()
	r.record = withCache
	for _, a := range r.run(t).all(abi.ActionWrite) {
		if strings.HasPrefix(a.Key, "cache/") {
			return a.Body[0].Data
		}
	}
	t.Fatal("nothing was cached")
	return nil
}

func TestResponseIsKeptAndCached(t *testing.T) {
	withIdempotencyKey := []abi.Header{{Name: "idempotency-key", Value: "order-1"}}
	for model, answer := range map[string]string{"gpt": openaiResponse, "claude": anthropicResponse} { // one response is passed through, and one is translated
		h := request{path: "/v1/chat/completions", headers: withIdempotencyKey, body: completion(model), provider: [][]abi.Event{wholeResponse(200, answer)}}.run(t)
		kept := onlySettlement(t, h).Answer
		if len(kept) == 0 || !strings.HasSuffix(string(kept), h.responseBody()) {
			t.Errorf("the stored response of %s differs from the one sent: %q", model, kept)
		}
		for _, headers := range [][]abi.Header{nil, withIdempotencyKey} {
			entry := cacheEntry(t, request{path: "/v1/chat/completions", headers: headers, body: completion(model), provider: [][]abi.Event{wholeResponse(200, answer)}})
			hit := request{path: "/v1/chat/completions", body: completion(model), record: withCache, cached: entry}.run(t)
			equal(t, "x-postern-cache", hit.header("x-postern-cache"), "hit")
			contains(t, "hit", hit.responseBody(), "Hello!")
		}
	}
}

// TestLogProbsOfLegacyCompletionsAreNotCached: the cache's format cannot represent their log probabilities.
func TestLogProbsOfLegacyCompletionsAreNotCached(t *testing.T) {
	for members, writes := range map[string]bool{"": true, `,"logprobs":2`: false} {
		h := request{
			path: "/v1/completions", body: `{"model":"base","prompt":"Hello","max_tokens":100` + members + `}`, record: withCache,
			overlay:  `{"models":[{"name":"base","apis":["completions"],"provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"}]}`,
			provider: [][]abi.Event{wholeResponse(200, `{"id":"c1","object":"text_completion","choices":[{"index":0,"text":"Hello!","finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`)},
		}.run(t)
		equal(t, "status", h.status(), 200)
		cached := false
		for _, a := range h.all(abi.ActionWrite) {
			cached = cached || strings.HasPrefix(a.Key, "cache/")
		}
		equal(t, "whether a response is cached with the members "+members, cached, writes)
	}
}

func TestCorruptEntryIsAMiss(t *testing.T) {
	entry := cacheEntry(t, request{path: "/v1/chat/completions", body: completion("claude"), provider: [][]abi.Event{wholeResponse(200, anthropicResponse)}})
	missed := func(stored []byte) string {
		return request{path: "/v1/chat/completions", body: completion("claude"), record: withCache, cached: stored, provider: [][]abi.Event{wholeResponse(200, anthropicResponse)}}.run(t).header("x-postern-cache")
	}
	equal(t, "a valid entry", missed(entry), "hit")
	for i := range entry {
		damaged := append([]byte(nil), entry...)
		damaged[i] ^= 1
		equal(t, "a corrupt entry", missed(damaged), "miss")
	}
	equal(t, "a short entry", missed(entry[:7]), "miss")
	// The checksum is valid, but the last delta is incomplete.
	equal(t, "an entry with an incomplete delta", missed(truncatedEntry(entry, len(entry)-1)), "miss")
}

// truncatedEntry returns the entry without its last byte. The body length and the checksum match.
func truncatedEntry(entry []byte, size int) []byte {
	short := append([]byte(nil), entry[:size]...)
	for at := 8; at < len(short); at++ {
		if int(short[at]) == len(entry)-at-1 {
			short[at]--
			break
		}
	}
	sum := uint64(14695981039346656037)
	for _, b := range short[8:] {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	for i := range 8 {
		short[i] = byte(sum >> (8 * i))
	}
	return short
}

func TestMockUsesTheFirstAllowedTarget(t *testing.T) {
	answer := func(models ...string) *host {
		return request{path: "/v1/chat/completions", key: developmentKey, body: chatCompletion("balanced", 1, ""), record: func(r *doc.Record) { r.Models = models }}.run(t)
	}
	equal(t, "model without an allow-list", answer().header("x-postern-model"), "gpt")
	equal(t, "model with an allow-list", answer("mini").header("x-postern-model"), "mini")
	equal(t, "provider", answer().header("x-postern-provider"), "mock")
}

func TestMockHonorsMaxTokens(t *testing.T) {
	tokens := func(limit string) uint64 {
		h := request{path: "/v1/chat/completions", key: developmentKey, body: chatCompletion("gpt", 30, limit)}.run(t)
		return onlySettlement(t, h).Tokens.Completion
	}
	free := tokens("")
	if free < 3 {
		t.Fatalf("got %d tokens, want at least 3", free)
	}
	equal(t, "tokens with max_tokens 2", tokens(`,"max_tokens":2`), 2)
	equal(t, "tokens with max_tokens 1,000", tokens(`,"max_tokens":1000`), free)
}

func TestPacedMockIsKeptForAReplay(t *testing.T) {
	paced := `{"routing":{"mockPauseMs":20,"requestMs":40000}}`
	send := func(headers ...abi.Header) *keymeter.Settle {
		return onlySettlement(t, request{path: "/v1/chat/completions", key: developmentKey, overlay: paced, headers: headers, body: chatCompletion("gpt", 1, `,"stream":true`)}.run(t))
	}
	if s := send(abi.Header{Name: "idempotency-key", Value: "order-1"}); len(s.Answer) == 0 {
		t.Error("the response is not stored for a replay")
	}
	equal(t, "length of the stored response without an Idempotency-Key", len(send().Answer), 0)
}

func TestMockWithoutPauseDoesNotStream(t *testing.T) {
	send := func(overlay string) *host {
		return request{path: "/v1/chat/completions", key: developmentKey, overlay: overlay, body: chatCompletion("gpt", 1, `,"stream":true`)}.run(t)
	}
	equal(t, "opened streams without a pause", len(send("").all(abi.ActionOpen)), 0)
	equal(t, "opened streams with a pause", len(send(`{"routing":{"mockPauseMs":20,"requestMs":40000}}`).all(abi.ActionOpen)), 1)
}

// If only one dialect supports some content, only targets with that dialect get it, unchanged.
func TestForeignContentStaysInItsDialect(t *testing.T) {
	foreign := `{"model":"%","messages":[{"role":"user","content":[{"type":"unheard_of","x":1}]}],"max_tokens":100}`
	send := func(path, model string, more string) *host {
		return request{path: path, body: strings.Replace(strings.Replace(foreign, "%", model, 1), `"max_tokens"`, more+`"max_tokens"`, 1),
			provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	}
	equal(t, "status from OpenAI to OpenAI", send("/v1/chat/completions", "gpt", "").status(), 200)
	equal(t, "status from OpenAI to Anthropic", send("/v1/chat/completions", "claude", "").status(), 400)
	equal(t, "status from Anthropic to OpenAI", send("/v1/messages", "gpt", "").status(), 400)
	filtered := send("/v1/chat/completions", "plain", `"temperature":1,`)
	equal(t, "status without a parameter that the target does not support", filtered.status(), 200)
	if sent := filtered.bodyText(filtered.last(abi.ActionFetch).Body); !strings.Contains(sent, `"type":"unheard_of","x":1`) || strings.Contains(sent, "temperature") {
		t.Errorf("sent %s", sent)
	}
	equal(t, "status if the body is passed through", send("/v1/chat/completions", "plain", "").status(), 200)
}

func TestImplausibleUsageIsEstimated(t *testing.T) {
	for usage, estimated := range map[string]bool{
		`{"prompt_tokens":1,"completion_tokens":1}`: false, `{"prompt_tokens":0,"completion_tokens":3}`: true, `{"prompt_tokens":9,"completion_tokens":0}`: true,
	} {
		answer := openaiResponse[:strings.Index(openaiResponse, `"usage":`)] + `"usage":` + usage + "}"
		s := onlySettlement(t, request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(200, answer)}}.run(t))
		equal(t, "Estimated with usage "+usage, s.Estimated, estimated)
	}
}
