package anthropic_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	provider "github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/wire"
)

// full is a body with everything that chat.Request can represent. system and content are arrays, as
// core/provider/anthropic writes them.
const full = `{
 "model":"claude-opus-4-6","max_tokens":4000,"stream":true,"temperature":0.5,"top_p":0.9,"top_k":40,
 "stop_sequences":["END","\n\n"],"metadata":{"user_id":"u-1"},"service_tier":"auto","inference_geo":"us",
 "system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"Be \"kind\"."}],
 "tools":[{"name":"weather","description":"Of a city","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},
   "strict":true,"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search","max_uses":3}],
 "tool_choice":{"type":"tool","name":"weather","disable_parallel_tool_use":true},
 "thinking":{"type":"enabled","budget_tokens":2000,"display":"summarized"},
 "output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}}},
 "messages":[
  {"role":"user","content":[{"type":"text","text":"Weather in Zürich \ud83c\udf27?","cache_control":{"type":"ephemeral"}},
   {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},
   {"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},
   {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"a.pdf"},
   {"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}},
   {"type":"document","source":{"type":"text","media_type":"text/plain","data":"café\n"}}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"Hm\n","signature":"EqQB=="},{"type":"redacted_thinking","data":"Em0="},
   {"type":"text","text":"Let me see."},
   {"type":"tool_use","id":"toolu_01.x","name":"weather","input":{"city":"Zürich"},"cache_control":{"type":"ephemeral"}},
   {"type":"tool_use","id":"toolu_02","name":"weather","input":{}}]},
  {"role":"user","content":[
   {"type":"tool_result","tool_use_id":"toolu_01.x","content":[{"type":"text","text":"12 °C"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBO"}}],
    "cache_control":{"type":"ephemeral"}},
   {"type":"tool_result","tool_use_id":"toolu_02","is_error":true},
   {"type":"text","text":"And now?"}]},
  {"role":"system","content":[{"type":"text","text":"Now in German."}]}]}`

func parse(t *testing.T, body string) (api.Parsed, []fault.Detail) {
	t.Helper()
	if problem := jsontext.Check([]byte(body)); problem != jsontext.OK {
		t.Fatalf("%v: %s", problem, body)
	}
	var p api.Parser
	parsed := anthropic.Family.Parse(&p, gjson.Parse(body))
	return parsed, p.Details
}

func same(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A parsed body reaches the provider unchanged, whether it is translated through chat.Request or sent directly.
func TestRequestRoundTrip(t *testing.T) {
	parsed, wrong := parse(t, full)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	c := &wire.Call{
		Request: &parsed.Request,
		Model:   &config.Model{Upstream: "claude-opus-4-6", Provider: &config.Provider{BaseURL: "https://api.anthropic.com/v1"}},
	}
	if c.Request.Model != "claude-opus-4-6" {
		t.Error(c.Request.Model)
	}
	same(t, string(provider.Request(c).Body[0].Data), full)
	direct := ""
	parts := provider.Direct(c, parts(parsed.Members)).Body
	for _, p := range parts {
		direct += string(p.Data)
	}
	same(t, direct, full)
}

func TestParse(t *testing.T) {
	parsed, wrong := parse(t, `{"m\u006fdel":"m","max_tokens":1,"system":"S","messages":[{"role":"user","content":"Hi"},
	 {"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"search_result"},
	  {"type":"image","source":{"type":"file","file_id":"f"}},{"type":"text","text":"x","cache_control":null}]}],
	 "thinking":{"type":"between_tools"},"tool_choice":{"type":"any","disable_parallel_tool_use":false},"cache_control":{"type":"ephemeral"},"stream":null,
	 "output_config":{"effort":null},"temperature":null,"top_k":null,"tools":null,"stop_sequences":null,"metadata":null}`)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := chat.Request{
		Dialect: chat.Anthropic, Model: "m", MaxTokens: 1,
		Messages: []chat.Message{
			{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: "S"}}},
			{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}}},
			{Role: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.Own, Name: "messages.server_tool_use"}, {Kind: chat.Text, Text: `\n`}, {Kind: chat.Own, Name: "messages.image"}, {Kind: chat.Text, Text: "x"},
			}},
		},
		ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, ParallelTools: "true",
		Extra: []chat.Member{{Name: "thinking", Value: `{"type":"between_tools"}`}, {Name: "cache_control", Value: `{"type":"ephemeral"}`}},
		Cache: `{"type":"ephemeral"}`,
	}
	if !reflect.DeepEqual(parsed.Request, want) {
		t.Errorf("got  %+v\nwant %+v", parsed.Request, want)
	}
	members := "{" + string(parsed.Members) + "}"
	for _, key := range []string{"model", "max_tokens", "stream"} {
		if gjson.Get(members, key).Exists() {
			t.Errorf("%s is in %s", key, members)
		}
	}
	if !strings.Contains(members, `"server_tool_use"`) || !strings.Contains(members, `"search_result"`) {
		t.Error(members)
	}
}

func TestCount(t *testing.T) {
	var p api.Parser
	anthropic.ParseCount(&p, gjson.Parse(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
	if len(p.Details) > 0 {
		t.Error(p.Details)
	}
}

func TestInvalidBodies(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"Hi"}]`
	block := func(role, b string) string { return `"messages":[{"role":"` + role + `","content":[` + b + `]}]` }
	tests := []struct{ members, field, message string }{
		{``, "messages", "is required"},
		{`"messages":7`, "messages", "must be an array, got a number"},
		{`"messages":[]`, "messages", "must not be empty"},
		{`"messages":[7]`, "messages[0]", "must be an object, got a number"},
		{`"messages":[{"role":"tool","content":"x"}]`, "messages[0].role", `must be user, assistant or system, got "tool"`},
		{`"messages":[{"role":"user"}]`, "messages[0].content", "is required"},
		{block("user", `7`), "messages[0].content[0]", "must be an object, got a number"},
		{block("user", `{}`), "messages[0].content[0].type", "is required"},
		{block("user", `{"type":"text"}`), "messages[0].content[0].text", "is required"},
		{block("user", `{"type":"text","text":"x","cache_control":7}`), "messages[0].content[0].cache_control", "must be an object, got a number"},
		{block("user", `{"type":"image"}`), "messages[0].content[0].source", "is required"},
		{block("user", `{"type":"image","source":{}}`), "messages[0].content[0].source.type", "is required"},
		{block("user", `{"type":"image","source":{"type":"base64","data":"x"}}`), "messages[0].content[0].source.media_type", "is required"},
		{block("user", `{"type":"image","source":{"type":"url","url":7}}`), "messages[0].content[0].source.url", "must be a non-empty string, got a number"},
		{block("user", `{"type":"tool_use","id":"a","name":"f","input":{}}`), "messages[0].content[0].type", `"tool_use" is allowed only in assistant messages`},
		{block("assistant", `{"type":"tool_result","tool_use_id":"a"}`), "messages[0].content[0].type", `"tool_result" is allowed only in user messages, and not inside another tool_result`},
		{block("assistant", `{"type":"tool_use","id":"a","name":"f","input":"{}"}`), "messages[0].content[0].input", "must be an object, got a string"},
		{block("assistant", `{"type":"thinking"}`), "messages[0].content[0].thinking", "is required"},
		{block("user", `{"type":"tool_result","tool_use_id":""}`), "messages[0].content[0].tool_use_id", "must be a non-empty string, got an empty string"},
		{block("user", `{"type":"tool_result","tool_use_id":"a","is_error":"no"}`), "messages[0].content[0].is_error", `must be true or false, got "no"`},
		{block("user", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text"}]}`), "messages[0].content[0].content[0].text", "is required"},
		{block("user", `{"type":"tool_result","tool_use_id":"a","content":7}`), "messages[0].content[0].content", "must be a string or an array of blocks, got a number"},
		{block("user", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_result","tool_use_id":"b"}]}`),
			"messages[0].content[0].content[0].type", `"tool_result" is allowed only in user messages, and not inside another tool_result`},
		{block("system", `{"type":"image","source":{"type":"url","url":"u"}}`), "messages[0].content[0].type", `must be "text" in a system prompt, got "image"`},
		{user + `,"system":7`, "system", "must be a string or an array of blocks, got a number"},
		{user + `,"system":[{"type":"text"}]`, "system[0].text", "is required"},
		{user + `,"temperature":1.1`, "temperature", "must be a number between 0 and 1, got 1.1"},
		{user + `,"top_k":0.5`, "top_k", "must be an integer between 0 and 2147483648, got 0.5"},
		{user + `,"stop_sequences":"x"`, "stop_sequences", "must be an array of strings, got a string"},
		{user + `,"stop_sequences":["a",7]`, "stop_sequences[1]", "must be a string, got a number"},
		{user + `,"metadata":{"user_id":7}`, "metadata.user_id", "must be a string, got a number"},
		{user + `,"tools":{}`, "tools", "must be an array, got an object"},
		{user + `,"tools":[7]`, "tools[0]", "must be an object, got a number"},
		{user + `,"tools":[{"name":"","input_schema":{}}]`, "tools[0].name", "must be a non-empty string, got an empty string"},
		{user + `,"tools":[{"name":"f"}]`, "tools[0].input_schema", "is required"},
		{user + `,"tools":[{"type":7,"name":"f","input_schema":{}}]`, "tools[0].type", "must be a string, got a number"},
		{user + `,"tool_choice":{"type":"required"}`, "tool_choice.type", `must be auto, any, tool or none, got "required"`},
		{user + `,"tool_choice":{"type":"tool"}`, "tool_choice.name", "is required"},
		{user + `,"tool_choice":"auto"`, "tool_choice", "must be an object, got a string"},
		{user + `,"thinking":{"type":"enabled"}`, "thinking.budget_tokens", "is required"},
		{user + `,"thinking":{"type":"enabled","budget_tokens":10}`, "thinking.budget_tokens", "must be an integer between 1024 and 10000000, got 10"},
		{user + `,"thinking":{}`, "thinking.type", "is required"},
		{user + `,"output_config":{"format":{"type":"json_schema"}}`, "output_config.format.schema", "is required"},
		{user + `,"output_config":{"effort":3}`, "output_config.effort", "must be a string, got a number"},
		{user + `,"stream":"yes"`, "stream", `must be true or false, got "yes"`},
	}
	for _, test := range tests {
		head := `{"model":"m","max_tokens":1`
		if test.members != "" {
			head += ","
		}
		_, wrong := parse(t, head+test.members+"}")
		if want := []fault.Detail{{Field: test.field, Message: test.message}}; !reflect.DeepEqual(wrong, want) {
			t.Errorf("%s: %v", test.members, wrong)
		}
	}
}

func TestInvalidModelAndMaxTokens(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"Hi"}]`
	for body, want := range map[string]fault.Detail{
		`{"max_tokens":1,` + user + `}`:                    {Field: "model", Message: "is required"},
		`{"model":7,"max_tokens":1,` + user + `}`:          {Field: "model", Message: "must be a string of 1 to 200 bytes, got 7"},
		`{"model":"m",` + user + `}`:                       {Field: "max_tokens", Message: "is required"},
		`{"model":"m","max_tokens":null,` + user + `}`:     {Field: "max_tokens", Message: "is required"},
		`{"model":"m","max_tokens":0,` + user + `}`:        {Field: "max_tokens", Message: "must be an integer between 1 and 10000000, got 0"},
		`{"model":"m","max_tokens":10000001,` + user + `}`: {Field: "max_tokens", Message: "must be an integer between 1 and 10000000, got 10000001"},
	} {
		if _, wrong := parse(t, body); !reflect.DeepEqual(wrong, []fault.Detail{want}) {
			t.Errorf("%s: %v", body, wrong)
		}
	}
	_, wrong := parse(t, `{"messages":[`+strings.TrimSuffix(strings.Repeat(`7,`, 1000), ",")+`]}`)
	if len(wrong) != 20 {
		t.Error(len(wrong))
	}
}

// Each value in the example is replaced with values of other types. The parser must not panic. If it accepts a
// request, the request must translate to valid JSON.
func TestHostileShapes(t *testing.T) {
	var walk func(v gjson.Result)
	walk = func(v gjson.Result) {
		for _, other := range []string{`null`, `7`, `-1e9`, `"x"`, `"\\"`, `""`, `[]`, `{}`, `[{}]`, `[7,"x"]`, `true`} {
			mutant := full[:v.Index] + other + full[v.Index+len(v.Raw):]
			if jsontext.Check([]byte(mutant)) != jsontext.OK {
				continue
			}
			var p api.Parser
			parsed := anthropic.Parse(&p, gjson.Parse(mutant))
			c := &wire.Call{Request: &parsed.Request, Model: &config.Model{Upstream: "m", Provider: &config.Provider{}}}
			if sent := provider.Request(c).Body[0].Data; len(p.Details) == 0 && jsontext.Check(sent) != jsontext.OK {
				t.Errorf("%s\nbecame %s", mutant, sent)
			}
		}
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(_, inner gjson.Result) bool {
				inner.Index = v.Index + 1 + strings.Index(full[v.Index+1:], inner.Raw)
				walk(inner)
				return true
			})
		}
	}
	walk(gjson.Parse(full))
}

// Plain-text documents survive the conversion to base64 and back.
func TestDocumentTexts(t *testing.T) {
	for _, text := range []string{"a", "ab", "abc", "abcd", "~~~???>>>", "ÿþýü🌧", `quote\"d\n`} {
		body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"` + text + `"}}]}]}`
		parsed, wrong := parse(t, body)
		c := &wire.Call{Request: &parsed.Request, Model: &config.Model{Upstream: "m", Provider: &config.Provider{}}}
		if len(wrong) > 0 {
			t.Error(wrong)
		}
		same(t, string(provider.Request(c).Body[0].Data), body)
	}
}

func TestThinkingTypes(t *testing.T) {
	for thinking, want := range map[string]chat.Reasoning{
		`{"type":"adaptive","display":"omitted"}`:      {Adaptive: true},
		`{"type":"adaptive","display":"summarized"}`:   {Adaptive: true, Visible: true},
		`{"type":"disabled"}`:                          {Off: true},
		`{"type":"enabled","budget_tokens":1024}`:      {Budget: 1024},
		`{"type":"between_tools","budget_tokens":"x"}`: {},
	} {
		parsed, wrong := parse(t, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"thinking":`+thinking+`}`)
		if len(wrong) > 0 || parsed.Request.Reasoning != want {
			t.Errorf("%s: %v %+v", thinking, wrong, parsed.Request.Reasoning)
		}
	}
}
