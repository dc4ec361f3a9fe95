// Package wire is the interface between the exchange and the wire families. A family translates between Postern's
// chat types and one API format. Each family is a folder in core/provider with request.go, response.go, stream.go and
// errors.go. If the family has embeddings, it also has embed.go. Families only translate. The exchange decides on
// targets, retries and timing.
package wire

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Family is one wire format.
type Family struct {
	Dialect chat.Dialect // the dialect of its bodies; zero: callers cannot use it
	Carries chat.Params  // the parameters that its requests support
	Framing Framing      // framing of its streams
	NoEmpty bool         // empty text parts are omitted, because the API rejects them

	// Thinks reports whether requests can contain a thinking part from an earlier turn. If Thinks is nil, they can
	// contain any such part if Carries includes thinking.
	Thinks func(p *chat.Part) bool

	// Request builds a request (method, URL, headers and body) from a conversation. It writes every field of the
	// body. It writes Extra fields only if the caller's dialect is the family's own. If the family cannot send a part
	// of the conversation, the URL is empty.
	Request func(*Call) abi.Action
	// Direct builds a request from a body that is already in the family's dialect. If callers cannot use that
	// dialect, Direct is nil. members has the fields of the caller's body, comma-separated. It does not have model,
	// stream, stream options, limits and OpenAI's service tier: Direct writes them. In Call.Request, only Dialect,
	// Stream, MaxTokens, MaxToolCalls, ServiceTier and N are set.
	Direct func(c *Call, members abi.Part) abi.Action

	// Whole parses the JSON of a 200 response. If the JSON does not have the family's format, it returns false.
	// Response calls Whole.
	Whole func(root gjson.Result) (chat.Response, bool)
	// Event parses one event of a stream and appends the deltas that it contains. The event's name can be empty. If
	// the event does not have the family's format, Event returns false. The exchange handles "data: [DONE]" itself,
	// as a DeltaEnd. If a family's streams have no end marker, Event appends a DeltaEnd after the last required
	// event. Stream calls Event.
	Event func(s *State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool)
	// Failure parses a response that is not a 200. If the body is not JSON, the root does not exist.
	Failure func(status uint64, root gjson.Result) Failure

	// CountRequest builds a request for the number of tokens in a prompt. If the family has no such endpoint, it is
	// nil. members has the same form as for Direct.
	CountRequest  func(c *Call, members abi.Part) abi.Action
	CountResponse func(root gjson.Result) (tokens uint64, ok bool)
	// Counted lists the request fields that affect the number of tokens, with a space before and after each. The
	// endpoint rejects all other fields.
	Counted string

	EmbedRequest  func(*EmbedCall) abi.Action
	EmbedResponse func(root gjson.Result) (Embedding, bool)
}

// Framing is the encoding that delimits a stream's events.
type Framing uint8

const (
	SSE         Framing = iota // text/event-stream
	EventStream                // application/vnd.amazon.eventstream
)

// State is a family's memory between the events of a stream. Each family defines what the fields mean. They all start
// at zero.
type State struct {
	Started bool   // DeltaStart was sent
	Block   uint64 // usually the kind of the open block
	Tools   uint64 // number of tool calls started
	Flags   uint64
	Finish  chat.Finish
	Usage   chat.Usage
	Calls   string // tool calls started
	Held    string // a tool call whose name has not arrived
}

// Fields lists the fields, which are part of the exchange's state.
func (s *State) Fields(f *abi.Fields) {
	f.Bool(&s.Started)
	f.Uint(&s.Block)
	f.Uint(&s.Tools)
	f.Uint(&s.Flags)
	abi.Enum(f, &s.Finish)
	s.Usage.Fields(f)
	f.String(&s.Calls)
	f.String(&s.Held)
}

// FailureKind is the cause of a provider's error. It determines whether a retry or a fallback can help.
type FailureKind uint8

const (
	FailDown     FailureKind = iota // provider failure (408, 409, 5xx, overloaded): retry or fall back
	FailBusy                        // rate limit of the operator's account: retry later or fall back
	FailTarget                      // permanent failure of this target (credentials, unknown model, empty account): fall back
	FailRejected                    // invalid request: other targets would probably also reject it
	FailTooLong                     // request exceeds the model's context window: a larger model may accept it
	FailFiltered                    // blocked by the provider's content filter
)

// Failure is a provider's error.
type Failure struct {
	Kind    FailureKind
	Message jsontext.Escaped // the provider's error message, for callers only if Public is true
}

// Public reports whether callers may read the provider's message. They may if it is about their request. They must
// not if it is about the operator's account.
func (f *Failure) Public() bool {
	return f.Kind == FailRejected || f.Kind == FailTooLong || f.Kind == FailFiltered
}

// ByStatus returns the failure kind for an HTTP status.
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

// EmbedCall is the input for building an embeddings request.
type EmbedCall struct {
	Model      *config.Model
	Inputs     []jsontext.Escaped
	Tokens     []string         // JSON arrays of token IDs in place of Inputs; only OpenAI's dialect supports them
	Dimensions uint64           // 0: not set
	User       jsontext.Escaped // only OpenAI's dialect has it
	NowMs      uint64
}

// Body returns {"model",texts:[…],fixed,dimensions}. texts and dimensions are names of fields. fixed has fields as
// JSON. If model is empty, there is no model field.
func (c *EmbedCall) Body(model, texts, fixed, dimensions string) []byte {
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.StringMember("model", model)
	b.Key(texts)
	b.Open('[')
	for _, text := range c.Inputs {
		b.Text(text)
	}
	for _, ids := range c.Tokens {
		b.Raw(ids)
	}
	b.Close(']')
	b.Raw(fixed)
	if c.Dimensions > 0 {
		b.UintMember(dimensions, c.Dimensions)
	}
	b.TextMember("user", c.User)
	b.Close('}')
	return b.B
}

// Embedding is the result of an embeddings request. It has one JSON array of numbers per input, in the order of the
// inputs.
type Embedding struct {
	Vectors []string
	Usage   chat.Usage
}

// maxVectors is more than any API returns at once.
const maxVectors = 4096

// Vectors returns the vectors from a JSON array's entries, in the order of the inputs. If path is empty, each entry
// is a vector. Otherwise, each entry has a vector at that path. If the entry also has an index, it is the vector's
// position. If a vector is missing, duplicated, or not an array of numbers that 32 bits can represent, ok is false.
func Vectors(list, path string) (vectors []string, ok bool) {
	n, c := uint64(0), jsontext.Open(list)
	for entry, more := c.Element(); more; entry, more = c.Element() {
		vector, at := entry, n
		if path != "" {
			vector = jsonvalue.Get(entry, path).Raw
			if index := jsonvalue.Get(entry, "index"); index.Type != gjson.Null {
				at = Count(index)
			}
		}
		if at >= maxVectors || !isVector(vector) {
			return nil, false
		}
		for uint64(len(vectors)) <= at {
			vectors = append(vectors, "")
		}
		if vectors[at] != "" {
			return nil, false
		}
		vectors[at] = vector
		n++
	}
	return vectors, n > 0 && n == uint64(len(vectors)) && list[0] == '['
}

func isVector(raw string) (ok bool) {
	c := jsontext.Open(raw)
	for number, more := c.Element(); more; number, more = c.Element() {
		v := gjson.Parse(number)
		f := float32(v.Num)
		if v.Type != gjson.Number || f-f != 0 {
			return false
		}
		ok = true
	}
	return ok && raw[0] == '['
}

// Post returns the request that every family sends: a POST with a JSON body.
func Post(url string, body []abi.Part, headers ...abi.Header) abi.Action {
	all := append(make([]abi.Header, 0, len(headers)+1), abi.Header{Name: "content-type", Value: "application/json"})
	return abi.Action{Method: "POST", URL: url, Headers: append(all, headers...), Body: body}
}

// KeyHeader returns the header with the operator's API key. If there is no key, it returns nil. usual is the usual
// header of the wire. If a provider has further wires, they send the key in the header of its main wire. The
// authorization header has the scheme Bearer.
func KeyHeader(p *config.Provider, usual string) []abi.Header {
	value := p.Key
	switch p.Home {
	case "":
	case "azure":
		usual = "api-key"
	case "anthropic":
		usual = "x-api-key"
	default:
		usual = "authorization"
	}
	if value == "" {
		return nil
	}
	if usual == "authorization" {
		value = "Bearer " + value
	}
	return []abi.Header{{Name: usual, Value: value}}
}

// Count parses a token count. A missing or null value is 0. If the value cannot be a token count (negative,
// fractional, not a number, above chat.MaxTokens), the result is chat.Nonsense, which makes the whole usage invalid.
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

// Within clamps part to whole, because some providers report a larger part. chat.Nonsense stays unchanged.
func Within(part, whole uint64) uint64 {
	if part > chat.MaxTokens {
		return part
	}
	return min(part, whole)
}

// Index parses the index of a choice or tool call. For an invalid value, it returns 0.
func Index(v gjson.Result) uint64 {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num < 1<<32) {
		return 0
	}
	return uint64(v.Num)
}

// Other appends a delta for generated content that has no kind of its own, as JSON. It ignores an empty value.
func Other(out []chat.Delta, v gjson.Result) []chat.Delta {
	if !v.Exists() || v.Type == gjson.Null || len(v.Raw) <= len("{}") {
		return out
	}
	return append(out, chat.Delta{Kind: chat.DeltaOther, JSON: v.Raw})
}

// Text returns the content of a JSON string, still escaped. For other types, it returns "".
func Text(v gjson.Result) jsontext.Escaped {
	if v.Type != gjson.String {
		return ""
	}
	return jsontext.Inside(v.Raw)
}
