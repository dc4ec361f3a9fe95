package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
)

// burst is a chunk of 100 events.
var burst = strings.Repeat(greeting, 100)

// withheldStream runs a stream with a burst that the reservation does not cover. slow reports whether to hold back an
// action's reply.
func withheldStream(t *testing.T, overlay string, slow func(*host, *abi.Action) bool) *host {
	t.Helper()
	return request{
		path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"max_tokens":100,`, "", 1), overlay: overlay, hold: slow,
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: 500 * microDollar}, {Verdict: keymeter.Admitted, ReservedPico: 1 << 60}},
		provider: [][]abi.Event{streamEvents(burst+burst, finish+"data: [DONE]\n\n", "end")},
	}.run(t)
}

func isExtend(_ *host, a *abi.Action) bool {
	_, ok := decodeCommand(a).(*keymeter.Extend)
	return ok
}

func TestSilentStoreEndsAStream(t *testing.T) {
	for overlay, wait := range map[string]uint64{``: 10_000, `{"routing":{"idleMs":2000}}`: 2000, `{"routing":{"idleMs":60000}}`: 10_000} {
		h := withheldStream(t, overlay, isExtend)
		contains(t, "stream", h.sentText(), `"code":"service_unavailable"`)
		checkBooked(t, h)
		if s := onlySettlement(t, h); s.CostPico > 520*microDollar || s.CostPico < 480*microDollar || !s.Estimated {
			t.Errorf("%s: the stream is booked with %d (estimated: %t), and 500 microdollars were reserved", overlay, s.CostPico, s.Estimated)
		}
		equal(t, "wait with "+overlay, h.nowMs-noon, wait)
		equal(t, "outstanding actions", len(h.pending), 0)
		if n := uint64(strings.Count(h.sentText(), ": keep-alive")); n+2 < wait/400 {
			t.Errorf("%d comments in %d ms", n, wait)
		}
	}
}

// checkBooked checks that exactly the delivered events are booked.
func checkBooked(t *testing.T, h *host) {
	t.Helper()
	units := uint64(strings.Count(h.sentText(), "Hello!")) * chat.EstimateUnits("Hello!")
	equal(t, "tokens booked", onlySettlement(t, h).Tokens.Completion, (units+chat.TokenUnits-1)/chat.TokenUnits)
}

func TestWithheldStreamContinues(t *testing.T) {
	replies := 0
	h := withheldStream(t, "", func(h *host, a *abi.Action) bool {
		if isExtend(h, a) {
			replies++
			return replies < 20 // for about four seconds
		}
		return false
	})
	equal(t, "events delivered", strings.Count(h.sentText(), "Hello!"), 200)
	contains(t, "stream", h.sentText(), "data: [DONE]")
	equal(t, "pauses", len(h.all(abi.ActionPause)), 1)
	equal(t, "resumptions", len(h.all(abi.ActionResume)), 1)
}

func TestClientLeavesAWithheldStream(t *testing.T) {
	left := false
	h := withheldStream(t, "", func(h *host, a *abi.Action) bool {
		if isExtend(h, a) && !left && h.paused {
			left, h.disconnected = true, true
			h.step(abi.Event{Kind: abi.EventDisconnect})
		}
		return isExtend(h, a)
	})
	s := onlySettlement(t, h)
	equal(t, "status", s.Trace.Status, uint64(499))
	equal(t, "outstanding actions", len(h.pending), 0)
	checkBooked(t, h)
}

// TestEveryEventCosts: if an event's text adds almost nothing to the token estimate, the event is neither free nor
// unlimited.
func TestEveryEventCosts(t *testing.T) {
	for _, text := range []string{`\n`, " ", `\t`, "a", "."} {
		events := strings.Repeat(chunk(`{"content":"`+text+`"}`, "null"), 200)
		short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
		h := request{
			path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"max_tokens":100,`, "", 1),
			verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: 506 * microDollar}, short, short},
			provider: [][]abi.Event{streamEvents(events, finish+"data: [DONE]\n\n")},
		}.run(t)
		contains(t, "stream", h.sentText(), `"code":"budget_exceeded"`)
		equal(t, "tokens booked of 50 times "+text, onlySettlement(t, h).Tokens.Completion, 50)
	}
}

// TestOverrunIsLogged: if a request exceeded its reservation, the log names the excess. Otherwise, it names none.
func TestOverrunIsLogged(t *testing.T) {
	run := func(reserved int64) string {
		return request{
			path: "/v1/chat/completions", body: streamRequest, provider: [][]abi.Event{streamEvents(greeting, finish+"data: [DONE]\n\n")},
			verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: reserved}},
		}.run(t).log()
	}
	contains(t, "log", run(37*microDollar), `"costCents":0.0039,"overrunCents":0.0002`)
	if log := run(39 * microDollar); strings.Contains(log, "overrun") {
		t.Error(log)
	}
}

// TestContentWithoutAForm: stream content that the gateway does not know is neither free nor unlimited.
func TestContentWithoutAForm(t *testing.T) {
	long := strings.Repeat("word ", 20)
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	start := event("message_start", `{"type":"message_start","message":{"id":"m","role":"assistant","model":"c","content":[],"usage":{"input_tokens":6,"output_tokens":1}}}`)
	block := event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`)
	delta := func(delta string) string {
		return event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":`+delta+`}`)
	}
	for name, c := range map[string]struct{ path, model, first, event string }{
		"a function's arguments": {"/v1/chat/completions", "gpt", "", chunk(`{"function_call":{"arguments":"`+long+`"}}`, "null")},
		"a custom tool's input":  {"/v1/chat/completions", "gpt", "", chunk(`{"tool_calls":[{"index":0,"type":"custom","custom":{"input":"`+long+`"}}]}`, "null")},
		"an unknown member":      {"/v1/chat/completions", "gpt", "", chunk(`{"thoughts":"`+long+`"}`, "null")},
		"content as an object":   {"/v1/chat/completions", "gpt", "", chunk(`{"content":{"text":"`+long+`"}}`, "null")},
		"a server tool's input":  {"/v1/messages", "claude", start + block, delta(`{"type":"input_json_delta","partial_json":"` + long + `"}`)},
		"an unknown delta":       {"/v1/messages", "claude", start + block, delta(`{"type":"compaction_delta","content":"` + long + `"}`)},
	} {
		short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
		h := request{
			path: c.path, body: `{"model":"` + c.model + `","messages":[{"role":"user","content":"Hello"}],"max_tokens":2000,"stream":true}`,
			verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: 5000 * microDollar}, short, short},
			provider: [][]abi.Event{streamEvents(c.first + strings.Repeat(c.event, 100))},
		}.run(t)
		s := onlySettlement(t, h)
		if s.Trace.Status != 402 || s.CostPico < 4700*microDollar || s.CostPico > 5900*microDollar {
			t.Errorf("%s: status %d, and %d picodollars are booked with %d reserved", name, s.Trace.Status, s.CostPico, 5000*microDollar)
		}
	}
}
