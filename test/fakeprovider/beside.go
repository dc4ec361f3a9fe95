package fakeprovider

// Operations of OpenAI's Responses API other than creating a response. For sources, see
// core/provider/responses/beside.go.

// compactMembers are the fields of a compaction. Agents also send the fields of their other requests.
const compactMembers = "image input instructions model parallel_tool_calls previous_response_id prompt_cache_key prompt_cache_options " +
	"prompt_cache_retention reasoning service_tier text tool_choice tools"

const countMembers = "conversation input instructions model parallel_tool_calls previous_response_id reasoning text tool_choice tools truncation"

var responsesOps = map[string]func(*request, *Behavior) raw{
	"compact": func(*request, *Behavior) raw {
		return object("id", "resp_1", "created_at", 1795262400, "object", "response.compaction",
			"output", []any{
				object("id", "msg_1", "type", "message", "role", "user", "content", []any{object("type", "input_text", "text", "Hello from upstream")}),
				object("id", "cmp_1", "type", "compaction", "encrypted_content", "gAAAAABcompacted"),
			},
			"usage", object("input_tokens", InputTokens, "input_tokens_details", object("cached_tokens", 0), "output_tokens", OutputTokens,
				"output_tokens_details", object("reasoning_tokens", 0), "total_tokens", InputTokens+OutputTokens))
	},
	"count": func(*request, *Behavior) raw {
		return object("object", "response.input_tokens", "input_tokens", InputTokens)
	},
}

func refuseBeside(q *request) *refusal {
	known := ""
	switch q.op {
	case "compact":
		known = compactMembers
	case "count":
		known = countMembers
	default:
		return nil
	}
	if name := unknown(q.root, known); name != "" {
		return &refusal{status: 400, message: "Unknown parameter: '" + name + "'.", param: name, code: "unknown_parameter"}
	}
	return nil
}
