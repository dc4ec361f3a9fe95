package exchange_test

import (
	"bytes"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/keymeter"
)

// governedOverlay enables the Governor in the default plan.
const governedOverlay = `{"plans":[{"name":"governed","perSecond":10,"perDay":1000,"developmentPerSecond":5,"developmentPerDay":500,"budget":"100","governor":true}]}`

// redacting is a request with an e-mail address that the project's policy redacts reversibly.
func redacting(address string, stream bool, provider ...[]abi.Event) request {
	s := governor.NewSettings()
	s.Enabled, s.Reversible = true, true
	s.Actions = []governor.RuleActions{{Rule: "personal.email", Input: governor.Redact, Output: governor.Flag}}
	streaming := ""
	if stream {
		streaming = `"stream":true,`
	}
	return request{
		path: "/v1/chat/completions", overlay: governedOverlay, policy: &doc.Policy{Version: 2, Governor: s.Encode()},
		record:   func(r *doc.Record) { r.Plan, r.CacheTTLSeconds = "governed", 3600 },
		headers:  []abi.Header{{Name: "idempotency-key", Value: "order-1"}},
		body:     `{"model":"gpt",` + streaming + `"messages":[{"role":"user","content":"Write to ` + address + `"}],"max_tokens":100}`,
		provider: provider,
	}
}

const (
	placeholderAnswer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Dear [EMAIL_1]"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	placeholderChunk  = `data: {"choices":[{"index":0,"delta":{"content":"Dear [EMAIL_1]"}}]}` + "\n\n"
	finishChunks      = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\ndata: [DONE]\n\n"
)

// TestReplayAndCacheOfRedactedRequests: the response stored for an Idempotency-Key has the caller's values, and the
// cache has placeholders. If two requests look identical to the provider, they are still different requests for an
// Idempotency-Key.
func TestReplayAndCacheOfRedactedRequests(t *testing.T) {
	var hashes []string
	for _, stream := range []bool{false, true} {
		for _, address := range []string{"jane.doe@example.com", "john@example.net"} {
			provider := wholeResponse(200, placeholderAnswer)
			if stream {
				provider = streamEvents(placeholderChunk, finishChunks, "end")
			}
			h := redacting(address, stream, provider).run(t)
			settle := onlySettlement(t, h)
			if !bytes.Contains(settle.Answer, []byte("Dear "+address)) || bytes.Contains(settle.Answer, []byte("EMAIL")) {
				t.Errorf("stream %t: the replay has %q", stream, settle.Answer)
			}
			written := 0
			for _, a := range h.all(abi.ActionWrite) {
				if bytes.Contains(a.Body[0].Data, []byte("[EMAIL_1]")) {
					written++
				}
				if bytes.Contains(a.Body[0].Data, []byte(address)) {
					t.Errorf("stream %t: %s has the address", stream, a.Key)
				}
			}
			equal(t, "cached responses with a placeholder", written, 1)
			for _, f := range h.all(abi.ActionFetch) {
				for _, p := range f.Body {
					if bytes.Contains(h.Join(h, []abi.Part{p}), []byte(address)) {
						t.Errorf("stream %t: the provider gets the address", stream)
					}
				}
			}
			hashes = append(hashes, sentCommands[*keymeter.Admit](h)[0].BodyHash)
		}
	}
	for i := range hashes {
		for j := range i {
			if hashes[i] == hashes[j] {
				t.Errorf("requests %d and %d have the same hash", j, i)
			}
		}
	}
}
