package exchange_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/route"
)

func chunk(delta, finish string) string {
	return `data: {"id":"c1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}

var (
	greeting = chunk(`{"content":"Hello!"}`, "null")
	finish   = chunk(`{}`, `"stop"`) + `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}` + "\n\n"
)

const streamRequest = `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`

// runStream runs a streamed chat completion with the provider's chunks.
func runStream(t *testing.T, chunks ...string) *host {
	return request{path: "/v1/chat/completions", body: streamRequest, provider: [][]abi.Event{streamEvents(chunks...)}}.run(t)
}

func onlySettlement(t *testing.T, h *host) *keymeter.Settle {
	t.Helper()
	all := sentCommands[*keymeter.Settle](h)
	if len(all) != 1 {
		t.Fatalf("got %d settlements, want 1: %s", len(all), h.log())
	}
	return all[0]
}

func TestStreamErrorCodes(t *testing.T) {
	contains(t, "end after an error", runStream(t, greeting, `data: {"error":{"message":"overloaded"}}`+"\n\n").sentText(), `"code":"provider_error"`)
	contains(t, "end after invalid JSON", runStream(t, greeting, "data: {\n\n").sentText(), `"code":"provider_invalid_response"`)
	contains(t, "end of an incomplete stream", runStream(t, greeting, "end").sentText(), `"code":"provider_invalid_response"`)
}

func TestStreamWithFinishReasonNeedsNoEndMark(t *testing.T) {
	h := runStream(t, greeting, finish, "end")
	contains(t, "stream", h.sentText(), "Hello!", "data: [DONE]")
	equal(t, "outcome", onlySettlement(t, h).Outcome, keymeter.Served)
	equal(t, "Estimated", onlySettlement(t, h).Estimated, false)
}

// TestStreamWithoutContent: an end mark alone is not a response. A finish reason alone is.
func TestStreamWithoutContent(t *testing.T) {
	h := runStream(t, "data: [DONE]\n\n")
	contains(t, "response to an end mark", h.responseBody(), `"code":"provider_invalid_response"`)
	contains(t, "stream with a finish reason", runStream(t, finish+"data: [DONE]\n\n").sentText(), `"finish_reason":"stop"`, "data: [DONE]")
}

func TestStreamUsageByFinishReason(t *testing.T) {
	for reason, estimated := range map[string]bool{"stop": false, "length": false, "content_filter": true} {
		end := strings.Replace(finish, `"stop"`, `"`+reason+`"`, 1) + "data: [DONE]\n\n"
		s := onlySettlement(t, runStream(t, greeting, end))
		equal(t, "Estimated with finish reason "+reason, s.Estimated, estimated)
	}
}

func TestMultiLineEventIsForwardedUnchanged(t *testing.T) {
	h := runStream(t, "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello!\"}}]}\n\n", finish+"data: [DONE]\n\n")
	contains(t, "stream", h.sentText(), "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello!\"}}]}\n\n")
}

// runMessages runs a streamed Anthropic request with the provider's chunks.
func runMessages(t *testing.T, chunks ...string) *host {
	return request{
		path: "/v1/messages", provider: [][]abi.Event{streamEvents(chunks...)},
		body: `{"model":"claude","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`,
	}.run(t)
}

const (
	messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
	messageText  = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello!\"}}\n\n"
	messageDelta = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":3}}\n\n"
	messageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func TestAnthropicStreamHasOneEndMark(t *testing.T) {
	contains(t, "stream", runMessages(t, messageStart, messageText, messageDelta, "end").sentText(), messageStop)
	whole := runMessages(t, messageStart, messageText, messageDelta+messageStop, "end").sentText()
	equal(t, "end marks of a stream with one", strings.Count(whole, messageStop), 1)
	// A chat completion stream, translated for an Anthropic caller, ends like an Anthropic stream.
	h := request{path: "/v1/messages", provider: [][]abi.Event{streamEvents(greeting, finish+"data: [DONE]\n\n")},
		body: `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`}.run(t)
	equal(t, "end marks of a translated stream", strings.Count(h.sentText(), "message_stop\n"), 1)
}

func TestTranslatedStreamStartsWithEstimatedUsage(t *testing.T) {
	h := request{path: "/v1/messages", provider: [][]abi.Event{streamEvents(greeting, finish+"data: [DONE]\n\n")},
		body: `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`}.run(t)
	contains(t, "stream", h.sentText(), `"usage":{"input_tokens":6,`)
}

func TestLongStreamIsNotKept(t *testing.T) {
	settlement := func(answer string) *keymeter.Settle {
		h := request{path: "/v1/chat/completions", body: streamRequest, headers: []abi.Header{{Name: "idempotency-key", Value: "order-1"}},
			provider: [][]abi.Event{streamEvents(append(strings.SplitAfter(answer, "\n\n"), finish+"data: [DONE]\n\n")...)}}.run(t)
		return onlySettlement(t, h)
	}
	s := settlement(chunk(`{"content":"`+strings.Repeat("x", 300<<10)+`"}`, "null"))
	equal(t, "Oversized with 300 KiB", s.Oversized, true)
	equal(t, "length of the stored response", len(s.Answer), 0)
	s = settlement(strings.Repeat(chunk(`{"content":"`+strings.Repeat("x", 300<<10)+`"}`, "null"), 4))
	equal(t, "Oversized with 1,200 KiB", s.Oversized, true)
	s = settlement(greeting)
	equal(t, "Oversized with a short response", s.Oversized, false)
	contains(t, "stored response", string(s.Answer), "Hello!")
}

// TestLongStreamDoesNotLookWhole: the last event of a Responses stream contains the tool calls. If they are too long
// for it, the stream ends with an error.
func TestLongStreamDoesNotLookWhole(t *testing.T) {
	patch := func(pieces int) string {
		call := chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"apply_patch","arguments":"`+strings.Repeat("x", 300<<10)+`"}}]}`, "null")
		more := chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"`+strings.Repeat("x", 300<<10)+`"}}]}`, "null")
		return request{path: "/v1/responses", body: `{"model":"gpt","input":"Hello","tools":[{"type":"apply_patch"}],"max_output_tokens":100,"stream":true}`,
			provider: [][]abi.Event{streamEvents(append(append([]string{call}, slices.Repeat([]string{more}, pieces-1)...), finish+"data: [DONE]\n\n")...)}}.run(t).sentText()
	}
	contains(t, "stream of 600 KiB", patch(2), `"type":"response.output_item.done"`, `"type":"response.completed"`)
	long := patch(4)
	contains(t, "stream of 1,200 KiB", long, `"type":"response.failed"`, "too long for the end of the stream")
	equal(t, "completed", strings.Contains(long, "response.completed"), false)
}

func TestFailedAbsorbDoesNotCutAStream(t *testing.T) {
	send := func(outcome uint64) *host {
		long := chunk(`{"content":"`+strings.Repeat("word ", 1200)+`"}`, "null")
		return request{
			path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"max_tokens":100,`, "", 1), absorbOutcome: outcome,
			verdicts: []*keymeter.AdmitReply{
				{Verdict: keymeter.Admitted, ReservedPico: 10_000_000_000},
				{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1},
				{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1},
				{Verdict: keymeter.Admitted, ReservedPico: 1 << 60},
			},
			grants:   []ledger.GrantReply{{Recall: []string{"meter-2"}, Next: "meter-2"}, {}, {Recall: []string{"meter-2"}, Next: "meter-2"}},
			provider: [][]abi.Event{streamEvents(long, "tick", greeting, "tick", greeting, finish+"data: [DONE]\n\n")},
		}.run(t)
	}
	contains(t, "stream if the recall returned nothing", send(abi.OutcomeOK).sentText(), `"code":"budget_exceeded"`)
	h := send(abi.OutcomeFailed)
	contains(t, "stream if the absorb failed", h.sentText(), "data: [DONE]")
	equal(t, "extend commands", len(sentCommands[*keymeter.Extend](h)), 3)
}

// 900 words cost $0.008586, and 256 more tokens cost $0.00256.
func TestStreamAsksNoMoreWhenTheBudgetHasNothing(t *testing.T) {
	const reserved = 11_300 * microDollar
	words := func(n int) string { return chunk(`{"content":"`+strings.Repeat("word ", n)+`"}`, "null") }
	h := request{
		path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"max_tokens":100,`, "", 1),
		verdicts: []*keymeter.AdmitReply{
			{Verdict: keymeter.Admitted, ReservedPico: reserved}, {Verdict: keymeter.Short, NeedPico: 5, Epoch: 1},
			{Verdict: keymeter.Admitted, ReservedPico: reserved}, {Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1},
		},
		grants:   []ledger.GrantReply{{Granted: true, Final: true}},
		provider: [][]abi.Event{streamEvents(words(900), "tick", greeting, "tick", words(300), "tick", greeting, "tick", finish+"data: [DONE]\n\n")},
	}.run(t)
	contains(t, "stream", h.sentText(), `"code":"budget_exceeded"`)
	var least []int64
	for _, e := range sentCommands[*keymeter.Extend](h) {
		least = append(least, e.LeastPico)
	}
	if len(least) != 3 || least[0] > reserved || least[2] <= reserved {
		t.Errorf("extensions to at least %d, of a reservation of %d", least, reserved)
	}
}

func TestLongPublishedStreamLands(t *testing.T) {
	piece := chunk(`{"content":"`+strings.Repeat("x", 300<<10)+`"}`, "null")
	for pieces := 3; pieces <= 4; pieces++ { // below and above the size limit of the cache
		h := request{
			path: "/v1/chat/completions", body: streamRequest, record: withCache, waiting: 1,
			provider: [][]abi.Event{streamEvents(strings.Repeat(piece, pieces), finish+"data: [DONE]\n\n")},
		}.run(t)
		equal(t, fmt.Sprint("the end of a flight of ", pieces*300, " KiB"), h.one(abi.ActionLand).Code, uint64(abi.FlightLanded))
	}
}

func TestStreamEndCancelsItsExtension(t *testing.T) {
	long := chunk(`{"content":"`+strings.Repeat("word ", 1200)+`"}`, "null")
	pending := map[string]func(*abi.Action) bool{
		"the extension": func(a *abi.Action) bool { _, ok := decodeCommand(a).(*keymeter.Extend); return ok },
		"a grant":       func(a *abi.Action) bool { _, ok := decodeCommand(a).(*ledger.Grant); return ok },
		"a flush":       func(a *abi.Action) bool { _, ok := decodeCommand(a).(*keymeter.Flush); return ok },
		"an absorb":     func(a *abi.Action) bool { _, ok := decodeCommand(a).(*ledger.BatchCommand); return ok },
	}
	for what, hold := range pending {
		held := map[uint64]bool{}
		h := request{
			path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"max_tokens":100,`, "", 1), record: withCache,
			hold: func(_ *host, a *abi.Action) bool {
				if hold(a) {
					held[a.ID] = true
				}
				return hold(a)
			},
			verdicts: []*keymeter.AdmitReply{
				{Verdict: keymeter.Admitted, ReservedPico: 10_000_000_000}, {Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1},
			},
			grants:   []ledger.GrantReply{{Recall: []string{"meter-2", "meter-3"}, Next: "meter-3"}},
			provider: [][]abi.Event{streamEvents(long, "tick", finish+"data: [DONE]\n\n", "end")},
		}.run(t)
		equal(t, "outcome of a stream waiting for "+what, onlySettlement(t, h).Outcome, keymeter.Served)
		if len(held) == 0 {
			t.Errorf("the stream did not wait for %s", what)
		}
		for _, a := range h.actions { // only the actions before the exchange requests the deltas: that request takes time
			if a.Kind == abi.ActionSupply {
				break
			}
			if a.Kind == abi.ActionCancel {
				delete(held, a.ID)
			}
		}
		equal(t, "actions not canceled while waiting for "+what, len(held), 0)
	}
}

func TestStreamLatencyEndsAtTheFirstContent(t *testing.T) {
	for _, c := range []struct {
		latency, took uint64
		chunks        []string
	}{
		{400, 1200, []string{"tick", greeting, "tick", "tick", finish + "data: [DONE]\n\n"}},
		{1, 400, []string{greeting, "tick", finish + "data: [DONE]\n\n"}},
	} {
		h := runStream(t, c.chunks...)
		circuits := route.DecodeCircuits(h.shared)
		targets := circuits.Targets(&h.config.Routing, h.nowMs)
		if len(targets) != 1 {
			t.Fatalf("got %d targets, want 1", len(targets))
		}
		equal(t, "latency", targets[0].LatencyMs, c.latency)
		contains(t, "log", h.log(), fmt.Sprintf(`"durationMs":%d`, c.took))
	}
}

func TestCutStreamCancelsTheFetch(t *testing.T) {
	short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
	h := request{
		path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"max_tokens":100,`, "", 1),
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: 20 * microDollar}, short, short},
		provider: [][]abi.Event{streamEvents(greeting, "tick", greeting)},
	}.run(t)
	contains(t, "stream", h.sentText(), `"code":"budget_exceeded"`)
	equal(t, "outstanding actions", len(h.pending), 0)
}
