package cohere_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/cohere"
	"github.com/postern-ai/postern/core/provider/wire"
)

const (
	textResponse = `{"id":"c14c80c3","finish_reason":"COMPLETE","message":{"role":"assistant","content":[
	  {"type":"thinking","thinking":"A greeting."},{"type":"text","text":"Hello \"you\"."}],"citations":[{"start":0,"end":5}]},
	 "usage":{"billed_units":{"input_tokens":5,"output_tokens":418},"tokens":{"input_tokens":71,"output_tokens":420},"cached_tokens":64}}`
	callResponse = `{"id":"c2","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_calls":[
	  {"id":"f_1","type":"function","function":{"name":"f","arguments":"{\"day\":\"2023-09-29\"}"}},
	  {"id":"g_2","type":"function","function":{"name":"g"}}],"tool_plan":"I will call both."},
	 "usage":{"tokens":{"input_tokens":9,"output_tokens":3}}}`
	logProbsResponse = `{"id":"c3","finish_reason":"STOP_SEQUENCE","message":{"role":"assistant","content":[{"type":"text","text":"Hi!"}]},
	 "logprobs":[{"text":"Hi","token_ids":[1],"logprobs":[-0.25]},{"text":"!\n","token_ids":[2,3],"logprobs":[-0.5,-1]}]}`
)

var responses = []struct {
	name, body string
	want       chat.Response
}{
	{"thinking and text; usage from billed_units", textResponse, chat.Response{
		ID: "c14c80c3",
		Choices: []chat.Answer{{Finish: chat.FinishStop, Parts: []chat.Part{
			{Kind: chat.Thinking, Text: "A greeting."}, text(`Hello \"you\".`)}}},
		Usage: chat.Usage{Input: 5, CachedInput: 5, Output: 418, Reported: true},
	}},
	{"tool calls", callResponse, chat.Response{
		ID: "c2",
		Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
			{Kind: chat.Thinking, Text: "I will call both."},
			{Kind: chat.ToolCall, ID: "f_1", Name: "f", Args: `{"day":"2023-09-29"}`},
			{Kind: chat.ToolCall, ID: "g_2", Name: "g", Args: "{}"}}}},
		Usage: chat.Usage{Input: 9, Output: 3, Reported: true},
	}},
	{"log probabilities", logProbsResponse, chat.Response{
		ID: "c3",
		Choices: []chat.Answer{{Finish: chat.FinishStopSeq, Parts: []chat.Part{text("Hi!")},
			LogProbs: `{"content":[{"token":"Hi","logprob":-0.25,"bytes":null,"top_logprobs":[]},` +
				`{"token":"!\n","logprob":-1.5,"bytes":null,"top_logprobs":[]}],"refusal":null}`}},
	}},
	{"max tokens", `{"finish_reason":"MAX_TOKENS","message":{}}`, chat.Response{Choices: []chat.Answer{{Finish: chat.FinishLength}}}},
	{"timeout", `{"finish_reason":"TIMEOUT","message":{}}`, chat.Response{Choices: []chat.Answer{{Finish: chat.FinishError}}}},
}

func TestResponses(t *testing.T) {
	for _, c := range responses {
		t.Run(c.name, func(t *testing.T) {
			got, ok := cohere.Response(gjson.Parse(c.body))
			if !ok || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", ok, got, c.want)
			}
		})
	}
}

func TestInvalidResponses(t *testing.T) {
	for _, body := range []string{``, `null`, `[]`, `{}`, `{"message":"invalid"}`, `{"message":{}}`, `{"message":{"content":"text"}}`} {
		if got, ok := cohere.Response(gjson.Parse(body)); ok {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

type event struct{ name, data string }

var streams = []struct {
	name   string
	events []event
	want   []chat.Delta
}{
	{
		"thinking, then text",
		[]event{
			{"message-start", `{"id":"29f1","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`},
			{"content-start", `{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}`},
			{"content-delta", `{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"Hm."}}}}`},
			{"content-end", `{"type":"content-end","index":0}`},
			{"content-start", `{"type":"content-start","index":1,"delta":{"message":{"content":{"type":"text","text":"A"}}}}`},
			{"content-delta", `{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"h\n"}}},"logprobs":{"text":"h\n","token_ids":[4],"logprobs":[-2]}}`},
			{"citation-start", `{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0,"end":1,"text":"A"}}}}`},
			{"citation-end", `{"type":"citation-end","index":0}`},
			{"content-end", `{"type":"content-end","index":1}`},
			{"message-end", `{"type":"message-end","id":"29f1","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":34,"output_tokens":12},"tokens":{"input_tokens":1250,"output_tokens":14},"cached_tokens":16}}}`},
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart, ID: "29f1"},
			{Kind: chat.DeltaThinking, Text: "Hm."},
			{Kind: chat.DeltaText, Text: "A"},
			{Kind: chat.DeltaText, Text: `h\n`},
			{Kind: chat.DeltaLogProbs, JSON: `{"content":[{"token":"h\n","logprob":-2,"bytes":null,"top_logprobs":[]}],"refusal":null}`},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 34, CachedInput: 16, Output: 12, Reported: true}},
			{Kind: chat.DeltaFinish, Finish: chat.FinishStop},
			{Kind: chat.DeltaEnd},
		},
	},
	{
		"a plan and tool calls, one without arguments",
		[]event{
			{"message-start", `{"type":"message-start","id":"m","delta":{"message":{"role":"assistant"}}}`},
			{"tool-plan-delta", `{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will"}}}`},
			{"tool-plan-delta", `{"type":"tool-plan-delta","delta":{"message":{"tool_plan":" call."}}}`},
			{"tool-call-start", `{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"f_1","type":"function","function":{"name":"f","arguments":""}}}}}`},
			{"tool-call-delta", `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\n    \""}}}}}`},
			{"tool-call-delta", `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"a\":1}"}}}}}`},
			{"tool-call-end", `{"type":"tool-call-end","index":0}`},
			{"tool-call-start", `{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"g_2","type":"function","function":{"name":"g","arguments":""}}}}}`},
			{"tool-call-end", `{"type":"tool-call-end","index":1}`},
			{"message-end", `{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}`},
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart, ID: "m"},
			{Kind: chat.DeltaThinking, Text: "I will"},
			{Kind: chat.DeltaThinking, Text: " call."},
			{Kind: chat.DeltaTool, ID: "f_1", Name: "f"},
			{Kind: chat.DeltaArgs, Text: `{\n    \"`},
			{Kind: chat.DeltaArgs, Text: `a\":1}`},
			{Kind: chat.DeltaTool, Index: 1, ID: "g_2", Name: "g"},
			{Kind: chat.DeltaArgs, Index: 1, Text: "{}"},
			{Kind: chat.DeltaFinish, Finish: chat.FinishTools},
			{Kind: chat.DeltaEnd},
		},
	},
	{
		"failure in message-end",
		[]event{
			{"message-start", `{"type":"message-start","id":"m"}`},
			{"message-end", `{"type":"message-end","delta":{"finish_reason":"ERROR","error":"internal error","usage":{"billed_units":{"input_tokens":3}}}}`},
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart, ID: "m"},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 3, Reported: true}},
			{Kind: chat.DeltaError, Name: "ERROR", Text: "internal error"},
		},
	},
	{
		"type only in the event's name, then an error without a type",
		[]event{{"message-start", `{"id":"m"}`}, {"", `{"id":"x","message":"too many requests"}`}},
		[]chat.Delta{{Kind: chat.DeltaStart, ID: "m"}, {Kind: chat.DeltaError, Text: "too many requests"}},
	},
}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			var s wire.State
			var got []chat.Delta
			for _, e := range c.events {
				var w abi.Writer
				s.Fields(abi.WriteTo(&w))
				s = wire.State{}
				s.Fields(abi.ReadFrom(&abi.Reader{Buf: w.Buf}))
				var ok bool
				if got, ok = cohere.Stream(&s, e.name, gjson.Parse(e.data), got); !ok {
					t.Errorf("rejected %v", e)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestInvalidEvents(t *testing.T) {
	for _, e := range []string{``, `null`, `7`, `[]`, `{}`, `{"message":{}}`} {
		var s wire.State
		if out, ok := cohere.Stream(&s, "", gjson.Parse(e), nil); ok || len(out) > 0 || s.Started {
			t.Errorf("%s: %+v", e, out)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status uint64
		body   string
		want   wire.Failure
	}{
		{400, `{"id":"i","message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."}`,
			wire.Failure{Kind: wire.FailTooLong, Message: "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."}},
		{400, `{"message":"invalid request: message must be at least 1 token long"}`, wire.Failure{Kind: wire.FailRejected, Message: "invalid request: message must be at least 1 token long"}},
		{422, `{"message":"unknown field"}`, wire.Failure{Kind: wire.FailRejected, Message: "unknown field"}},
		{401, `{"message":"invalid api token"}`, wire.Failure{Kind: wire.FailTarget, Message: "invalid api token"}},
		{402, `{"message":"billing"}`, wire.Failure{Kind: wire.FailTarget, Message: "billing"}},
		{404, `{"message":"model not found"}`, wire.Failure{Kind: wire.FailTarget, Message: "model not found"}},
		{429, `{"message":"limited to 20 API calls / minute"}`, wire.Failure{Kind: wire.FailBusy, Message: "limited to 20 API calls / minute"}},
		{429, `{"message":"limited to 1000 API calls / month"}`, wire.Failure{Kind: wire.FailTarget, Message: "limited to 1000 API calls / month"}},
		{499, `{}`, wire.Failure{Kind: wire.FailDown}},
		{503, ``, wire.Failure{Kind: wire.FailDown}},
		{400, `[1]`, wire.Failure{Kind: wire.FailRejected}},
	} {
		if got := cohere.Failure(c.status, gjson.Parse(c.body)); got != c.want {
			t.Errorf("%d %s: %+v", c.status, c.body, got)
		}
	}
}

const embedded = `{"id":"e","embeddings":{"float":[[0.1,-2],[3,4e-3]]},"texts":["a","b"],"meta":{"api_version":{"version":"2"},"billed_units":{"input_tokens":6}}}`

// TestEmbeddingsOfTokens: the API does not accept token IDs, so no request is built for them.
func TestEmbeddingsOfTokens(t *testing.T) {
	if a := cohere.EmbedRequest(&wire.EmbedCall{Tokens: []string{"[1,2]"}}); a.URL != "" {
		t.Errorf("sent to %s", a.URL)
	}
}

func TestEmbeddings(t *testing.T) {
	want := wire.Embedding{Vectors: []string{"[0.1,-2]", "[3,4e-3]"}, Usage: chat.Usage{Input: 6, Reported: true}}
	if got, ok := cohere.EmbedResponse(gjson.Parse(embedded)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %+v", ok, got)
	}
	for _, body := range []string{``, `{}`, `[]`, `{"embeddings":{"float":[]}}`, `{"embeddings":{"float":[[1],2]}}`, `{"embeddings":{"float":[[1],[]]}}`,
		`{"embeddings":{"float":[[null]]}}`, `{"embeddings":{"float":[["a"]]}}`, `{"embeddings":{"float":[[1e999]]}}`, `{"embeddings":{"float":{"a":[1]}}}`, `{"embeddings":[[1]]}`} {
		if got, ok := cohere.EmbedResponse(gjson.Parse(body)); ok {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. It also truncates the examples at
// every position. Nothing may panic. Log probabilities must be valid JSON.
func TestHostileValues(t *testing.T) {
	examples := []event{{"", textResponse}, {"", callResponse}, {"", logProbsResponse}, {"", embedded}}
	for _, s := range streams {
		examples = append(examples, s.events...)
	}
	for _, example := range examples {
		for n := range example.data {
			feed(t, event{example.name, example.data[:n]})
		}
		var v any
		if err := json.Unmarshal([]byte(example.data), &v); err != nil {
			t.Fatal(err)
		}
		mutate(&v, func() {
			text, _ := json.Marshal(v)
			feed(t, event{example.name, string(text)})
		})
	}
}

func feed(t *testing.T, e event) {
	root := gjson.Parse(e.data)
	r, _ := cohere.Response(root)
	for _, a := range r.Choices {
		if a.LogProbs != "" && json.Valid([]byte(e.data)) && !json.Valid([]byte(a.LogProbs)) {
			t.Errorf("%s: %s", e.data, a.LogProbs)
		}
	}
	for _, s := range []wire.State{{}, {Started: true, Tools: 2, Flags: 1}} {
		chat.Fold(first(cohere.Stream(&s, e.name, root, nil)))
	}
	cohere.Failure(400, root)
	cohere.EmbedResponse(root)
}

func first(d []chat.Delta, _ bool) []chat.Delta { return d }

// mutate replaces each value in v with values of other types, one at a time. After each change, it calls check.
func mutate(v *any, check func()) {
	old := *v
	for _, other := range []any{nil, true, -1.5, 1e300, "", "x", []any{}, []any{1.0, nil}, map[string]any{}, map[string]any{"a": nil}} {
		*v = other
		check()
	}
	*v = old
	switch c := old.(type) {
	case []any:
		for i := range c {
			mutate(&c[i], check)
		}
	case map[string]any:
		for k := range c {
			child := c[k]
			mutate(&child, func() { c[k] = child; check() })
			c[k] = child
		}
	}
}
