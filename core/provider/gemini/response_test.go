package gemini_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/gemini"
	"github.com/postern-ai/postern/core/provider/wire"
)

const (
	textResponse = `{"candidates":[{"content":{"parts":[{"text":"Hello"},{"text":" there.","thoughtSignature":"dGV4dA=="}],"role":"model"},
	  "finishReason":"STOP","index":0,"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]}],
	 "usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":64,"candidatesTokenCount":5,"thoughtsTokenCount":20,
	  "toolUsePromptTokenCount":7,"totalTokenCount":132,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100}]},
	 "modelVersion":"gemini-3.8-flash","responseId":"Xq0gaZrN"}`
	callResponse = `{"candidates":[{"content":{"role":"model","parts":[{"text":"I need both.","thought":true},
	  {"functionCall":{"id":"fc1","name":"weather","args":{"city":"Paris \"Nord\""}},"thoughtSignature":"c2ln"},
	  {"functionCall":{"name":"now"}}]},"finishReason":"STOP","finishMessage":"Model generated function call(s)."}],
	 "usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":10,"totalTokenCount":50},"responseId":"Rid_1"}`
	blockedResponse = `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},
	 "modelVersion":"gemini-2.5-flash","responseId":"b1"}`
	twoCandidates = `{"candidates":[{"content":{"parts":[{"text":"one"}]},"finishReason":"MAX_TOKENS"},
	  {"content":{"parts":[{"text":"two"}]},"finishReason":"SAFETY","index":1}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}`
	logProbsResponse = `{"candidates":[{"content":{"parts":[{"text":"Hi\n"}]},"finishReason":"STOP","avgLogprobs":-0.2,"logprobsResult":{
	  "topCandidates":[{"candidates":[{"token":"Hi","tokenId":1,"logProbability":-0.1},{"token":"Yo","logProbability":-3}]}],
	  "chosenCandidates":[{"token":"Hi","tokenId":1,"logProbability":-0.1},{"token":"\n"}]}}],"usageMetadata":{"promptTokenCount":1}}`
)

var responses = []struct {
	name, body string
	want       chat.Response
}{
	{"text", textResponse, chat.Response{
		ID: "Xq0gaZrN", Model: "gemini-3.8-flash",
		Choices: []chat.Answer{{Parts: []chat.Part{text("Hello there.")}, Finish: chat.FinishStop}},
		Usage:   chat.Usage{Input: 107, CachedInput: 64, Output: 25, Reasoning: 20, Reported: true},
	}},
	{"function calls", callResponse, chat.Response{
		ID: "Rid_1",
		Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
			{Kind: chat.Thinking, Text: "I need both.", Signature: "gemini:c2ln"},
			{Kind: chat.ToolCall, ID: "fc1", Name: "weather", Args: `{"city":"Paris \"Nord\""}`},
			{Kind: chat.ToolCall, ID: "call_1_Rid_1", Name: "now", Args: "{}"},
		}}},
		Usage: chat.Usage{Input: 40, Output: 10, Reported: true},
	}},
	{"blocked prompt", blockedResponse, chat.Response{
		ID: "b1", Model: "gemini-2.5-flash", Choices: []chat.Answer{{Finish: chat.FinishFilter}},
		Usage: chat.Usage{Input: 9, Reported: true},
	}},
	{"two candidates", twoCandidates, chat.Response{
		Choices: []chat.Answer{{Parts: []chat.Part{text("one")}, Finish: chat.FinishLength}, {Parts: []chat.Part{text("two")}, Finish: chat.FinishFilter}},
		Usage:   chat.Usage{Input: 1, Output: 2, Reported: true},
	}},
	{"log probabilities", logProbsResponse, chat.Response{
		Choices: []chat.Answer{{Parts: []chat.Part{text(`Hi\n`)}, Finish: chat.FinishStop,
			LogProbs: `{"content":[{"token":"Hi","logprob":-0.1,"bytes":null,"top_logprobs":[` +
				`{"token":"Hi","logprob":-0.1,"bytes":null},{"token":"Yo","logprob":-3,"bytes":null}]},` +
				`{"token":"\n","logprob":0,"bytes":null,"top_logprobs":[]}],"refusal":null}`}},
		Usage: chat.Usage{Input: 1, Reported: true},
	}},
	{"malformed function call", `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]}`, chat.Response{
		Choices: []chat.Answer{{Finish: chat.FinishError}},
	}},
}

func TestResponses(t *testing.T) {
	for _, c := range responses {
		t.Run(c.name, func(t *testing.T) {
			got, ok := gemini.Response(gjson.Parse(c.body))
			if !ok || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", ok, got, c.want)
			}
		})
	}
}

func TestInvalidResponses(t *testing.T) {
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `"x"`, `{"candidates":[]}`, `{"candidates":{}}`, `{"candidates":[1,{}]}`, `{"usageMetadata":{"promptTokenCount":3}}`,
		`{"error":{"code":500}}`, `{"choices":[{"message":{"content":"x"}}]}`, `{"promptFeedback":{}}`,
	} {
		if got, ok := gemini.Response(gjson.Parse(body)); ok {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

var streams = []struct {
	name   string
	events []string
	want   []chat.Delta
}{
	{
		"thinking, then text; finish reason in the last chunk",
		[]string{
			`{"candidates":[{"content":{"parts":[{"text":"Let me","thought":true}],"role":"model"},"index":0}],
			  "usageMetadata":{"promptTokenCount":8,"totalTokenCount":8},"modelVersion":"gemini-3.8-flash","responseId":"r"}`,
			`{"candidates":[{"content":{"parts":[{"text":"Bonjour"}],"role":"model"},"index":0}],
			  "usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":2,"thoughtsTokenCount":4},"modelVersion":"gemini-3.8-flash","responseId":"r"}`,
			`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP","index":0}],
			  "usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":3,"thoughtsTokenCount":4},"modelVersion":"gemini-3.8-flash","responseId":"r"}`,
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart, ID: "r", Model: "gemini-3.8-flash"},
			{Kind: chat.DeltaThinking, Text: "Let me"},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 8, Reported: true}},
			{Kind: chat.DeltaText, Text: "Bonjour"},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 8, Output: 6, Reasoning: 4, Reported: true}},
			{Kind: chat.DeltaFinish, Finish: chat.FinishStop},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 8, Output: 7, Reasoning: 4, Reported: true}},
			{Kind: chat.DeltaEnd},
		},
	},
	{
		"function calls in separate chunks",
		[]string{
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]}}],"responseId":"r"}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"g","args":{}}}]}}],"responseId":"r"}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2},"responseId":"r"}`,
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart, ID: "r"},
			{Kind: chat.DeltaSignature, Text: "gemini:c2ln"},
			{Kind: chat.DeltaTool, ID: "call_0_r", Name: "f"},
			{Kind: chat.DeltaArgs, Text: `{\"a\":1}`},
			{Kind: chat.DeltaTool, Index: 1, ID: "call_1_r", Name: "g"},
			{Kind: chat.DeltaArgs, Index: 1, Text: "{}"},
			{Kind: chat.DeltaFinish, Finish: chat.FinishTools},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 1, Output: 2, Reported: true}},
			{Kind: chat.DeltaEnd},
		},
	},
	{
		"two candidates: the stream ends with the last one",
		[]string{
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"functionCall":{"id":"i","name":"f"}}]},"index":1}]}`,
			`{"candidates":[{"finishReason":"STOP","index":1}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"RECITATION","index":0}]}`,
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart},
			{Kind: chat.DeltaText, Text: "a"},
			{Kind: chat.DeltaTool, Choice: 1, ID: "i", Name: "f"},
			{Kind: chat.DeltaArgs, Choice: 1, Text: "{}"},
			{Kind: chat.DeltaFinish, Choice: 1, Finish: chat.FinishTools},
			{Kind: chat.DeltaText, Text: "b"},
			{Kind: chat.DeltaFinish, Finish: chat.FinishFilter},
			{Kind: chat.DeltaEnd},
		},
	},
	{
		"blocked prompt",
		[]string{blockedResponse},
		[]chat.Delta{
			{Kind: chat.DeltaStart, ID: "b1", Model: "gemini-2.5-flash"},
			{Kind: chat.DeltaFinish, Finish: chat.FinishFilter},
			{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 9, Reported: true}},
			{Kind: chat.DeltaEnd},
		},
	},
	{
		"error within the stream",
		[]string{
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`,
			`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`,
		},
		[]chat.Delta{
			{Kind: chat.DeltaStart}, {Kind: chat.DeltaText, Text: "a"},
			{Kind: chat.DeltaError, Name: "UNAVAILABLE", Text: "The model is overloaded."},
		},
	},
}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			got := play(t, c.events)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// play parses events one by one. Between events, it serializes the state like an exchange whose stream waits.
func play(t *testing.T, events []string) (out []chat.Delta) {
	t.Helper()
	var s wire.State
	for _, e := range events {
		var w abi.Writer
		s.Fields(abi.WriteTo(&w))
		s = wire.State{}
		s.Fields(abi.ReadFrom(&abi.Reader{Buf: w.Buf}))
		var ok bool
		if out, ok = gemini.Stream(&s, "", gjson.Parse(e), out); !ok {
			t.Errorf("rejected %s", e)
		}
	}
	return out
}

// TestRoundTrip checks that a folded stream is sent back to the model unchanged.
func TestRoundTrip(t *testing.T) {
	answer := chat.Fold(play(t, streams[1].events)).Choices[0]
	r := chat.Request{Messages: []chat.Message{newMessage(chat.User, text("x")), {Role: chat.Assistant, Parts: answer.Parts}}}
	sameJSON(t, gemini.Body(&wire.Call{Model: model("gemini-3.8-flash"), Request: &r}),
		`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[
		  {"functionCall":{"id":"call_0_r","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"},
		  {"functionCall":{"id":"call_1_r","name":"g","args":{}}}]}],"generationConfig":{}}`)
}

func TestInvalidEvents(t *testing.T) {
	for _, e := range []string{``, `null`, `7`, `[]`, `{}`, `{"candidates":{}}`, `{"type":"message_start"}`} {
		var s wire.State
		if out, ok := gemini.Stream(&s, "", gjson.Parse(e), nil); ok || len(out) > 0 || s.Started {
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
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT",
		  "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`,
			wire.Failure{Kind: wire.FailTarget, Message: "API key not valid. Please pass a valid API key."}},
		{400, `{"error":{"message":"No.","status":"INVALID_ARGUMENT","details":[{},{"reason":"API_KEY_INVALID"}]}}`, wire.Failure{Kind: wire.FailTarget, Message: "No."}},
		{400, `{"error":{"message":"API key expired. Please renew the API key."}}`, wire.Failure{Kind: wire.FailTarget, Message: "API key expired. Please renew the API key."}},
		{400, `{"error":{"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`,
			wire.Failure{Kind: wire.FailTarget, Message: "User location is not supported for the API use."}},
		{400, `[{"error":{"message":"The input token count (314175) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]`,
			wire.Failure{Kind: wire.FailTooLong, Message: "The input token count (314175) exceeds the maximum number of tokens allowed (131072)."}},
		{400, `{"error":{"message":"Invalid value at 'contents'","status":"INVALID_ARGUMENT"}}`, wire.Failure{Kind: wire.FailRejected, Message: "Invalid value at 'contents'"}},
		{429, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`,
			wire.Failure{Kind: wire.FailBusy, Message: "Resource has been exhausted (e.g. check quota)."}},
		{429, `{"error":{"message":"Your prepayment credits are depleted."}}`, wire.Failure{Kind: wire.FailTarget, Message: "Your prepayment credits are depleted."}},
		{403, `{"error":{"message":"denied","status":"PERMISSION_DENIED"}}`, wire.Failure{Kind: wire.FailTarget, Message: "denied"}},
		{404, `{"error":{"message":"models/x is not found","status":"NOT_FOUND"}}`, wire.Failure{Kind: wire.FailTarget, Message: "models/x is not found"}},
		{499, `{"error":{"status":"CANCELLED"}}`, wire.Failure{Kind: wire.FailDown}},
		{503, `{"error":{"message":"overloaded","status":"UNAVAILABLE"}}`, wire.Failure{Kind: wire.FailDown, Message: "overloaded"}},
		{504, ``, wire.Failure{Kind: wire.FailDown}},
		{400, `{"error":"x"}`, wire.Failure{Kind: wire.FailRejected}},
		{400, `[]`, wire.Failure{Kind: wire.FailRejected}},
	} {
		if got := gemini.Failure(c.status, gjson.Parse(c.body)); got != c.want {
			t.Errorf("%d %s: %+v", c.status, c.body, got)
		}
	}
}

const embedded = `{"embeddings":[{"values":[0.1,-2]},{"values":[3,4e-3]}],"usageMetadata":{"promptTokenCount":6}}`

// TestEmbeddingsOfTokens: the API does not accept token IDs, so no request is built for them.
func TestEmbeddingsOfTokens(t *testing.T) {
	if a := gemini.EmbedRequest(&wire.EmbedCall{Tokens: []string{"[1,2]"}}); a.URL != "" {
		t.Errorf("sent to %s", a.URL)
	}
}

func TestEmbeddings(t *testing.T) {
	want := wire.Embedding{Vectors: []string{"[0.1,-2]", "[3,4e-3]"}, Usage: chat.Usage{Input: 6, Reported: true}}
	if got, ok := gemini.EmbedResponse(gjson.Parse(embedded)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %+v", ok, got)
	}
	if got, ok := gemini.EmbedResponse(gjson.Parse(`{"embeddings":[{"values":[1]}]}`)); !ok || got.Usage.Reported {
		t.Errorf("%v %+v", ok, got)
	}
	for _, body := range []string{``, `{}`, `[]`, `{"embeddings":[]}`, `{"embeddings":[{"values":[1]},{}]}`, `{"embeddings":[{"values":1}]}`,
		`{"embeddings":[{"values":[]}]}`, `{"embeddings":[{"values":[1,null]}]}`, `{"embeddings":[{"values":[-1e999]}]}`, `{"embeddings":{"a":{"values":[1]}}}`} {
		if got, ok := gemini.EmbedResponse(gjson.Parse(body)); ok {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. It also truncates the examples at
// every position. Nothing may panic. Log probabilities must be valid JSON.
func TestHostileValues(t *testing.T) {
	examples := []string{textResponse, callResponse, blockedResponse, twoCandidates, logProbsResponse, embedded}
	for _, s := range streams {
		examples = append(examples, s.events...)
	}
	for _, example := range examples {
		for n := range example {
			feed(t, example[:n])
		}
		var v any
		if err := json.Unmarshal([]byte(example), &v); err != nil {
			t.Fatal(err)
		}
		mutate(&v, func() {
			text, _ := json.Marshal(v)
			feed(t, string(text))
		})
	}
}

func feed(t *testing.T, body string) {
	root := gjson.Parse(body)
	r, _ := gemini.Response(root)
	for _, a := range r.Choices {
		if a.LogProbs != "" && json.Valid([]byte(body)) && !json.Valid([]byte(a.LogProbs)) {
			t.Errorf("%s: %s", body, a.LogProbs)
		}
	}
	s := wire.State{Flags: 3, Block: 1<<63 - 1, Tools: 5}
	chat.Fold(first(gemini.Stream(&s, "x", root, nil)))
	gemini.Failure(400, root)
	gemini.EmbedResponse(root)
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
