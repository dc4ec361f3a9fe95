package api

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// filtered lists the fields that contain only one parameter. They are fields of all dialects.
var filtered = [...]struct {
	param chat.Params
	names string // each between spaces
}{
	{chat.ParamTemperature, " temperature "},
	{chat.ParamTopP, " top_p "},
	{chat.ParamTopK, " top_k "},
	{chat.ParamFrequencyPenalty, " frequency_penalty "},
	{chat.ParamPresencePenalty, " presence_penalty "},
	{chat.ParamSeed, " seed "},
	{chat.ParamStop, " stop stop_sequences "},
	{chat.ParamLogProbs, " logprobs top_logprobs "},
	{chat.ParamTopLogProbs, " top_logprobs "},
	{chat.ParamUser, " user "},
}

// filteredResponses lists more such fields for Responses requests.
var filteredResponses = [...]struct {
	param chat.Params
	names string
}{
	{chat.ParamParallelTools, " parallel_tool_calls "},
	{chat.ParamToolChoice, " tool_choice "},
	{chat.ParamReasoning, " reasoning "},
	{chat.ParamFormatJSON, " text "},
	{chat.ParamFormatSchema, " text "},
	{chat.ParamThinking, " input "},
	{chat.ParamAlienThinking, " input "},
	{chat.ParamImages | chat.ParamImageURLs | chat.ParamFiles, " input "},
}

// Filters reports whether Filter can leave out all of the parameters.
func Filters(d chat.Dialect, missing chat.Params) bool {
	for _, f := range filtered {
		missing &^= f.param
	}
	if d == chat.Responses {
		for _, f := range filteredResponses {
			missing &^= f.param
		}
	}
	return missing == 0
}

// Filter returns the fields of a body without the parameters that the target does not support. All other fields keep
// their spelling. Filter therefore also keeps content that only the body's dialect can express.
func Filter(d chat.Dialect, members []byte, missing chat.Params) (out []byte) {
	gjson.Parse("{" + string(members) + "}").ForEach(func(key, v gjson.Result) bool {
		name, drop := " "+key.Str+" ", false
		for _, f := range filtered {
			drop = drop || missing&f.param != 0 && strings.Contains(f.names, name)
		}
		if d == chat.Responses && !drop {
			switch key.Str {
			case "text":
				v.Raw = withoutFormat(v, missing)
			case "input":
				v.Raw = withoutParts(v, missing)
			default:
				for _, f := range filteredResponses {
					drop = drop || missing&f.param != 0 && strings.Contains(f.names, name)
				}
			}
		}
		if !drop {
			out = AppendMember(out, key, v)
		}
		return true
	})
	return out
}

// withoutFormat returns the text field of a Responses request without a format that the target does not support.
func withoutFormat(v gjson.Result, missing chat.Params) string {
	format := ""
	switch jsonvalue.String(v.Raw, "format.type") {
	case "json_schema":
		if missing&chat.ParamFormatSchema == 0 {
			return v.Raw
		}
		if missing&chat.ParamFormatJSON == 0 {
			format = `{"type":"json_object"}`
		}
	case "json_object":
		if missing&chat.ParamFormatJSON == 0 {
			return v.Raw
		}
	default:
		return v.Raw
	}
	out := []byte{}
	v.ForEach(func(key, member gjson.Result) bool {
		if key.Str == "format" {
			if format == "" {
				return true
			}
			member.Raw = format
		}
		out = AppendMember(out, key, member)
		return true
	})
	return "{" + string(out) + "}"
}

// withoutParts returns the items of a Responses request without images and files that the target does not support. If
// the target does not support thinking, all reasoning is left out. Otherwise, only reasoning signed by providers
// other than OpenAI is left out, because OpenAI rejects it.
func withoutParts(v gjson.Result, missing chat.Params) string {
	if missing&(chat.ParamThinking|chat.ParamAlienThinking|chat.Content) == 0 || !v.IsArray() {
		return v.Raw
	}
	out := []byte{'['}
	v.ForEach(func(_, item gjson.Result) bool {
		if jsonvalue.String(item.Raw, "type") == "reasoning" &&
			(missing&chat.ParamThinking != 0 || strings.Contains(jsonvalue.String(item.Raw, "encrypted_content"), ":")) {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, withoutContent(item, missing)...)
		return true
	})
	return string(append(out, ']'))
}

// withoutContent returns an item with a note in place of each part that the target does not support.
func withoutContent(item gjson.Result, missing chat.Params) string {
	if missing&chat.Content == 0 || !item.IsObject() {
		return item.Raw
	}
	out := []byte{}
	item.ForEach(func(key, v gjson.Result) bool {
		if (key.Str == "content" || key.Str == "output") && v.IsArray() {
			parts := []byte{'['}
			v.ForEach(func(_, part gjson.Result) bool {
				if len(parts) > 1 {
					parts = append(parts, ',')
				}
				parts = append(parts, keptPart(part, missing)...)
				return true
			})
			v.Raw = string(append(parts, ']'))
		}
		out = AppendMember(out, key, v)
		return true
	})
	return "{" + string(out) + "}"
}

func keptPart(v gjson.Result, missing chat.Params) string {
	what := jsontext.Escaped("")
	switch jsonvalue.String(v.Raw, "type") {
	case "input_image":
		url := jsonvalue.String(v.Raw, "image_url")
		if missing&chat.ParamImages != 0 || url != "" && !strings.HasPrefix(url, "data:") && missing&chat.ParamImageURLs != 0 {
			what = "image"
		}
	case "input_file":
		if missing&chat.ParamFiles != 0 {
			what = "file"
		}
	}
	if what == "" {
		return v.Raw
	}
	return `{"type":"input_text","text":"` + string(chat.LeftOut(what)) + `"}`
}
