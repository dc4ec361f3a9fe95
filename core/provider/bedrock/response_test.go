package bedrock_test

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/bedrock"
	"github.com/postern-ai/postern/core/provider/wire"
)

var responses = []struct {
	name, json string
	want       chat.Response
}{
	{"text", `{"metrics":{"latencyMs":1275},"output":{"message":{"content":[{"text":"Hello \"you\""}],"role":"assistant"}},"stopReason":"end_turn",
		"usage":{"inputTokens":30,"outputTokens":12,"totalTokens":42}}`,
		chat.Response{
			Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: `Hello \"you\"`}}, Finish: chat.FinishStop}},
			Usage:   chat.Usage{Input: 30, Output: 12, Reported: true},
		}},
	{"tools and thinking", `{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2ln"}}},
		{"reasoningContent":{"redactedContent":"cmVk"}},{"text":"I look."},{"toolUse":{"toolUseId":"tooluse_a","name":"get_weather","input":{"city":"Paris"}}},
		{"toolUse":{"toolUseId":"x","name":"search","input":{},"type":"server_tool_use"}},{"toolUse":{"toolUseId":"tooluse_b","name":"now","input":{}}}]}},
		"stopReason":"tool_use","usage":{"inputTokens":562,"outputTokens":50,"totalTokens":3671,"cacheReadInputTokens":3059,"cacheWriteInputTokens":100,
		"cacheDetails":[{"ttl":"1h","inputTokens":60},{"ttl":"5m","inputTokens":40}]}}`,
		chat.Response{
			Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
				{Kind: chat.Thinking, Text: "Hm.", Signature: "c2ln"}, {Kind: chat.Redacted, Data: "cmVk"}, {Kind: chat.Text, Text: "I look."},
				{Kind: chat.ToolCall, ID: "tooluse_a", Name: "get_weather", Args: `{"city":"Paris"}`}, {Kind: chat.ToolCall, ID: "tooluse_b", Name: "now", Args: `{}`},
			}}},
			Usage: chat.Usage{Input: 3721, CachedInput: 3059, CacheWrite: 40, CacheWrite1h: 60, Output: 50, Reported: true},
		}},
	{"stop sequence", `{"output":{"message":{"content":[{"citationsContent":{"content":[{"text":"So it "},{"text":"is"}],"citations":[]}}]}},"stopReason":"stop_sequence",
		"additionalModelResponseFields":{"stop_sequence":"END"}}`,
		chat.Response{
			Choices:      []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: "So it "}, {Kind: chat.Text, Text: "is"}}, Finish: chat.FinishStopSeq}},
			StopSequence: "END",
		}},
	{"empty content", `{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"guardrail_intervened","usage":{"inputTokens":5,"outputTokens":0}}`,
		chat.Response{Choices: []chat.Answer{{Finish: chat.FinishFilter}}, Usage: chat.Usage{Input: 5, Reported: true}}},
}

func TestResponses(t *testing.T) {
	for _, c := range responses {
		if got, ok := bedrock.Response(gjson.Parse(c.json)); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", c.name, ok, got, c.want)
		}
	}
}

func TestInvalidResponses(t *testing.T) {
	for _, json := range []string{"", "null", "[]", "7", `"a"`, "{}", `{"output":{}}`, `{"output":{"message":{"content":"a"}}}`, `{"message":"Too many"}`} {
		if got, ok := bedrock.Response(gjson.Parse(json)); ok {
			t.Errorf("%s was parsed as %+v", json, got)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]chat.Finish{
		"end_turn": chat.FinishStop, "max_tokens": chat.FinishLength, "model_context_window_exceeded": chat.FinishLength, "content_filtered": chat.FinishFilter,
		"malformed_tool_use": chat.FinishError, "malformed_model_output": chat.FinishError, "": chat.FinishNone, "unknown_reason": chat.FinishStop,
	} {
		got, _ := bedrock.Response(gjson.Parse(`{"output":{"message":{"content":[{"text":"a"}]}},"stopReason":"` + reason + `"}`))
		if got.Choices[0].Finish != want {
			t.Errorf("%s: %d, want %d", reason, got.Choices[0].Finish, want)
		}
	}
}

type event struct{ name, json string }

var (
	started = event{"messageStart", `{"p":"abcdefgh","role":"assistant"}`}
	stopped = event{"contentBlockStop", `{"contentBlockIndex":0,"p":"abc"}`}
)

var streams = []struct {
	name   string
	events []event
	want   []chat.Delta
}{
	{"text", []event{
		started, {"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Hel"},"p":"ab"}`}, {"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"lo\n"}}`},
		{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":""}}`}, stopped, {"messageStop", `{"stopReason":"end_turn"}`},
		{"metadata", `{"metrics":{"latencyMs":500},"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cacheReadInputTokens":90,"cacheWriteInputTokens":0}}`},
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaText, Text: "Hel"}, {Kind: chat.DeltaText, Text: `lo\n`}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 100, CachedInput: 90, Output: 5, Reported: true}}, {Kind: chat.DeltaEnd},
	}},
	{"thinking and tools", []event{
		started, {"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`}, stopped,
		{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"cmVk"}}}`}, stopped,
		{"contentBlockStart", `{"contentBlockIndex":2,"start":{"toolUse":{"name":"get_weather","toolUseId":"tooluse_a"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"toolUse":{"input":""}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"city\":"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"toolUse":{"input":"\"Paris\"}"}}}`}, stopped,
		{"contentBlockStart", `{"contentBlockIndex":3,"start":{"toolUse":{"name":"search","toolUseId":"x","type":"server_tool_use"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{}"}}}`}, stopped,
		{"contentBlockStart", `{"contentBlockIndex":4,"start":{"toolResult":{"toolUseId":"x"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":4,"delta":{"toolResult":[{"text":"found"}]}}`}, stopped,
		{"contentBlockStart", `{"contentBlockIndex":5,"start":{"toolUse":{"name":"now","toolUseId":"tooluse_b"}}}`}, stopped,
		{"messageStop", `{"stopReason":"tool_use"}`},
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaThinking, Text: "Hm."}, {Kind: chat.DeltaSignature, Text: "c2ln"}, {Kind: chat.DeltaRedacted, Text: "cmVk"},
		{Kind: chat.DeltaTool, Index: 0, ID: "tooluse_a", Name: "get_weather"}, {Kind: chat.DeltaArgs, Index: 0, Text: `{\"city\":`},
		{Kind: chat.DeltaArgs, Index: 0, Text: `\"Paris\"}`}, {Kind: chat.DeltaTool, Index: 1, ID: "tooluse_b", Name: "now"},
		{Kind: chat.DeltaArgs, Index: 1, Text: `{}`}, {Kind: chat.DeltaFinish, Finish: chat.FinishTools},
	}},
	{"stop sequence", []event{started, {"messageStop", `{"stopReason":"stop_sequence","additionalModelResponseFields":{"stop_sequence":"END"}}`}, {"metadata", `{}`}},
		[]chat.Delta{{Kind: chat.DeltaStart}, {Kind: chat.DeltaFinish, Finish: chat.FinishStopSeq, Text: "END"}, {Kind: chat.DeltaEnd}}},
	{"exception as the first event", []event{{"throttlingException", `{"message":"Too many requests, please wait before trying again."}`}},
		[]chat.Delta{{Kind: chat.DeltaError, Name: "throttlingException", Text: "Too many requests, please wait before trying again."}}},
	{"exception within the stream", []event{started, {"modelStreamErrorException", `{"originalMessage":"gone","originalStatusCode":500}`}},
		[]chat.Delta{{Kind: chat.DeltaStart}, {Kind: chat.DeltaError, Name: "modelStreamErrorException", Text: "gone"}}},
	{"error without a payload", []event{{"InternalError", ``}}, []chat.Delta{{Kind: chat.DeltaError, Name: "InternalError"}}},
	{"no messageStart", []event{{"contentBlockDelta", `{"delta":{"text":"Hi"}}`}, {"unknownEvent", `{}`}}, []chat.Delta{{Kind: chat.DeltaStart}, {Kind: chat.DeltaText, Text: "Hi"}}},
	{"arguments without a tool call", []event{started, {"contentBlockDelta", `{"delta":{"toolUse":{"input":"{}"}}}`}}, []chat.Delta{{Kind: chat.DeltaStart}}},
}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		var s wire.State
		var got []chat.Delta
		for _, e := range c.events {
			ok := false
			if got, ok = bedrock.Stream(&s, e.name, gjson.Parse(e.json), got); !ok {
				t.Errorf("%s: %s %s was rejected", c.name, e.name, e.json)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
		}
	}
	for _, e := range []event{{"", "{}"}, {"messageStart", "null"}, {"metadata", "[]"}, {"contentBlockDelta", `"a"`}} {
		if got, ok := bedrock.Stream(&wire.State{}, e.name, gjson.Parse(e.json), nil); ok {
			t.Errorf("%s %s was parsed as %+v", e.name, e.json, got)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status uint64
		json   string
		want   wire.Failure
	}{
		{400, `{"message":"Input is too long for requested model."}`, wire.Failure{Kind: wire.FailTooLong, Message: "Input is too long for requested model."}},
		{400, `{"message":"The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum"}`,
			wire.Failure{Kind: wire.FailTooLong, Message: "The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum"}},
		{400, `{"message":"The provided model identifier is invalid."}`, wire.Failure{Kind: wire.FailTarget, Message: "The provided model identifier is invalid."}},
		{400, `{"message":"Your request exceeds the service quota for your account."}`, wire.Failure{Kind: wire.FailBusy, Message: "Your request exceeds the service quota for your account."}},
		{400, `{"message":"1 validation error detected"}`, wire.Failure{Kind: wire.FailRejected, Message: "1 validation error detected"}},
		{403, `{"Message":"Authentication failed"}`, wire.Failure{Kind: wire.FailTarget, Message: "Authentication failed"}},
		{403, `{"message":"The security token included in the request is expired"}`, wire.Failure{Kind: wire.FailTarget, Message: "The security token included in the request is expired"}},
		{404, `{"message":"This model version has reached the end of its life."}`, wire.Failure{Kind: wire.FailTarget, Message: "This model version has reached the end of its life."}},
		{408, `{}`, wire.Failure{Kind: wire.FailDown}},
		{424, `{"message":"The system encountered an unexpected error","originalStatusCode":500}`, wire.Failure{Kind: wire.FailDown, Message: "The system encountered an unexpected error"}},
		{429, `{"message":"Too many tokens, please wait before trying again."}`, wire.Failure{Kind: wire.FailBusy, Message: "Too many tokens, please wait before trying again."}},
		{500, ``, wire.Failure{Kind: wire.FailDown}},
		{503, `{"message":["a"]}`, wire.Failure{Kind: wire.FailDown}},
	} {
		if got := bedrock.Failure(c.status, gjson.Parse(c.json)); got != c.want {
			t.Errorf("%d %s: %+v", c.status, c.json, got)
		}
	}
}

func TestEmbeddings(t *testing.T) {
	for _, c := range []struct {
		json string
		want wire.Embedding
		ok   bool
	}{
		{`{"embedding":[0.5,-1e-3],"inputTextTokenCount":7}`, wire.Embedding{Vectors: []string{"[0.5,-1e-3]"}, Usage: chat.Usage{Input: 7, Reported: true}}, true},
		{`{"embeddings":{"float":[[1],[2]]},"id":"a","response_type":"embeddings_by_type","texts":["a","b"]}`, wire.Embedding{Vectors: []string{"[1]", "[2]"}}, true},
		{`{"embeddings":[[1,2]],"response_type":"embeddings_floats"}`, wire.Embedding{Vectors: []string{"[1,2]"}}, true},
		{`{"embeddings":{"float":[1]}}`, wire.Embedding{}, false},
		{`{"embeddings":{"float":{"a":[1]}}}`, wire.Embedding{}, false},
		{`{"embeddings":[]}`, wire.Embedding{}, false},
		{`{"embeddings":[[1],[]]}`, wire.Embedding{}, false},
		{`{"embeddings":{"float":[[1],[1e999]]}}`, wire.Embedding{}, false},
		{`{"embedding":[]}`, wire.Embedding{}, false},
		{`{"embedding":[1,"a"]}`, wire.Embedding{}, false},
		{`{"embedding":null}`, wire.Embedding{}, false},
		{`{"message":"no"}`, wire.Embedding{}, false},
	} {
		if got, ok := bedrock.EmbedResponse(gjson.Parse(c.json)); ok != c.ok || ok && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v %+v", c.json, ok, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. Nothing may panic. Callers pass
// only valid JSON.
func TestHostileValues(t *testing.T) {
	var all []string
	for _, c := range responses {
		all = append(all, c.json)
	}
	for _, c := range streams {
		for _, e := range c.events {
			all = append(all, e.json)
		}
	}
	for _, json := range all {
		for i := range json {
			for _, other := range []string{"null", "7", "-1e400", `""`, `"\ud800"`, "[]", "[[]]", "{}", `{"a":{}}`, "true"} {
				if end := valueEnd(json, i); end > i {
					feed(json[:i] + other + json[end:])
				}
			}
		}
	}
}

// valueEnd returns the end of the value at i. If no value starts there, it returns i.
func valueEnd(json string, i int) int {
	if i > 0 && json[i-1] != ':' && json[i-1] != '[' && json[i-1] != ',' {
		return i
	}
	return i + len(gjson.Parse(json[i:]).Raw)
}

func feed(json string) {
	if jsontext.Check([]byte(json)) != jsontext.OK {
		return
	}
	root := gjson.Parse(json)
	bedrock.Response(root)
	bedrock.EmbedResponse(root)
	bedrock.Failure(400, root)
	var s wire.State
	for range 2 {
		for _, name := range []string{"", "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "validationException"} {
			bedrock.Stream(&s, name, root, nil)
		}
	}
}
