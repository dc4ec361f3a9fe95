package openai_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	provider "github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

var meta = api.Meta{
	RequestID: "req_01", Model: "m", CreatedMs: 1_790_000_000_000, IncludeUsage: true,
	Usage: chat.Usage{Input: 10, CachedInput: 4, Output: 7, Reasoning: 3, Reported: true},
}

func whole() chat.Response {
	return chat.Response{Choices: []chat.Answer{
		{
			Parts: []chat.Part{
				{Kind: chat.Thinking, Text: "let me see"}, {Kind: chat.Text, Text: `It is \"warm\" 😀.`},
				{Kind: chat.ToolCall, ID: "call_1", Name: "weather", Args: `{"city":"Paris"}`}, {Kind: chat.ToolCall, ID: "call_2", Name: "time", Args: `{}`},
			},
			Finish: chat.FinishTools, LogProbs: `{"content":[{"token":"It"}],"refusal":null}`,
		},
		{Parts: []chat.Part{{Kind: chat.Refusal, Text: "I will not."}}, Finish: chat.FinishFilter},
	}}
}

func TestAnswerRoundTrip(t *testing.T) {
	w := whole()
	body := openai.Answer(nil, &w, &meta)
	if jsontext.Check(body) != jsontext.OK {
		t.Fatalf("not JSON: %s", body)
	}
	got, ok := provider.Response(gjson.ParseBytes(body))
	if !ok || !reflect.DeepEqual(got.Choices, w.Choices) || got.Usage != meta.Usage {
		t.Errorf("%v %+v", ok, got)
	}
}

func TestStreamRoundTrip(t *testing.T) {
	w := whole()
	for _, size := range []int{1, 5, 1000} {
		var s api.State
		var out []byte
		for _, d := range chat.Unfold(&w, size) {
			out = openai.Stream(out, &s, &d, &meta)
		}
		out = openai.End(out, &s, nil, &meta)
		var p sse.Parser
		events, ok := p.Feed(out, true)
		if !ok || string(events[len(events)-1].Data) != "[DONE]" {
			t.Fatalf("%s", out)
		}
		var state wire.State
		var deltas []chat.Delta
		for _, e := range events[:len(events)-1] {
			if deltas, ok = provider.Stream(&state, e.Name, gjson.ParseBytes(e.Data), deltas); !ok || jsontext.Check(e.Data) != jsontext.OK {
				t.Fatalf("%s", e.Data)
			}
		}
		if got := chat.Fold(deltas); !reflect.DeepEqual(got.Choices, w.Choices) || got.Usage != meta.Usage {
			t.Errorf("in pieces of %d: %+v", size, got)
		}
	}
}

// TestUsageChunkIsOptional: without include_usage, there is no chunk with empty choices, which would break some
// clients.
func TestUsageChunkIsOptional(t *testing.T) {
	m := meta
	m.IncludeUsage = false
	if got := string(openai.End(nil, &api.State{}, nil, &m)); got != "data: [DONE]\n\n" {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	e := &api.Error{Fault: fault.InvalidRequest, RequestID: "req_01", Details: []fault.Detail{{Field: "messages[0].role", Message: "is required"}}}
	want := `{"error":{"message":"Invalid request: messages[0].role is required","type":"invalid_request_error","param":"messages[0].role",` +
		`"code":"invalid_request"},"request_id":"req_01"}`
	if got := string(openai.Error(nil, e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e = &api.Error{Fault: fault.RejectedRequest, RequestID: "req_01", Message: `it said \"no\"`}
	if got := gjson.ParseBytes(openai.Error(nil, e)); got.Get("error.message").Str != `it said "no"` || got.Get("error.param").Type != gjson.Null {
		t.Errorf("%s", got.Raw)
	}
	types := map[uint64]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 404: "invalid_request_error",
		405: "invalid_request_error", 426: "invalid_request_error", 409: "invalid_request_error", 413: "invalid_request_error", 415: "invalid_request_error",
		422: "invalid_request_error", 429: "rate_limit_error", 499: "invalid_request_error", 500: "server_error", 502: "server_error",
		503: "server_error", 504: "server_error",
	}
	for _, f := range fault.All() {
		body := openai.Error(nil, &api.Error{Fault: f})
		if got := gjson.GetBytes(body, "error.type").Str; got != types[f.Status()] {
			t.Errorf("%s with status %d has type %s, want %s", f.Code(), f.Status(), got, types[f.Status()])
		}
	}
	text := string(openai.StreamError(nil, &api.State{}, e, &meta))
	if !strings.HasPrefix(text, `data: {"error":{`) || strings.Contains(text, "[DONE]") {
		t.Error(text)
	}
}

func parse(t *testing.T, body string) (api.Parsed, []fault.Detail) {
	t.Helper()
	if jsontext.Check([]byte(body)) != jsontext.OK {
		t.Fatalf("not JSON: %s", body)
	}
	var p api.Parser
	parsed := openai.Parse(&p, gjson.Parse(body))
	return parsed, p.Details
}

const everything = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"messages":[
 {"role":"developer","content":"Be brief."},{"role":"user","name":"eve","content":[{"type":"text","text":"Hi"},
 {"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}}]},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
 {"role":"tool","tool_call_id":"c","content":"warm"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"},"strict":true}}],
 "tool_choice":"required","parallel_tool_calls":false,"temperature":0.5,"top_p":1,"n":2,"stop":"x","seed":7,"logprobs":true,"top_logprobs":2,
 "response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"},"strict":true}},"reasoning_effort":"low","user":"u",
 "metadata":{"k":"v"}}`

func TestParse(t *testing.T) {
	parsed, wrong := parse(t, everything)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := chat.Request{
		Dialect: chat.OpenAI, Model: "m", Stream: true, IncludeUsage: true, MaxTokens: 9,
		Messages: []chat.Message{
			{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: "Be brief."}}},
			{Role: chat.User, Name: "eve", Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}, {Kind: chat.Image, Media: "image/png", Data: "AA==", Detail: "low"}}},
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.ToolCall, ID: "c", Name: "f", Args: `{"a":1}`}}},
			{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, ID: "c", Parts: []chat.Part{{Kind: chat.Text, Text: "warm"}}}}},
		},
		Tools: []chat.Tool{{Name: "f", Schema: `{"type":"object"}`, Strict: "true"}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny},
		ParallelTools: "false", Temperature: "0.5", TopP: "1", N: 2, Stop: []jsontext.Escaped{"x"}, Seed: "7", LogProbs: "true", TopLogProbs: "2",
		Format:    chat.Format{Kind: chat.FormatSchema, Name: "n", Schema: `{"type":"object"}`, Strict: "true"},
		Reasoning: chat.Reasoning{Effort: "low"}, User: "u", Extra: []chat.Member{{Name: "metadata", Value: `{"k":"v"}`}},
	}
	if !reflect.DeepEqual(parsed.Request, want) {
		t.Errorf("got  %+v\nwant %+v", parsed.Request, want)
	}
}

// TestRequestRoundTrip: translation for a provider with the same dialect loses nothing, and the fields that Postern
// sets appear only once.
func TestRequestRoundTrip(t *testing.T) {
	parsed, _ := parse(t, everything)
	model := &config.Model{Name: "m", Upstream: "up", MaxTokensField: "max_tokens", Provider: &config.Provider{BaseURL: "https://up.example/v1"}}
	call := wire.Call{Model: model, Request: &parsed.Request}
	translated := provider.Request(&call).Body[0].Data
	if jsontext.Check(translated) != jsontext.OK {
		t.Fatalf("%s", translated)
	}
	again, wrong := parse(t, string(translated))
	again.Request.Model = "m"
	if len(wrong) > 0 || !reflect.DeepEqual(again.Request, parsed.Request) {
		t.Errorf("%v\ngot  %+v\nwant %+v", wrong, again.Request, parsed.Request)
	}
	var direct []byte
	for _, part := range provider.DirectBody(&call, wirePart(parsed.Members)) {
		direct = append(direct, part.Data...)
	}
	if jsontext.Check(direct) != jsontext.OK || gjson.GetBytes(direct, "model").Str != "up" || gjson.GetBytes(direct, "max_tokens").Int() != 9 {
		t.Errorf("%s", direct)
	}
}

func TestInvalidBodies(t *testing.T) {
	for body, field := range map[string]string{
		`{"messages":[{"role":"user","content":"x"}]}`:            "model",
		`{"model":"","messages":[{"role":"user","content":"x"}]}`: "model",
		`{"model":"m"}`:                                                                                           "messages",
		`{"model":"m","messages":[]}`:                                                                             "messages",
		`{"model":"m","messages":"x"}`:                                                                            "messages",
		`{"model":"m","messages":[1]}`:                                                                            "messages[0]",
		`{"model":"m","messages":[{"content":"x"}]}`:                                                              "messages[0].role",
		`{"model":"m","messages":[{"role":"boss","content":"x"}]}`:                                                "messages[0].role",
		`{"model":"m","messages":[{"role":"user"}]}`:                                                              "messages[0].content",
		`{"model":"m","messages":[{"role":"user","content":7}]}`:                                                  "messages[0].content",
		`{"model":"m","messages":[{"role":"user","content":[7]}]}`:                                                "messages[0].content[0]",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":2.1}`:                              "temperature",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":0}`:                                 "max_tokens",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1.5}`:                               "max_tokens",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"n":1000}`:                                       "n",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{}}]}`:    "tools[0].function.name",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"tool_choice":"maybe"}`:                          "tool_choice",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"poem"}}`:              "response_format.type",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":"yes"}`:                                 "stream",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"stop":["a",7]}`:                                 "stop[1]",
		`{"model":"m","messages":[{"role":"user","content":"x"}],"stop":["` + strings.Repeat(`a","`, 16) + `b"]}`: "stop",
	} {
		if _, wrong := parse(t, body); len(wrong) == 0 || wrong[0].Field != field {
			t.Errorf("%s: %v, want %s", body, wrong, field)
		}
	}
}

// TestMembersCannotBeSmuggled: a field name with escapes stays a single name.
func TestMembersCannotBeSmuggled(t *testing.T) {
	parsed, _ := parse(t, `{"model":"m","messages":[{"role":"user","content":"x"}],"a\":1,\"max_tokens":999,"max_tok\u0065ns":5}`)
	if parsed.Request.MaxTokens != 5 {
		t.Errorf("max_tokens is %d", parsed.Request.MaxTokens)
	}
	model := &config.Model{Upstream: "up", MaxTokensField: "max_tokens", Provider: &config.Provider{}}
	call := wire.Call{Model: model, Request: &parsed.Request}
	body := provider.Request(&call).Body[0].Data
	if jsontext.Check(body) != jsontext.OK || gjson.GetBytes(body, "max_tokens").Int() != 5 {
		t.Errorf("%s", body)
	}
}
