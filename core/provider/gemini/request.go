// Package gemini implements the client side of Google's Generative Language API: generateContent,
// streamGenerateContent and batchEmbedContents in v1beta. Source: "Gemini API reference"
// (ai.google.dev/api/generate-content, ai.google.dev/api/embeddings), and the guides "Thinking", "Thought
// signatures", "Function calling" and "File input methods" (ai.google.dev/gemini-api).
package gemini

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that generateContent supports. The 2.0 models do not accept image URLs (fileData), so
// their catalog entries drop image_urls.
const Carries = (chat.All | chat.ParamMarkedThinking) &^ (chat.ParamUser | chat.ParamParallelTools | chat.ParamCache | chat.ParamName)

// url returns the URL of a model's method. URLs are logged, so it never contains the key.
func url(m *config.Model, method string) string {
	return m.Provider.BaseURL + "/models/" + m.Upstream + method
}

func auth(m *config.Model) []abi.Header {
	if m.Provider.Key == "" {
		return nil
	}
	return []abi.Header{{Name: "x-goog-api-key", Value: m.Provider.Key}}
}

// Request builds a generateContent request from a conversation.
func Request(c *wire.Call) abi.Action {
	method := ":generateContent"
	if c.Request.Stream {
		method = ":streamGenerateContent?alt=sse"
	}
	return wire.Post(url(c.Model, method), []abi.Part{{Data: Body(c)}}, auth(c.Model)...)
}

// Body returns the complete request body for a conversation.
func Body(c *wire.Call) []byte {
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	contents(&b, c)
	tools(&b, c.Request)
	generationConfig(&b, c)
	b.Close('}')
	return b.B
}

// tools writes the functions and the tool choice. Server tools from other dialects are left out.
func tools(b *jsontext.Builder, r *chat.Request) {
	written := false
	for i := range r.Tools {
		if r.Tools[i].Raw != "" {
			continue
		}
		if !written {
			b.Key("tools")
			b.B = append(b.B, `[{"functionDeclarations":[`...)
		}
		written = true
		tool(b, &r.Tools[i])
	}
	if written {
		b.B = append(b.B, `]}]`...)
		toolConfig(b, &r.ToolChoice)
	}
}

func tool(b *jsontext.Builder, t *chat.Tool) {
	b.Open('{')
	b.Key("name")
	b.Text(t.Name)
	b.TextMember("description", t.Description)
	b.Member("parametersJsonSchema", t.Schema)
	b.Close('}')
}

func toolConfig(b *jsontext.Builder, c *chat.ToolChoice) {
	mode := ""
	switch c.Choice {
	case chat.ChoiceAuto:
		mode = "AUTO"
	case chat.ChoiceNone:
		mode = "NONE"
	case chat.ChoiceAny, chat.ChoiceTool:
		mode = "ANY"
	default:
		return
	}
	b.Key("toolConfig")
	b.Open('{')
	b.Key("functionCallingConfig")
	b.Open('{')
	b.Key("mode")
	b.String(mode)
	if c.Choice == chat.ChoiceTool {
		b.Key("allowedFunctionNames")
		b.Open('[')
		b.Text(c.Name)
		b.Close(']')
	}
	b.Close('}')
	b.Close('}')
}

func generationConfig(b *jsontext.Builder, c *wire.Call) {
	r := c.Request
	b.Key("generationConfig")
	b.Open('{')
	b.Member("temperature", r.Temperature)
	b.Member("topP", r.TopP)
	b.Member("topK", r.TopK)
	if r.MaxTokens > 0 {
		b.Key("maxOutputTokens")
		b.Uint(r.MaxTokens)
	}
	c.Stop(b, "stopSequences")
	b.Member("seed", r.Seed)
	b.Member("presencePenalty", r.PresencePenalty)
	b.Member("frequencyPenalty", r.FrequencyPenalty)
	if r.N > 1 {
		b.Key("candidateCount")
		b.Uint(r.N)
	}
	b.Member("responseLogprobs", r.LogProbs)
	b.Member("logprobs", r.TopLogProbs)
	format(b, &r.Format)
	thinking(b, c)
	b.Close('}')
}

func format(b *jsontext.Builder, f *chat.Format) {
	if f.Kind == chat.FormatText {
		return
	}
	b.Member("responseMimeType", `"application/json"`)
	if f.Kind == chat.FormatSchema {
		b.Member("responseJsonSchema", f.Schema)
	}
}

// thinking writes thinkingConfig. The 2.5 models take a token budget. Later models take a level. The API rejects
// requests with both.
func thinking(b *jsontext.Builder, c *wire.Call) {
	model, r := c.Model.Upstream, &c.Request.Reasoning
	if *r == (chat.Reasoning{}) {
		return
	}
	b.Key("thinkingConfig")
	b.Open('{')
	if strings.HasPrefix(model, "gemini-2.5") {
		b.Member("thinkingBudget", budget(model, r))
	} else if l := c.Effort(level(model, r)); l != "" {
		b.Key("thinkingLevel")
		b.String(l)
	}
	if r.Visible {
		b.Member("includeThoughts", "true")
	}
	b.Close('}')
}
