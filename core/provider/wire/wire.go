// Package wire is the contract between the exchange and the wire families: what each family is given, and
// what it gives. A family is one folder of core/provider: request.go, response.go, stream.go, errors.go and,
// if it has embeddings, embed.go. It is pure translation; what to ask, when and how often is the exchange's.
package wire

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
)

// Call is what a family makes a request of.
type Call struct {
	Model *config.Model
	// Request holds only what the target carries: what it lacks was taken out before.
	Request *chat.Request
	NowMs   uint64 // Unix time, for signatures
	Beta    string // the caller's anthropic-beta header, for targets of that dialect
}

// Family is one wire format.
type Family struct {
	Dialect chat.Dialect // of its bodies, if it is one that callers speak too
	Carries chat.Params  // what its requests have a place for
	Framing Framing      // of its streams

	// Request translates: method, URL, headers and body. The body's members are written anew; Extra members
	// are written only if the request's dialect is the family's own.
	Request func(*Call) abi.Action
	// Direct sends a body of the family's own dialect: members are those of the caller's body, with commas
	// between and none at the ends, but without model, stream and its options, and limits on tokens, which it
	// writes. Of Call.Request only Stream, MaxTokens and N count. Nil for a family that callers do not speak.
	Direct func(c *Call, members abi.Part) abi.Action

	// Response reads the JSON of a 200; false if it is not what the family sends.
	Response func(root gjson.Result) (chat.Response, bool)
	// Stream reads one event of a stream, its name (empty if it has none) and its JSON, and appends what it
	// means; false if it is not what the family sends. "data: [DONE]" is not passed on: it is a DeltaEnd.
	// A family whose streams have no end mark gives a DeltaEnd with the last event that must come.
	Stream func(s *State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool)
	// Failure reads an answer that is not a 200. The root does not exist if it was not JSON.
	Failure func(status uint64, root gjson.Result) Failure

	// CountRequest asks how many tokens a prompt has; nil for families that do not tell. members as in Direct.
	CountRequest  func(c *Call, members abi.Part) abi.Action
	CountResponse func(root gjson.Result) (tokens uint64, ok bool)

	EmbedRequest  func(*EmbedCall) abi.Action
	EmbedResponse func(root gjson.Result) (Embedding, bool)
}

// Framing is how a stream's events are told apart.
type Framing uint8

const (
	SSE         Framing = iota // text/event-stream
	EventStream                // application/vnd.amazon.eventstream
)

// State is what a family remembers of a stream between its events. What the fields mean is the family's
// business; all start at zero.
type State struct {
	Started bool   // DeltaStart was given
	Block   uint64 // the kind of the open block, or the like
	Tools   uint64 // tool calls begun
	Flags   uint64
	Finish  chat.Finish
	Usage   chat.Usage
}

// Fields are the state, for the exchange's own.
func (s *State) Fields(f *abi.Fields) {
	f.Bool(&s.Started)
	f.Uint(&s.Block)
	f.Uint(&s.Tools)
	f.Uint(&s.Flags)
	abi.Enum(f, &s.Finish)
	s.Usage.Fields(f)
}

// FailureKind says whose fault an error is, and so what to do.
type FailureKind uint8

const (
	FailDown     FailureKind = iota // the provider's: again, or elsewhere (408, 5xx, overloaded)
	FailBusy                        // a rate limit of the operator's account: later, or elsewhere
	FailTarget                      // this target's for good: credentials, an unknown model, an empty account. Elsewhere
	FailRejected                    // the request's: no target is likely to take it
	FailTooLong                     // the request's: longer than the model's context. A larger model might take it
	FailFiltered                    // the provider's content filter
)

// Failure is a provider's error.
type Failure struct {
	Kind    FailureKind
	Message jsontext.Spelled // the provider's words; shown to callers for the last three kinds only
}

// Public says whether callers may read the provider's message: it is about their request, not about the
// operator's account.
func (f *Failure) Public() bool {
	return f.Kind == FailRejected || f.Kind == FailTooLong || f.Kind == FailFiltered
}

// ByStatus is the kind of a failure of which only the status is known.
func ByStatus(status uint64) FailureKind {
	switch {
	case status == 429:
		return FailBusy
	case status == 400 || status == 413 || status == 422:
		return FailRejected
	case status == 408 || status == 409 || status >= 500:
		return FailDown
	}
	return FailTarget
}

// EmbedCall is what a family makes a request for embeddings of.
type EmbedCall struct {
	Model      *config.Model
	Inputs     []jsontext.Spelled
	Tokens     []string // in place of Inputs: each a JSON array of token ids; only OpenAI's dialect carries them
	Dimensions uint64   // 0: not given
	User       jsontext.Spelled
	NowMs      uint64
}

// Embedding is what came of it: one JSON array of numbers for each input, in their order.
type Embedding struct {
	Vectors []string
	Usage   chat.Usage
}

// Post is the request that every family makes: JSON to a URL.
func Post(url string, body []abi.Part, headers ...abi.Header) abi.Action {
	all := append(make([]abi.Header, 0, len(headers)+1), abi.Header{Name: "content-type", Value: "application/json"})
	return abi.Action{Method: "POST", URL: url, Headers: append(all, headers...), Body: body}
}

// Count reads a number of tokens. What is not given is 0; what cannot be a number of tokens (negative, broken,
// of another type, beyond chat.MaxTokens) is chat.Nonsense, with which no figure is believed.
func Count(v gjson.Result) uint64 {
	if v.Type == gjson.Null {
		return 0
	}
	n := uint64(0)
	if v.Num >= 0 && v.Num <= chat.MaxTokens {
		n = uint64(v.Num)
	}
	if v.Type != gjson.Number || float64(n) != v.Num {
		return chat.Nonsense
	}
	return n
}

// Within is a part of a whole that providers sometimes report as more. Nonsense stays what it is.
func Within(part, whole uint64) uint64 {
	if part > chat.MaxTokens {
		return part
	}
	return min(part, whole)
}

// Index reads the number of a choice or of a tool call; what is none is 0.
func Index(v gjson.Result) uint64 {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num < 1<<32) {
		return 0
	}
	return uint64(v.Num)
}

// Text is the inside of a JSON string; empty for anything else.
func Text(v gjson.Result) jsontext.Spelled {
	if v.Type != gjson.String {
		return ""
	}
	return jsontext.Inside(v.Raw)
}
