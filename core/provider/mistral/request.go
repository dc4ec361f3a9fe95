// Package mistral speaks Mistral's chat completions and embeddings. They look like OpenAI's, but members that
// are not Mistral's are refused, so that callers' bodies cannot be sent as they come.
// Source: Mistral's API reference, "Chat" and "Embeddings" (docs.mistral.ai/api), and the types of its TypeScript
// SDK, @mistralai/mistralai 2.7.
package mistral

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries is what chat completions have a place for.
const Carries = chat.All &^ (chat.ParamTopK | chat.ParamLogProbs | chat.ParamTopLogProbs | chat.ParamUser | chat.ParamCache |
	chat.ParamThinking | chat.ParamName)

// Request translates a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(openai.URL(c.Model), []abi.Part{{Data: body(c)}}, openai.Auth(c.Model)...)
}

func body(c *wire.Call) []byte {
	r := c.Request
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	messages(&b, r.Messages)
	tools(&b, r)
	if r.MaxTokens > 0 {
		b.Key("max_tokens")
		b.Uint(r.MaxTokens)
	}
	b.Member("temperature", r.Temperature)
	b.Member("top_p", r.TopP)
	b.Member("frequency_penalty", r.FrequencyPenalty)
	b.Member("presence_penalty", r.PresencePenalty)
	b.Member("random_seed", r.Seed)
	if r.N > 1 {
		b.Key("n")
		b.Uint(r.N)
	}
	stop(&b, r.Stop)
	format(&b, &r.Format)
	effort(&b, &r.Reasoning)
	if r.Stream {
		b.Member("stream", "true") // the last chunk has the usage without being asked
	}
	b.Close('}')
	return b.B
}

func stop(b *jsontext.Builder, stop []jsontext.Spelled) {
	if len(stop) == 0 {
		return
	}
	b.Key("stop")
	b.Open('[')
	for _, s := range stop {
		b.Text(s)
	}
	b.Close(']')
}

func format(b *jsontext.Builder, f *chat.Format) {
	switch f.Kind {
	case chat.FormatJSON:
		b.Member("response_format", `{"type":"json_object"}`)
	case chat.FormatSchema:
		b.Key("response_format")
		b.Open('{')
		b.Member("type", `"json_schema"`)
		b.Key("json_schema")
		b.Open('{')
		b.Key("name")
		b.Text(orText(f.Name, "answer"))
		b.TextMember("description", f.Description)
		b.Member("schema", orEmptyObject(f.Schema))
		b.Member("strict", f.Strict)
		b.Close('}')
		b.Close('}')
	}
}

func orText(text, otherwise jsontext.Spelled) jsontext.Spelled {
	if text == "" {
		return otherwise
	}
	return text
}

// orEmptyObject is for schemas, which are required.
func orEmptyObject(schema string) string {
	if schema == "" {
		return `{"type":"object","properties":{}}`
	}
	return schema
}

// effort writes one of none, minimal, low, medium, high and xhigh.
func effort(b *jsontext.Builder, r *chat.Reasoning) {
	level := openai.Effort(r)
	switch level {
	case "":
		return
	case "max":
		level = "xhigh"
	}
	b.Key("reasoning_effort")
	b.String(level)
}

// tools writes the functions. Other providers' own tools cannot be carried.
func tools(b *jsontext.Builder, r *chat.Request) {
	begun := false
	for i := range r.Tools {
		if r.Tools[i].Raw != "" {
			continue
		}
		if !begun {
			b.Key("tools")
			b.Open('[')
			begun = true
		}
		tool(b, &r.Tools[i])
	}
	if !begun {
		return
	}
	b.Close(']')
	b.Member("parallel_tool_calls", r.ParallelTools)
	switch r.ToolChoice.Choice {
	case chat.ChoiceAuto:
		b.Member("tool_choice", `"auto"`)
	case chat.ChoiceNone:
		b.Member("tool_choice", `"none"`)
	case chat.ChoiceAny:
		b.Member("tool_choice", `"any"`)
	case chat.ChoiceTool:
		b.Key("tool_choice")
		b.Raw(`{"type":"function","function":{"name":"` + string(r.ToolChoice.Name) + `"}}`)
	}
}

func tool(b *jsontext.Builder, t *chat.Tool) {
	b.Open('{')
	b.Member("type", `"function"`)
	b.Key("function")
	b.Open('{')
	b.Key("name")
	b.Text(t.Name)
	b.TextMember("description", t.Description)
	b.Member("parameters", orEmptyObject(t.Schema))
	b.Member("strict", t.Strict)
	b.Close('}')
	b.Close('}')
}
