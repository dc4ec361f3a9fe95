package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

func caching(r *doc.Record) { r.CacheTTLSeconds = 3600 }

// cacheEntry is what a request stores.
func cacheEntry(t *testing.T, r request) []byte {
	t.Helper()
	r.record = caching
	for _, a := range r.run(t).all(abi.ActionWrite) {
		if strings.HasPrefix(a.Key, "cache/") {
			return a.Body[0].Data
		}
	}
	t.Fatal("nothing is stored")
	return nil
}

func TestAnswerIsStoredAndReplayedWithItsStatus(t *testing.T) {
	named := []abi.Header{{Name: "idempotency-key", Value: "order-1"}}
	for model, answer := range map[string]string{"gpt": goodAnswer, "claude": goodMessage} { // as it came, and translated
		h := request{path: "/v1/chat/completions", headers: named, body: completion(model), provider: [][]abi.Event{whole(200, answer)}}.run(t)
		kept := settled(t, h).Answer
		if len(kept) == 0 || !strings.HasSuffix(string(kept), h.answered()) {
			t.Errorf("what is kept for a repeat of %s's answer is not the answer: %q", model, kept)
		}
		entry := cacheEntry(t, request{path: "/v1/chat/completions", body: completion(model), provider: [][]abi.Event{whole(200, answer)}})
		hit := request{path: "/v1/chat/completions", body: completion(model), record: caching, stored: entry}.run(t)
		equal(t, "x-postern-cache", hit.header("x-postern-cache"), "hit")
		want(t, "the hit", hit.answered(), "Hello!")
	}
}

func TestDamagedEntryIsAMiss(t *testing.T) {
	entry := cacheEntry(t, request{path: "/v1/chat/completions", body: completion("claude"), provider: [][]abi.Event{whole(200, goodMessage)}})
	missed := func(stored []byte) string {
		return request{path: "/v1/chat/completions", body: completion("claude"), record: caching, stored: stored, provider: [][]abi.Event{whole(200, goodMessage)}}.run(t).header("x-postern-cache")
	}
	equal(t, "a good one", missed(entry), "hit")
	for i := range entry {
		damaged := append([]byte(nil), entry...)
		damaged[i] ^= 1
		equal(t, "a damaged one", missed(damaged), "miss")
	}
	equal(t, "a short one", missed(entry[:7]), "miss")
	// Its sum is right, but its deltas end in the middle of one.
	equal(t, "an incomplete one", missed(resealed(entry, len(entry)-1)), "miss")
}

// resealed is an entry with the last byte of its answer cut off: the length before the answer and the sum are
// made right.
func resealed(entry []byte, size int) []byte {
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

func TestMockAnswersForTheFirstTargetThatTheKeyMayUse(t *testing.T) {
	answer := func(models ...string) *host {
		return request{path: "/v1/chat/completions", key: mockedKey, body: open("balanced", 1, ""), record: func(r *doc.Record) { r.Models = models }}.run(t)
	}
	equal(t, "the model without an allow-list", answer().header("x-postern-model"), "gpt")
	equal(t, "the model with one", answer("mini").header("x-postern-model"), "mini")
	equal(t, "the provider", answer().header("x-postern-provider"), "mock")
}

func TestMockKeepsToTheLimit(t *testing.T) {
	tokens := func(limit string) uint64 {
		h := request{path: "/v1/chat/completions", key: mockedKey, body: open("gpt", 30, limit)}.run(t)
		return settled(t, h).Tokens.Completion
	}
	free := tokens("")
	if free < 3 {
		t.Fatalf("the mock says %d tokens only", free)
	}
	equal(t, "the tokens of an answer of at most 2", tokens(`,"max_tokens":2`), 2)
	equal(t, "the tokens of an answer of at most 1,000", tokens(`,"max_tokens":1000`), free)
}

func TestPacedMockIsKeptForARepeat(t *testing.T) {
	paced := `{"routing":{"mockPauseMs":20,"requestMs":40000}}`
	send := func(headers ...abi.Header) *keymeter.Settle {
		return settled(t, request{path: "/v1/chat/completions", key: mockedKey, overlay: paced, headers: headers, body: open("gpt", 1, `,"stream":true`)}.run(t))
	}
	if s := send(abi.Header{Name: "idempotency-key", Value: "order-1"}); len(s.Answer) == 0 {
		t.Error("the answer is not kept for a repeat")
	}
	equal(t, "the length of what is kept without an Idempotency-Key", len(send().Answer), 0)
}

func TestMockAsATargetAnswersAtOnceWithoutAPause(t *testing.T) {
	send := func(overlay string) *host {
		return request{path: "/v1/chat/completions", key: mockedKey, overlay: overlay, body: open("gpt", 1, `,"stream":true`)}.run(t)
	}
	equal(t, "opened streams without a pause", len(send("").all(abi.ActionOpen)), 0)
	equal(t, "opened streams with one", len(send(`{"routing":{"mockPauseMs":20,"requestMs":40000}}`).all(abi.ActionOpen)), 1)
}

// Content that only its own dialect has goes to targets of that dialect as it came, and to no others.
func TestForeignContentGoesToItsOwnDialect(t *testing.T) {
	foreign := `{"model":"%","messages":[{"role":"user","content":[{"type":"unheard_of","x":1}]}],"max_tokens":100}`
	send := func(path, model string, more string) *host {
		return request{path: path, body: strings.Replace(strings.Replace(foreign, "%", model, 1), `"max_tokens"`, more+`"max_tokens"`, 1),
			provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	}
	equal(t, "the status from OpenAI's dialect to OpenAI's", send("/v1/chat/completions", "gpt", "").status(), 200)
	equal(t, "the status from OpenAI's to Anthropic's", send("/v1/chat/completions", "claude", "").status(), 400)
	equal(t, "the status from Anthropic's to OpenAI's", send("/v1/messages", "gpt", "").status(), 400)
	equal(t, "the status if the body must be written anew", send("/v1/chat/completions", "plain", `"temperature":1,`).status(), 400)
	equal(t, "the status if it need not", send("/v1/chat/completions", "plain", "").status(), 200)
}
