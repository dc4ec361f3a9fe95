// Package openai implements the client side of OpenAI's chat completions and embeddings APIs. Many other providers
// also serve them. The catalog describes the differences. Source: OpenAI's API reference, "Create chat completion",
// "The chat completion chunk object" and "Create embeddings" (platform.openai.com/docs/api-reference).
package openai

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that chat completions support.
const Carries = chat.All &^ (chat.ParamTopK | chat.ParamCache | chat.ParamThinking)

// URL returns the URL of a model's chat completions endpoint.
func URL(m *config.Model) string { return m.Provider.BaseURL + "/chat/completions" }

// Auth returns the authorization header with the operator's API key. If there is no key, it returns nil.
func Auth(m *config.Model) []abi.Header {
	return wire.KeyHeader(m.Provider, "authorization")
}

// Request builds a chat completion request from a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(URL(c.Model), []abi.Part{{Data: Body(c)}}, Auth(c.Model)...)
}

// Direct builds a chat completion request from a body in OpenAI's dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	return wire.Post(URL(c.Model), DirectBody(c, members), Auth(c.Model)...)
}

// DirectBody returns the body of Direct's request.
func DirectBody(c *wire.Call, members abi.Part) []abi.Part {
	b := jsontext.Builder{B: make([]byte, 0, 128)}
	b.Open('{')
	head(&b, c)
	suffix := jsontext.Builder{B: make([]byte, 0, 96)}
	tail(&suffix, c)
	// tail starts with a comma because its first key follows the members.
	return []abi.Part{{Data: append(b.B, ',')}, members, {Data: append(suffix.B, '}')}}
}

func head(b *jsontext.Builder, c *wire.Call) {
	b.Key("model")
	b.String(c.Model.Upstream)
}

// tail writes the fields that Postern sets: the token limit, the service tier and the stream options.
func tail(b *jsontext.Builder, c *wire.Call) {
	r := c.Request
	if len(b.B) == 0 && (r.MaxTokens > 0 || r.ServiceTier != "" || r.Stream) {
		b.B = append(b.B, ',')
	}
	if r.MaxTokens > 0 {
		b.Key(c.Model.MaxTokensField)
		b.Uint(r.MaxTokens)
	}
	if r.ServiceTier != "" {
		b.Key("service_tier")
		b.String(r.ServiceTier)
	}
	if !r.Stream {
		return
	}
	b.Key("stream")
	b.Bool(true)
	if !c.Model.Provider.NoStreamOptions {
		// Without it, the stream would not report the usage that is charged.
		b.Key("stream_options")
		b.Raw(`{"include_usage":true}`)
	}
}

// Body returns the complete request body for a conversation.
func Body(c *wire.Call) []byte {
	r := c.Request
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	head(&b, c)
	b.Key("messages")
	messages(&b, r.Messages)
	tools(&b, r)
	b.Member("temperature", r.Temperature)
	b.Member("top_p", r.TopP)
	b.Member("frequency_penalty", r.FrequencyPenalty)
	b.Member("presence_penalty", r.PresencePenalty)
	b.Member("seed", r.Seed)
	if r.N > 1 {
		b.Key("n")
		b.Uint(r.N)
	}
	b.Member("logprobs", r.LogProbs)
	b.Member("top_logprobs", r.TopLogProbs)
	c.Stop(&b, "stop")
	format(&b, &r.Format)
	b.TextMember("user", r.User)
	if effort := Effort(&r.Reasoning); effort != "" {
		b.Key("reasoning_effort")
		b.String(effort)
	}
	if r.Dialect == chat.OpenAI {
		for _, m := range r.Extra {
			b.KeyText(m.Name)
			b.Raw(m.Value)
		}
	}
	for _, m := range r.Carried {
		b.Member(m.Name, m.Value)
	}
	tail(&b, c)
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
		b.Member("schema", f.Schema)
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

// Effort returns OpenAI's reasoning effort. A token budget becomes the nearest level of the compatibility tables of
// Anthropic and Google (1024 low, 8192 medium, 24576 high).
func Effort(r *chat.Reasoning) string {
	switch {
	case r.Effort != "":
		return r.Effort
	case r.Off:
		return "none"
	case r.Budget > 16384:
		return "high"
	case r.Budget > 4096 || r.Adaptive:
		return "medium"
	case r.Budget > 0:
		return "low"
	}
	return ""
}

func tools(b *jsontext.Builder, r *chat.Request) {
	if len(r.Tools) > 0 {
		b.Key("tools")
		b.Open('[')
		for i := range r.Tools {
			tool(b, &r.Tools[i], r.Dialect == chat.OpenAI)
		}
		b.Close(']')
		b.Member("parallel_tool_calls", r.ParallelTools)
	}
	switch r.ToolChoice.Choice {
	case chat.ChoiceAuto:
		b.Member("tool_choice", `"auto"`)
	case chat.ChoiceNone:
		b.Member("tool_choice", `"none"`)
	case chat.ChoiceAny:
		b.Member("tool_choice", `"required"`)
	case chat.ChoiceTool:
		b.Key("tool_choice")
		b.Raw(`{"type":"function","function":{"name":"` + string(r.ToolChoice.Name) + `"}}`)
	}
}

func tool(b *jsontext.Builder, t *chat.Tool, native bool) {
	if t.Raw != "" && native {
		b.Raw(t.Raw)
		return
	}
	b.Open('{')
	b.Member("type", `"function"`)
	b.Key("function")
	b.Open('{')
	b.Key("name")
	b.Text(t.Name)
	b.TextMember("description", t.Description)
	b.Member("parameters", t.Schema)
	b.Member("strict", t.Strict)
	b.Close('}')
	b.Close('}')
}

// EmbedRequest builds an embeddings request.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	return wire.Post(c.Model.Provider.BaseURL+"/embeddings", []abi.Part{{Data: EmbedBody(c)}}, Auth(c.Model)...)
}

// EmbedBody returns the body of EmbedRequest's request.
func EmbedBody(c *wire.EmbedCall) []byte {
	return c.Body(c.Model.Upstream, "input", `"encoding_format":"float"`, "dimensions")
}
