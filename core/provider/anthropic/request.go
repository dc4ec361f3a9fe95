// Package anthropic speaks Anthropic's Messages API.
// Source: Anthropic's API reference, "Create a Message", "Count tokens in a Message", "Streaming messages" and
// "Errors" (platform.claude.com/docs/en/api), and the types of its TypeScript SDK, @anthropic-ai/sdk 1.11.
package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries is what the Messages API has a place for. Models from 4.7 on refuse temperature, top_p and top_k:
// that is for the catalog's drops to say.
const Carries = chat.All &^ (chat.ParamFrequencyPenalty | chat.ParamPresencePenalty | chat.ParamSeed | chat.ParamN |
	chat.ParamLogProbs | chat.ParamTopLogProbs | chat.ParamFormatJSON | chat.ParamName | chat.ParamAudio)

// version is the API's, of which there has been one since 2023.
const version = "2023-06-01"

// defaultMaxTokens is for requests without a limit, to models whose limit is not known: the API requires one.
const defaultMaxTokens = 4096

// Request translates a conversation.
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

// Direct sends a body of this dialect.
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

// CountRequest asks how many tokens a prompt has. members are those of the caller's body, as for Direct.
func CountRequest(c *wire.Call, members abi.Part) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 64)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	return post(c, "/messages/count_tokens", []abi.Part{{Data: append(b.B, ',')}, members, {Data: []byte{'}'}}})
}

// CountResponse reads {"input_tokens":14}.
func CountResponse(root gjson.Result) (tokens uint64, ok bool) {
	v := root.Get("input_tokens")
	return wire.Count(v), v.Type == gjson.Number
}

func post(c *wire.Call, path string, body []abi.Part) abi.Action {
	headers := make([]abi.Header, 0, 3)
	if key := c.Model.Provider.Key; key != "" {
		headers = append(headers, abi.Header{Name: "x-api-key", Value: key})
	}
	headers = append(headers, abi.Header{Name: "anthropic-version", Value: version})
	if c.Beta != "" {
		headers = append(headers, abi.Header{Name: "anthropic-beta", Value: c.Beta})
	}
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

// native says that the caller speaks this dialect too: what it asks for is handed on, sensible or not.
func native(r *chat.Request) bool { return r.Dialect == chat.Anthropic }

// members writes a translated body's members but model and stream.
func members(b *jsontext.Builder, c *wire.Call) {
	r := c.Request
	t := thinkingOf(c)
	b.Key("max_tokens")
	b.Uint(t.maxTokens)
	system(b, r)
	messages(b, r)
	tools(b, r)
	sampling(b, r, &t)
	stop(b, r.Stop)
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

// extra writes the members that have no field. Their names are the caller's, so they are escaped.
func extra(b *jsontext.Builder, members []chat.Member) {
	for _, m := range members {
		b.String(m.Name)
		b.B = append(b.B, ':')
		b.Raw(m.Value)
	}
}

// sampling writes the temperature and its like. Together with thinking they are refused, and so are
// temperature and top_p together since 4.1: callers of other dialects cannot know that.
func sampling(b *jsontext.Builder, r *chat.Request, t *thinking) {
	if !native(r) && t.on() {
		return
	}
	b.Member("temperature", temperature(r.Temperature))
	if native(r) || r.Temperature == "" {
		b.Member("top_p", r.TopP)
	}
	b.Member("top_k", r.TopK)
}

// temperature keeps to 0..1, which is the range here; elsewhere it is 0..2.
func temperature(number string) string {
	if number != "" && gjson.Parse(number).Num > 1 {
		return "1"
	}
	return number
}

func stop(b *jsontext.Builder, stop []jsontext.Spelled) {
	if len(stop) == 0 {
		return
	}
	b.Key("stop_sequences")
	b.Open('[')
	for _, s := range stop {
		b.Text(s)
	}
	b.Close(']')
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
	begun := false
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Raw != "" && !native(r) {
			continue
		}
		if !begun {
			b.Key("tools")
			b.Open('[')
			begun = true
		}
		tool(b, t)
	}
	if begun {
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

// choices are the types of tool_choice. Whether calls may be parallel is said there too, so that a choice is
// written even if none was made.
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
