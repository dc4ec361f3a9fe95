package fakeprovider

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	anthropicCounted = "messages model cache_control output_config output_format system thinking tool_choice tools context_management"
	anthropicMembers = anthropicCounted + " max_tokens container diagnostics inference_geo metadata service_tier speed " +
		"stop_sequences stream temperature top_k top_p mcp_servers user_profile_id workspace_id betas"
)

var anthropicToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func refuseAnthropic(q *request) *refusal {
	v := q.root
	known := anthropicMembers
	if q.op == "count" {
		known = anthropicCounted
	}
	switch {
	case q.r.Header.Get("X-Api-Key") == "" && !q.bearer():
		return &refusal{status: 401, message: "x-api-key header is required"}
	case q.r.Header.Get("Anthropic-Version") == "":
		return bad("anthropic-version: header is required")
	case !v.IsObject():
		return bad("The request body is not valid JSON")
	case unknown(v, known) != "":
		return bad(unknown(v, known) + ": Extra inputs are not permitted")
	case v.Get("model").Str == "":
		return bad("model: Field required")
	case q.op == "chat" && v.Get("max_tokens").Type != gjson.Number:
		return bad("max_tokens: Field required")
	case q.op == "chat" && v.Get("max_tokens").Int() < 1:
		return bad("max_tokens: must be greater than or equal to 1")
	}
	if f := refuseAnthropicParams(v); f != nil {
		return f
	}
	return refuseAnthropicMessages(v.Get("messages"))
}

func refuseAnthropicParams(v gjson.Result) *refusal {
	thinking, budget := v.Get("thinking.type").Str == "enabled", v.Get("thinking.budget_tokens").Int()
	temperature, choice := v.Get("temperature"), v.Get("tool_choice.type").Str
	switch {
	case temperature.Exists() && (temperature.Type != gjson.Number || temperature.Num < 0 || temperature.Num > 1):
		return bad("temperature: range: 0..1")
	case thinking && budget < 1024:
		return bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case thinking && v.Get("max_tokens").Exists() && budget >= v.Get("max_tokens").Int():
		return bad("`max_tokens` must be greater than `thinking.budget_tokens`.")
	case thinking && temperature.Exists() && temperature.Num != 1:
		return bad("`temperature` may only be set to 1 when thinking is enabled.")
	case thinking && (choice == "any" || choice == "tool"):
		return bad("Thinking may not be enabled when tool_choice forces tool use.")
	case v.Get("tool_choice").Exists() && choice == "":
		return bad("tool_choice: Input should be a valid dictionary with a type")
	case choice != "" && choice != "none" && !v.Get("tools").Exists():
		return bad("tool_choice may only be specified while providing tools.")
	}
	for i, t := range v.Get("tools").Array() {
		if kind := t.Get("type").Str; kind == "" || kind == "custom" {
			at := "tools." + strconv.Itoa(i) + ".custom."
			if !anthropicToolName.MatchString(t.Get("name").Str) {
				return bad(at + "name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
			}
			if t.Get("input_schema.type").Str != "object" {
				return bad(at + "input_schema.type: Field required")
			}
		}
	}
	return nil
}

// refuseAnthropicMessages checks the messages. Consecutive messages with the same role are valid, because the real
// API merges them.
func refuseAnthropicMessages(messages gjson.Result) *refusal {
	list := messages.Array()
	if len(list) == 0 {
		return bad("messages: at least one message is required")
	}
	if list[0].Get("role").Str != "user" {
		return bad("messages: first message must use the \"user\" role")
	}
	calls := map[string]bool{}
	for i, m := range list {
		at := "messages." + strconv.Itoa(i)
		if role := m.Get("role").Str; role != "user" && role != "assistant" {
			return bad(at + ".role: Input should be 'user' or 'assistant'")
		}
		if f := refuseAnthropicContent(at, m, i == len(list)-1); f != nil {
			return f
		}
		if f := refuseToolUse(at, m.Get("content"), calls); f != nil {
			return f
		}
		calls = map[string]bool{}
		for _, block := range m.Get("content").Array() {
			if block.Get("type").Str == "tool_use" {
				calls[block.Get("id").Str] = true
			}
		}
	}
	for name := range calls {
		return bad("messages." + strconv.Itoa(len(list)-1) + ": `tool_use` ids were found without `tool_result` blocks immediately after: " + name)
	}
	return nil
}

func refuseAnthropicContent(at string, m gjson.Result, last bool) *refusal {
	content := m.Get("content")
	switch {
	case !content.IsArray() && content.Type != gjson.String:
		return bad(at + ".content: Field required")
	case content.Type == gjson.String && strings.TrimSpace(content.Str) == "", content.IsArray() && len(content.Array()) == 0:
		if last && m.Get("role").Str == "assistant" {
			return nil
		}
		return bad(at + ": all messages must have non-empty content except for the optional final assistant message")
	}
	if content.Type == gjson.String {
		return nil
	}
	for n, block := range content.Array() {
		where := at + ".content." + strconv.Itoa(n)
		switch kind := block.Get("type").Str; {
		case kind == "":
			return bad(where + ".type: Field required")
		case kind == "text" && block.Get("text").Str == "":
			return bad("messages: text content blocks must be non-empty")
		case kind == "tool_use" && !block.Get("input").IsObject():
			return bad(where + ".tool_use.input: Input should be a valid dictionary")
		case kind == "thinking" && block.Get("signature").Str == "":
			return bad(where + ".thinking.signature: Field required")
		}
	}
	return nil
}

// refuseToolUse checks that a message has results for exactly the calls in the previous message.
func refuseToolUse(at string, content gjson.Result, calls map[string]bool) *refusal {
	open := len(calls)
	for _, block := range content.Array() {
		if block.Get("type").Str != "tool_result" {
			continue
		}
		name := block.Get("tool_use_id").Str
		if !calls[name] {
			return bad(at + ": unexpected `tool_use_id` found in `tool_result` blocks: " + name)
		}
		delete(calls, name)
		open--
	}
	if open > 0 {
		return bad(at + ": `tool_use` ids were found without `tool_result` blocks immediately after")
	}
	return nil
}
