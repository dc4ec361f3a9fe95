package exchange_test

import (
	"fmt"
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

const streamed = `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`

// stream is a stream of chat completions, and what the provider sends.
func stream(t *testing.T, chunks ...string) *host {
	return request{path: "/v1/chat/completions", body: streamed, provider: [][]abi.Event{flowing(chunks...)}}.run(t)
}

// settled is the exchange's only settlement.
func settled(t *testing.T, h *host) *keymeter.Settle {
	t.Helper()
	all := told[*keymeter.Settle](h)
	if len(all) != 1 {
		t.Fatalf("%d settlements, not one: %s", len(all), h.log())
	}
	return all[0]
}

func TestErrorInAStreamIsNotAnAnswerThatCannotBeRead(t *testing.T) {
	want(t, "the end after an error", stream(t, greeting, `data: {"error":{"message":"overloaded"}}`+"\n\n").streamed(), `"code":"provider_error"`)
	want(t, "the end after nonsense", stream(t, greeting, "data: {\n\n").streamed(), `"code":"provider_invalid_response"`)
	want(t, "the end of a stream that is not finished", stream(t, greeting, "end").streamed(), `"code":"provider_invalid_response"`)
}

func TestStreamWithoutAnEndMarkIsWholeIfItSaidHowItFinished(t *testing.T) {
	h := stream(t, greeting, finish, "end")
	want(t, "the stream", h.streamed(), "Hello!", "data: [DONE]")
	equal(t, "the outcome", settled(t, h).Outcome, keymeter.Served)
	equal(t, "the estimate", settled(t, h).Estimated, false)
}

func TestStreamThatReachedItsLimitIsBookedByTheProvidersFigures(t *testing.T) {
	for reason, estimated := range map[string]bool{"stop": false, "length": false, "content_filter": true} {
		end := strings.Replace(finish, `"stop"`, `"`+reason+`"`, 1) + "data: [DONE]\n\n"
		s := settled(t, stream(t, greeting, end))
		equal(t, "whether one that ended by "+reason+" is estimated", s.Estimated, estimated)
	}
}

func TestEventOfManyLinesGoesOnLineByLine(t *testing.T) {
	h := stream(t, "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello!\"}}]}\n\n", finish+"data: [DONE]\n\n")
	want(t, "the stream", h.streamed(), "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello!\"}}]}\n\n")
}

// messages is a stream of Anthropic's, for its own callers.
func messages(t *testing.T, chunks ...string) *host {
	return request{
		path: "/v1/messages", provider: [][]abi.Event{flowing(chunks...)},
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

func TestMessagesEndWithTheirMarkOnce(t *testing.T) {
	want(t, "the stream", messages(t, messageStart, messageText, messageDelta, "end").streamed(), messageStop)
	whole := messages(t, messageStart, messageText, messageDelta+messageStop, "end").streamed()
	equal(t, "end marks of a stream that had one", strings.Count(whole, messageStop), 1)
	// A stream of completions that was translated ends in the family's manner.
	h := request{path: "/v1/messages", provider: [][]abi.Event{flowing(greeting, finish+"data: [DONE]\n\n")},
		body: `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`}.run(t)
	equal(t, "end marks of a stream that was translated", strings.Count(h.streamed(), "message_stop\n"), 1)
}

func TestTranslatedStreamBeginsWithThePromptsEstimate(t *testing.T) {
	h := request{path: "/v1/messages", provider: [][]abi.Event{flowing(greeting, finish+"data: [DONE]\n\n")},
		body: `{"model":"gpt","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"stream":true}`}.run(t)
	want(t, "the stream", h.streamed(), `"usage":{"input_tokens":6,`)
}

func TestLongStreamIsKeptForNobody(t *testing.T) {
	cut := func(answer string) *keymeter.Settle {
		h := request{path: "/v1/chat/completions", body: streamed, headers: []abi.Header{{Name: "idempotency-key", Value: "order-1"}},
			provider: [][]abi.Event{flowing(append(strings.SplitAfter(answer, "\n\n"), finish+"data: [DONE]\n\n")...)}}.run(t)
		return settled(t, h)
	}
	s := cut(chunk(`{"content":"`+strings.Repeat("x", 300<<10)+`"}`, "null"))
	equal(t, "whether the answer of 300 KiB is oversized", s.Oversized, true)
	equal(t, "the length of what is kept of it", len(s.Answer), 0)
	s = cut(strings.Repeat(chunk(`{"content":"`+strings.Repeat("x", 300<<10)+`"}`, "null"), 4))
	equal(t, "whether the answer of 1,200 KiB is oversized", s.Oversized, true)
	s = cut(greeting)
	equal(t, "whether a short answer is oversized", s.Oversized, false)
	want(t, "what is kept of it", string(s.Answer), "Hello!")
}

func TestAbsorbThatFailsCutsNoStream(t *testing.T) {
	send := func(outcome uint64) *host {
		long := chunk(`{"content":"`+strings.Repeat("word ", 1200)+`"}`, "null")
		return request{
			path: "/v1/chat/completions", body: strings.Replace(streamed, `"max_tokens":100,`, "", 1), absorbed: outcome,
			verdicts: []*keymeter.AdmitReply{
				{Verdict: keymeter.Admitted, ReservedPico: 10_000_000_000},
				{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1},
				{Verdict: keymeter.Admitted, ReservedPico: 1 << 60},
			},
			grants:   []ledger.GrantReply{{Recall: []string{"meter-2"}, Next: "meter-2"}},
			provider: [][]abi.Event{flowing(long, "tick", greeting, "tick", greeting, finish+"data: [DONE]\n\n")},
		}.run(t)
	}
	want(t, "the stream if other keys gave back nothing", send(abi.OutcomeOK).streamed(), `"code":"budget_exceeded"`)
	h := send(abi.OutcomeFailed)
	want(t, "the stream if nobody knows", h.streamed(), "data: [DONE]")
	equal(t, "questions for more", len(told[*keymeter.Extend](h)), 2)
}

func TestWholeStreamAsksForNoMoreBudget(t *testing.T) {
	long := chunk(`{"content":"`+strings.Repeat("word ", 1200)+`"}`, "null")
	meanwhile := map[string]func(*abi.Action) bool{
		"its wish": func(a *abi.Action) bool { _, ok := opened(a).(*keymeter.Extend); return ok },
		"a grant":  func(a *abi.Action) bool { _, ok := opened(a).(*ledger.Grant); return ok },
		"a flush":  func(a *abi.Action) bool { _, ok := opened(a).(*keymeter.Flush); return ok },
		"the news": func(a *abi.Action) bool { _, ok := opened(a).(*ledger.BatchCommand); return ok },
	}
	for what, hold := range meanwhile {
		held := map[uint64]bool{}
		h := request{
			path: "/v1/chat/completions", body: strings.Replace(streamed, `"max_tokens":100,`, "", 1), record: caching,
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
			provider: [][]abi.Event{flowing(long, "tick", finish+"data: [DONE]\n\n", "end")},
		}.run(t)
		equal(t, "the outcome of a stream that waits for "+what, settled(t, h).Outcome, keymeter.Served)
		if len(held) == 0 {
			t.Errorf("the stream does not wait for %s", what)
		}
		for _, a := range h.done { // before the answer is asked back from the host, which takes a while
			if a.Kind == abi.ActionSupply {
				break
			}
			if a.Kind == abi.ActionCancel {
				delete(held, a.ID)
			}
		}
		equal(t, "what is not cancelled of "+what, len(held), 0)
	}
}

func TestLatencyOfAStreamIsToItsFirstContent(t *testing.T) {
	for _, c := range []struct {
		latency, took uint64
		chunks        []string
	}{
		{400, 1200, []string{"tick", greeting, "tick", "tick", finish + "data: [DONE]\n\n"}},
		{1, 400, []string{greeting, "tick", finish + "data: [DONE]\n\n"}},
	} {
		h := stream(t, c.chunks...)
		circuits := route.DecodeCircuits(h.shared)
		targets := circuits.Targets(&h.config.Routing, h.nowMs)
		if len(targets) != 1 {
			t.Fatalf("%d targets are known, not one", len(targets))
		}
		equal(t, "the latency", targets[0].LatencyMs, c.latency)
		want(t, "the log", h.log(), fmt.Sprintf(`"durationMs":%d`, c.took))
	}
}

func TestCutStreamStopsItsProvider(t *testing.T) {
	h := request{
		path: "/v1/chat/completions", body: strings.Replace(streamed, `"max_tokens":100,`, "", 1),
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: micro}, {Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}},
		provider: [][]abi.Event{flowing(greeting, "tick", greeting)},
	}.run(t)
	want(t, "the stream", h.streamed(), `"code":"budget_exceeded"`)
	equal(t, "what is still open", len(h.open), 0)
}
