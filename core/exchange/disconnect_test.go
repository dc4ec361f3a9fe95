package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// TestDisconnectAtEveryStep runs several requests. It disconnects the client before each reply that the exchange
// waits for.
func TestDisconnectAtEveryStep(t *testing.T) {
	withIdempotencyKey := []abi.Header{{Name: "idempotency-key", Value: "order-1"}}
	projectKeys := &doc.Policy{Version: 2, ProviderKeys: []doc.ProviderKey{{Provider: "openai", KeyID: "m1", Sealed: []byte("sealed")}, {Provider: "anthropic", KeyID: "m1", Sealed: []byte("sealed")}}}
	short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
	recall := ledger.GrantReply{Recall: []string{"meter-2"}, Next: "meter-2"}
	stale := &keymeter.AdmitReply{Verdict: keymeter.Stale, Record: (&host{request: &request{}, t: t}).recordAt(6)}
	stored := cacheEntry(t, request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}})
	stream := streamEvents(greeting, "tick", finish+"data: [DONE]\n\n", "end")
	for _, c := range []struct {
		name string
		request
	}{
		{"whole", request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}},
		{"unknown", request{path: "/v1/chat/completions", body: openaiRequest, noRecord: true, verdicts: []*keymeter.AdmitReply{stale}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}},
		{"project key", request{path: "/v1/chat/completions", body: openaiRequest, policy: projectKeys, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}},
		{"translated", request{path: "/v1/chat/completions", body: completion("claude"), record: withCache, provider: [][]abi.Event{wholeResponse(200, anthropicResponse)}}},
		{"hit", request{path: "/v1/chat/completions", body: openaiRequest, record: withCache, cached: stored, headers: withIdempotencyKey}},
		{"short", request{path: "/v1/chat/completions", body: openaiRequest, record: withCache, verdicts: []*keymeter.AdmitReply{short}, grants: []ledger.GrantReply{recall}}},
		{"over budget", request{path: "/v1/chat/completions", body: openaiRequest, record: withCache, verdicts: []*keymeter.AdmitReply{short}, hold: slowCache}},
		{"grant", request{path: "/v1/chat/completions", body: openaiRequest, record: withCache, verdicts: []*keymeter.AdmitReply{short}, grants: []ledger.GrantReply{recall}, hold: slowCache}},
		{"stream", request{path: "/v1/chat/completions", body: streamRequest, record: withCache, headers: withIdempotencyKey, provider: [][]abi.Event{stream}}},
		{"drained", request{path: "/v1/chat/completions", body: streamRequest, provider: [][]abi.Event{stream[:len(stream)-1]}}},
		{"mock", request{path: "/v1/chat/completions", key: developmentKey, overlay: `{"routing":{"mockPauseMs":20,"requestMs":40000}}`, body: streamRequest}},
		{"rejected", request{path: "/v1/chat/completions", body: "{", headers: withIdempotencyKey}},
		{"retry", request{path: "/v1/chat/completions", overlay: `{"routing":{"retries":1,"requestMs":40000}}`, body: openaiRequest, provider: [][]abi.Event{wholeResponse(500, ""), wholeResponse(200, openaiResponse)}}},
		{"models", request{method: "GET", path: "/v1/models", policy: projectKeys}},
		{"count", request{path: "/v1/messages/count_tokens", body: completion("claude"), policy: projectKeys, provider: [][]abi.Event{wholeResponse(200, `{"input_tokens":7}`)}}},
		{"usage", request{method: "GET", path: "/api/usage", query: "projectId=prj_1", reports: []ledger.ReportReply{{WaitMs: 100}, {Flush: []string{"meter-2"}}}}},
		{"control plane", request{method: "GET", path: "/dashboard"}},
	} {
		t.Run(c.name, func(t *testing.T) { disconnectEverywhere(t, c.request) })
	}
}

func disconnectEverywhere(t *testing.T, r request) {
	for r.disconnectAt = 1; ; r.disconnectAt++ {
		h := r.run(t)
		if !h.disconnected {
			if r.disconnectAt < 3 && !strings.HasPrefix(r.path, "/dashboard") {
				t.Error("the exchange has fewer than two steps")
			}
			return
		}
		equal(t, "outstanding actions", len(h.pending), 0)
		equal(t, "log lines", len(h.all(abi.ActionLog)), 1)
		reserved := 0
		for _, a := range sentCommands[*keymeter.Admit](h) {
			if a.Mode == keymeter.ModeReserve {
				reserved = 1
			}
		}
		if len(r.verdicts) == 0 && r.headers == nil {
			equal(t, "settlements", len(sentCommands[*keymeter.Settle](h)), reserved)
		}
	}
}

// slowCache holds back the KV cache lookup until all other replies have arrived.
func slowCache(h *host, a *abi.Action) bool {
	return a.Kind == abi.ActionRead && strings.HasPrefix(a.Key, "cache/") && len(h.pending) > 1
}
