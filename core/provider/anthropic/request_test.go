package anthropic_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/wire"
)

func model(upstream string) *config.Model {
	return &config.Model{Upstream: upstream, Provider: &config.Provider{BaseURL: "https://api.anthropic.com/v1", Key: "sk-ant-1"}}
}

func call(r chat.Request) *wire.Call {
	return &wire.Call{Model: model("claude-opus-4-6"), Request: &r}
}

func body(a abi.Action) string {
	var b strings.Builder
	for _, p := range a.Body {
		b.Write(p.Data)
	}
	return b.String()
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if jsontext.Check([]byte(got)) != jsontext.OK {
		t.Errorf("fails jsontext.Check: %s", got)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func text(s string) []chat.Part { return []chat.Part{{Kind: chat.Text, Text: jsontext.Escape(s)}} }

func say(role chat.Role, s string) chat.Message { return chat.Message{Role: role, Parts: text(s)} }

func TestURLAndHeaders(t *testing.T) {
	c := call(chat.Request{MaxTokens: 5, Messages: []chat.Message{say(chat.User, "Hi")}})
	a := anthropic.Request(c)
	want := []abi.Header{
		{Name: "content-type", Value: "application/json"}, {Name: "x-api-key", Value: "sk-ant-1"},
		{Name: "anthropic-version", Value: "2023-06-01"},
	}
	if a.Method != "POST" || a.URL != "https://api.anthropic.com/v1/messages" || !reflect.DeepEqual(a.Headers, want) {
		t.Errorf("%s %s %v", a.Method, a.URL, a.Headers)
	}
	c.Model.Provider.Key = ""
	if h := anthropic.Request(c).Headers; len(h) != 2 {
		t.Errorf("%v", h)
	}
}

func TestDirect(t *testing.T) {
	c := call(chat.Request{MaxTokens: 5, Stream: true})
	members := abi.Part{Data: []byte(`"messages":[{"role":"user","content":"Hi"}]`)}
	sameJSON(t, body(anthropic.Direct(c, members)),
		`{"model":"claude-opus-4-6","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
	a := anthropic.CountRequest(c, members)
	sameJSON(t, body(a), `{"model":"claude-opus-4-6","messages":[{"role":"user","content":"Hi"}]}`)
	if a.URL != "https://api.anthropic.com/v1/messages/count_tokens" {
		t.Error(a.URL)
	}
	if n, ok := anthropic.CountResponse(gjson.Parse(`{"input_tokens":14}`)); n != 14 || !ok {
		t.Error(n, ok)
	}
	for _, wrong := range []string{`"14"`, `-14`, `1.5`, `1e18`, `null`} {
		if n, ok := anthropic.CountResponse(gjson.Parse(`{"input_tokens":` + wrong + `}`)); ok {
			t.Errorf("%s was parsed as the count %d", wrong, n)
		}
	}
}

const hi = `"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]`

func TestRequestParameters(t *testing.T) {
	user := []chat.Message{say(chat.User, "Hi")}
	function := []chat.Tool{{Name: "f"}}
	const f = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	tests := []struct {
		name string
		in   chat.Request
		want string
	}{
		{"no token limit", chat.Request{}, `"max_tokens":4096`},
		{"sampling", chat.Request{MaxTokens: 9, Temperature: "1.7", TopK: "40"}, `"max_tokens":9,"temperature":1,"top_k":40`},
		{"temperature replaces top_p", chat.Request{MaxTokens: 9, Temperature: "0.5", TopP: "0.9"}, `"max_tokens":9,"temperature":0.5`},
		{"temperature and top_p in this dialect", chat.Request{Dialect: chat.Anthropic, MaxTokens: 9, Temperature: "0.5", TopP: "0.9"},
			`"max_tokens":9,"temperature":0.5,"top_p":0.9`},
		{"stop", chat.Request{MaxTokens: 9, Stop: []jsontext.Escaped{"a", `\n`}, User: "u-1", Stream: true},
			`"max_tokens":9,"stop_sequences":["a","\n"],"metadata":{"user_id":"u-1"},"stream":true`},
		{"schema", chat.Request{MaxTokens: 9, Format: chat.Format{Kind: chat.FormatSchema, Name: "x", Schema: `{"type":"object"}`}},
			`"max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`},
		{"extra members of another dialect", chat.Request{Dialect: chat.OpenAI, MaxTokens: 9, Extra: []chat.Member{{Name: "store", Value: "true"}}}, `"max_tokens":9`},
		{"extra members", chat.Request{Dialect: chat.Anthropic, MaxTokens: 9, Extra: []chat.Member{{Name: `a":1,"b`, Value: `{"c":2}`}}},
			`"max_tokens":9,"a\":1,\"b":{"c":2}`},
		{"tools", chat.Request{MaxTokens: 9, Tools: []chat.Tool{
			{Name: "f", Description: "d", Schema: `{"type":"object","properties":{}}`, Strict: "true", Cache: `{"type":"ephemeral","ttl":"1h"}`},
			{Raw: `{"type":"web_search_20250305","name":"web_search"}`}}},
			`"max_tokens":9,"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{}},"strict":true,
			 "cache_control":{"type":"ephemeral","ttl":"1h"}}]`},
		{"server tools of this dialect", chat.Request{Dialect: chat.Anthropic, MaxTokens: 9, Tools: []chat.Tool{{Raw: `{"type":"web_search_20250305","name":"web_search"}`}}},
			`"max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search"}]`},
		{"any tool", chat.Request{MaxTokens: 9, Tools: function, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, ParallelTools: "true"},
			`"max_tokens":9,` + f + `,"tool_choice":{"type":"any"}`},
		{"one tool", chat.Request{MaxTokens: 9, Tools: function, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "f"}, ParallelTools: "false"},
			`"max_tokens":9,` + f + `,"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true}`},
		{"no parallel calls", chat.Request{MaxTokens: 9, Tools: function, ParallelTools: "false"},
			`"max_tokens":9,` + f + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{"no tool", chat.Request{MaxTokens: 9, Tools: function, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceNone}, ParallelTools: "false"},
			`"max_tokens":9,` + f + `,"tool_choice":{"type":"none"}`},
		{"tool choice without tools", chat.Request{MaxTokens: 9, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}}, `"max_tokens":9`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.in.Messages = user
			sameJSON(t, body(anthropic.Request(call(test.in))), `{"model":"claude-opus-4-6",`+hi+`,`+test.want+`}`)
		})
	}
}

func TestThinking(t *testing.T) {
	tests := []struct {
		name, model string
		maxOutput   uint64
		in          chat.Request
		want        string
	}{
		{"effort as a token budget", "claude-haiku-4-5-20251001", 64000, chat.Request{MaxTokens: 500, Temperature: "0.3", TopK: "5", Reasoning: chat.Reasoning{Effort: "medium"}},
			`"max_tokens":8692,"thinking":{"type":"enabled","budget_tokens":8192}`},
		{"budget fits max_tokens", "claude-3-7-sonnet-20250219", 64000, chat.Request{MaxTokens: 9000, Reasoning: chat.Reasoning{Budget: 2000, Visible: true}},
			`"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2000,"display":"summarized"}`},
		{"budget halved by the model's maximum", "claude-sonnet-4-20250514", 8192, chat.Request{Reasoning: chat.Reasoning{Effort: "high"}},
			`"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":4096}`},
		{"no room for a budget", "claude-sonnet-4-20250514", 1500, chat.Request{MaxTokens: 700, Reasoning: chat.Reasoning{Effort: "high"}}, `"max_tokens":700`},
		{"adaptive, old model", "claude-opus-4-5", 64000, chat.Request{MaxTokens: 10000, Reasoning: chat.Reasoning{Adaptive: true}},
			`"max_tokens":10000,"thinking":{"type":"enabled","budget_tokens":8192}`},
		{"effort", "claude-opus-4-6", 0, chat.Request{MaxTokens: 9, Temperature: "0", Reasoning: chat.Reasoning{Effort: "xhigh"}},
			`"max_tokens":9,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{"xhigh effort", "claude-sonnet-5-5", 0, chat.Request{MaxTokens: 9, Reasoning: chat.Reasoning{Effort: "xhigh"}},
			`"max_tokens":9,"thinking":{"type":"adaptive"},"output_config":{"effort":"xhigh"}`},
		{"budget, new model", "claude-fable-5", 0, chat.Request{MaxTokens: 9, Reasoning: chat.Reasoning{Budget: 20000}},
			`"max_tokens":9,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{"adaptive, no version", "claude-mythos-preview", 0, chat.Request{MaxTokens: 9, Reasoning: chat.Reasoning{Adaptive: true}},
			`"max_tokens":9,"thinking":{"type":"adaptive"}`},
		{"off", "claude-sonnet-5", 0, chat.Request{MaxTokens: 9, Temperature: "0.1", Reasoning: chat.Reasoning{Effort: "none"}},
			`"max_tokens":9,"temperature":0.1,"thinking":{"type":"disabled"}`},
		{"invalid effort", "claude-sonnet-5", 0, chat.Request{MaxTokens: 9, Reasoning: chat.Reasoning{Effort: `"`}}, `"max_tokens":9,"thinking":{"type":"adaptive"}`},
		{"budget and effort in this dialect", "claude-opus-4-5", 0, chat.Request{Dialect: chat.Anthropic, MaxTokens: 2000, Temperature: "1", Reasoning: chat.Reasoning{Budget: 1500, Effort: "low"}},
			`"max_tokens":2000,"temperature":1,"thinking":{"type":"enabled","budget_tokens":1500},"output_config":{"effort":"low"}`},
		{"effort only, in this dialect", "claude-opus-4-8", 0, chat.Request{Dialect: chat.Anthropic, MaxTokens: 9, Reasoning: chat.Reasoning{Effort: "max"}},
			`"max_tokens":9,"output_config":{"effort":"max"}`},
		{"disabled, in this dialect", "claude-opus-4-8", 0, chat.Request{Dialect: chat.Anthropic, MaxTokens: 9, Reasoning: chat.Reasoning{Off: true}},
			`"max_tokens":9,"thinking":{"type":"disabled"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.in.Messages = []chat.Message{say(chat.User, "Hi")}
			c := call(test.in)
			c.Model = model(test.model)
			c.Model.MaxOutput = test.maxOutput
			sameJSON(t, body(anthropic.Request(c)), `{"model":"`+test.model+`",`+hi+`,`+test.want+`}`)
		})
	}
}

// TestThinkingOmitted checks that thinking is omitted if the API would reject it.
func TestThinkingOmitted(t *testing.T) {
	c := call(chat.Request{
		MaxTokens: 9, Messages: []chat.Message{say(chat.User, "Hi")}, Tools: []chat.Tool{{Name: "f"}},
		ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, Reasoning: chat.Reasoning{Effort: "low"},
	})
	got := body(anthropic.Request(c))
	if strings.Contains(got, `"thinking"`) || !strings.Contains(got, `"output_config":{"effort":"low"}`) {
		t.Error(got)
	}
	c.Model = model("claude-haiku-4-5")
	c.Request.ToolChoice = chat.ToolChoice{}
	c.Request.Messages = append(c.Request.Messages,
		chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "not signed"}, {Kind: chat.ToolCall, ID: "a", Name: "f"}}},
		chat.Message{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, ID: "a"}}})
	if got := body(anthropic.Request(c)); strings.Contains(got, `thinking`) {
		t.Error(got)
	}
	c.Request.Messages[1].Parts[0].Signature = "s"
	if got := body(anthropic.Request(c)); !strings.Contains(got, `"thinking":{"type":"enabled","budget_tokens":1024}`) {
		t.Error(got)
	}
}

func TestMessages(t *testing.T) {
	const cache = `{"type":"ephemeral"}`
	tests := []struct {
		name string
		in   chat.Request
		want string
	}{
		{"leading and later system messages", chat.Request{Messages: []chat.Message{
			{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: "A", Cache: cache}, {Kind: chat.Text}}}, say(chat.System, "B"),
			say(chat.User, "Hi"), say(chat.System, "C"), say(chat.User, "there")}},
			`"system":[{"type":"text","text":"A","cache_control":{"type":"ephemeral"}},{"type":"text","text":"B"},{"type":"text","text":"C"}],
			 "messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"there"}]}]`},
		{"later system message in this dialect", chat.Request{Dialect: chat.Anthropic, Messages: []chat.Message{
			say(chat.System, "A"), say(chat.User, "Hi"), say(chat.System, "B"), say(chat.Assistant, "Yes"), say(chat.User, "Go")}},
			`"system":[{"type":"text","text":"A"}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},
			 {"role":"system","content":[{"type":"text","text":"B"}]},{"role":"assistant","content":[{"type":"text","text":"Yes"}]},
			 {"role":"user","content":[{"type":"text","text":"Go"}]}]`},
		{"tools", chat.Request{Dialect: chat.OpenAI, Messages: []chat.Message{say(chat.User, "Weather?"),
			{Role: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.Text, Text: "Let me see."},
				{Kind: chat.ToolCall, ID: "functions.weather:0", Name: "weather", Args: `{"city":"Bern"}`},
				{Kind: chat.ToolCall, ID: "call_2", Name: "time"}}},
			{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, ID: "functions.weather:0", Parts: text("12 °C")}}},
			say(chat.User, "Well?"),
			{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, ID: "call_2", Failed: true, Cache: cache,
				Parts: []chat.Part{{Kind: chat.Image, Media: "image/png", Data: "iVBO"}, {Kind: chat.Text}, {Kind: chat.ToolResult}}}}}}},
			`"messages":[{"role":"user","content":[{"type":"text","text":"Weather?"}]},
			 {"role":"assistant","content":[{"type":"text","text":"Let me see."},
			  {"type":"tool_use","id":"functions_weather_0","name":"weather","input":{"city":"Bern"}},
			  {"type":"tool_use","id":"call_2","name":"time","input":{}}]},
			 {"role":"user","content":[
			  {"type":"tool_result","tool_use_id":"functions_weather_0","content":[{"type":"text","text":"12 °C"}]},
			  {"type":"tool_result","tool_use_id":"call_2","is_error":true,"cache_control":{"type":"ephemeral"},
			   "content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}]},
			  {"type":"text","text":"Well?"}]}]`},
		{"thinking", chat.Request{Messages: []chat.Message{say(chat.User, "Hi"),
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "not signed"}}},
			say(chat.User, "there"),
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: `a\n`, Signature: "Eq=="}, {Kind: chat.Redacted, Data: "Em0="}, {Kind: chat.Refusal, Text: "No."}}}}},
			`"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"there"}]},
			 {"role":"assistant","content":[{"type":"thinking","thinking":"a\n","signature":"Eq=="},{"type":"redacted_thinking","data":"Em0="},
			 {"type":"text","text":"No."}]}]`},
		{"images and files", chat.Request{Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{
			{Kind: chat.Image, URL: "https://example.com/a.png", Detail: "high", Cache: cache},
			{Kind: chat.Image, Data: "iVBO"},
			{Kind: chat.File, Name: "a.pdf", Media: "application/pdf", Data: "JVBE"},
			{Kind: chat.File, URL: "https://example.com/a.pdf"},
			{Kind: chat.File, Media: "text/csv", Data: "YSxiCg=="},
			{Kind: chat.File, Media: "text/plain", Data: "_"},
			{Kind: chat.Audio, Media: "wav", Data: "AAAA"}}}}},
			`"messages":[{"role":"user","content":[
			 {"type":"image","source":{"type":"url","url":"https://example.com/a.png"},"cache_control":{"type":"ephemeral"}},
			 {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}},
			 {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"},"title":"a.pdf"},
			 {"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}},
			 {"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b\n"}},
			 {"type":"document","source":{"type":"base64","media_type":"text/plain","data":"_"}}]}]`},
		{"no messages", chat.Request{}, `"messages":[]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.in.MaxTokens = 9
			sameJSON(t, body(anthropic.Request(call(test.in))), `{"model":"claude-opus-4-6","max_tokens":9,`+test.want+`}`)
		})
	}
}
