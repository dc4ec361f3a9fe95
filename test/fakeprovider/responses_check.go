package fakeprovider

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

const responsesMembers = "background client_metadata context_management conversation include input instructions max_output_tokens metadata " +
	"model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options " +
	"prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text " +
	"tool_choice tools top_logprobs top_p truncation user max_tool_calls image"

func refuseResponses(q *request) *refusal {
	v := q.root
	switch name := unknown(v, responsesMembers); {
	case !q.bearer():
		return &refusal{status: 401, message: "You didn't provide an API key."}
	case !v.IsObject():
		return bad("We could not parse the JSON body of your request.")
	case v.Get("model").Str == "":
		return &refusal{status: 400, message: "Missing required parameter: 'model'.", param: "model", code: "missing_required_parameter"}
	case name != "":
		return &refusal{status: 400, message: "Unknown parameter: '" + name + "'.", param: name, code: "unknown_parameter"}
	case v.Get("max_output_tokens").Exists() && v.Get("max_output_tokens").Type != gjson.Null && v.Get("max_output_tokens").Int() < 16:
		return &refusal{status: 400, param: "max_output_tokens", code: "integer_below_min_value",
			message: "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."}
	}
	if f := refuseBeside(q); f != nil {
		return f
	}
	if f := refuseResponsesTools(v.Get("tools")); f != nil {
		return f
	}
	return refuseResponsesInput(v)
}

func refuseResponsesTools(tools gjson.Result) *refusal {
	for i, t := range tools.Array() {
		at := "tools[" + strconv.Itoa(i) + "].name"
		if t.Get("type").Str == "function" && !toolName.MatchString(t.Get("name").Str) {
			return &refusal{status: 400, message: "Missing required parameter: '" + at + "'.", param: at, code: "missing_required_parameter"}
		}
	}
	return nil
}

// refuseResponsesInput checks the items. It also checks that tool calls and results match.
func refuseResponsesInput(v gjson.Result) *refusal {
	input, continues := v.Get("input"), v.Get("previous_response_id").Str != "" || v.Get("conversation").Exists()
	if input.Type == gjson.String {
		return nil
	}
	if len(input.Array()) == 0 && !continues {
		return &refusal{status: 400, message: "Missing required parameter: 'input'.", param: "input", code: "missing_required_parameter"}
	}
	open := map[string]bool{}
	for i, item := range input.Array() {
		callID := item.Get("call_id").Str
		switch item.Get("type").Str {
		case "function_call", "custom_tool_call":
			open[callID] = true
		case "function_call_output", "custom_tool_call_output":
			if !open[callID] && !continues {
				return invalid("input", "No tool call found for function call output with call_id "+callID+".")
			}
			delete(open, callID)
		case "", "message":
			if f := refuseResponsesMessage("input["+strconv.Itoa(i)+"]", item); f != nil {
				return f
			}
		}
	}
	for callID := range open {
		return invalid("input", "No tool output found for function call "+callID+".")
	}
	return nil
}

func refuseResponsesMessage(at string, item gjson.Result) *refusal {
	role := item.Get("role").Str
	switch role {
	case "user", "assistant", "system", "developer":
	default:
		return invalid(at+".role", "Invalid value: '"+role+"'. Supported values are: 'assistant', 'system', 'developer', and 'user'.")
	}
	content := item.Get("content")
	if content.Type == gjson.String {
		return nil
	}
	if !content.IsArray() {
		return invalid(at+".content", "Missing required parameter: '"+at+".content'.")
	}
	known := " input_text input_image input_file input_audio "
	if role == "assistant" {
		known = " output_text refusal "
	}
	for n, part := range content.Array() {
		if kind := part.Get("type").Str; !strings.Contains(known, " "+kind+" ") {
			return invalid(at+".content["+strconv.Itoa(n)+"]", "Invalid value: '"+kind+"'. Supported values are:"+known+".")
		}
	}
	return nil
}
