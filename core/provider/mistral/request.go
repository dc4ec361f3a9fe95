// Package mistral implements the client side of Mistral's chat completions and embeddings APIs. They resemble
// OpenAI's APIs but reject unknown fields. Callers' bodies therefore cannot be forwarded unchanged. Source: Mistral's
// API reference, "Chat" and "Embeddings" (docs.mistral.ai/api), and the types of its TypeScript SDK,
// @mistralai/mistralai 2.7.
package mistral

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that Mistral's chat completions support.
const Carries = chat.All &^ (chat.ParamTopK | chat.ParamLogProbs | chat.ParamTopLogProbs | chat.ParamUser | chat.ParamCache |
	chat.ParamThinking | chat.ParamName)

// Request builds a chat completion request from a conversation.
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
	c.Stop(&b, "stop")
	format(&b, &r.Format)
	effort(&b, &r.Reasoning)
	if r.Stream {
		b.Member("stream", "true") // the last chunk always has the usage
	}
	b.Close('}')
	return b.B
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

func orText(text, fallback jsontext.Escaped) jsontext.Escaped {
	if text == "" {
		return fallback
	}
	return text
}

// orEmptyObject returns the schema. The API requires one, so if there is none, it returns the schema of an empty
// object.
func orEmptyObject(schema string) string {
	if schema == "" {
		return `{"type":"object","properties":{}}`
	}
	return schema
}

// effort writes none, minimal, low, medium, high or xhigh.
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

// tools writes the functions and the tool choice. Server tools from other dialects are left out.
func tools(b *jsontext.Builder, r *chat.Request) {
	started := false
	for i := range r.Tools {
		if r.Tools[i].Raw != "" {
			continue
		}
		if !started {
			b.Key("tools")
			b.Open('[')
			started = true
		}
		tool(b, &r.Tools[i])
	}
	if !started {
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
