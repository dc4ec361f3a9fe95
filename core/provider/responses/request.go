// Package responses implements the client side of OpenAI's Responses API, without its server-side state. Source:
// OpenAI's API reference, "Create a model response", "The response object" and "Streaming events"
// (platform.openai.com/docs/api-reference/responses).
package responses

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that the Responses API supports. Thinking is sent back as it was received, in
// encrypted form. In a Part, the form's prefix is Mark.
const Carries = (chat.All | chat.ParamMarkedThinking) &^ (chat.ParamTopK | chat.ParamFrequencyPenalty | chat.ParamPresencePenalty |
	chat.ParamSeed | chat.ParamStop | chat.ParamN | chat.ParamCache | chat.ParamName | chat.ParamAudio | chat.ParamAlienThinking)

// Mark is the prefix of OpenAI's encrypted thinking in a Part's signature.
const Mark = "openai:"

// Request builds a Responses API request from a conversation.
func Request(c *wire.Call) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	members(&b, c)
	tail(&b, c)
	b.Close('}')
	return post(c, []abi.Part{{Data: b.B}})
}

// Direct builds a Responses API request from a body in this dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 96)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	suffix := jsontext.Builder{B: append(make([]byte, 0, 96), ',')}
	tail(&suffix, c)
	return post(c, []abi.Part{{Data: append(b.B, ',')}, members, {Data: append(suffix.B, '}')}})
}

func post(c *wire.Call, body []abi.Part) abi.Action {
	return wire.Post(c.Model.Provider.BaseURL+"/responses", body, openai.Auth(c.Model)...)
}

// tail writes the fields that Postern sets: store, the limits, the service tier and stream. The provider does not
// store anything.
func tail(b *jsontext.Builder, c *wire.Call) {
	b.Member("store", "false")
	if c.Request.MaxTokens > 0 {
		b.Key("max_output_tokens")
		b.Uint(c.Request.MaxTokens)
	}
	if c.Request.MaxToolCalls > 0 {
		b.Key("max_tool_calls")
		b.Uint(c.Request.MaxToolCalls)
	}
	if c.Request.ServiceTier != "" {
		b.Key("service_tier")
		b.String(c.Request.ServiceTier)
	}
	if c.Request.Stream {
		b.Member("stream", "true")
	}
}

func members(b *jsontext.Builder, c *wire.Call) {
	r := c.Request
	input(b, r)
	tools(b, r)
	b.Member("temperature", r.Temperature)
	b.Member("top_p", r.TopP)
	b.Member("top_logprobs", r.TopLogProbs)
	text(b, r)
	reasoning(b, r)
	b.TextMember("user", r.User)
	for _, m := range r.Carried {
		if m.Name != chat.Verbosity {
			b.Member(m.Name, m.Value)
		}
	}
}

func reasoning(b *jsontext.Builder, r *chat.Request) {
	var include []string
	if effort := openai.Effort(&r.Reasoning); effort != "" || r.Reasoning.Visible {
		b.Key("reasoning")
		b.Open('{')
		if effort != "" {
			b.Key("effort")
			b.String(effort)
		}
		if r.Reasoning.Visible {
			b.Member("summary", `"auto"`)
		}
		b.Close('}')
		include = append(include, "reasoning.encrypted_content")
	}
	if r.LogProbs == "true" {
		include = append(include, "message.output_text.logprobs")
	}
	if len(include) > 0 {
		b.Key("include")
		b.Open('[')
		for _, name := range include {
			b.String(name)
		}
		b.Close(']')
	}
}

// text writes the format and verbosity of the response's text.
func text(b *jsontext.Builder, r *chat.Request) {
	verbosity := ""
	for _, m := range r.Carried {
		if m.Name == chat.Verbosity {
			verbosity = m.Value
		}
	}
	if r.Format.Kind == chat.FormatText && verbosity == "" {
		return
	}
	b.Key("text")
	b.Open('{')
	format(b, &r.Format)
	b.Member("verbosity", verbosity)
	b.Close('}')
}

func format(b *jsontext.Builder, f *chat.Format) {
	switch f.Kind {
	case chat.FormatJSON:
		b.Member("format", `{"type":"json_object"}`)
	case chat.FormatSchema:
		b.Key("format")
		b.Open('{')
		b.Member("type", `"json_schema"`)
		b.Key("name")
		if f.Name == "" {
			b.String("answer")
		} else {
			b.Text(f.Name)
		}
		b.TextMember("description", f.Description)
		b.Member("schema", f.Schema)
		b.Member("strict", f.Strict)
		b.Close('}')
	}
}

func tools(b *jsontext.Builder, r *chat.Request) {
	if len(r.Tools) > 0 {
		b.Key("tools")
		b.Open('[')
		for i := range r.Tools {
			t := &r.Tools[i]
			if t.Raw != "" {
				continue
			}
			b.Open('{')
			b.Member("type", `"function"`)
			b.Key("name")
			b.Text(t.Name)
			b.TextMember("description", t.Description)
			b.Key("parameters")
			b.Raw(or(t.Schema, `{"type":"object","properties":{}}`))
			b.Key("strict")
			b.Raw(or(t.Strict, "false"))
			b.Close('}')
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
		b.Open('{')
		b.Member("type", `"function"`)
		b.Key("name")
		b.Text(r.ToolChoice.Name)
		b.Close('}')
	}
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

func input(b *jsontext.Builder, r *chat.Request) {
	b.Key("input")
	b.Open('[')
	for i := range r.Messages {
		message(b, &r.Messages[i])
	}
	b.Close(']')
}

var roles = [...]string{chat.System: "system", chat.User: "user", chat.Assistant: "assistant", chat.ToolRole: "user"}

// message writes a message as items. Each call, result and thinking part is an item. The parts between them form
// message items.
func message(b *jsontext.Builder, m *chat.Message) {
	open := false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case chat.ToolCall, chat.ToolResult, chat.Thinking, chat.Redacted:
			if open {
				b.Close(']')
				b.Close('}')
				open = false
			}
			item(b, p)
		default:
			if !open {
				b.Open('{')
				b.Member("type", `"message"`)
				b.Key("role")
				b.String(roles[m.Role])
				b.Key("content")
				b.Open('[')
				open = true
			}
			content(b, p, m.Role == chat.Assistant)
		}
	}
	if open {
		b.Close(']')
		b.Close('}')
	}
}

func Thinks(p *chat.Part) bool { return strings.HasPrefix(string(p.Signature), Mark) }

func item(b *jsontext.Builder, p *chat.Part) {
	switch p.Kind {
	case chat.ToolCall:
		b.Open('{')
		b.Member("type", `"function_call"`)
		b.Key("call_id")
		b.Text(p.ID)
		b.Key("name")
		b.Text(p.Name)
		b.Key("arguments")
		b.String(p.Args)
		b.Close('}')
	case chat.ToolResult:
		b.Open('{')
		b.Member("type", `"function_call_output"`)
		b.Key("call_id")
		b.Text(p.ID)
		b.Key("output")
		output(b, p.Parts)
		b.Close('}')
	case chat.Thinking:
		encrypted, ok := strings.CutPrefix(string(p.Signature), Mark)
		if !ok {
			return // the API accepts thinking only with encrypted content
		}
		b.Open('{')
		b.Member("type", `"reasoning"`)
		b.Key("summary")
		b.Open('[')
		if p.Text != "" {
			b.Open('{')
			b.Member("type", `"summary_text"`)
			b.Key("text")
			b.Text(p.Text)
			b.Close('}')
		}
		b.Close(']')
		b.Key("encrypted_content")
		b.Text(jsontext.Escaped(encrypted))
		b.Close('}')
	}
}

// output writes a tool result. If the result is only text, it writes a string. Otherwise, it writes a list.
func output(b *jsontext.Builder, parts []chat.Part) {
	if len(parts) == 0 || len(parts) == 1 && parts[0].Kind == chat.Text {
		b.Text(chat.Join(parts, chat.Text))
		return
	}
	b.Open('[')
	for i := range parts {
		content(b, &parts[i], false)
	}
	b.Close(']')
}

func content(b *jsontext.Builder, p *chat.Part, assistant bool) {
	switch p.Kind {
	case chat.Text:
		b.Open('{')
		if assistant {
			b.Member("type", `"output_text"`)
		} else {
			b.Member("type", `"input_text"`)
		}
		b.Key("text")
		b.Text(p.Text)
		b.Close('}')
	case chat.Refusal:
		b.Open('{')
		b.Member("type", `"refusal"`)
		b.Key("refusal")
		b.Text(p.Text)
		b.Close('}')
	case chat.Image:
		b.Open('{')
		b.Member("type", `"input_image"`)
		b.Key("image_url")
		b.Text(urlOf(p))
		b.TextMember("detail", p.Detail)
		b.Close('}')
	case chat.File:
		b.Open('{')
		b.Member("type", `"input_file"`)
		if p.URL != "" {
			b.TextMember("file_url", p.URL)
		} else {
			b.Key("filename")
			b.Text(jsontext.Escaped(or(string(p.Name), "file")))
			b.Key("file_data")
			b.Text(urlOf(p))
		}
		b.Close('}')
	}
}

func urlOf(p *chat.Part) jsontext.Escaped {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + p.Media + ";base64," + p.Data
}
