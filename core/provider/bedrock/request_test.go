package bedrock_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/bedrock"
	"github.com/postern-ai/postern/core/provider/wire"
)

const nowMs = 1795252507_000 // 2026-11-21T09:15:07Z

func model(upstream string, settings ...abi.Header) *config.Model {
	settings = append(settings, abi.Header{Name: "region", Value: "eu-west-1"}, abi.Header{Name: "accessKeyId", Value: "AKIDEXAMPLE"})
	return &config.Model{Upstream: upstream, MaxOutput: 64000, Provider: &config.Provider{
		BaseURL: "https://bedrock-runtime.eu-west-1.amazonaws.com", Key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Settings: settings,
	}}
}

func header(a abi.Action, name string) string {
	for _, h := range a.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func bodyOf(t *testing.T, a abi.Action) string {
	t.Helper()
	var body []byte
	for _, p := range a.Body {
		body = append(body, p.Data...)
	}
	if p := jsontext.Check(body); len(body) > 0 && p != jsontext.OK {
		t.Errorf("body %v: %s", p, body)
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

func say(role chat.Role, text jsontext.Escaped) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: text}}}
}

var (
	hello = []chat.Message{say(chat.User, "Hello")}
	tool  = chat.Tool{Name: "get_weather", Description: "Weather of a city", Schema: `{"type":"object","properties":{"city":{"type":"string"}}}`}
	spec  = `{"toolSpec":{"name":"get_weather","description":"Weather of a city","inputSchema":{"json":{"type":"object","properties":{"city":{"type":"string"}}}}}}`
)

const (
	sonnet45  = "global.anthropic.claude-sonnet-4-5-20250929-v1:0"
	opus48    = "global.anthropic.claude-opus-4-8"
	nova2     = "global.amazon.nova-2-lite-v1:0"
	llama     = "us.meta.llama3-3-70b-instruct-v1:0"
	helloJSON = `"messages":[{"role":"user","content":[{"text":"Hello"}]}]`
)

var requests = []struct {
	name  string
	model string
	r     chat.Request
	want  string
}{
	{"plain", llama, chat.Request{Messages: hello}, `{` + helloJSON + `}`},
	{"everything", llama, chat.Request{
		Messages: []chat.Message{
			say(chat.System, "Be \\\"brief\\\"."), say(chat.User, "Hi"), say(chat.User, "there"), say(chat.System, "And kind."), say(chat.Assistant, "Yes?"),
			say(chat.User, "Weather?"),
		},
		Tools: []chat.Tool{tool, {Raw: `{"type":"web_search"}`}, {Name: "now"}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAuto},
		MaxTokens: 100, Temperature: "0.5", TopP: "0.9", TopK: "40", Stop: []jsontext.Escaped{"END", "\\n"},
	}, `{"system":[{"text":"Be \"brief\"."},{"text":"And kind."}],"messages":[{"role":"user","content":[{"text":"Hi"},{"text":"there"}]},
		{"role":"assistant","content":[{"text":"Yes?"}]},{"role":"user","content":[{"text":"Weather?"}]}],
		"inferenceConfig":{"maxTokens":100,"temperature":0.5,"topP":0.9,"stopSequences":["END","\n"]},
		"toolConfig":{"tools":[` + spec + `,{"toolSpec":{"name":"now","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"auto":{}}}}`},
	{"Claude's sampling", sonnet45, chat.Request{Messages: hello, Temperature: "1.7", TopP: "0.9", TopK: "40", Stop: []jsontext.Escaped{"END"}},
		`{` + helloJSON + `,"inferenceConfig":{"temperature":1,"stopSequences":["END"]},"additionalModelRequestFields":{"top_k":40},
		"additionalModelResponseFieldPaths":["/stop_sequence"]}`},
	{"Claude's top_p", sonnet45, chat.Request{Messages: hello, TopP: "0.9"}, `{` + helloJSON + `,"inferenceConfig":{"topP":0.9}}`},
	{"Nova's top_k", nova2, chat.Request{Messages: hello, TopK: "40", Temperature: "0", TopP: "0.1"},
		`{` + helloJSON + `,"inferenceConfig":{"temperature":0,"topP":0.1},"additionalModelRequestFields":{"inferenceConfig":{"topK":40}}}`},
	{"any tool", llama, chat.Request{Messages: hello, Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}},
		`{` + helloJSON + `,"toolConfig":{"tools":[` + spec + `],"toolChoice":{"any":{}}}}`},
	{"one tool", llama, chat.Request{Messages: hello, Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "get_weather"}},
		`{` + helloJSON + `,"toolConfig":{"tools":[` + spec + `],"toolChoice":{"tool":{"name":"get_weather"}}}}`},
	{"no tool", llama, chat.Request{Messages: hello, Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceNone}}, `{` + helloJSON + `}`},
	{"server tools of another provider", llama, chat.Request{Messages: hello, Tools: []chat.Tool{{Raw: `{"type":"web_search"}`}}}, `{` + helloJSON + `}`},
	{"a conversation with tools", opus48, chat.Request{
		Messages: []chat.Message{
			say(chat.User, "Weather?"),
			{Role: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.Thinking, Text: "Unsigned."}, {Kind: chat.Thinking, Text: "Look it up.", Signature: "c2ln"}, {Kind: chat.Redacted, Data: "cmVk"},
				{Kind: chat.Text, Text: ""}, {Kind: chat.ToolCall, ID: "toolu_1", Name: "get_weather", Args: `{"city":"Paris"}`},
				{Kind: chat.ToolCall, ID: "call:2", Name: "now"},
			}},
			{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, ID: "toolu_1", Parts: []chat.Part{{Kind: chat.Text, Text: "22 C"}, {Kind: chat.Image, Media: "image/jpeg", Data: "AAAA"}}}}},
			{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "And?"}, {Kind: chat.ToolResult, ID: "call:2", Failed: true}}},
		},
		Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceNone},
	}, `{"messages":[{"role":"user","content":[{"text":"Weather?"}]},{"role":"assistant","content":[
		{"reasoningContent":{"reasoningText":{"text":"Look it up.","signature":"c2ln"}}},{"reasoningContent":{"redactedContent":"cmVk"}},
		{"toolUse":{"toolUseId":"toolu_1","name":"get_weather","input":{"city":"Paris"}}},
		{"toolUse":{"toolUseId":"` + hashOfCall2 + `","name":"now","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"toolu_1","content":[{"text":"22 C"},{"image":{"format":"jpeg","source":{"bytes":"AAAA"}}}]}},
		{"toolResult":{"toolUseId":"` + hashOfCall2 + `","content":[],"status":"error"}},{"text":"And?"}]}],"toolConfig":{"tools":[` + spec + `]}}`},
	{"tool calls without tools", llama, chat.Request{Messages: []chat.Message{
		say(chat.User, "Time?"), {Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.ToolCall, ID: "a", Name: "now", Args: "{}"}}},
	}}, `{"messages":[{"role":"user","content":[{"text":"Time?"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"now","input":{}}}]}],
		"toolConfig":{"tools":[{"toolSpec":{"name":"none","description":"There is no tool.","inputSchema":{"json":{"type":"object"}}}}]}}`},
	{"files", nova2, chat.Request{Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{
		{Kind: chat.Image, Media: "image/png", Data: "AAAA"}, {Kind: chat.File, Media: "application/pdf", Data: "BBBB", Name: "Q3 \\\"final\\\" [2].pdf"},
		{Kind: chat.File, Media: "text/plain; charset=utf-8", Data: "CCCC"}, {Kind: chat.Text, Text: "What is this?"},
	}}}}, `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}},
		{"document":{"format":"pdf","name":"Q3--final--[2]-pdf","source":{"bytes":"BBBB"}}},
		{"document":{"format":"txt","name":"document-2","source":{"bytes":"CCCC"}}},{"text":"What is this?"}]}]}`},
	{"cache points", sonnet45, chat.Request{
		Messages: []chat.Message{
			{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: "Long.", Cache: `{"type":"ephemeral","ttl":"1h"}`}}},
			{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "Hello", Cache: `{"type":"ephemeral"}`}, {Kind: chat.Text, Text: "there"}}},
		},
		Tools: []chat.Tool{{Name: "now", Cache: `{"type":"ephemeral","ttl":"5m"}`}},
	}, `{"system":[{"text":"Long."},{"cachePoint":{"type":"default","ttl":"1h"}}],
		"messages":[{"role":"user","content":[{"text":"Hello"},{"cachePoint":{"type":"default"}},{"text":"there"}]}],
		"toolConfig":{"tools":[{"toolSpec":{"name":"now","inputSchema":{"json":{"type":"object"}}}},{"cachePoint":{"type":"default"}}]}}`},
	{"schema", opus48, chat.Request{Messages: hello, Format: chat.Format{Kind: chat.FormatSchema, Name: "city", Schema: `{"type":"object"}`, Strict: "true"}},
		`{` + helloJSON + `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\"}","name":"city"}}}}}`},
	{"blank text", llama, chat.Request{Messages: []chat.Message{say(chat.System, " "), say(chat.User, "Hello"), say(chat.Assistant, "\\n \\t"), say(chat.User, "Hello")}},
		`{"messages":[{"role":"user","content":[{"text":"Hello"},{"text":"Hello"}]}]}`},

	{"budget", sonnet45, chat.Request{Messages: hello, MaxTokens: 1000, Temperature: "0.5", TopK: "5", Reasoning: chat.Reasoning{Effort: "medium"}},
		`{` + helloJSON + `,"inferenceConfig":{"maxTokens":9192},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":8192}}}`},
	{"budget without max_tokens", sonnet45, chat.Request{Messages: hello, Reasoning: chat.Reasoning{Budget: 500}},
		`{` + helloJSON + `,"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}}`},
	{"budget above the model's maximum", sonnet45, chat.Request{Messages: hello, MaxTokens: 60000, Reasoning: chat.Reasoning{Budget: 90000}},
		`{` + helloJSON + `,"inferenceConfig":{"maxTokens":64000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":32000}}}`},
	{"no budget with a forced tool", sonnet45, chat.Request{Messages: hello, Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, Reasoning: chat.Reasoning{Effort: "high"}},
		`{` + helloJSON + `,"toolConfig":{"tools":[` + spec + `],"toolChoice":{"any":{}}}}`},
	{"adaptive", opus48, chat.Request{Messages: hello, MaxTokens: 1000, Temperature: "0.5", Reasoning: chat.Reasoning{Effort: "xhigh"}},
		`{` + helloJSON + `,"inferenceConfig":{"maxTokens":1000},"additionalModelRequestFields":{"thinking":{"type":"adaptive"}},"outputConfig":{"effort":"xhigh"}}`},
	{"adaptive by budget", "anthropic.claude-sonnet-4-6", chat.Request{Messages: hello, Reasoning: chat.Reasoning{Budget: 8192}},
		`{` + helloJSON + `,"additionalModelRequestFields":{"thinking":{"type":"adaptive"}},"outputConfig":{"effort":"medium"}}`},
	{"thinking disabled", opus48, chat.Request{Messages: hello, Reasoning: chat.Reasoning{Off: true}}, `{` + helloJSON + `,"additionalModelRequestFields":{"thinking":{"type":"disabled"}}}`},
	{"thinking that cannot be disabled", "anthropic.claude-fable-5", chat.Request{Messages: hello, Reasoning: chat.Reasoning{Effort: "none"}}, `{` + helloJSON + `}`},
	{"Nova, low effort", nova2, chat.Request{Messages: hello, MaxTokens: 100, Temperature: "0.5", Reasoning: chat.Reasoning{Effort: "low"}},
		`{` + helloJSON + `,"inferenceConfig":{"maxTokens":100,"temperature":0.5},"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}}}`},
	{"Nova, high effort", nova2, chat.Request{Messages: hello, MaxTokens: 100, Temperature: "0.5", TopP: "0.5", TopK: "4", Reasoning: chat.Reasoning{Effort: "max"}},
		`{` + helloJSON + `,"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}}`},
	{"other vendors", llama, chat.Request{Messages: hello, TopK: "4", Reasoning: chat.Reasoning{Effort: "low"}}, `{` + helloJSON + `}`},
}

// hashOfCall2 replaces the ID "call:2", which has a colon. It is the first half of the ID's SHA-256.
const hashOfCall2 = "33331b626c7ac0ef1592f8f6b4bf1360"

func TestRequests(t *testing.T) {
	for _, c := range requests {
		a := bedrock.Request(&wire.Call{Model: model(c.model), Request: &c.r, NowMs: nowMs})
		sameJSON(t, c.name, bodyOf(t, a), c.want)
		if a.Method != "POST" || !strings.HasSuffix(a.URL, "/converse") {
			t.Errorf("%s: %s %s", c.name, a.Method, a.URL)
		}
	}
}

func TestURLAndHeaders(t *testing.T) {
	call := &wire.Call{Model: model(sonnet45, abi.Header{Name: "sessionToken", Value: "token"}), Request: &chat.Request{Messages: hello, Stream: true}, NowMs: nowMs}
	a := bedrock.Request(call)
	if a.URL != "https://bedrock-runtime.eu-west-1.amazonaws.com/model/global.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream" {
		t.Errorf("URL %s", a.URL)
	}
	want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature="
	if got := header(a, "authorization"); !strings.HasPrefix(got, want) || len(got) != len(want)+64 {
		t.Errorf("authorization %s", got)
	}
	if header(a, "x-amz-date") != "20261121T091507Z" || header(a, "x-amz-security-token") != "token" || header(a, "content-type") != "application/json" {
		t.Errorf("headers %v", a.Headers)
	}
	call.Model = model(sonnet45, abi.Header{Name: "bearer", Value: "ABSKexample"})
	if a = bedrock.Request(call); header(a, "authorization") != "Bearer ABSKexample" || len(a.Headers) != 2 {
		t.Errorf("with a bearer token: %v", a.Headers)
	}
}

func TestUnsupportedParts(t *testing.T) {
	for _, p := range []chat.Part{
		{Kind: chat.Image, URL: "https://example.com/a.png"}, {Kind: chat.Image, Media: "image/tiff", Data: "AAAA"}, {Kind: chat.Image, Media: "image/png"},
		{Kind: chat.File, URL: "https://example.com/a.pdf"}, {Kind: chat.File, Media: "application/zip", Data: "AAAA"},
		{Kind: chat.ToolResult, ID: "a", Parts: []chat.Part{{Kind: chat.File, Media: "application/zip", Data: "AAAA"}}},
	} {
		r := chat.Request{Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "See:"}, p}}}}
		if a := bedrock.Request(&wire.Call{Model: model(nova2), Request: &r}); a.URL != "" {
			t.Errorf("%+v was sent: %s", p, bodyOf(t, a))
		}
	}
}

func TestEmbedRequests(t *testing.T) {
	const titan, cohere = "amazon.titan-embed-text-v2:0", "cohere.embed-v4:0"
	two := []jsontext.Escaped{"a \\\"b\\\"", "c"}
	for _, c := range []struct {
		call  wire.EmbedCall
		model string
		want  string
	}{
		{wire.EmbedCall{Inputs: two[:1], User: "u"}, titan, `{"inputText":"a \"b\""}`},
		{wire.EmbedCall{Inputs: two[:1], Dimensions: 256}, titan, `{"inputText":"a \"b\"","dimensions":256}`},
		{wire.EmbedCall{Inputs: two, Dimensions: 256}, cohere, `{"input_type":"search_document","texts":["a \"b\"","c"],"embedding_types":["float"],"output_dimension":256}`},
		{wire.EmbedCall{Inputs: two}, titan, ""},
		{wire.EmbedCall{Tokens: []string{"[1,2]"}}, cohere, ""},
		{wire.EmbedCall{}, cohere, ""},
		{wire.EmbedCall{Inputs: two[:1]}, "amazon.nova-2-multimodal-embeddings-v1:0", ""},
	} {
		c.call.Model, c.call.NowMs = model(c.model), nowMs
		a := bedrock.EmbedRequest(&c.call)
		if c.want == "" {
			if a.URL != "" {
				t.Errorf("%s: request for %v", c.model, c.call.Inputs)
			}
			continue
		}
		sameJSON(t, c.model, bodyOf(t, a), c.want)
		if !strings.HasSuffix(a.URL, "/invoke") || !strings.HasPrefix(header(a, "authorization"), "AWS4-HMAC-SHA256 ") {
			t.Errorf("%s: %s %v", c.model, a.URL, a.Headers)
		}
	}
}
