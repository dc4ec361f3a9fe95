package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a GenerateContentResponse, which is also the format of a stream's chunks:
//
//	{"responseId","modelVersion","candidates":[{"index","content":{"role":"model","parts":[…]},
//	 "finishReason","logprobsResult"}],"promptFeedback":{"blockReason"},"usageMetadata":{…}}
//
// A part is {"text"} or {"functionCall":{"id","name", "args":{…}}}. A text with "thought":true is a summary of the
// thinking. Both can have a "thoughtSignature". Response folds the deltas from Stream, so both produce the same
// result.
func Response(root gjson.Result) (chat.Response, bool) {
	if jsonvalue.Get(root.Raw, "error").Exists() {
		return chat.Response{}, false
	}
	var s wire.State
	deltas, ok := Stream(&s, "", root, nil)
	r := chat.Fold(deltas)
	return r, ok && hasContent(&r)
}

// hasContent reports whether any choice has content or a finish reason.
func hasContent(r *chat.Response) bool {
	for i := range r.Choices {
		if len(r.Choices[i].Parts) > 0 || r.Choices[i].Finish != chat.FinishNone {
			return true
		}
	}
	return false
}

// finishOf maps a finishReason. An unknown reason counts as a failure: every reason that Google has added so far was
// one.
func finishOf(reason string) chat.Finish {
	switch reason {
	case "", "FINISH_REASON_UNSPECIFIED":
		return chat.FinishNone
	case "STOP":
		return chat.FinishStop
	case "MAX_TOKENS", "CONTINUATION":
		return chat.FinishLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return chat.FinishFilter
	}
	return chat.FinishError
}

// usage parses {"promptTokenCount","cachedContentTokenCount","candidatesTokenCount","thoughtsTokenCount",
// "toolUsePromptTokenCount"}. promptTokenCount includes cached tokens and excludes the input from Google's server
// tools. candidatesTokenCount excludes thoughts.
func usage(v gjson.Result) chat.Usage {
	prompt := jsonvalue.Get(v.Raw, "promptTokenCount")
	u := chat.Usage{
		Input:       wire.Count(prompt) + wire.Count(jsonvalue.Get(v.Raw, "toolUsePromptTokenCount")),
		CachedInput: wire.Count(jsonvalue.Get(v.Raw, "cachedContentTokenCount")),
		Reasoning:   wire.Count(jsonvalue.Get(v.Raw, "thoughtsTokenCount")),
		Reported:    prompt.Type == gjson.Number,
	}
	u.Output = wire.Count(jsonvalue.Get(v.Raw, "candidatesTokenCount")) + u.Reasoning
	u.CachedInput = wire.Within(u.CachedInput, u.Input)
	wire.Unknown(&u, v, knownUsage)
	return u
}

const knownUsage = " promptTokenCount cachedContentTokenCount candidatesTokenCount thoughtsTokenCount toolUsePromptTokenCount totalTokenCount " +
	"promptTokensDetails cacheTokensDetails candidatesTokensDetails toolUsePromptTokensDetails trafficType serviceTier "
