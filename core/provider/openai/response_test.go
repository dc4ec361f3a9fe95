package openai_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

var responses = []struct {
	name, json string
	want       chat.Response
}{
	{"OpenAI", `{"id":"chatcmpl-B9MBs8","object":"chat.completion","created":1741569952,"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"message":{"role":"assistant",
		"content":"Hello! \"Hi\"","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1900,"completion_tokens":10,"total_tokens":1910,
		"prompt_tokens_details":{"cached_tokens":1024,"cache_write_tokens":512,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":0}},"service_tier":"default"}`,
		chat.Response{
			ID: "chatcmpl-B9MBs8", Model: "gpt-4.1-2025-04-14", Created: 1741569952,
			Choices: []chat.Answer{{Parts: []chat.Part{text(`Hello! \"Hi\"`)}, Finish: chat.FinishStop}},
			Usage:   chat.Usage{Input: 1900, CachedInput: 1024, CacheWrite: 512, Output: 10, Reasoning: 4, Reported: true, Extras: &chat.Extras{Terms: "service_tier="}},
		}},
	{"several choices with log probabilities", `{"choices":[{"index":0,"message":{"content":"a"},"logprobs":{"content":[]},"finish_reason":"length"},
		{"index":1,"message":{"content":null,"refusal":"No."},"finish_reason":"content_filter"}]}`,
		chat.Response{Choices: []chat.Answer{
			{Parts: []chat.Part{text("a")}, Finish: chat.FinishLength, LogProbs: `{"content":[]}`}, {Parts: []chat.Part{{Kind: chat.Refusal, Text: "No."}}, Finish: chat.FinishFilter},
		}}},
	{"tool calls", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Par\u00eds\"}"}},
		{"id":"call_2","function":{"name":"now","arguments":""}},{"id":"call_3","function":{"name":"now","arguments":{"a":1}}},{"id":"call_4","function":{"name":"now","arguments":"[1]"}},
		{"id":"call_5","function":{"name":"now","arguments":"{\"a\":"}},{"id":"call_6","function":{"name":"now","arguments":"null"}},{"id":"call_7","function":{"name":"now"}}]},
		"finish_reason":"tool_calls"}]}`,
		chat.Response{Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
			{Kind: chat.ToolCall, ID: "call_1", Name: "get_weather", Args: `{"city": "París"}`}, {Kind: chat.ToolCall, ID: "call_2", Name: "now", Args: `{}`},
			{Kind: chat.ToolCall, ID: "call_3", Name: "now", Args: `{"a":1}`}, {Kind: chat.ToolCall, ID: "call_4", Name: "now", Args: `{"_invalid":"[1]"}`},
			{Kind: chat.ToolCall, ID: "call_5", Name: "now", Args: `{"_invalid":"{\"a\":"}`}, {Kind: chat.ToolCall, ID: "call_6", Name: "now", Args: `{}`},
			{Kind: chat.ToolCall, ID: "call_7", Name: "now", Args: `{}`},
		}}}}},
	{"null tool_calls", `{"choices":[{"message":{"content":"a","tool_calls":null},"finish_reason":"stop"}]}`,
		chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{text("a")}, Finish: chat.FinishStop}}}},
	{"DeepSeek", `{"choices":[{"message":{"role":"assistant","content":"9.8","reasoning_content":"Hm.","tool_calls":[]},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":17,"completion_tokens":150,"total_tokens":167,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":100},
		"prompt_cache_hit_tokens":10,"prompt_cache_miss_tokens":7}}`,
		chat.Response{
			Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Thinking, Text: "Hm."}, text("9.8")}, Finish: chat.FinishStop}},
			Usage:   chat.Usage{Input: 17, CachedInput: 10, Output: 150, Reasoning: 100, Reported: true},
		}},
	{"DeepSeek, aborted", `{"choices":[{"message":{"content":"9"},"finish_reason":"insufficient_system_resource"}]}`,
		chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{text("9")}, Finish: chat.FinishError}}}},
	{"xAI", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":151,"completion_tokens_details":{"reasoning_tokens":110},
		"prompt_tokens_details":{"text_tokens":32,"cached_tokens":40}}}`,
		chat.Response{
			Choices: []chat.Answer{{Parts: []chat.Part{text("a")}, Finish: chat.FinishStop}},
			Usage:   chat.Usage{Input: 32, CachedInput: 32, Output: 119, Reasoning: 110, Reported: true},
		}},
	{"both names for thinking", `{"choices":[{"message":{"reasoning":"Hm.","reasoning_content":"Hm.","content":"a"},"finish_reason":"stop","native_finish_reason":"completed"}],"provider":"Some"}`,
		chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Thinking, Text: "Hm."}, text("a")}, Finish: chat.FinishStop}}}},
}

func TestResponses(t *testing.T) {
	for _, c := range responses {
		if got, ok := openai.Response(gjson.Parse(c.json)); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", c.name, ok, got, c.want)
		}
	}
}

func TestInvalidResponses(t *testing.T) {
	for _, json := range []string{
		"", "null", "[]", "7", `"a"`, "{}", `{"choices":null}`, `{"choices":[]}`, `{"choices":"a"}`, `{"choices":[null]}`, `{"choices":[{"message":null,"finish_reason":"stop"}]}`,
		`{"choices":[{"message":{}}]}`, `{"choices":[{"message":{"content":7},"finish_reason":"stop"}]}`, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"},{}]}`,
		`{"error":{"message":"no"}}`,
	} {
		if got, ok := openai.Response(gjson.Parse(json)); ok {
			t.Errorf("%s was parsed as %+v", json, got)
		}
	}
}

var streams = []struct {
	name   string
	chunks []string
	want   []chat.Delta
}{
	{"OpenAI", []string{
		`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"a"}`,
		`{"id":"c1","model":"gpt-4.1","choices":[{"index":0,"delta":{"content":"Hi\n"},"logprobs":{"content":[{"token":"Hi"}]},"finish_reason":null}],"usage":null}`,
		`{"id":"c1","model":"gpt-4.1","choices":[{"index":1,"delta":{"refusal":"No."},"finish_reason":null}],"usage":null}`,
		`{"id":"c1","model":"gpt-4.1","choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{},"finish_reason":"length"}],"usage":null}`,
		`{"id":"c1","model":"gpt-4.1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart, ID: "c1", Model: "gpt-4.1"}, {Kind: chat.DeltaText, Text: `Hi\n`}, {Kind: chat.DeltaLogProbs, JSON: `{"content":[{"token":"Hi"}]}`},
		{Kind: chat.DeltaRefusal, Choice: 1, Text: "No."}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop}, {Kind: chat.DeltaFinish, Choice: 1, Finish: chat.FinishLength},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 9, Output: 2, Reported: true}},
	}},
	{"tool calls in pieces", []string{
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"ci"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"now","arguments":"{"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"arguments":"ty\":1}"}},{"index":1,"id":"","function":{"name":null,"arguments":"}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":null},"finish_reason":"tool_calls"}]}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaTool, Index: 0, ID: "call_1", Name: "get_weather"}, {Kind: chat.DeltaArgs, Index: 0, Text: `{\"ci`},
		{Kind: chat.DeltaTool, Index: 1, ID: "call_2", Name: "now"}, {Kind: chat.DeltaArgs, Index: 1, Text: "{"}, {Kind: chat.DeltaArgs, Index: 0, Text: `ty\":1}`},
		{Kind: chat.DeltaArgs, Index: 1, Text: "}"}, {Kind: chat.DeltaFinish, Finish: chat.FinishTools},
	}},
	{"tool calls without indexes", []string{
		`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"now","arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"now","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"then","arguments":"{}"}}]}}]}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaTool, Index: 0, ID: "a", Name: "now"}, {Kind: chat.DeltaArgs, Index: 0, Text: "{}"}, {Kind: chat.DeltaTool, Index: 1, ID: "b", Name: "now"},
		{Kind: chat.DeltaArgs, Index: 1, Text: "{"}, {Kind: chat.DeltaArgs, Index: 1, Text: "}"}, {Kind: chat.DeltaTool, Index: 2, Name: "then"}, {Kind: chat.DeltaArgs, Index: 2, Text: "{}"},
	}},
	{"calls that share the index 0", []string{
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":0,"id":"a","function":{"name":"f","arguments":" "}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c","function":{"name":"h","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaTool, ID: "a", Name: "f"}, {Kind: chat.DeltaArgs, Text: `{\"x\"`}, {Kind: chat.DeltaArgs, Text: `:1}`},
		{Kind: chat.DeltaTool, Index: 1, ID: "b", Name: "g"}, {Kind: chat.DeltaArgs, Index: 1, Text: "{"}, {Kind: chat.DeltaArgs, Index: 1, Text: "}"},
		{Kind: chat.DeltaArgs, Text: " "}, {Kind: chat.DeltaTool, Index: 2, ID: "c", Name: "h"}, {Kind: chat.DeltaArgs, Index: 2, Text: "{}"},
		{Kind: chat.DeltaFinish, Finish: chat.FinishTools},
	}},
	{"calls of two choices", []string{
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}},` +
			`{"index":1,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}},{"index":1,"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaTool, ID: "a", Name: "f"}, {Kind: chat.DeltaArgs, Text: "{"}, {Kind: chat.DeltaTool, Choice: 1, ID: "b", Name: "g"},
		{Kind: chat.DeltaArgs, Choice: 1, Text: "{"}, {Kind: chat.DeltaArgs, Text: "}"}, {Kind: chat.DeltaArgs, Choice: 1, Text: "}"},
	}},
	{"arguments before the name", []string{
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":":"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"1"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaTool, ID: "a", Name: "f"}, {Kind: chat.DeltaArgs, Text: `{\"x\":1`}, {Kind: chat.DeltaArgs, Text: "}"},
		{Kind: chat.DeltaFinish, Finish: chat.FinishTools},
	}},
	{"DeepSeek", []string{
		`{"id":"d","model":"deepseek-reasoner","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Hm."},"finish_reason":null}]}`,
		`{"id":"d","model":"deepseek-reasoner","choices":[{"index":0,"delta":{"content":"9","reasoning_content":null},"finish_reason":null}]}`,
		`{"id":"d","model":"deepseek-reasoner","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"prompt_cache_hit_tokens":2}}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart, ID: "d", Model: "deepseek-reasoner"}, {Kind: chat.DeltaThinking, Text: "Hm."}, {Kind: chat.DeltaText, Text: "9"}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 5, CachedInput: 2, Output: 3, Reported: true}},
	}},
	{"Groq", []string{
		`{"id":"g","model":"llama","choices":[{"index":0,"delta":{"role":"assistant","reasoning":"Hm.","reasoning_content":"Hm."},"finish_reason":null}],"x_groq":{"id":"req_1"}}`,
		`{"id":"g","model":"llama","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"prompt_tokens":5,"completion_tokens":3}}}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart, ID: "g", Model: "llama"}, {Kind: chat.DeltaThinking, Text: "Hm."}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 5, Output: 3, Reported: true}},
	}},
	{"xAI, cumulative usage", []string{
		`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":106,"completion_tokens_details":{"reasoning_tokens":100}}}`,
		`{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":107,"completion_tokens_details":{"reasoning_tokens":100}}}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaText, Text: "a"}, {Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 5, Output: 101, Reasoning: 100, Reported: true}},
		{Kind: chat.DeltaText, Text: "b"}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop}, {Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 5, Output: 102, Reasoning: 100, Reported: true}},
	}},
	{"OpenRouter, error within the stream", []string{
		`{"id":"gen-1","provider":"Some","model":"a/b","choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":null,"native_finish_reason":null}]}`,
		`{"id":"gen-1","error":{"code":502,"message":"Provider disconnected","metadata":{}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`,
	}, []chat.Delta{
		{Kind: chat.DeltaStart, ID: "gen-1", Model: "a/b"}, {Kind: chat.DeltaText, Text: "a"}, {Kind: chat.DeltaError, Text: "Provider disconnected"},
	}},
	{"error as the first event", []string{`{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`},
		[]chat.Delta{{Kind: chat.DeltaError, Name: "server_error", Text: "The server had an error"}}},
	{"error after content and usage", []string{`{"id":"c","choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1},"error":{"message":"Gone"}}`},
		[]chat.Delta{{Kind: chat.DeltaError, Text: "Gone"}}},
	{"error null", []string{`{"error":null,"choices":[{"delta":{"content":"a"}}],"usage":null}`}, []chat.Delta{{Kind: chat.DeltaStart}, {Kind: chat.DeltaText, Text: "a"}}},
	{"error as a string", []string{`{"code":"unavailable","error":"Overloaded"}`}, []chat.Delta{{Kind: chat.DeltaError, Text: "Overloaded"}}},
}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		var s wire.State
		var got []chat.Delta
		for _, json := range c.chunks {
			ok := false
			if got, ok = openai.Stream(&s, "", gjson.Parse(json), got); !ok {
				t.Errorf("%s: %s was rejected", c.name, json)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
		}
	}
	for _, json := range []string{"", "null", "[]", "7", `"a"`} {
		if got, ok := openai.Stream(&wire.State{}, "", gjson.Parse(json), nil); ok {
			t.Errorf("%s was parsed as %+v", json, got)
		}
	}
}

// TestInvalidCalls: a stream is invalid if a call ends without a name, if two calls wait for their names, or if the
// calls are too long to keep.
func TestInvalidCalls(t *testing.T) {
	piece := func(call, more string) string {
		return `{"choices":[{"delta":{"tool_calls":[` + call + `]}` + more + `}]}`
	}
	long := strings.Repeat("a", 70_000)
	for _, chunks := range [][]string{
		{piece(`{"index":0,"id":"a","function":{"arguments":"{}"}}`, ""), piece("", `,"finish_reason":"tool_calls"`)},
		{piece(`{"index":0,"id":"a","function":{"arguments":"{}"}}`, `,"finish_reason":"tool_calls"`)},
		{piece(`{"index":0,"id":"a","function":{"arguments":"{}"}},{"index":1,"id":"b","function":{"arguments":"{}"}}`, "")},
		{piece(`{"index":0,"function":{"arguments":"`+long+`"}}`, "")},
		{piece(`{"index":0,"id":"`+long+`","function":{"name":"f"}}`, "")},
	} {
		var s wire.State
		for i, json := range chunks {
			if _, ok := openai.Stream(&s, "", gjson.Parse(json), nil); ok != (i < len(chunks)-1) {
				t.Errorf("event %d of %.200q: %v", i, chunks, ok)
			}
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status uint64
		json   string
		kind   wire.FailureKind
		text   jsontext.Escaped
	}{
		{400, `{"error":{"message":"a","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, wire.FailTooLong, "a"},
		{400, `{"error":{"message":"This model's maximum context length is 65536 tokens.","type":"invalid_request_error","code":"invalid_request_error"}}`,
			wire.FailTooLong, "This model's maximum context length is 65536 tokens."},
		{400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`,
			wire.FailTooLong, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
		{400, `{"error":{"message":"a","code":"content_policy_violation"}}`, wire.FailFiltered, "a"},
		{400, `{"error":{"message":"a","code":"content_filter","status":400}}`, wire.FailFiltered, "a"},
		{400, `{"error":{"message":"a","code":"model_decommissioned"}}`, wire.FailTarget, "a"},
		{400, `{"error":{"message":"a","code":null}}`, wire.FailRejected, "a"},
		{401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, wire.FailTarget, "Incorrect API key provided"},
		{402, `{"error":{"message":"Insufficient Balance"}}`, wire.FailTarget, "Insufficient Balance"},
		{404, `{"error":{"message":"a","code":"model_not_found"}}`, wire.FailTarget, "a"},
		{413, `{"error":{"message":"Request too large","type":"tokens","code":"rate_limit_exceeded"}}`, wire.FailBusy, "Request too large"},
		{422, `{"message":"a"}`, wire.FailRejected, "a"},
		{429, `{"error":{"message":"a","type":"insufficient_quota","code":"insufficient_quota"}}`, wire.FailTarget, "a"},
		{429, `{"error":{"message":"a","type":"requests","code":"rate_limit_exceeded"}}`, wire.FailBusy, "a"},
		{498, `{"error":{"message":"a","type":"capacity_exceeded"}}`, wire.FailBusy, "a"},
		{500, ``, wire.FailDown, ""},
		{503, `{"error":{"message":7}}`, wire.FailDown, ""},
		{503, `[{"error":{"message":"a"}}]`, wire.FailDown, ""},
	} {
		if got := openai.Failure(c.status, gjson.Parse(c.json)); got.Kind != c.kind || got.Message != c.text {
			t.Errorf("%d %s: %+v", c.status, c.json, got)
		}
	}
}

func TestEmbeddings(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":8,"total_tokens":8}`
	for data, want := range map[string][]string{
		`{"object":"embedding","index":0,"embedding":[0.5,-1e-3]},{"index":1,"embedding":[1]}`: {"[0.5,-1e-3]", "[1]"},
		`{"index":2,"embedding":[2]},{"embedding":[0],"index":0},{"index":1,"embedding":[1]}`:  {"[0]", "[1]", "[2]"},
		`{"embedding":[0]},{"embedding":[ 1 , 3.4e38 ]}`:                                       {"[0]", "[ 1 , 3.4e38 ]"},
		`{"index":null,"embedding":[0]}`:                                                       {"[0]"},
		"":                                                                                     nil,
		`{"index":0,"embedding":[0]},{"index":0,"embedding":[1]}`:                              nil,
		`{"index":1,"embedding":[1]}`:                                                          nil,
		`{"index":0,"embedding":[0]},{"index":2,"embedding":[2]}`:                              nil,
		`{"index":-1,"embedding":[0]}`:                                                         nil,
		`{"index":1000000000,"embedding":[0]}`:                                                 nil,
		`{"index":0.5,"embedding":[0]}`:                                                        nil,
		`{"index":"0","embedding":[0]}`:                                                        nil,
		`{"index":1e999,"embedding":[0]}`:                                                      nil,
		`{"embedding":[1]},{}`:                                                                 nil,
		`{"embedding":[1]},[1]`:                                                                nil,
		`{"embedding":[1]},null`:                                                               nil,
	} {
		got, ok := openai.EmbedResponse(gjson.Parse(`{"object":"list","data":[` + data + `],"model":"m",` + usage + `}`))
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, wire.Embedding{Vectors: want, Usage: chat.Usage{Input: 8, Reported: true}}) {
			t.Errorf("%s: %v %+v", data, ok, got)
		}
	}
	for _, vector := range []string{"null", "[]", "[null]", `["a"]`, "[1,1e999]", "[-1e39,1]", "[[1]]", "[true]", `{"a":1}`, `"AACAPw=="`, "1"} {
		if got, ok := openai.EmbedResponse(gjson.Parse(`{"data":[{"index":0,"embedding":` + vector + `}]}`)); ok {
			t.Errorf("%s was parsed as %+v", vector, got)
		}
	}
	for _, json := range []string{"", "null", "{}", `{"data":null}`, `{"data":{"a":{"embedding":[1]}}}`} {
		if got, ok := openai.EmbedResponse(gjson.Parse(json)); ok {
			t.Errorf("%s was parsed as %+v", json, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. Nothing may panic. Tool call
// arguments must remain objects.
func TestHostileValues(t *testing.T) {
	var all []string
	for _, c := range responses {
		all = append(all, c.json)
	}
	for _, c := range streams {
		all = append(all, c.chunks...)
	}
	for _, json := range all {
		for i := range json {
			if i == 0 || json[i-1] == ':' || json[i-1] == '[' || json[i-1] == ',' {
				for _, other := range []string{"null", "7", "-1e400", `"\ud800"`, `"[{\"text\":"`, "[[]]", "{}", `{"a":{}}`} {
					feed(t, json[:i]+other+json[i+len(gjson.Parse(json[i:]).Raw):])
				}
			}
		}
	}
}

func feed(t *testing.T, json string) {
	if jsontext.Check([]byte(json)) != jsontext.OK {
		return
	}
	root := gjson.Parse(json)
	openai.EmbedResponse(root)
	openai.Failure(400, root)
	r, _ := openai.Response(root)
	for _, a := range r.Choices {
		for _, p := range a.Parts {
			if p.Kind == chat.ToolCall && !gjson.Parse(p.Args).IsObject() {
				t.Errorf("%s: arguments %s", json, p.Args)
			}
		}
	}
	out, _ := openai.Stream(&wire.State{}, "", root, nil)
	for _, d := range out {
		if quoted := `"` + string(d.Text) + `"`; jsontext.Check([]byte(quoted)) != jsontext.OK {
			t.Errorf("%s: invalid text %s", json, quoted)
		}
	}
}
