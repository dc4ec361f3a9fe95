// Package anthropic implements the client side of Anthropic's Messages API. Source: Anthropic's API reference,
// "Create a Message", "Count tokens in a Message", "Streaming messages" and "Errors"
// (platform.claude.com/docs/en/api), and the types of its TypeScript SDK, @anthropic-ai/sdk 1.11.
package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that the Messages API supports. Models from 4.7 on reject temperature, top_p and
// top_k, which their catalog entries list under drops.
const Carries = chat.All &^ (chat.ParamFrequencyPenalty | chat.ParamPresencePenalty | chat.ParamSeed | chat.ParamN |
	chat.ParamLogProbs | chat.ParamTopLogProbs | chat.ParamFormatJSON | chat.ParamName | chat.ParamAudio)

// Version is the API version, which has been unchanged since 2023. VersionHeader is its header.
const (
	Version       = "2023-06-01"
	VersionHeader = "anthropic-version"
)

// defaultMaxTokens applies if neither the request nor the catalog has a limit. The API requires a limit.
const defaultMaxTokens = 4096

// Request builds a Messages API request from a conversation.
func Request(c *wire.Call) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	members(&b, c)
	stream(&b, c)
	b.Close('}')
	return post(c, "/messages", []abi.Part{{Data: b.B}})
}

// Direct builds a Messages API request from a body in this dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 128)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	b.Key("max_tokens")
	b.Uint(maxTokens(c))
	stream(&b, c)
	return post(c, "/messages", []abi.Part{{Data: append(b.B, ',')}, members, {Data: []byte{'}'}}})
}

// Counted lists the fields of Request that the API counts. Source: MessageCountTokensParams of @anthropic-ai/sdk
// 1.11.
const Counted = " messages system thinking tool_choice tools output_config "

// CountRequest builds a request for the number of tokens in a prompt. members has the same form as for Direct.
func CountRequest(c *wire.Call, members abi.Part) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 64)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	return post(c, "/messages/count_tokens", []abi.Part{{Data: append(b.B, ',')}, members, {Data: []byte{'}'}}})
}

// CountResponse parses {"input_tokens":14}.
func CountResponse(root gjson.Result) (tokens uint64, ok bool) {
	v := jsonvalue.Get(root.Raw, "input_tokens")
	tokens = wire.Count(v)
	return tokens, v.Type == gjson.Number && tokens != chat.Nonsense
}

func post(c *wire.Call, path string, body []abi.Part) abi.Action {
	headers := append(wire.KeyHeader(c.Model.Provider, "x-api-key"), abi.Header{Name: VersionHeader, Value: Version})
	return wire.Post(c.Model.Provider.BaseURL+path, body, headers...)
}

func stream(b *jsontext.Builder, c *wire.Call) {
	if c.Request.Stream {
		b.Member("stream", "true")
	}
}

func maxTokens(c *wire.Call) uint64 {
	switch {
	case c.Request.MaxTokens > 0:
		return c.Request.MaxTokens
	case c.Model.MaxOutput > 0:
		return c.Model.MaxOutput
	}
	return defaultMaxTokens
}

// native reports whether the caller uses this dialect. If so, the parameters stay unchanged, whether they are valid
// or not.
func native(r *chat.Request) bool { return r.Dialect == chat.Anthropic }

func members(b *jsontext.Builder, c *wire.Call) {
	r := c.Request
	t := thinkingOf(c)
	b.Key("max_tokens")
	b.Uint(t.maxTokens)
	system(b, r)
	messages(b, r)
	tools(b, r)
	sampling(b, c, &t)
	c.Stop(b, "stop_sequences")
	if r.User != "" {
		b.Key("metadata")
		b.Open('{')
		b.TextMember("user_id", r.User)
		b.Close('}')
	}
	t.write(b)
	outputConfig(b, r, t.effort)
	if native(r) {
		extra(b, r.Extra)
	}
}

// extra writes the fields that chat.Request does not have. The caller chose their names, so they are escaped.
func extra(b *jsontext.Builder, members []chat.Member) {
	for _, m := range members {
		b.String(m.Name)
		b.B = append(b.B, ':')
		b.Raw(m.Value)
	}
}

// sampling writes temperature, top_p and top_k. The API rejects all three with thinking. From 4.1 on, it also rejects
// temperature together with top_p. Callers with other dialects cannot know this, so sampling drops their parameters
// that conflict.
func sampling(b *jsontext.Builder, c *wire.Call, t *thinking) {
	r := c.Request
	switch {
	case native(r):
	case t.on():
		c.Leave(wire.Sampling)
	case r.Temperature != "":
		c.Leave(chat.ParamTopP)
	}
	c.Clamp()
	b.Member("temperature", r.Temperature)
	b.Member("top_p", r.TopP)
	b.Member("top_k", r.TopK)
}

// outputConfig writes {"effort":"low|medium|high|xhigh|max","format":{"type":"json_schema","schema":{…}}}.
func outputConfig(b *jsontext.Builder, r *chat.Request, effort string) {
	schema := r.Format.Kind == chat.FormatSchema && r.Format.Schema != ""
	if effort == "" && !schema {
		return
	}
	b.Key("output_config")
	b.Open('{')
	if effort != "" {
		b.Key("effort")
		b.String(effort)
	}
	if schema {
		b.Key("format")
		b.Open('{')
		b.Member("type", `"json_schema"`)
		b.Member("schema", r.Format.Schema)
		b.Close('}')
	}
	b.Close('}')
}

func tools(b *jsontext.Builder, r *chat.Request) {
	started := false
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Raw != "" && !native(r) {
			continue
		}
		if !started {
			b.Key("tools")
			b.Open('[')
			started = true
		}
		tool(b, t)
	}
	if started {
		b.Close(']')
		toolChoice(b, r)
	}
}

func tool(b *jsontext.Builder, t *chat.Tool) {
	if t.Raw != "" {
		b.Raw(t.Raw)
		return
	}
	b.Open('{')
	b.Key("name")
	b.Text(t.Name)
	b.TextMember("description", t.Description)
	b.Key("input_schema")
	if t.Schema != "" {
		b.Raw(t.Schema)
	} else {
		b.Raw(`{"type":"object"}`)
	}
	b.Member("strict", t.Strict)
	b.Member("cache_control", t.Cache)
	b.Close('}')
}

// choices contains the types of tool_choice. Unset maps to auto: disable_parallel_tool_use is a field of tool_choice,
// so even a request without a choice needs a type.
var choices = [...]string{
	chat.ChoiceUnset: `"auto"`, chat.ChoiceAuto: `"auto"`, chat.ChoiceNone: `"none"`, chat.ChoiceAny: `"any"`, chat.ChoiceTool: `"tool"`,
}

func toolChoice(b *jsontext.Builder, r *chat.Request) {
	choice := r.ToolChoice.Choice
	single := r.ParallelTools == "false" && choice != chat.ChoiceNone
	if choice == chat.ChoiceUnset && !single {
		return
	}
	b.Key("tool_choice")
	b.Open('{')
	b.Member("type", choices[choice])
	if choice == chat.ChoiceTool {
		b.Key("name")
		b.Text(r.ToolChoice.Name)
	}
	if single {
		b.Member("disable_parallel_tool_use", "true")
	}
	b.Close('}')
}
