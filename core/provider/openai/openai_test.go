package openai_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

func model() *config.Model {
	return &config.Model{Upstream: "gpt-4.1", MaxTokensField: "max_tokens", Provider: &config.Provider{BaseURL: "https://api.openai.com/v1", Key: "secret"}}
}

func bodyOf(a abi.Action, members string) string {
	var body []byte
	for _, p := range a.Body {
		if p.Buffer != 0 {
			body = append(body, members...)
		}
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

var hello = []chat.Message{say(chat.User, text("Hello"))}

var requests = []struct {
	name string
	r    chat.Request
	want string
}{
	{"plain", chat.Request{Messages: hello}, `"messages":[{"role":"user","content":"Hello"}]`},
	{"everything", chat.Request{
		Dialect: chat.OpenAI, Extra: []chat.Member{{Name: "store", Value: "true"}, {Name: `a":1,"b`, Value: `{"c":[]}`}},
		Messages: []chat.Message{say(chat.System, text("Be \\\"brief\\\".")), {Role: chat.User, Name: "kim", Parts: []chat.Part{text("Hello")}}},
		Tools:    []chat.Tool{{Name: "now", Description: "The time", Schema: `{"type":"object"}`, Strict: "true"}, {Raw: `{"type":"custom","custom":{"name":"x"}}`}}, ParallelTools: "false",
		ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "now"}, MaxTokens: 100, Temperature: "0.5", TopP: "0.9", FrequencyPenalty: "0.1", PresencePenalty: "-0.1", Seed: "42",
		N: 2, LogProbs: "true", TopLogProbs: "3", Stop: []jsontext.Escaped{"END", "\\n"}, User: "u1", Reasoning: chat.Reasoning{Effort: "low"}, Stream: true,
		Format: chat.Format{Kind: chat.FormatSchema, Schema: `{"type":"object"}`, Strict: "true"},
	}, `"messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","name":"kim","content":"Hello"}],
		"tools":[{"type":"function","function":{"name":"now","description":"The time","parameters":{"type":"object"},"strict":true}},{"type":"custom","custom":{"name":"x"}}],
		"parallel_tool_calls":false,"tool_choice":{"type":"function","function":{"name":"now"}},"temperature":0.5,"top_p":0.9,"frequency_penalty":0.1,"presence_penalty":-0.1,
		"seed":42,"n":2,"logprobs":true,"top_logprobs":3,"stop":["END","\n"],"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}},
		"user":"u1","reasoning_effort":"low","store":true,"a\":1,\"b":{"c":[]},"max_tokens":100,"stream":true,"stream_options":{"include_usage":true}`},
	{"extra members of another dialect", chat.Request{Dialect: chat.Anthropic, Extra: []chat.Member{{Name: "container", Value: `"x"`}}, Messages: hello, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny},
		Format: chat.Format{Kind: chat.FormatJSON}, N: 1}, `"messages":[{"role":"user","content":"Hello"}],"tool_choice":"required","response_format":{"type":"json_object"}`},
	{"parts", chat.Request{Messages: []chat.Message{say(chat.User,
		chat.Part{Kind: chat.Image, URL: "https://example.com/a.png", Detail: "low"}, chat.Part{Kind: chat.Image, Media: "image/jpeg", Data: "AAAA"},
		chat.Part{Kind: chat.Audio, Media: "wav", Data: "BBBB"}, chat.Part{Kind: chat.File, Media: "application/pdf", Data: "CCCC"}, text("See."),
	)}}, `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
		{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"BBBB","format":"wav"}},
		{"type":"file","file":{"filename":"file","file_data":"data:application/pdf;base64,CCCC"}},{"type":"text","text":"See."}]}]`},
	{"tools", chat.Request{Messages: []chat.Message{
		say(chat.Assistant, text("I "), text("look."), chat.Part{Kind: chat.ToolCall, ID: "call_1", Name: "get_weather", Args: `{"city":"Paris"}`}, chat.Part{Kind: chat.ToolCall, ID: "call_2", Name: "now"}),
		say(chat.User, text("And?"), chat.Part{Kind: chat.ToolResult, ID: "call_1", Parts: []chat.Part{text("22 C")}}, chat.Part{Kind: chat.ToolResult, ID: "call_2", Failed: true}),
		say(chat.ToolRole, chat.Part{Kind: chat.ToolResult, ID: "call_3", Parts: []chat.Part{text("a"), text("b")}}),
		say(chat.Assistant, chat.Part{Kind: chat.ToolCall, ID: "call_4", Name: "now", Args: "{}"}),
		say(chat.Assistant, chat.Part{Kind: chat.Refusal, Text: "No."}), say(chat.Assistant), say(chat.User),
	}}, `"messages":[{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}},
		{"id":"call_2","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"22 C"},{"role":"tool","tool_call_id":"call_2","content":""},{"role":"user","content":"And?"},
		{"role":"tool","tool_call_id":"call_3","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_4","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"assistant","content":null,"refusal":"No."},{"role":"assistant","content":""},{"role":"user","content":""}]`},
}

func TestRequests(t *testing.T) {
	for _, c := range requests {
		a := openai.Request(&wire.Call{Model: model(), Request: &c.r})
		sameJSON(t, c.name, bodyOf(a, ""), `{"model":"gpt-4.1",`+c.want+`}`)
		want := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "authorization", Value: "Bearer secret"}}
		if a.Method != "POST" || a.URL != "https://api.openai.com/v1/chat/completions" || !reflect.DeepEqual(a.Headers, want) {
			t.Errorf("%s: %s %s %v", c.name, a.Method, a.URL, a.Headers)
		}
	}
}

func TestDirect(t *testing.T) {
	const members = `"messages":[],"seed":1`
	for _, c := range []struct {
		name   string
		r      chat.Request
		change func(*config.Model)
		want   string
	}{
		{"plain", chat.Request{}, nil, `{"model":"gpt-4.1",` + members + `}`},
		{"token limit", chat.Request{MaxTokens: 5}, func(m *config.Model) { m.MaxTokensField = "max_completion_tokens" }, `{"model":"gpt-4.1",` + members + `,"max_completion_tokens":5}`},
		{"stream", chat.Request{Stream: true}, nil, `{"model":"gpt-4.1",` + members + `,"stream":true,"stream_options":{"include_usage":true}}`},
		{"stream without options", chat.Request{Stream: true, MaxTokens: 5}, func(m *config.Model) { m.Provider.NoStreamOptions = true },
			`{"model":"gpt-4.1",` + members + `,"max_tokens":5,"stream":true}`},
		{"no key", chat.Request{}, func(m *config.Model) { m.Provider.Key = "" }, `{"model":"gpt-4.1",` + members + `}`},
	} {
		m := model()
		if c.change != nil {
			c.change(m)
		}
		a := openai.Direct(&wire.Call{Model: m, Request: &c.r}, abi.Part{Buffer: 3})
		if got := bodyOf(a, members); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if wantAuth := m.Provider.Key != ""; wantAuth != (len(a.Headers) == 2) {
			t.Errorf("%s: %v", c.name, a.Headers)
		}
	}
}

func TestEffort(t *testing.T) {
	for want, r := range map[string]chat.Reasoning{
		"": {}, "none": {Off: true}, "low": {Budget: 1024}, "medium": {Adaptive: true}, "high": {Budget: 20000}, "xhigh": {Effort: "xhigh", Budget: 5},
	} {
		if got := openai.Effort(&r); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}

func TestEmbedRequests(t *testing.T) {
	a := openai.EmbedRequest(&wire.EmbedCall{Model: model(), Inputs: []jsontext.Escaped{"a", "\\\"b\\\""}, Dimensions: 256, User: "u"})
	sameJSON(t, "texts", bodyOf(a, ""), `{"model":"gpt-4.1","input":["a","\"b\""],"encoding_format":"float","dimensions":256,"user":"u"}`)
	a = openai.EmbedRequest(&wire.EmbedCall{Model: model(), Tokens: []string{"[1,2]", "[3]"}})
	sameJSON(t, "tokens", bodyOf(a, ""), `{"model":"gpt-4.1","input":[[1,2],[3]],"encoding_format":"float"}`)
	if a.URL != "https://api.openai.com/v1/embeddings" {
		t.Errorf("URL %s", a.URL)
	}
}
