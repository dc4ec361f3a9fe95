package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response reads the first choice of a chat completion:
//
//	{"choices":[{"message":{"content":"…"|null,"refusal":"…"|null},"finish_reason":"stop"|"length"|…}],
//	 "usage":{"prompt_tokens":n,"completion_tokens":n,"total_tokens":n}}
func Response(contentType string, body []byte) (result wire.Result, ok bool) {
	media, _, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") || jsontext.Check(body) != jsontext.OK {
		return result, false
	}
	root := gjson.ParseBytes(body)
	choice := root.Get("choices.0")
	text := choice.Get("message.content")
	if text.Type == gjson.Null {
		// A refusal is an answer too: it was generated and is billed.
		text = choice.Get("message.refusal")
	}
	if text.Type != gjson.String {
		return result, false
	}
	result.Text = []byte(text.Raw)
	result.Complete = choice.Get("finish_reason").String() == "stop"
	result.Tokens, result.Reported = tokens(root.Get("usage"))
	return result, true
}

// tokens reads usage. Reasoning tokens are part of completion_tokens.
func tokens(usage gjson.Result) (t keymeter.Tokens, ok bool) {
	prompt, okPrompt := count(usage.Get("prompt_tokens"))
	completion, okCompletion := count(usage.Get("completion_tokens"))
	return keymeter.Tokens{Prompt: prompt, Completion: completion}, okPrompt && okCompletion
}

func count(v gjson.Result) (uint64, bool) {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num < 1e12) {
		return 0, false
	}
	return uint64(v.Num), true
}
