package fakeprovider

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Fields of a chat completion request. Source: types of the npm packages openai 6.49 and @mistralai/mistralai.
const (
	chatMembers = "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens " +
		"max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key " +
		"prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier " +
		"stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options"
	mistralMembers = "model temperature top_p max_tokens stream stop random_seed metadata messages response_format tools " +
		"tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode " +
		"guardrails prompt_cache_key service_tier safe_prompt"
	embedMembers = "input model dimensions encoding_format user"
)

var mistralMessage = map[string]string{
	"system": "role content", "user": "role content", "assistant": "role content tool_calls prefix",
	"tool": "role content tool_call_id name",
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// refuse validates a request as OpenAI and compatible providers do.
func (d *dialect) refuse(q *request) *refusal {
	if f := d.refuseCredentials(q); f != nil {
		return f
	}
	if !q.root.IsObject() {
		return bad("We could not parse the JSON body of your request.")
	}
	if q.root.Get("model").Str == "" && !strings.Contains(q.r.URL.Path, "/openai/deployments/") {
		return bad("you must provide a model parameter")
	}
	if q.op == "embed" {
		return refuseEmbeddings(q.root)
	}
	if d.mistral {
		if f := refuseMistral(q.root); f != nil {
			return f
		}
	} else if name := unknown(q.root, chatMembers); name != "" && !d.workers && !d.deepseek {
		return bad("Unrecognized request argument supplied: " + name)
	}
	if f := refuseChatParams(d, q.root); f != nil {
		return f
	}
	if f := refuseChatTools(q.root); f != nil {
		return f
	}
	return refuseMessages(q.root.Get("messages"))
}

func (d *dialect) refuseCredentials(q *request) *refusal {
	key := q.bearer() || d.azure && q.r.Header.Get("Api-Key") != ""
	if !key {
		return &refusal{status: 401, message: "You didn't provide an API key."}
	}
	if strings.Contains(q.r.URL.Path, "/openai/deployments/") && q.r.URL.Query().Get("api-version") == "" {
		return &refusal{status: 404, message: "Resource not found"}
	}
	return nil
}

func refuseEmbeddings(v gjson.Result) *refusal {
	input := v.Get("input")
	switch {
	case unknown(v, embedMembers) != "":
		return bad("Unrecognized request argument supplied: " + unknown(v, embedMembers))
	case !input.Exists() || input.IsObject():
		return &refusal{status: 400, message: "Missing required parameter: 'input'.", param: "input", code: "missing_required_parameter"}
	case input.IsArray() && len(input.Array()) == 0, input.Type == gjson.String && input.Str == "":
		return &refusal{status: 400, message: "Invalid 'input': input cannot be empty.", param: "input"}
	}
	return nil
}

// refuseMistral rejects fields that Mistral does not know, at the top level and in messages.
func refuseMistral(v gjson.Result) *refusal {
	var list []raw
	reject := func(value gjson.Result, at ...any) {
		list = append(list, object("type", "extra_forbidden", "loc", append([]any{"body"}, at...),
			"msg", "Extra inputs are not permitted", "input", raw(value.Raw)))
	}
	if name := unknown(v, mistralMembers); name != "" {
		reject(v.Get(gjson.Escape(name)), name)
	}
	for i, m := range v.Get("messages").Array() {
		role := m.Get("role").Str
		if name := unknown(m, mistralMessage[role]); name != "" && mistralMessage[role] != "" {
			reject(m.Get(gjson.Escape(name)), "messages", i, role, name)
		}
	}
	if list == nil {
		return nil
	}
	return &refusal{status: 422, message: "Extra inputs are not permitted", detail: encode(list)}
}

func invalid(param, message string) *refusal {
	return &refusal{status: 400, param: param, code: "invalid_value", message: message}
}

func refuseChatParams(d *dialect, v gjson.Result) *refusal {
	temperature, reasoning := v.Get("temperature"), reasoningModel(v.Get("model").Str) && d.family == "openai"
	switch {
	case v.Get("stream_options").IsObject() && !v.Get("stream").Bool():
		return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case temperature.Exists() && temperature.Type != gjson.Null && (temperature.Type != gjson.Number || temperature.Num < 0 || temperature.Num > 2):
		return invalid("temperature", "Invalid 'temperature': expected a number from 0 to 2.")
	case v.Get("max_tokens").Exists() && v.Get("max_completion_tokens").Exists():
		return invalid("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case reasoning && v.Get("max_tokens").Exists():
		return &refusal{status: 400, param: "max_tokens", code: "unsupported_parameter", message: "Unsupported parameter: " +
			"'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
	case v.Get("top_logprobs").Int() > 0 && !v.Get("logprobs").Bool():
		return invalid("top_logprobs", "'top_logprobs' is only allowed when 'logprobs' is true.")
	}
	return refuseFormat(d, v)
}

// reasoningModel reports whether an OpenAI model accepts only max_completion_tokens.
func reasoningModel(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func refuseFormat(d *dialect, v gjson.Result) *refusal {
	format := v.Get("response_format")
	switch format.Get("type").Str {
	case "json_object":
		if !d.mistral && !d.workers && !strings.Contains(strings.ToLower(v.Get("messages").Raw), "json") {
			return invalid("messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
		}
	case "json_schema":
		if !toolName.MatchString(format.Get("json_schema.name").Str) {
			return invalid("response_format.json_schema.name", "Missing required parameter: 'response_format.json_schema.name'.")
		}
		if !d.mistral && !d.workers && format.Get("json_schema.strict").Bool() && looseObject(format.Get("json_schema.schema")) {
			return &refusal{status: 400, param: "response_format", message: "Invalid schema for response_format: " +
				"'additionalProperties' is required to be supplied and to be false."}
		}
	case "", "text":
	default:
		return invalid("response_format.type", "Invalid value: '"+format.Get("type").Str+"'.")
	}
	return nil
}

// looseObject reports whether a strict schema's root allows additional properties.
func looseObject(schema gjson.Result) bool {
	return schema.Get("type").Str == "object" && schema.Get("additionalProperties").Raw != "false"
}

func refuseChatTools(v gjson.Result) *refusal {
	tools := v.Get("tools")
	if !tools.Exists() && v.Get("tool_choice").Exists() && v.Get("tool_choice").Str != "none" {
		return invalid("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	}
	if !tools.Exists() && v.Get("parallel_tool_calls").Exists() {
		return invalid("parallel_tool_calls", "'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	for i, t := range tools.Array() {
		at := "tools[" + strconv.Itoa(i) + "]"
		if t.Get("type").Str == "" {
			return invalid(at+".type", "Missing required parameter: '"+at+".type'.")
		}
		if t.Get("type").Str == "function" && !toolName.MatchString(t.Get("function.name").Str) {
			return invalid(at+".function.name", "Invalid '"+at+".function.name': string does not match pattern.")
		}
	}
	return nil
}

// refuseMessages checks the roles. It also checks that tool calls and results match.
func refuseMessages(messages gjson.Result) *refusal {
	if len(messages.Array()) == 0 {
		return &refusal{status: 400, message: "Missing required parameter: 'messages'.", param: "messages", code: "missing_required_parameter"}
	}
	open := map[string]bool{}
	for i, m := range messages.Array() {
		at := "messages[" + strconv.Itoa(i) + "]"
		role := m.Get("role").Str
		switch role {
		case "system", "developer", "user", "assistant", "function":
			if len(open) > 0 {
				return invalid(at+".role", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
			}
		case "tool":
			if !open[m.Get("tool_call_id").Str] {
				return invalid(at+".role", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
			delete(open, m.Get("tool_call_id").Str)
		default:
			return invalid(at+".role", "Invalid value: '"+role+"'.")
		}
		if f := refuseContent(at, role, m); f != nil {
			return f
		}
		for _, c := range m.Get("tool_calls").Array() {
			open[c.Get("id").Str] = true
		}
	}
	if len(open) > 0 {
		return invalid("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
	}
	return nil
}

func refuseContent(at, role string, m gjson.Result) *refusal {
	content := m.Get("content")
	switch {
	case content.Type == gjson.String:
		return nil
	case content.IsArray() && len(content.Array()) > 0:
		for n, part := range content.Array() {
			if part.Get("type").Str == "" {
				path := at + ".content[" + strconv.Itoa(n) + "].type"
				return invalid(path, "Missing required parameter: '"+path+"'.")
			}
		}
		return nil
	case role == "assistant" && (m.Get("tool_calls").IsArray() || m.Get("refusal").Exists() || m.Get("audio").Exists()):
		return nil
	}
	return invalid(at+".content", "Invalid value for 'content': expected a string, got null.")
}
