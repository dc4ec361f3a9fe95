package fakeprovider

import "strconv"

var chatErrorTypes = map[int]string{
	400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error",
	408: "timeout", 413: "invalid_request_error", 422: "invalid_request_error", 429: "requests",
	500: "server_error", 502: "server_error", 503: "server_error", 529: "server_error",
}

var chatErrorCodes = map[int]string{401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}

// failure returns {"error":{"message","type","param","code"}}, or the dialect's equivalent. Source: OpenAI's API
// reference, "Error codes" (platform.openai.com/docs/guides/error-codes).
func (d *dialect) failure(f *refusal) (raw, map[string]string) {
	switch {
	case d.azure:
		return azureFailure(f), nil
	case d.mistral:
		return mistralFailure(f), nil
	case d.workers:
		return workersFailure(f), nil
	}
	return openaiFailure(f), nil
}

func openaiFailure(f *refusal) raw {
	kind, code := f.kind, f.code
	if kind == "" {
		kind = chatErrorTypes[f.status]
	}
	if code == "" {
		code = chatErrorCodes[f.status]
	}
	return object("error", object("message", f.message, "type", kind, "param", orNull(f.param), "code", orNull(code)))
}

func azureFailure(f *refusal) raw {
	code := f.code
	if code == "" {
		code = strconv.Itoa(f.status)
	}
	return object("error", object("code", code, "message", f.message))
}

// mistralFailure returns one of three forms: for credentials, for invalid fields, or for everything else. Source:
// responses of api.mistral.ai quoted by users, such as in github.com/Gitlawb/openclaude issue 739 and
// github.com/editor-code-assistant/eca issue 231.
func mistralFailure(f *refusal) raw {
	if f.status == 401 {
		return object("detail", "Unauthorized")
	}
	if f.detail != nil {
		return object("object", "error", "message", object("detail", f.detail), "type", "invalid_request_error", "param", nil, "code", nil)
	}
	return object("object", "error", "message", f.message, "type", chatErrorTypes[f.status], "param", nil, "code", "3000")
}

// workersFailure returns Cloudflare's envelope.
func workersFailure(f *refusal) raw {
	code := 7009
	switch f.status {
	case 401, 403:
		code = 10000
	case 400:
		code = 5006
	case 429:
		code = 3036
	}
	return object("errors", array(object("message", "AiError: "+f.message, "code", code)), "success", false,
		"result", raw("{}"), "messages", raw("[]"))
}

// streamError returns an error instead of a chunk. It ends the stream.
func (d *dialect) streamError() []event {
	failed := openaiFailure(&refusal{status: 500, message: "The server had an error while processing your request."})
	if d.mistral {
		failed = mistralFailure(&refusal{status: 500, message: "Internal server error"})
	}
	return []event{{data: failed}}
}

// Azure's additions.
// Source: Azure OpenAI's documentation, "Content filtering", and first events quoted by users, such as
// in github.com/AbanteAI/archive-old-cli-mentat issue 429.
var (
	noFilter = object("hate", safe, "self_harm", safe, "sexual", safe, "violence", safe)
	safe     = object("filtered", false, "severity", "safe")

	promptFilter = array(object("prompt_index", 0, "content_filter_results", noFilter))
	azureFirst   = object("choices", raw("[]"), "created", 0, "id", "", "model", "", "object", "",
		"prompt_filter_results", promptFilter)
	// azureOffsets is a chunk of the asynchronous filter: a choice without a delta.
	azureOffsets = object("id", "", "object", "", "created", 0, "model", "", "choices", array(object("index", 0,
		"finish_reason", nil, "content_filter_results", noFilter,
		"content_filter_offsets", object("check_offset", 44, "start_offset", 44, "end_offset", 198))))
)
