package openai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Completions returns the family for providers that serve the legacy completions API. name is from the catalog. For
// every format except OpenAI's own, ok is false. vLLM, Ollama, llama.cpp and others also use OpenAI's format. Azure's
// paths differ, and Mistral has only fill-in-the-middle. Source: OpenAI's API reference, "Create completion" and "The
// completion object" (platform.openai.com/docs/api-reference/completions). Tiers can name a target with another
// format. It gets no request, because its path and its credentials differ.
func Completions(name string) (f *wire.Family, ok bool) {
	f = &wire.Family{Dialect: chat.OpenAI, Carries: chat.All, Request: noCompletion, Whole: completion, Event: completionStream, Failure: Failure}
	if ok = name == "openai"; ok {
		f.Direct = directCompletion
	}
	return f, ok
}

// noCompletion builds no request, because a conversation cannot be continued as text.
func noCompletion(*wire.Call) abi.Action { return abi.Action{} }

func directCompletion(c *wire.Call, members abi.Part) abi.Action {
	call, model := *c, *c.Model
	model.MaxTokensField = "max_tokens"
	call.Model = &model
	return wire.Post(model.Provider.BaseURL+"/completions", DirectBody(&call, members), Auth(&model)...)
}

// completion parses {"id","created","model","choices":[{"text","index","logprobs","finish_reason"}],"usage"}.
func completion(root gjson.Result) (r chat.Response, ok bool) {
	r.ID, r.Model = jsonvalue.Text(root.Raw, "id"), jsonvalue.Text(root.Raw, "model")
	jsonvalue.Get(root.Raw, "choices").ForEach(func(_, v gjson.Result) bool {
		text := jsonvalue.Get(v.Raw, "text")
		ok = text.Type == gjson.String
		r.Choices = append(r.Choices, chat.Answer{Parts: addText(nil, chat.Text, text), Finish: finishOf(jsonvalue.String(v.Raw, "finish_reason"))})
		return ok
	})
	r.Usage = usage(jsonvalue.Get(root.Raw, "usage"))
	return r, ok
}

// completionStream parses one object of a stream. Its objects are like Stream's, except that choices have a text
// instead of a delta.
func completionStream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !s.Started {
		s.Started = true
		out = append(out, chat.Delta{Kind: chat.DeltaStart})
	}
	jsonvalue.Get(root.Raw, "choices").ForEach(func(_, v gjson.Result) bool {
		out = textDelta(out, chat.DeltaText, wire.Index(jsonvalue.Get(v.Raw, "index")), jsonvalue.Get(v.Raw, "text"))
		return true
	})
	return Stream(s, name, root, out)
}
