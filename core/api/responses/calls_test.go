package responses_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/sse"
)

// callCases contains arguments that a model passes to a tool's function. Each has a field of the item that the caller
// gets.
var callCases = []struct {
	tool, args string
	path, want string // JSON
}{
	{`{"type":"custom","name":"f"}`, `{"input":"a\nb \"c\" \ud83d\ude00"}`, "input", `"a\nb \"c\" 😀"`},
	{`{"type":"custom","name":"f"}`, `{"text":"x"}`, "input", `"{\"text\":\"x\"}"`},
	{`{"type":"custom","name":"f"}`, `not JSON`, "input", `"not JSON"`},
	{`{"type":"custom","name":"f"}`, `{"input":"cut`, "input", `"cut"`},
	{`{"type":"namespace","name":"n","description":"","tools":[{"type":"custom","name":"f"}]}`, `{"input":"x"}`, "namespace", `"n"`},
	{`{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"f"}]}`, `{"a":1}`, "arguments", `"{\"a\":1}"`},
	{`{"type":"local_shell"}`, "{\n\"command\":[\"ls\",\"-l\"],\n\"env\":{\n\"A\":\"b\"},\"timeout_ms\":5}", "action.command", `["ls","-l"]`},
	{`{"type":"local_shell"}`, `{"command":"ls -l","working_directory":"/tmp"}`, "action.command", `["ls -l"]`},
	{`{"type":"local_shell"}`, `{"cmd":"ls"}`, "action.command", `["{\"cmd\":\"ls\"}"]`},
	{`{"type":"local_shell"}`, `ls`, "action.command", `["ls"]`},
	{`{"type":"local_shell"}`, `{"_invalid":"ls \"a\""}`, "action.command", `["ls \"a\""]`},
	{`{"type":"local_shell"}`, `{"command":["ls"]}`, "action.env", `{}`},
	{`{"type":"shell"}`, `{"commands":["ls",7],"max_output_length":9}`, "action.commands", `["ls","7"]`},
	{`{"type":"shell"}`, `{"commands":["ls"]}`, "action.timeout_ms", `null`},
	{`{"type":"apply_patch"}`, `{"operation":{"type":"delete_file","path":"a"}}`, "operation", `{"type":"delete_file","path":"a"}`},
	{`{"type":"apply_patch"}`, `{"type":"create_file","path":"a","diff":"+x"}`, "operation.diff", `"+x"`},
	{`{"type":"apply_patch"}`, `*** Begin Patch`, "operation.diff", `"*** Begin Patch"`},
	{`{"type":"apply_patch"}`, `{"_invalid":"*** Begin Patch"}`, "operation.diff", `"*** Begin Patch"`},
	{`{"type":"apply_patch"}`, `{"_invalid":"a","b":1}`, "operation.diff", `"{\"_invalid\":\"a\",\"b\":1}"`},
	{`{"type":"tool_search","execution":"client"}`, `{"_invalid":"sky"}`, "arguments", `{"query":"sky"}`},
	{`{"type":"tool_search","execution":"client"}`, `{"query":"sky"}`, "arguments", `{"query":"sky"}`},
	{`{"type":"tool_search","execution":"client"}`, `sky`, "arguments", `{"query":"sky"}`},
}

// TestCalls checks that a model's arguments become a call of the caller's tool without loss. It checks complete
// responses, and streams with pieces of any size.
func TestCalls(t *testing.T) {
	for _, c := range callCases {
		parsed := responses.Parse(&api.Parser{}, gjson.Parse(`{"model":"m","input":"Hi","tools":[`+c.tool+`]}`))
		m := meta
		m.Aliases = parsed.Aliases
		r := chat.Response{Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
			{Kind: chat.Redacted, Data: "cmVk"}, {Kind: chat.Thinking, Text: "Hm", Signature: "c2ln"},
			{Kind: chat.ToolCall, ID: "call_1", Name: parsed.Request.Tools[0].Name, Args: c.args},
		}}}}
		body := responses.Answer(nil, &r, &m)
		check := func(how string, item gjson.Result) {
			t.Helper()
			if got := item.Get(c.path); got.Raw != c.want && got.String() != gjson.Parse(c.want).String() {
				t.Errorf("%s %s, %s: %s is %s, want %s", c.tool, c.args, how, c.path, got.Raw, c.want)
			}
			if item.Get("call_id").Str != "call_1" || item.Get("status").Str != "completed" {
				t.Errorf("%s, %s: %s", c.tool, how, item.Raw)
			}
		}
		if jsontext.Check(body) != jsontext.OK {
			t.Fatalf("not JSON: %s", body)
		}
		root := gjson.ParseBytes(body)
		check("whole", root.Get("output.2"))
		if root.Get("output.0.encrypted_content").Str != "anthropic-redacted:cmVk" || root.Get("output.1.encrypted_content").Str != "anthropic:c2ln" {
			t.Errorf("%s", root.Get("output").Raw)
		}
		for _, size := range []int{1, 4, 1000} {
			checkStream(t, &r, &m, size, check)
		}
	}
}

// checkStream checks that the events of a stream are consistent. An item must have the same ID in its added and done
// events. The pieces of a text must add up to the text.
func checkStream(t *testing.T, r *chat.Response, m *api.Meta, size int, check func(string, gjson.Result)) {
	t.Helper()
	var s api.State
	var out []byte
	for _, d := range chat.Unfold(r, size) {
		out = responses.Stream(out, &s, &d, m)
	}
	out = responses.End(out, &s, r, m)
	var p sse.Parser
	events, ok := p.Feed(out, true)
	if !ok {
		t.Fatal("not a stream")
	}
	ids, pieces, shell := map[string]string{}, "", []string(nil)
	for _, e := range events {
		root := gjson.ParseBytes(e.Data)
		if jsontext.Check(e.Data) != jsontext.OK || root.Get("type").Str != e.Name {
			t.Fatalf("%s is not an event: %s", e.Name, e.Data)
		}
		switch index := root.Get("output_index").Raw; e.Name {
		case "response.output_item.added":
			ids[index] = root.Get("item.id").Str + root.Get("item.type").Str
		case "response.output_item.done":
			if ids[index] != root.Get("item.id").Str+root.Get("item.type").Str {
				t.Errorf("%s began as %s", e.Data, ids[index])
			}
			for i, command := range root.Get("item.action.commands").Array() {
				if i >= len(shell) || shell[i] != command.Str {
					t.Errorf("commands %q, the item is %s", shell, root.Get("item").Raw)
				}
			}
		case "response.shell_call_command.added":
			shell = append(shell, root.Get("command").Str)
		case "response.shell_call_command.delta":
			shell[root.Get("command_index").Int()] += root.Get("delta").Str
		case "response.shell_call_command.done":
			if command := root.Get("command").Str; shell[root.Get("command_index").Int()] != command {
				t.Errorf("the pieces are %q, the whole command is %q", shell, command)
			}
		case "response.custom_tool_call_input.delta":
			pieces += root.Get("delta").Str
		case "response.custom_tool_call_input.done":
			if input := root.Get("input").Str; pieces != input && !strings.HasPrefix(input, "{") {
				t.Errorf("pieces of %d: %q, the whole is %q", size, pieces, input)
			}
		}
	}
	last := gjson.ParseBytes(events[len(events)-1].Data)
	check("in pieces of "+strconv.Itoa(size), last.Get("response.output.2"))
	if len(ids) != 3 {
		t.Errorf("%d items began", len(ids))
	}
}

// TestReasoningComesBack: when a caller sends a provider's thinking back, it is again that provider's.
func TestReasoningComesBack(t *testing.T) {
	for encrypted, want := range map[string]chat.Part{
		"anthropic:c2ln":          {Kind: chat.Thinking, Text: "Hm", Signature: "c2ln"},
		"anthropic-redacted:cmVk": {Kind: chat.Redacted, Data: "cmVk"},
		"gemini:c2ln":             {Kind: chat.Thinking, Text: "Hm", Signature: "gemini:c2ln"},
		"gAAA":                    {Kind: chat.Thinking, Text: "Hm", Signature: "openai:gAAA"},
	} {
		body := `{"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"` + encrypted + `"}]}`
		part := responses.Parse(&api.Parser{}, gjson.Parse(body)).Request.Messages[0].Parts[0]
		if part.Kind != want.Kind || part.Text != want.Text || part.Signature != want.Signature || part.Data != want.Data {
			t.Errorf("%s: %+v", encrypted, part)
		}
	}
}
