package mistral_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/mistral"
	"github.com/postern-ai/postern/core/provider/wire"
)

var model = &config.Model{Upstream: "mistral-small-2603", MaxTokensField: "max_tokens", Provider: &config.Provider{BaseURL: "https://api.mistral.ai/v1", Key: "secret"}}

func bodyOf(a abi.Action) string {
	var body []byte
	for _, p := range a.Body {
		body = append(body, p.Data...)
	}
	return string(body)
}

func sameJSON(t *testing.T, name, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil || !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n%s, want\n%s", name, got, want)
	}
}

func text(text jsontext.Escaped) chat.Part { return chat.Part{Kind: chat.Text, Text: text} }

func say(role chat.Role, parts ...chat.Part) chat.Message {
	return chat.Message{Role: role, Parts: parts}
}

func result(id jsontext.Escaped, parts ...chat.Part) chat.Part {
	return chat.Part{Kind: chat.ToolResult, ID: id, Parts: parts}
}

var hello = []chat.Message{say(chat.User, text("Hello"))}

// hashed replaces the ID "call_abc123", which is too long and has an underscore. It consists of the first eight bytes
// of the ID's SHA-256 in base 62, lowest digit first.
const hashed = "OANJQSxzk"

var requests = []struct {
	name string
	r    chat.Request
	want string
}{
	{"plain", chat.Request{Messages: hello}, `"messages":[{"role":"user","content":"Hello"}]`},
	{"everything", chat.Request{
		Dialect: chat.OpenAI, Extra: []chat.Member{{Name: "store", Value: "true"}}, Messages: append([]chat.Message{say(chat.System, text("Be \\\"brief\\\"."))}, hello...),
		Tools: []chat.Tool{{Name: "now", Strict: "true"}, {Raw: `{"type":"web_search"}`}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, ParallelTools: "false",
		MaxTokens: 100, Temperature: "0.5", TopP: "0.9", FrequencyPenalty: "0.1", PresencePenalty: "-0.1", Seed: "42", N: 2, Stop: []jsontext.Escaped{"END"},
		Format: chat.Format{Kind: chat.FormatSchema, Name: "city", Schema: `{"type":"object"}`, Strict: "true"}, Reasoning: chat.Reasoning{Effort: "max"}, Stream: true, IncludeUsage: true,
	}, `"messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"Hello"}],
		"tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}},"strict":true}}],"parallel_tool_calls":false,"tool_choice":"any",
		"max_tokens":100,"temperature":0.5,"top_p":0.9,"frequency_penalty":0.1,"presence_penalty":-0.1,"random_seed":42,"n":2,"stop":["END"],
		"response_format":{"type":"json_schema","json_schema":{"name":"city","schema":{"type":"object"},"strict":true}},"reasoning_effort":"xhigh","stream":true`},
	{"forced tool and JSON", chat.Request{Messages: hello, Tools: []chat.Tool{{Name: "now"}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "now"}, Format: chat.Format{Kind: chat.FormatJSON}},
		`"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],
		"tool_choice":{"type":"function","function":{"name":"now"}},"response_format":{"type":"json_object"}`},
	{"tool choice without tools", chat.Request{Messages: hello, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, Reasoning: chat.Reasoning{Off: true}},
		`"messages":[{"role":"user","content":"Hello"}],"reasoning_effort":"none"`},
	{"parts", chat.Request{Messages: []chat.Message{say(chat.User,
		chat.Part{Kind: chat.Image, URL: "https://example.com/a.png", Detail: "low"}, chat.Part{Kind: chat.Image, Media: "image/jpeg", Data: "AAAA"},
		chat.Part{Kind: chat.Audio, Media: "wav", Data: "BBBB"}, chat.Part{Kind: chat.File, Data: "CCCC", Name: "a.pdf"}, text("See."),
	)}}, `"messages":[{"role":"user","content":[{"type":"image_url","image_url":"https://example.com/a.png"},{"type":"image_url","image_url":"data:image/jpeg;base64,AAAA"},
		{"type":"input_audio","input_audio":"BBBB"},{"type":"document_url","document_url":"data:application/pdf;base64,CCCC","document_name":"a.pdf"},{"type":"text","text":"See."}]}]`},
	{"tools", chat.Request{Messages: []chat.Message{
		say(chat.User, text("Weather?")),
		say(chat.Assistant, text("I "), text("look."), chat.Part{Kind: chat.ToolCall, ID: "call_abc123", Name: "get_weather", Args: `{"city":"Paris"}`}, chat.Part{Kind: chat.ToolCall, ID: "aBcDeF123", Name: "now", Args: "{}"}),
		say(chat.ToolRole, result("call_abc123", text("22 C")), result("aBcDeF123")),
		say(chat.Assistant, text("Warm.")),
	}}, `"messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":"I look.","tool_calls":[
		{"id":"` + hashed + `","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}},
		{"id":"aBcDeF123","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"` + hashed + `","content":"22 C"},{"role":"tool","tool_call_id":"aBcDeF123","content":""},
		{"role":"assistant","content":"Warm.","prefix":true}]`},
	{"user message after tool results", chat.Request{Messages: []chat.Message{
		say(chat.User, result("aBcDeF123", text("22 C")), text("Or F?"), result("aBcDeF124", text("noon"))), say(chat.User, text("Both.")), say(chat.Assistant, text("Yes.")), say(chat.User, text("Well?")),
	}}, `"messages":[{"role":"tool","tool_call_id":"aBcDeF123","content":"22 C"},
		{"role":"tool","tool_call_id":"aBcDeF124","content":[{"type":"text","text":"noon"},{"type":"text","text":"Or F?"},{"type":"text","text":"Both."}]},
		{"role":"assistant","content":"Yes."},{"role":"user","content":"Well?"}]`},
}

func TestRequests(t *testing.T) {
	for _, c := range requests {
		a := mistral.Request(&wire.Call{Model: model, Request: &c.r})
		sameJSON(t, c.name, bodyOf(a), `{"model":"mistral-small-2603",`+c.want+`}`)
		want := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "authorization", Value: "Bearer secret"}}
		if a.Method != "POST" || a.URL != "https://api.mistral.ai/v1/chat/completions" || !reflect.DeepEqual(a.Headers, want) {
			t.Errorf("%s: %s %s %v", c.name, a.Method, a.URL, a.Headers)
		}
	}
}

func TestEmbedRequests(t *testing.T) {
	a := mistral.EmbedRequest(&wire.EmbedCall{Model: model, Inputs: []jsontext.Escaped{"a", "\\\"b\\\""}, Dimensions: 256, User: "u"})
	sameJSON(t, a.URL, bodyOf(a), `{"model":"mistral-small-2603","input":["a","\"b\""],"encoding_format":"float","output_dimension":256}`)
	if a.URL != "https://api.mistral.ai/v1/embeddings" {
		t.Errorf("URL %s", a.URL)
	}
	if a = mistral.EmbedRequest(&wire.EmbedCall{Model: model, Tokens: []string{"[1]"}}); a.URL != "" {
		t.Errorf("tokens were sent to %s", a.URL)
	}
}

var responses = []struct {
	name, json string
	want       chat.Response
}{
	{"text", `{"id":"cmpl-e5cc70bb28c444948073e77776eb30ef","object":"chat.completion","model":"mistral-small-2603","created":1795252507,
		"usage":{"prompt_tokens":16,"completion_tokens":34,"total_tokens":50,"num_cached_tokens":8},
		"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi","tool_calls":null,"prefix":false}}]}`,
		chat.Response{
			ID: "cmpl-e5cc70bb28c444948073e77776eb30ef", Model: "mistral-small-2603", Created: 1795252507,
			Choices: []chat.Answer{{Parts: []chat.Part{text("Hi")}, Finish: chat.FinishStop}},
			Usage:   chat.Usage{Input: 16, CachedInput: 8, Output: 34, Reported: true},
		}},
	{"thinking and tools", `{"id":"a","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":[
		{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true},{"type":"reference","reference_ids":[1]},{"type":"text","text":"I look."}],
		"tool_calls":[{"id":"D681PevKs","function":{"name":"get_weather","arguments":"{\"city\": \"Paris\"}"},"index":0}]}}],
		"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}`,
		chat.Response{
			ID: "a", Model: "m", Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
				{Kind: chat.Thinking, Text: "Hm."}, text("I look."), {Kind: chat.ToolCall, ID: "D681PevKs", Name: "get_weather", Args: `{"city": "Paris"}`},
			}}},
			Usage: chat.Usage{Input: 10, CachedInput: 4, Output: 5, Reported: true},
		}},
	{"truncated", `{"choices":[{"finish_reason":"model_length","message":{"content":""}}]}`, chat.Response{Choices: []chat.Answer{{Finish: chat.FinishLength}}}},
}

func TestResponses(t *testing.T) {
	for _, c := range responses {
		if got, ok := mistral.Response(gjson.Parse(c.json)); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", c.name, ok, got, c.want)
		}
	}
	for _, json := range []string{"", "null", "[]", `{"choices":[]}`, `{"object":"error","message":"no"}`} {
		if got, ok := mistral.Response(gjson.Parse(json)); ok {
			t.Errorf("%s was parsed as %+v", json, got)
		}
	}
}

var stream = []string{
	`{"id":"a","object":"chat.completion.chunk","created":1795252507,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
	`{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]},"finish_reason":null}]}`,
	`{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`,
	`{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"D681PevKs","function":{"name":"now","arguments":"{}"},"index":0},
		{"id":"D681PevKt","function":{"name":"now","arguments":"{\"a\": 1}"},"index":1}]},"finish_reason":"tool_calls"}],
		"usage":{"prompt_tokens":10,"total_tokens":15,"completion_tokens":5,"prompt_token_details":{"cached_tokens":4}}}`,
}

func TestStreams(t *testing.T) {
	var s wire.State
	var got []chat.Delta
	for _, json := range stream {
		ok := false
		if got, ok = mistral.Stream(&s, "", gjson.Parse(json), got); !ok {
			t.Errorf("%s was rejected", json)
		}
	}
	want := []chat.Delta{
		{Kind: chat.DeltaStart, ID: "a", Model: "m"}, {Kind: chat.DeltaThinking, Text: "Hm."}, {Kind: chat.DeltaText, Text: "Hi"},
		{Kind: chat.DeltaTool, Index: 0, ID: "D681PevKs", Name: "now"}, {Kind: chat.DeltaArgs, Index: 0, Text: "{}"},
		{Kind: chat.DeltaTool, Index: 1, ID: "D681PevKt", Name: "now"}, {Kind: chat.DeltaArgs, Index: 1, Text: `{\"a\": 1}`},
		{Kind: chat.DeltaFinish, Finish: chat.FinishTools}, {Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 10, CachedInput: 4, Output: 5, Reported: true}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	got, ok := mistral.Stream(&s, "", gjson.Parse(`{"object":"error","message":"Overloaded","type":"internal_server_error","code":"3000"}`), nil)
	if !ok || !reflect.DeepEqual(got, []chat.Delta{{Kind: chat.DeltaError, Name: "internal_server_error", Text: "Overloaded"}}) {
		t.Errorf("%v %+v", ok, got)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status uint64
		json   string
		want   wire.Failure
	}{
		{400, `{"object":"error","message":"Invalid model: gpt-5","type":"invalid_model","param":null,"code":"1500"}`, wire.Failure{Kind: wire.FailTarget, Message: "Invalid model: gpt-5"}},
		{400, `{"object":"error","message":"Prompt contains 300000 tokens, too large for model with 131072 maximum context length","type":"invalid_request_error"}`,
			wire.Failure{Kind: wire.FailTooLong, Message: "Prompt contains 300000 tokens, too large for model with 131072 maximum context length"}},
		{401, `{"detail":"Unauthorized"}`, wire.Failure{Kind: wire.FailTarget, Message: "Unauthorized"}},
		{401, `{"message":"Unauthorized","request_id":"a"}`, wire.Failure{Kind: wire.FailTarget, Message: "Unauthorized"}},
		{422, `{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]}`, wire.Failure{Kind: wire.FailRejected, Message: "Extra inputs are not permitted"}},
		{422, `{"object":"error","message":{"detail":[{"type":"missing","msg":"Field required"}]},"code":null}`, wire.Failure{Kind: wire.FailRejected, Message: "Field required"}},
		{429, `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}`, wire.Failure{Kind: wire.FailBusy, Message: "Rate limit exceeded"}},
		{503, ``, wire.Failure{Kind: wire.FailDown}},
	} {
		if got := mistral.Failure(c.status, gjson.Parse(c.json)); got != c.want {
			t.Errorf("%d %s: %+v", c.status, c.json, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. Nothing may panic.
func TestHostileValues(t *testing.T) {
	all := append([]string{`{"detail":[{"msg":"a"}],"message":{"detail":[{"msg":"a"}]}}`}, stream...)
	for _, c := range responses {
		all = append(all, c.json)
	}
	for _, json := range all {
		for i := range json {
			if i == 0 || json[i-1] == ':' || json[i-1] == '[' || json[i-1] == ',' {
				for _, other := range []string{"null", "7", "-1e400", `"\ud800"`, "[[]]", "{}"} {
					feed(json[:i] + other + json[i+len(gjson.Parse(json[i:]).Raw):])
				}
			}
		}
	}
}

func feed(json string) {
	if jsontext.Check([]byte(json)) != jsontext.OK {
		return
	}
	root := gjson.Parse(json)
	mistral.Response(root)
	mistral.EmbedResponse(root)
	mistral.Failure(400, root)
	mistral.Stream(&wire.State{}, "", root, nil)
}
