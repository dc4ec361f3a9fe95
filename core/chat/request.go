// Package chat defines the common form of requests, responses and streams. Every API and wire family translates to
// and from this form. Strings keep their JSON spelling (jsontext.Escaped). Numbers, schemas and other values that are
// only passed on are JSON text. If such a value is omitted, the text is empty.
package chat

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// Dialect is the JSON format of a request or response body.
type Dialect uint8

const (
	_         Dialect = iota
	Native            // Postern's own: /api/ai/complete and /api/ai/chat
	OpenAI            // OpenAI's chat completions
	Responses         // OpenAI's Responses API
	Anthropic         // Anthropic's Messages API
)

// Request is a conversation and the parameters of its completion.
type Request struct {
	Dialect  Dialect // of the caller's body
	Model    string  // a catalog name, provider/model or tier; not JSON-escaped
	Messages []Message
	Tools    []Tool

	ToolChoice    ToolChoice
	ParallelTools string // JSON boolean

	MaxTokens        uint64 // 0: omitted
	Temperature      string // JSON numbers from here
	TopP             string
	TopK             string
	FrequencyPenalty string
	PresencePenalty  string
	Seed             string
	N                uint64 // the number of choices; 0: omitted
	LogProbs         string // JSON boolean
	TopLogProbs      string // JSON number
	Stop             []jsontext.Escaped
	Format           Format
	Reasoning        Reasoning
	User             jsontext.Escaped // the ID of the caller's end user, for the provider's abuse checks

	Stream       bool
	IncludeUsage bool // OpenAI: the stream ends with a usage chunk

	// Extra contains the fields that Request has no place for. Only targets with the same dialect get them.
	Extra []Member
	// Carried contains extra fields under their names in another dialect, that of the target; see Carry.
	Carried []Member
	// Omitted contains the tools, items and parts that only targets with the same dialect get, each as FIELD.TYPE.
	Omitted []Member

	// The following fields affect the price. A target needs a price for all of them.
	Terms        string    // the terms that the caller asks for, except those with a standard value; see Term
	Uses         []ToolUse // provider tools
	MaxToolCalls uint64    // limit on the calls of all provider tools together (OpenAI's max_tool_calls); 0: none
	Cache        string    // the request's own cache_control as JSON: caches its longest prefix
	Compacts     bool      // the provider may summarize the conversation first
	// ServiceTier is the tier to send to OpenAI's dialects, or empty. The exchange sets it.
	ServiceTier string
}

// AddUse adds a provider tool. If a tool is offered twice, its limits add up.
//
//go:noinline
func AddUse(uses []ToolUse, use ToolUse) []ToolUse {
	for i := range uses {
		if uses[i].Name == use.Name {
			uses[i].Max += use.Max
			return uses
		}
	}
	return append(uses, use)
}

// CacheTTL reports whether the request asks the provider to cache parts of its prompt. It also reports whether the
// request asks for an hour.
//
//go:noinline
func (r *Request) CacheTTL() (cached, hour bool) {
	note := func(cache string) {
		if cache != "" {
			cached, hour = true, hour || gjson.Get(cache, "ttl").Str == "1h"
		}
	}
	note(r.Cache)
	for i := range r.Tools {
		note(r.Tools[i].Cache)
		if raw := r.Tools[i].Raw; raw != "" {
			note(gjson.Get(raw, "cache_control").Raw)
		}
	}
	for i := range r.Messages {
		eachCache(r.Messages[i].Parts, note)
	}
	return cached, hour
}

func eachCache(parts []Part, note func(string)) {
	for i := range parts {
		note(parts[i].Cache)
		eachCache(parts[i].Parts, note)
	}
}

// Member is a field of a JSON object, with its unescaped name and its value as JSON.
type Member struct{ Name, Value string }

// Role is the author of a message.
type Role uint8

const (
	System Role = iota + 1 // also OpenAI's developer; anywhere in a conversation
	User
	Assistant
	ToolRole // OpenAI's role tool, whose Parts are ToolResults; families without this role put them into a user message
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role
	Name  jsontext.Escaped // the author's name, in dialects that have one
	Parts []Part
}

// PartKind is the type of a Part and determines its fields, which are listed with each kind.
type PartKind uint8

const (
	Text       PartKind = iota + 1 // Text
	Image                          // URL, or Media and Data; Detail
	File                           // URL, or Media and Data; Name
	Audio                          // Media (wav, mp3) and Data
	ToolCall                       // ID, Name, Args
	ToolResult                     // ID, Parts, Failed
	Thinking                       // Text and Signature
	Redacted                       // Data, which is thinking that only the provider can read
	Refusal                        // Text: the model refused
	Foreign                        // Name, which is FIELD.TYPE of unknown content. Only targets with the same dialect get the content, as part of the caller's body
	Own                            // Name, which is FIELD.TYPE of a provider tool's item or block, or of another item that conversations can do without. The same targets as for Foreign get it
)

// Part is one content part of a message.
type Part struct {
	Kind      PartKind
	Text      jsontext.Escaped
	ID        jsontext.Escaped // of a tool call, or of the call that a result belongs to
	Name      jsontext.Escaped
	Space     jsontext.Escaped // of a tool call: the tool's namespace; Request.Flatten makes it part of the name
	Args      string           // a tool call's arguments, as a JSON object
	Media     jsontext.Escaped // a media type such as image/png
	Data      jsontext.Escaped // base64
	URL       jsontext.Escaped
	Detail    jsontext.Escaped
	Signature jsontext.Escaped
	Raw       string // of a tool call that does not call a function: its JSON in OpenAI's dialect; only targets with that dialect get it
	Parts     []Part // of a tool result: text and images
	Failed    bool   // the tool failed
	Cache     string // JSON that marks the end of a cacheable prompt prefix (Anthropic's cache_control)
}

// Tool is a function that the model may call.
type Tool struct {
	Kind        ToolKind // Function, or the kind of tool that the function replaces
	Name        jsontext.Escaped
	Space       jsontext.Escaped // the tool's namespace; Request.Flatten makes it part of the function's name
	Description jsontext.Escaped
	Schema      string // the JSON Schema of the arguments; empty: none
	Barred      bool   // the tool choice does not allow it
	Strict      string // JSON boolean
	Cache       string // as in Part
	// Raw is the JSON of a provider tool, such as web search, or of a client tool that the target already knows. Only
	// targets with the same dialect get it. A provider tool has no name.
	Raw string
}

// Choice says whether the model may, must or must not call a tool.
type Choice uint8

const (
	ChoiceUnset Choice = iota
	ChoiceAuto
	ChoiceNone
	ChoiceAny // at least one tool (OpenAI's required)
	ChoiceTool
)

// ToolChoice consists of a Choice and, for ChoiceTool, the tool's name.
type ToolChoice struct {
	Choice Choice
	Name   jsontext.Escaped
	Space  jsontext.Escaped // as in Tool
}

// FormatKind is the format of the response text.
type FormatKind uint8

const (
	FormatText   FormatKind = iota
	FormatJSON              // any JSON object
	FormatSchema            // JSON that matches a schema
)

// Format is the requested format of the response text.
type Format struct {
	Kind        FormatKind
	Name        jsontext.Escaped
	Description jsontext.Escaped
	Schema      string
	Strict      string // JSON boolean
}

// Reasoning contains the request's reasoning settings.
type Reasoning struct {
	Effort string // none, minimal, low, medium, high, …; empty: omitted
	Budget uint64 // tokens (Anthropic's thinking.budget_tokens); 0: omitted
	Off    bool   // thinking is explicitly disabled
	// Adaptive lets the model decide how much to think (Anthropic's thinking type adaptive, Gemini's budget -1).
	Adaptive bool
	// Visible requests a summary of the thinking.
	Visible bool
}
