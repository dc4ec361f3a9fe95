package fakeprovider_test

import (
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/test/fakeprovider"
)

// The three API formats that agents use, with a function and a user message. $REST is the rest of the conversation.
var sessions = []struct{ name, path, body, call, result, id, args, text, input string }{
	{
		"responses", "/v1/responses",
		`{"model":"m","input":[{"role":"user","content":"please write"}$REST],"tools":[{"type":"custom","name":"patch"},{"type":"function","name":"write"}]}`,
		`,{"type":"function_call","call_id":"$ID","name":"write","arguments":"{}"}`, `,{"type":"function_call_output","call_id":"$ID","output":"done"}`,
		"output.0.call_id", "output.0.arguments", "output.0.content.0.text", "usage.input_tokens",
	},
	{
		"messages", "/v1/messages",
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"please write"}$REST],"tools":[{"name":"patch","input_schema":{"type":"object","properties":{"input":{}}}},{"name":"write","input_schema":{"type":"object"}}]}`,
		`,{"role":"assistant","content":[{"type":"tool_use","id":"$ID","name":"write","input":{}}]}`,
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"$ID","content":"done"}]}`,
		"content.0.id", "content.0.input", "content.0.text", "usage.cache_creation_input_tokens",
	},
	{
		"chat", "/v1/chat/completions",
		`{"model":"m","messages":[{"role":"user","content":"please write"}$REST],"tools":[{"type":"function","function":{"name":"patch","parameters":{"properties":{"input":{}}}}},{"type":"function","function":{"name":"write"}}]}`,
		`,{"role":"assistant","tool_calls":[{"id":"$ID","type":"function","function":{"name":"write","arguments":"{}"}}]}`, `,{"role":"tool","tool_call_id":"$ID","content":"done"}`,
		"choices.0.message.tool_calls.0.id", "choices.0.message.tool_calls.0.function.arguments", "choices.0.message.content", "usage.prompt_tokens",
	},
}

func TestScript(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, c := range sessions {
		s.Script(fakeprovider.Rule{User: "please write", Steps: []fakeprovider.Step{
			{Calls: []fakeprovider.ScriptedCall{{Tool: "write", Args: []byte(`{"path":"a"}`)}}},
			{Text: "Written.", Usage: &fakeprovider.ScriptedUsage{Input: 700, Written: 700, Output: 3}},
		}})
		first := say(t, s, c.path, strings.Replace(c.body, "$REST", "", 1))
		id := first.Get(c.id).Str
		if got := first.Get(c.args); got.String() != `{"path":"a"}` || id == "" {
			t.Errorf("%s: %s", c.name, first)
		}
		rest := strings.ReplaceAll(c.call+c.result, "$ID", id)
		second := say(t, s, c.path, strings.Replace(c.body, "$REST", rest, 1))
		if second.Get(c.text).Str != "Written." || second.Get(c.input).Int() != 700 {
			t.Errorf("%s: %s", c.name, second)
		}
		if got := s.Seen()[len(s.Seen())-1].Usage; got == nil || got.Input != 700 || got.Written != int(second.Get("usage.cache_creation_input_tokens").Int()) {
			t.Errorf("%s: the recorded usage is %+v of %s", c.name, got, second.Get("usage"))
		}
	}
}

func TestScriptedText(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	s.Script(fakeprovider.Rule{User: "please", Steps: []fakeprovider.Step{{Calls: []fakeprovider.ScriptedCall{{Tool: "patch", Input: "*** a"}}}}})
	for i, want := range []string{"*** a", `{"input":"*** a"}`, `{"input":"*** a"}`} {
		path := []string{"output.0.input", "content.0.input", "choices.0.message.tool_calls.0.function.arguments"}[i]
		if got := say(t, s, sessions[i].path, strings.Replace(sessions[i].body, "$REST", "", 1)).Get(path); got.String() != want {
			t.Errorf("%s: %s, want %s", sessions[i].name, got, want)
		}
	}
	got := say(t, s, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"please name it"}]}`)
	if got.Get("content.0.text").Str != fakeprovider.GoodText {
		t.Errorf("a request without the tool: %s", got)
	}
}

// Gemini's candidates do not include thoughts.
func TestScriptedGeminiUsage(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	s.Script(fakeprovider.Rule{User: "please", Steps: []fakeprovider.Step{
		{Text: "Yes.", Thinking: "Hm.", Usage: &fakeprovider.ScriptedUsage{Input: 700, Cached: 600, Output: 50}},
	}})
	got := say(t, s, "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"please"}]}]}`).Get("usageMetadata")
	for name, want := range map[string]int64{
		"promptTokenCount": 700, "cachedContentTokenCount": 600, "candidatesTokenCount": 30, "thoughtsTokenCount": 20, "totalTokenCount": 750,
	} {
		if got.Get(name).Int() != want {
			t.Errorf("%s is not %d: %s", name, want, got)
		}
	}
}

func say(t *testing.T, s *fakeprovider.Server, path, body string) gjson.Result {
	t.Helper()
	resp := do(t, s, path, body, []string{"Authorization", "Bearer k", "Anthropic-Version", "2023-06-01"})
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return gjson.ParseBytes(data)
}
