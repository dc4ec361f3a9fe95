package cohere_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/cohere"
	"github.com/postern-ai/postern/core/provider/wire"
)

var model = &config.Model{
	Upstream: "command-a-03-2025", Provider: &config.Provider{BaseURL: "https://api.cohere.com/v2", Key: "co-test"},
}

// sameJSON compares two JSON values. Their numbers must have the same spelling.
func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	decode := func(text string) (v any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return v
	}
	if !reflect.DeepEqual(decode(string(got)), decode(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func text(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: jsontext.Escaped(s)} }

func newMessage(role chat.Role, parts ...chat.Part) chat.Message {
	return chat.Message{Role: role, Parts: parts}
}

func TestURLAndHeaders(t *testing.T) {
	a := cohere.Request(&wire.Call{Model: model, Request: &chat.Request{Stream: true}})
	headers := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "authorization", Value: "Bearer co-test"}}
	if a.Method != "POST" || a.URL != "https://api.cohere.com/v2/chat" || !reflect.DeepEqual(a.Headers, headers) {
		t.Errorf("%s %s %v", a.Method, a.URL, a.Headers)
	}
	sameJSON(t, a.Body[0].Data, `{"model":"command-a-03-2025","messages":[],"stream":true}`)
}

var requests = []struct {
	name    string
	request chat.Request
	want    string // without the model
}{
	{
		"system messages merged at the start",
		chat.Request{Messages: []chat.Message{
			newMessage(chat.User, text(`Say \"hi\"`)), newMessage(chat.System, text("Be brief.")), newMessage(chat.Assistant, text("hi")),
			newMessage(chat.System, text("In French.")), newMessage(chat.User, text("a"), text(""), text("b")), newMessage(chat.User),
		}},
		`"messages":[{"role":"system","content":[{"type":"text","text":"Be brief."},{"type":"text","text":"In French."}]},
		  {"role":"user","content":"Say \"hi\""},{"role":"assistant","content":"hi"},
		  {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"user","content":""}]`,
	},
	{
		"images",
		chat.Request{Messages: []chat.Message{newMessage(chat.System, text("s")), newMessage(chat.User, text("Look."),
			chat.Part{Kind: chat.Image, URL: "https://example.com/a.png", Detail: "low"},
			chat.Part{Kind: chat.Image, Media: "image/png", Data: "iVBO"})}},
		`"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"Look."},
		  {"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
		  {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"}}]}]`,
	},
	{
		"all parameters",
		chat.Request{
			Temperature: "0.30", TopP: "0.9", TopK: "40", MaxTokens: 256, Stop: []jsontext.Escaped{"END"}, Seed: "7",
			PresencePenalty: "0.1", FrequencyPenalty: "0.2", LogProbs: "true", N: 1, User: "u", ParallelTools: "true",
			Format: chat.Format{Kind: chat.FormatSchema, Name: "n", Schema: `{"type":"object"}`, Strict: "true"},
		},
		`"messages":[],"response_format":{"type":"json_object","json_schema":{"type":"object"}},"max_tokens":256,
		 "stop_sequences":["END"],"temperature":0.30,"p":0.9,"k":40,"seed":7,"frequency_penalty":0.2,"presence_penalty":0.1,
		 "logprobs":true`,
	},
	{
		"tools",
		chat.Request{
			Tools: []chat.Tool{{Raw: `{"type":"web_search"}`}, {Name: "now", Description: "The time."},
				{Name: "find", Schema: `{"type":"object"}`, Strict: "true"}},
			ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, Format: chat.Format{Kind: chat.FormatJSON},
		},
		`"messages":[],"tools":[{"type":"function","function":{"name":"now","description":"The time.","parameters":{"type":"object","properties":{}}}},
		  {"type":"function","function":{"name":"find","parameters":{"type":"object"}}}],"tool_choice":"REQUIRED",
		  "response_format":{"type":"json_object"}`,
	},
	{
		"one tool",
		chat.Request{
			Tools:      []chat.Tool{{Name: "now"}, {Name: "find", Schema: `{"type":"object"}`}},
			ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "find"},
		},
		`"messages":[],"tools":[{"type":"function","function":{"name":"find","parameters":{"type":"object"}}}],"tool_choice":"REQUIRED"`,
	},
	{
		"no tool",
		chat.Request{Tools: []chat.Tool{{Name: "f", Schema: `{}`}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceNone}},
		`"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"NONE"`,
	},
	{
		"calls and what they gave",
		chat.Request{Messages: []chat.Message{
			newMessage(chat.Assistant, chat.Part{Kind: chat.Thinking, Text: "First "}, chat.Part{Kind: chat.Thinking, Text: `\"f\".`, Signature: "x"},
				chat.Part{Kind: chat.ToolCall, ID: "a", Name: "f", Args: `{"q":"c"}`}, chat.Part{Kind: chat.ToolCall, ID: "b", Name: "g", Args: "{}"}),
			newMessage(chat.User, chat.Part{Kind: chat.ToolResult, ID: "a", Parts: []chat.Part{text("one"), {Kind: chat.Image, URL: "https://example.com/a"}}},
				chat.Part{Kind: chat.ToolResult, ID: "b", Failed: true}, text("Go on.")),
			newMessage(chat.Assistant, text("I look."), chat.Part{Kind: chat.ToolCall, ID: "c", Name: "f", Args: "{}"}),
			newMessage(chat.ToolRole, chat.Part{Kind: chat.ToolResult, ID: "c", Parts: []chat.Part{text("x")}}),
			newMessage(chat.Assistant, chat.Part{Kind: chat.Thinking, Text: "So."}, chat.Part{Kind: chat.Redacted, Data: "Zm9v"}, text("Done."),
				chat.Part{Kind: chat.Refusal, Text: "No more."}),
			newMessage(chat.Assistant),
		}},
		`"messages":[{"role":"assistant","tool_plan":"First \"f\".","tool_calls":[
		   {"id":"a","type":"function","function":{"name":"f","arguments":"{\"q\":\"c\"}"}},
		   {"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},
		  {"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"one"}]},
		  {"role":"tool","tool_call_id":"b","content":""},
		  {"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a"}},{"type":"text","text":"Go on."}]},
		  {"role":"assistant","content":[{"type":"text","text":"I look."}],"tool_calls":[
		   {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
		  {"role":"tool","tool_call_id":"c","content":"x"},
		  {"role":"assistant","content":[{"type":"thinking","thinking":"So."},{"type":"text","text":"Done."},{"type":"text","text":"No more."}]},
		  {"role":"assistant","content":""}]`,
	},
}

func TestRequests(t *testing.T) {
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			sameJSON(t, cohere.Body(&wire.Call{Model: model, Request: &c.request}), `{"model":"command-a-03-2025",`+c.want+`}`)
		})
	}
}

func TestThinking(t *testing.T) {
	for _, c := range []struct {
		reasoning chat.Reasoning
		want      string
	}{
		{chat.Reasoning{}, ``},
		{chat.Reasoning{Visible: true}, ``},
		{chat.Reasoning{Off: true}, `,"thinking":{"type":"disabled"}`},
		{chat.Reasoning{Effort: "none"}, `,"thinking":{"type":"disabled"}`},
		{chat.Reasoning{Effort: "low"}, `,"thinking":{"type":"enabled","token_budget":1024}`},
		{chat.Reasoning{Effort: "medium", Visible: true}, `,"thinking":{"type":"enabled","token_budget":8192}`},
		{chat.Reasoning{Effort: "high"}, `,"thinking":{"type":"enabled"}`},
		{chat.Reasoning{Adaptive: true}, `,"thinking":{"type":"enabled"}`},
		{chat.Reasoning{Budget: 2000, Effort: "low"}, `,"thinking":{"type":"enabled","token_budget":2000}`},
	} {
		r := chat.Request{Reasoning: c.reasoning}
		sameJSON(t, cohere.Body(&wire.Call{Model: model, Request: &r}), `{"model":"command-a-03-2025","messages":[]`+c.want+`}`)
	}
}

func TestEmbedRequests(t *testing.T) {
	a := cohere.EmbedRequest(&wire.EmbedCall{Model: model, Inputs: []jsontext.Escaped{"a", `\"b\"`}, Dimensions: 512})
	if a.URL != "https://api.cohere.com/v2/embed" {
		t.Error(a.URL)
	}
	sameJSON(t, a.Body[0].Data, `{"model":"command-a-03-2025","input_type":"search_document","texts":["a","\"b\""],
	  "embedding_types":["float"],"output_dimension":512}`)
}
