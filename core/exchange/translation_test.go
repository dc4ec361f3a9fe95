package exchange_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
)

// This file generates the tables in docs/reference/translation.md. They show how each field of each caller's API
// reaches each provider's API. TestTranslation sends every request, looks for the field's value in the provider's
// request, and writes its path. The test fails if a value is neither in the request nor named as dropped.

const translationOverlay = `{"providers":[
	{"name":"openai","wire":"openai","baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY","takes":["text.verbosity","prompt_cache_key","prompt_cache_retention","safety_identifier","metadata"]},
	{"name":"items","wire":"responses","baseUrl":"https://items.test/v1","keyEnv":"OPENAI_API_KEY","takes":["verbosity","prompt_cache_key","prompt_cache_retention","safety_identifier","metadata"]},
	{"name":"google","wire":"gemini","baseUrl":"https://google.test/v1","keyEnv":"OPENAI_API_KEY"}],
	"models":[{"name":"item","provider":"items","input":"1","output":"1","source":"made up","date":"2026-11"},
	{"name":"gem","provider":"google","upstream":"gemini-3-pro","input":"1","output":"1","source":"made up","date":"2026-11"}]}`

// translationTargets are the columns of the tables.
var translationTargets = []struct{ title, model, response string }{
	{"Chat completions", "gpt", openaiResponse},
	{"Responses", "item", `{"id":"r1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hello!"}]}],"usage":{"input_tokens":9,"output_tokens":3}}`},
	{"Messages", "claude", anthropicResponse},
	{"Gemini", "gem", `{"candidates":[{"index":0,"content":{"parts":[{"text":"Hello!"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3}}`},
}

// translationCallers are the tables. In body, % stands for the model, ~ for the conversation, and & for the fields
// that a row adds. talk is the conversation of rows that have none.
var translationCallers = []struct {
	title, path, body, talk string
	rows                    []translated
}{
	{
		"Callers of chat completions: `POST /v1/chat/completions`", "/v1/chat/completions", `{"model":"%","messages":~&}`, `[{"role":"user","content":"Hi"}]`,
		[]translated{
			{"`tools`: function", `"tools":[{"type":"function","function":{"name":"mark"}}]`, "", `"mark"`, ""},
			{"`tools`: custom", `"tools":[{"type":"custom","custom":{"name":"mark"}}]`, "", `"mark"`, ""},
			{"its grammar", `"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"mark"}}}}]`, "", `mark"`, ""},
			{"a call to it in an earlier turn", `"tools":[{"type":"custom","custom":{"name":"f"}}]`, `[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":"mark"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}]`, `mark`, ""},
			{"`tools`: of another type", `"tools":[{"type":"web_search_options"}]`, "", `"web_search_options"`, ""},
			{"`tool_choice`: a function", `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"mark"}}],"tool_choice":{"type":"function","function":{"name":"mark"}}`, "", `tool*"mark"`, ""},
			{"`tool_choice`: `allowed_tools`", `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"mark"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"mark"}}]}}`, "", `"mark"`, ""},
			{"`parallel_tool_calls`: false", `"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false`, "", "parallel_tool_calls=false disable_parallel_tool_use=true", ""},
			{"`prompt_cache_key`", `"prompt_cache_key":"mark"`, "", `"mark"`, ""},
			{"`verbosity`", `"verbosity":"low"`, "", `"low"`, ""},
			{"`reasoning_effort`", `"reasoning_effort":"high"`, "", `"high"`, ""},
			{"`metadata`", `"metadata":{"k":"mark"}`, "", `"mark"`, ""},
			{"`safety_identifier`", `"safety_identifier":"mark"`, "", `"mark"`, ""},
			{"`user`", `"user":"mark"`, "", `"mark"`, ""},
			{"`response_format`: a schema", `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","title":"mark"}}}`, "", `"mark"`, ""},
			{"`stop`", `"stop":["mark"]`, "", `"mark"`, ""},
			{"`seed`", `"seed":7771`, "", `7771`, ""},
			{"`logit_bias`", `"logit_bias":{"7":7.5}`, "", `7.5`, ""},
			{"an image in a user message", "", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,mark"}}]}]`, `mark"`, ""},
			{"an image in a tool's result", `"tools":[{"type":"function","function":{"name":"f"}}]`, `[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,mark"}}]}]`, `mark"`, ""},
			{"`reasoning_content` of an earlier turn", "", `[{"role":"user","content":"Hi"},{"role":"assistant","content":"Ho","reasoning_content":"mark"},{"role":"user","content":"So?"}]`, `"mark"`, ""},
			{"audio in a user message", "", `[{"role":"user","content":[{"type":"text","text":"Hear"},{"type":"input_audio","input_audio":{"format":"wav","data":"mark"}}]}]`, `"mark"`, ""},
			{"a file by ID", "", `[{"role":"user","content":[{"type":"text","text":"Read"},{"type":"file","file":{"file_id":"mark"}}]}]`, `"mark"`, ""},
			{"a part of another type", "", `[{"role":"user","content":[{"type":"text","text":"See"},{"type":"video","video":"mark"}]}]`, `"mark"`, ""},
			{"the same, alone in the user's last turn", "", `[{"role":"user","content":[{"type":"video","video":"mark"}]}]`, `"mark"`, ""},
		},
	},
	{
		"Callers of Responses: `POST /v1/responses`", "/v1/responses", `{"model":"%","input":~&}`, `"Hi"`,
		[]translated{
			{"`tools`: function", `"tools":[{"type":"function","name":"mark"}]`, "", `"mark"`, ""},
			{"`tools`: custom", `"tools":[{"type":"custom","name":"mark"}]`, "", `"mark"`, ""},
			{"its grammar", `"tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"lark","definition":"mark"}}]`, "", `mark"`, ""},
			{"`custom_tool_call`", `"tools":[{"type":"custom","name":"f"}]`, `[{"type":"custom_tool_call","call_id":"c1","name":"f","input":"mark"},{"type":"custom_tool_call_output","call_id":"c1","output":"ok"}]`, `mark`, ""},
			{"`custom_tool_call_output`", `"tools":[{"type":"custom","name":"f"}]`, `[{"type":"custom_tool_call","call_id":"c1","name":"f","input":""},{"type":"custom_tool_call_output","call_id":"c1","output":"mark"}]`, `"mark"`, ""},
			{"`tools`: namespace", `"tools":[{"type":"namespace","name":"a","description":"","tools":[{"type":"function","name":"mark"}]}]`, "", `mark"`, ""},
			{"a call in a namespace", `"tools":[{"type":"namespace","name":"a","description":"","tools":[{"type":"function","name":"mark"}]}]`, `[{"type":"function_call","call_id":"c1","namespace":"a","name":"mark","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"ok"}]`, `mark`, ""},
			{"`tools`: local_shell", `"tools":[{"type":"local_shell"}]`, "", `"local_shell"`, ""},
			{"`local_shell_call`", `"tools":[{"type":"local_shell"}]`, `[{"type":"local_shell_call","call_id":"c1","action":{"type":"exec","command":["mark"],"env":{}},"status":"completed"},{"type":"local_shell_call_output","id":"c1","output":"ok"}]`, `mark`, ""},
			{"`tools`: shell", `"tools":[{"type":"shell"}]`, "", `"shell"`, ""},
			{"`shell_call_output`", `"tools":[{"type":"shell"}]`, `[{"type":"shell_call","call_id":"c1","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"c1","output":[{"stdout":"mark","stderr":"","outcome":{"type":"timeout"}}]}]`, `mark`, ""},
			{"`tools`: shell in a container", `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`, "", `"container_auto"`, ""},
			{"`tools`: apply_patch", `"tools":[{"type":"apply_patch"}]`, "", `"apply_patch"`, ""},
			{"`apply_patch_call`", `"tools":[{"type":"apply_patch"}]`, `[{"type":"apply_patch_call","call_id":"c1","status":"completed","operation":{"type":"delete_file","path":"mark"}},{"type":"apply_patch_call_output","call_id":"c1","status":"completed"}]`, `mark`, ""},
			{"`tools`: tool_search that the client runs", `"tools":[{"type":"tool_search","execution":"client"}]`, "", `"tool_search"`, ""},
			{"`tool_search_output`", `"tools":[{"type":"tool_search","execution":"client"}]`, `[{"type":"tool_search_call","call_id":"c1","execution":"client","arguments":{}},{"type":"tool_search_output","call_id":"c1","tools":[{"type":"function","name":"mark"}]}]`, `"mark"`, ""},
			{"`additional_tools`", "", `[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"mark"}]},{"role":"user","content":"Hi"}]`, `"mark"`, ""},
			{"`tools`: tool_search that the provider runs", `"tools":[{"type":"tool_search"}]`, "", `"tool_search"`, ""},
			{"`tools`: web_search", `"tools":[{"type":"web_search"}]`, "", `"web_search"`, ""},
			{"`tools`: mcp", `"tools":[{"type":"mcp","server_label":"mark"}]`, "", `"mark"`, ""},
			{"`tools`: computer", `"tools":[{"type":"computer"}]`, "", `"computer"`, ""},
			{"`tools`: file_search, image_generation, code_interpreter", `"tools":[{"type":"image_generation"}]`, "", `"image_generation"`, ""},
			{"`tools`: of a type without a price", `"tools":[{"type":"oracle"}]`, "", `"oracle"`, ""},
			{"`web_search_call` and other calls of provider tools", "", `[{"role":"user","content":"Hi"},{"type":"web_search_call","id":"mark"}]`, `"mark"`, ""},
			{"`compaction`", "", `[{"type":"compaction","encrypted_content":"mark"},{"role":"user","content":"Hi"}]`, `"mark"`, ""},
			{"`tool_choice`: a custom tool", `"tools":[{"type":"custom","name":"f"},{"type":"custom","name":"mark"}],"tool_choice":{"type":"custom","name":"mark"}`, "", `tool*"mark"`, ""},
			{"`tool_choice`: `allowed_tools`", `"tools":[{"type":"custom","name":"f"},{"type":"custom","name":"mark"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"mark"}]}`, "", `"mark"`, ""},
			{"`tool_choice`: a provider tool", `"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, "", `tool_choice*"web_search"`, ""},
			{"`parallel_tool_calls`: false", `"tools":[{"type":"function","name":"f"}],"parallel_tool_calls":false`, "", "parallel_tool_calls=false disable_parallel_tool_use=true", ""},
			{"`prompt_cache_key`", `"prompt_cache_key":"mark"`, "", `"mark"`, ""},
			{"`text.verbosity`", `"text":{"verbosity":"low"}`, "", `"low"`, ""},
			{"`text.format`: a schema", `"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","title":"mark"}}}`, "", `"mark"`, ""},
			{"`reasoning.effort`", `"reasoning":{"effort":"high"}`, "", `"high"`, ""},
			{"`reasoning.summary`", `"reasoning":{"effort":"high","summary":"auto"}`, "", `summary="auto" display="summarized" includeThoughts=true`, ""},
			{"`include`: `reasoning.encrypted_content`", `"include":["reasoning.encrypted_content"]`, "", `"reasoning.encrypted_content"`, "not needed: signatures always come back in `encrypted_content`, if the target has them"},
			{"`include`: anything else", `"include":["web_search_call.action.sources"]`, "", `"web_search_call.action.sources"`, ""},
			{"reasoning that OpenAI encrypted", "", `[{"type":"reasoning","summary":[],"encrypted_content":"mark"},{"role":"user","content":"Hi"}]`, `"mark"`, ""},
			{"reasoning that Anthropic signed", "", `[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"anthropic:mark"},{"role":"assistant","content":"Ho"},{"role":"user","content":"Hi"}]`, `"mark"`, ""},
			{"reasoning that OpenAI encrypted, and some that nobody signed", "", `[{"type":"reasoning","summary":[],"encrypted_content":"mark"},{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]},{"role":"user","content":"Hi"}]`, `"mark"`, ""},
			{"reasoning that Gemini signed", `"tools":[{"type":"function","name":"f"}]`, `[{"role":"user","content":"Hi"},{"type":"reasoning","summary":[],"encrypted_content":"gemini:mark"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"ok"}]`, `"mark"`, ""},
			{"`metadata`", `"metadata":{"k":"mark"}`, "", `"mark"`, ""},
			{"`client_metadata`", `"client_metadata":{"k":"mark"}`, "", `"mark"`, ""},
			{"`safety_identifier`", `"safety_identifier":"mark"`, "", `"mark"`, ""},
			{"`user`", `"user":"mark"`, "", `"mark"`, ""},
			{"`truncation`", `"truncation":"auto"`, "", `"auto"`, ""},
			{"an image in a user message", "", `[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,mark"}]}]`, `mark"`, ""},
			{"an image in a tool's result", `"tools":[{"type":"function","name":"f"}]`, `[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","image_url":"data:image/png;base64,mark"}]}]`, `mark"`, ""},
			{"a file or image by ID, a part of another type", "", `[{"role":"user","content":[{"type":"input_text","text":"Read"},{"type":"input_file","file_id":"mark"}]}]`, `"mark"`, ""},
			{"the same in a tool's result", `"tools":[{"type":"function","name":"f"}]`, `[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","file_id":"mark"}]}]`, `"mark"`, ""},
			{"the same, alone in the user's last turn", "", `[{"role":"user","content":[{"type":"input_file","file_id":"mark"}]}]`, `"mark"`, ""},
		},
	},
	{
		"Callers of Messages: `POST /v1/messages`", "/v1/messages", `{"model":"%","max_tokens":100,"messages":~&}`, `[{"role":"user","content":"Hi"}]`,
		[]translated{
			{"`tools`: a function", `"tools":[{"name":"mark","input_schema":{"type":"object"}}]`, "", `"mark"`, ""},
			{"a name longer than 64 bytes", `"tools":[{"name":"marked_marked_marked_marked_marked_marked_marked_marked_marked_marked","input_schema":{"type":"object"}}]`, "", `name*marked_marked`, ""},
			{"`tools`: bash, text_editor, memory", `"tools":[{"type":"bash_20250124","name":"bash"}]`, "", `"bash"`, ""},
			{"`tools`: web_search and other server tools", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "", `"web_search"`, ""},
			{"`tools`: computer", `"tools":[{"type":"computer_20250124","name":"computer","display_width_px":1,"display_height_px":1}]`, "", `"computer"`, ""},
			{"`mcp_servers`", `"mcp_servers":[{"type":"url","name":"mark"}]`, "", `"mark"`, ""},
			{"`server_tool_use` and results of server tools", "", `[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"server_tool_use","id":"mark","name":"web_search","input":{}},{"type":"text","text":"Ho"}]},{"role":"user","content":"So?"}]`, `"mark"`, ""},
			{"`search_result`", "", `[{"role":"user","content":[{"type":"search_result","title":"t","source":"s","content":[{"type":"text","text":"mark"}]}]}]`, `mark"`, ""},
			{"`tool_choice`: a tool", `"tools":[{"name":"mark","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"mark"}`, "", `tool*"mark"`, ""},
			{"`disable_parallel_tool_use`", `"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, "", "parallel_tool_calls=false disable_parallel_tool_use=true", ""},
			{"`thinking`: enabled", `"thinking":{"type":"enabled","budget_tokens":24000}`, "", `24000 effort*"high" "HIGH" thinkingLevel="high" 24576`, ""},
			{"`output_config.effort`", `"output_config":{"effort":"high"}`, "", `"high"`, ""},
			{"`thinking.display`: summarized", `"thinking":{"type":"adaptive","display":"summarized"}`, "", `display="summarized" summary="auto" includeThoughts=true`, ""},
			{"thinking that Anthropic signed", "", `[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"mark"},{"type":"text","text":"Ho"}]},{"role":"user","content":"So?"}]`, `"mark"`, ""},
			{"thinking that OpenAI encrypted", "", `[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"openai:mark"},{"type":"text","text":"Ho"}]},{"role":"user","content":"So?"}]`, `"mark"`, ""},
			{"`metadata.user_id`", `"metadata":{"user_id":"mark"}`, "", `"mark"`, ""},
			{"`cache_control`", `"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}]`, "", `"ephemeral"`, ""},
			{"`top_k`", `"top_k":7771`, "", `7771`, ""},
			{"`context_management`", `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, "", `"clear_tool_uses_20250919"`, ""},
			{"an image in a tool's result", `"tools":[{"name":"f","input_schema":{"type":"object"}}]`, `[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"mark"}}]}]}]`, `mark"`, ""},
			{"a file by ID, a block of another type", "", `[{"role":"user","content":[{"type":"text","text":"See"},{"type":"image","source":{"type":"file","file_id":"mark"}}]}]`, `"mark"`, ""},
			{"the same, alone in the user's last turn", "", `[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"mark"}}]}]`, `"mark"`, ""},
		},
	},
}

// translated is a row. what names a field or item. members contains the fields to send. talk is the conversation.
// find says what to look for in the provider's request. missing says why it may be missing.
//
// find is a list of alternatives. Each is the end of a line PATH="value" in the request. If an alternative contains a
// *, the text before it must also occur in the path.
type translated struct{ what, members, talk, find, missing string }

const translationFile = "../../docs/reference/translation.md"

const translationBegin, translationEnd = "<!-- tables: written by make generate from core/exchange/translation_test.go -->\n", "<!-- end of the tables -->\n"

func TestTranslation(t *testing.T) {
	var b strings.Builder
	for _, c := range translationCallers {
		b.WriteString("\n## " + c.title + "\n\n|")
		for _, target := range translationTargets {
			b.WriteString(" | " + target.title)
		}
		b.WriteString(" |\n|" + strings.Repeat(" --- |", len(translationTargets)+1) + "\n")
		for _, row := range c.rows {
			b.WriteString("| " + row.what)
			for _, target := range translationTargets {
				b.WriteString(" | " + row.at(t, c.path, c.body, c.talk, target.model, target.response))
			}
			b.WriteString(" |\n")
		}
	}
	data, err := os.ReadFile(translationFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), translationBegin)
	_, tail, ok := strings.Cut(rest, translationEnd)
	if !ok {
		t.Fatal(translationFile + " has no tables")
	}
	want := head + translationBegin + b.String() + "\n" + translationEnd + tail
	switch {
	case want == string(data):
	case !*rewrite:
		t.Error(translationFile + " differs from what the gateway does; run make generate and read the difference")
	default:
		if err := os.WriteFile(translationFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// at sends a row's request to a model and returns the table cell.
func (row *translated) at(t *testing.T, path, body, talk, model, response string) string {
	t.Helper()
	if row.talk != "" {
		talk = row.talk
	}
	members := row.members
	if members != "" {
		members = "," + members
	}
	send := func(headers ...abi.Header) *host {
		return request{
			path: path, overlay: translationOverlay, headers: headers, provider: [][]abi.Event{wholeResponse(200, response)},
			body: strings.NewReplacer("%", model, "~", talk, "&", members).Replace(body),
		}.run(t)
	}
	h, strict := send(), send(abi.Header{Name: "x-postern-strict", Value: "true"})
	fetches := h.all(abi.ActionFetch)
	if len(fetches) == 0 {
		if h.status() != 400 {
			t.Errorf("%s for %s: status %d: %s", row.what, model, h.status(), h.responseBody())
		}
		return "400"
	}
	refused := len(strict.all(abi.ActionFetch)) == 0
	sent, names := h.bodyText(fetches[0].Body), h.dropped()
	found := row.look(sent)
	switch {
	case (names != "") != refused:
		t.Errorf("%s for %s: left out are %q, but strict %s", row.what, model, names, map[bool]string{true: "refuses", false: "does not refuse"}[refused])
	case found == "" && names == "" && row.missing == "":
		t.Errorf("%s for %s is lost in silence: %s", row.what, model, sent)
	}
	switch {
	case found == "" && names == "":
		return row.missing
	case found == "":
		return "left out, named `" + names + "`"
	case names != "":
		return "`" + found + "`; named `" + names + "`"
	}
	return "`" + found + "`"
}

// look returns the path, without indexes, of a row's value in a provider's request.
func (row *translated) look(sent string) string {
	lines := leaves(nil, "", gjson.Parse(sent))
	for _, want := range strings.Fields(row.find) {
		within, end, both := strings.Cut(want, "*")
		if !both {
			within, end = "", want
		}
		for _, line := range lines {
			path, value, _ := strings.Cut(line, "=")
			ends := strings.HasSuffix(line, end) || !strings.Contains(end, `"`) && strings.Contains(value, end)
			if ends && strings.Contains(path, within) && path != "model" {
				return path
			}
		}
	}
	return ""
}

// leaves returns a JSON document as lines PATH=VALUE.
func leaves(lines []string, path string, v gjson.Result) []string {
	if !v.IsObject() && !v.IsArray() {
		return append(lines, path+"="+v.Raw)
	}
	v.ForEach(func(key, member gjson.Result) bool {
		name := path + "[]"
		if v.IsObject() {
			name = strings.TrimPrefix(path+"."+key.Str, ".")
		}
		lines = leaves(lines, name, member)
		return true
	})
	return lines
}

// dropped returns the names in x-postern-dropped-params.
func (h *host) dropped() string { return h.header("x-postern-dropped-params") }
