// Package chat is the one form that requests, answers and streams of every wire family are translated to and
// from. Texts are kept as they are spelled in JSON (jsontext.Spelled); numbers, schemas and whatever else is
// only handed on is kept as JSON text, empty if it was not given.
package chat

import "github.com/postern-ai/postern/core/jsontext"

// Dialect is the shape of a request's or an answer's body.
type Dialect uint8

const (
	_         Dialect = iota
	Native            // our own: /api/ai/complete and /api/ai/chat
	OpenAI            // chat completions
	Responses         // OpenAI's responses
	Anthropic         // messages
)

// Request is a conversation to be continued, with what was asked of the answer.
type Request struct {
	Dialect  Dialect // of the body that it was read from
	Model    string  // plain: a catalog name, provider/model or a tier
	Messages []Message
	Tools    []Tool

	ToolChoice    ToolChoice
	ParallelTools string // JSON boolean

	MaxTokens        uint64 // 0: not given
	Temperature      string // JSON numbers from here
	TopP             string
	TopK             string
	FrequencyPenalty string
	PresencePenalty  string
	Seed             string
	N                uint64 // answers asked for; 0: not given
	LogProbs         string // JSON boolean
	TopLogProbs      string // JSON number
	Stop             []jsontext.Spelled
	Format           Format
	Reasoning        Reasoning
	User             jsontext.Spelled // who the caller's user is, for the provider's abuse checks

	Stream       bool
	IncludeUsage bool // OpenAI: the stream is to end with a usage chunk

	// Extra are the members that have no field here, as they came: a target of the same dialect gets them.
	Extra []Member
}

// Member is a member of a JSON object: its name, plain, and its value as JSON.
type Member struct{ Name, Value string }

// Role says who speaks.
type Role uint8

const (
	System Role = iota + 1 // also what OpenAI calls developer; anywhere in a conversation
	User
	Assistant
	ToolRole // OpenAI's role of tool results: Parts are ToolResults. Families without it put those into a user's message
)

// Message is one turn.
type Message struct {
	Role  Role
	Name  jsontext.Spelled // the speaker, where the dialect has it
	Parts []Part
}

// PartKind says which fields of a Part count.
type PartKind uint8

const (
	Text       PartKind = iota + 1 // Text
	Image                          // URL, or Media and Data; Detail
	File                           // URL, or Media and Data; Name
	Audio                          // Media (wav, mp3) and Data
	ToolCall                       // ID, Name, Args
	ToolResult                     // ID, Parts, Failed
	Thinking                       // Text and Signature
	Redacted                       // Data: thinking that only the provider can read
	Refusal                        // Text: the model declined
	Foreign                        // something that only its own dialect has: targets get it with the body as it came, or not at all
)

// Part is a piece of a turn.
type Part struct {
	Kind      PartKind
	Text      jsontext.Spelled
	ID        jsontext.Spelled // of a tool call: what its result refers to
	Name      jsontext.Spelled
	Args      string           // a JSON object: a tool call's arguments
	Media     jsontext.Spelled // a media type such as image/png
	Data      jsontext.Spelled // base64
	URL       jsontext.Spelled
	Detail    jsontext.Spelled
	Signature jsontext.Spelled
	Parts     []Part // of a tool result: texts and images
	Failed    bool   // the tool failed
	Cache     string // JSON: the marker that the prompt up to here is worth caching (Anthropic's cache_control)
}

// Tool is a function that the model may call.
type Tool struct {
	Name        jsontext.Spelled
	Description jsontext.Spelled
	Schema      string // JSON Schema of its arguments; empty: none
	Strict      string // JSON boolean
	Cache       string // as in Part
	// Raw is a tool that is no function (a provider's own, such as web search), as JSON. Only its own
	// dialect can carry it; the other fields are empty then.
	Raw string
}

// Choice says whether the model must call a tool.
type Choice uint8

const (
	ChoiceUnset Choice = iota
	ChoiceAuto
	ChoiceNone
	ChoiceAny // some tool: OpenAI's required
	ChoiceTool
)

// ToolChoice is a Choice, with the tool's name for ChoiceTool.
type ToolChoice struct {
	Choice Choice
	Name   jsontext.Spelled
}

// FormatKind says what the answer's text has to be.
type FormatKind uint8

const (
	FormatText   FormatKind = iota
	FormatJSON              // any JSON object
	FormatSchema            // JSON of a schema
)

// Format is what the answer's text has to be.
type Format struct {
	Kind        FormatKind
	Name        jsontext.Spelled
	Description jsontext.Spelled
	Schema      string
	Strict      string // JSON boolean
}

// Reasoning is how much the model may think before it answers.
type Reasoning struct {
	Effort string // plain: none, minimal, low, medium, high, …; empty: not given
	Budget uint64 // tokens (Anthropic's thinking.budget_tokens); 0: not given
	Off    bool   // thinking was switched off by name
	// Adaptive: the model is to think as it sees fit (Anthropic's thinking type adaptive, Gemini's budget -1).
	Adaptive bool
	// Visible: a summary of the thinking is asked for.
	Visible bool
}
