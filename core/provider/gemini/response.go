package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response reads a GenerateContentResponse, which is also what a stream is made of:
//
//	{"responseId","modelVersion","candidates":[{"index","content":{"role":"model","parts":[…]},
//	 "finishReason","logprobsResult"}],"promptFeedback":{"blockReason"},"usageMetadata":{…}}
//
// A part is {"text"}, with "thought":true if it is a summary of the thinking, or {"functionCall":{"id","name",
// "args":{…}}}; either may have a "thoughtSignature". The answer is folded from the deltas of Stream, so that
// both come out the same.
func Response(root gjson.Result) (chat.Response, bool) {
	if root.Get("error").Exists() {
		return chat.Response{}, false
	}
	var s wire.State
	deltas, ok := Stream(&s, "", root, nil)
	r := chat.Fold(deltas)
	return r, ok && said(&r)
}

// said says whether there is an answer at all.
func said(r *chat.Response) bool {
	for i := range r.Choices {
		if len(r.Choices[i].Parts) > 0 || r.Choices[i].Finish != chat.FinishNone {
			return true
		}
	}
	return false
}

// finishOf reads a finishReason. A reason that is not known is taken for a failure: all that have been added
// over time were.
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

// usage reads {"promptTokenCount","cachedContentTokenCount","candidatesTokenCount","thoughtsTokenCount",
// "toolUsePromptTokenCount"}. The prompt's count holds the cached part; thoughts are counted beside the
// candidates, and what Google's own tools fed to the model beside the prompt.
func usage(v gjson.Result) chat.Usage {
	prompt := v.Get("promptTokenCount")
	u := chat.Usage{
		Input:       wire.Count(prompt) + wire.Count(v.Get("toolUsePromptTokenCount")),
		CachedInput: wire.Count(v.Get("cachedContentTokenCount")),
		Reasoning:   wire.Count(v.Get("thoughtsTokenCount")),
		Reported:    prompt.Type == gjson.Number,
	}
	u.Output = wire.Count(v.Get("candidatesTokenCount")) + u.Reasoning
	u.CachedInput = wire.Within(u.CachedInput, u.Input)
	return u
}
