// Package cohere implements the client side of version 2 of Cohere's chat and embed APIs. Source: Cohere's API
// reference, "Chat", "Chat with Streaming" and "Embed" (docs.cohere.com/reference), and the guides "Reasoning", "Tool
// use" and "How does Cohere's pricing work" (docs.cohere.com/docs).
package cohere

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that Cohere's chat supports.
const Carries = chat.All &^ (chat.ParamN | chat.ParamTopLogProbs | chat.ParamUser | chat.ParamParallelTools |
	chat.ParamCache | chat.ParamName | chat.ParamFiles | chat.ParamAudio)

// Request builds a chat request from a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(c.Model.Provider.BaseURL+"/chat", []abi.Part{{Data: Body(c)}}, openai.Auth(c.Model)...)
}

// Body returns the complete request body for a conversation.
func Body(c *wire.Call) []byte {
	r := c.Request
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	messages(&b, r.Messages)
	tools(&b, r)
	format(&b, &r.Format)
	if r.MaxTokens > 0 {
		b.Key("max_tokens")
		b.Uint(r.MaxTokens)
	}
	c.Stop(&b, "stop_sequences")
	b.Member("temperature", r.Temperature)
	b.Member("p", r.TopP)
	b.Member("k", r.TopK)
	b.Member("seed", r.Seed)
	b.Member("frequency_penalty", r.FrequencyPenalty)
	b.Member("presence_penalty", r.PresencePenalty)
	b.Member("logprobs", r.LogProbs)
	thinking(&b, &r.Reasoning)
	if r.Stream {
		b.Member("stream", "true")
	}
	b.Close('}')
	return b.B
}

func format(b *jsontext.Builder, f *chat.Format) {
	if f.Kind == chat.FormatText {
		return
	}
	b.Key("response_format")
	b.Open('{')
	b.Member("type", `"json_object"`)
	if f.Kind == chat.FormatSchema {
		b.Member("json_schema", f.Schema)
	}
	b.Close('}')
}

// thinking turns thinking on or off and sets its token budget. Cohere has no effort levels. Low and medium become
// budgets from the compatibility tables of Google and Anthropic. Higher levels have no budget.
func thinking(b *jsontext.Builder, r *chat.Reasoning) {
	budget := r.Budget
	switch {
	case *r == (chat.Reasoning{Visible: r.Visible}):
		return
	case r.Off || r.Effort == "none":
		b.Member("thinking", `{"type":"disabled"}`)
		return
	case budget > 0:
	case r.Effort == "minimal" || r.Effort == "low":
		budget = 1024
	case r.Effort == "medium":
		budget = 8192
	}
	b.Key("thinking")
	b.Open('{')
	b.Member("type", `"enabled"`)
	if budget > 0 {
		b.Key("token_budget")
		b.Uint(budget)
	}
	b.Close('}')
}

// tools writes the functions and the tool choice. Cohere cannot force a specific function. If a function is forced,
// it is therefore sent alone, with REQUIRED. Server tools from other dialects are left out.
func tools(b *jsontext.Builder, r *chat.Request) {
	forced := r.ToolChoice.Choice == chat.ChoiceTool
	written := false
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Raw != "" || forced && t.Name != r.ToolChoice.Name {
			continue
		}
		if !written {
			b.Key("tools")
			b.Open('[')
		}
		written = true
		tool(b, t)
	}
	if !written {
		return
	}
	b.Close(']')
	switch r.ToolChoice.Choice {
	case chat.ChoiceAny, chat.ChoiceTool:
		b.Member("tool_choice", `"REQUIRED"`)
	case chat.ChoiceNone:
		b.Member("tool_choice", `"NONE"`)
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
	b.Key("parameters") // required
	if t.Schema == "" {
		b.Raw(`{"type":"object","properties":{}}`)
	} else {
		b.Raw(t.Schema)
	}
	b.Close('}')
	b.Close('}')
}
