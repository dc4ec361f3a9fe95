package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// TestCallerMayLeaveAtAnyTime has the callers of some requests leave before each of the answers that their exchanges
// wait for.
func TestCallerMayLeaveAtAnyTime(t *testing.T) {
	named := []abi.Header{{Name: "idempotency-key", Value: "order-1"}}
	own := &doc.Policy{Version: 2, ProviderKeys: []doc.ProviderKey{{Provider: "openai", KeyID: "m1", Sealed: []byte("sealed")}, {Provider: "anthropic", KeyID: "m1", Sealed: []byte("sealed")}}}
	short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
	recall := ledger.GrantReply{Recall: []string{"meter-2"}, Next: "meter-2"}
	stale := &keymeter.AdmitReply{Verdict: keymeter.Stale, Record: (&host{request: &request{}, t: t}).recordAt(6)}
	stored := cacheEntry(t, request{path: "/v1/chat/completions", body: hello, provider: [][]abi.Event{whole(200, goodAnswer)}})
	stream := flowing(greeting, "tick", finish+"data: [DONE]\n\n", "end")
	for _, c := range []struct {
		name string
		request
	}{
		{"whole", request{path: "/v1/chat/completions", body: hello, provider: [][]abi.Event{whole(200, goodAnswer)}}},
		{"unknown", request{path: "/v1/chat/completions", body: hello, stranger: true, verdicts: []*keymeter.AdmitReply{stale}, provider: [][]abi.Event{whole(200, goodAnswer)}}},
		{"own key", request{path: "/v1/chat/completions", body: hello, policy: own, provider: [][]abi.Event{whole(200, goodAnswer)}}},
		{"translated", request{path: "/v1/chat/completions", body: completion("claude"), record: caching, provider: [][]abi.Event{whole(200, goodMessage)}}},
		{"hit", request{path: "/v1/chat/completions", body: hello, record: caching, stored: stored, headers: named}},
		{"short", request{path: "/v1/chat/completions", body: hello, record: caching, verdicts: []*keymeter.AdmitReply{short}, grants: []ledger.GrantReply{recall}}},
		{"broke", request{path: "/v1/chat/completions", body: hello, record: caching, verdicts: []*keymeter.AdmitReply{short}, hold: slowCache}},
		{"grant", request{path: "/v1/chat/completions", body: hello, record: caching, verdicts: []*keymeter.AdmitReply{short}, grants: []ledger.GrantReply{recall}, hold: slowCache}},
		{"stream", request{path: "/v1/chat/completions", body: streamed, record: caching, headers: named, provider: [][]abi.Event{stream}}},
		{"drained", request{path: "/v1/chat/completions", body: streamed, provider: [][]abi.Event{stream[:len(stream)-1]}}},
		{"mock", request{path: "/v1/chat/completions", key: mockedKey, overlay: `{"routing":{"mockPauseMs":20,"requestMs":40000}}`, body: streamed}},
		{"bad", request{path: "/v1/chat/completions", body: "{", headers: named}},
		{"retry", request{path: "/v1/chat/completions", overlay: `{"routing":{"retries":1,"requestMs":40000}}`, body: hello, provider: [][]abi.Event{whole(500, ""), whole(200, goodAnswer)}}},
		{"models", request{method: "GET", path: "/v1/models", policy: own}},
		{"count", request{path: "/v1/messages/count_tokens", body: completion("claude"), policy: own, provider: [][]abi.Event{whole(200, `{"input_tokens":7}`)}}},
		{"usage", request{method: "GET", path: "/api/usage", query: "projectId=prj_1", reports: []ledger.ReportReply{{WaitMs: 100}, {Flush: []string{"meter-2"}}}}},
		{"the operator", request{method: "GET", path: "/dashboard"}},
	} {
		t.Run(c.name, func(t *testing.T) { leaveEverywhere(t, c.request) })
	}
}

func leaveEverywhere(t *testing.T, r request) {
	for r.leaves = 1; ; r.leaves++ {
		h := r.run(t)
		if !h.left {
			if r.leaves < 3 && !strings.HasPrefix(r.path, "/dashboard") {
				t.Error("the request has hardly any steps")
			}
			return
		}
		equal(t, "what is still open", len(h.open), 0)
		equal(t, "lines in the log", len(h.all(abi.ActionLog)), 1)
		reserved := 0
		for _, a := range told[*keymeter.Admit](h) {
			if a.Mode == keymeter.ModeReserve {
				reserved = 1
			}
		}
		if len(r.verdicts) == 0 && r.headers == nil {
			equal(t, "settlements", len(told[*keymeter.Settle](h)), reserved)
		}
	}
}

// slowCache answers all else before a look into the slow tier of the cache.
func slowCache(h *host, a *abi.Action) bool {
	return a.Kind == abi.ActionRead && strings.HasPrefix(a.Key, "cache/") && len(h.open) > 1
}
