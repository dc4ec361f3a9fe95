// Package api is the contract between the exchange and the families that callers speak: how each one's
// requests are read, and how its answers, streams and errors are written. A family is one folder of core/api:
// request.go, response.go, stream.go and errors.go.
package api

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Family is what one kind of caller speaks.
type Family struct {
	Dialect chat.Dialect
	// Members is the dialect of what Parsed.Members holds: the family's own, but for ours, which is written
	// as OpenAI's.
	Members chat.Dialect
	// Parse reads a body, which is a JSON object that jsontext.Check has passed. What is wrong with it goes
	// to the Parser; then the rest of the result does not matter.
	Parse func(p *Parser, root gjson.Result) Parsed
	// Answer writes a whole answer.
	Answer func(dst []byte, r *chat.Response, m *Meta) []byte
	// Stream writes what one delta says, as server-sent events; nothing for DeltaUsage and DeltaEnd, whose
	// figures come with End, nor for DeltaError.
	Stream func(dst []byte, s *State, d *chat.Delta, m *Meta) []byte
	// End writes what ends a stream that is complete: reasons, usage and the family's end mark. whole is the
	// answer, for families that say NeedsWhole, else nil.
	End        func(dst []byte, s *State, whole *chat.Response, m *Meta) []byte
	NeedsWhole bool
	// StreamError writes what ends a stream that is not; no end mark follows.
	StreamError func(dst []byte, s *State, e *Error, m *Meta) []byte
	// Error writes the body of an error answer.
	Error func(dst []byte, e *Error) []byte
}

// Parsed is a body that was read.
type Parsed struct {
	Request chat.Request
	// Members are the body's members in the dialect Family.Members, with commas between and none at the ends,
	// without those that wire.Family.Direct writes. They were written anew, values as they were spelled.
	Members []byte
	// PromptTokens is an estimate; 0 if it is to be made of the Request.
	PromptTokens uint64
	// Defaulted are parameters that the caller did not give but the family's own default did.
	Defaulted chat.Params
}

// Meta is what an answer says besides the model's words.
type Meta struct {
	RequestID    string
	Model        string // as the catalog names it
	Provider     string
	CreatedMs    uint64
	Cached       bool
	CostPico     money.Pico
	Usage        chat.Usage
	IncludeUsage bool // OpenAI's stream_options.include_usage
}

// Error is a row of the error table, with what is known besides.
type Error struct {
	fault.Fault
	RequestID string
	Details   []fault.Detail
	// Message is the provider's word for it, where callers may read that; else empty.
	Message jsontext.Spelled
}

// Say is the error's text for families that have one text only: the provider's, else the first problem's,
// else the table's; as the inside of a JSON string.
func (e *Error) Say() jsontext.Spelled {
	switch {
	case e.Message != "":
		return e.Message
	case len(e.Details) > 0:
		d := e.Details[0]
		return jsontext.Spell(e.Text + ": " + d.Field + " " + d.Message)
	}
	return jsontext.Spell(e.Text)
}

// State is what a family remembers of a stream that it writes. What the fields mean is the family's
// business; all start at zero.
type State struct {
	Started bool
	Block   uint64 // the kind of the open block, or the like
	Index   uint64 // its number
	Tools   uint64
	Flags   uint64
	Finish  chat.Finish
}

// Fields are the state, for the exchange's own.
func (s *State) Fields(f *abi.Fields) {
	f.Bool(&s.Started)
	f.Uint(&s.Block)
	f.Uint(&s.Index)
	f.Uint(&s.Tools)
	f.Uint(&s.Flags)
	abi.Enum(f, &s.Finish)
}

// maxDetails is how many problems one answer names.
const maxDetails = 20

// Parser collects what is wrong with a request.
type Parser struct {
	Details []fault.Detail
	// Skim: only what the exchange keeps is wanted; Parsed.PromptTokens may stand for Request.Messages.
	Skim   bool
	pieces int
}

// maxPieces bounds the messages, parts and tools of a request: each takes more memory than its JSON does.
const maxPieces = 20_000

// Piece counts one of them; false if there are too many.
func (p *Parser) Piece(field string) bool {
	if p.pieces++; p.pieces == maxPieces+1 {
		p.Wrong(field, "has too many elements; the limit is 20000 messages, parts and tools in total")
	}
	return p.pieces <= maxPieces
}

// Wrong adds a problem with a field, such as messages[0].role: "is required".
func (p *Parser) Wrong(field, message string) {
	if len(p.Details) < maxDetails {
		p.Details = append(p.Details, fault.Detail{Field: field, Message: message})
	}
}

// WrongType adds a problem with a field's type: "must be an array, got a string". It never repeats the value,
// which may be prompt content. A missing field "is required".
func (p *Parser) WrongType(field, want string, v gjson.Result) {
	if !v.Exists() {
		p.Wrong(field, "is required")
		return
	}
	p.Wrong(field, "must be "+want+", got "+typeName(v))
}

// WrongValue adds a problem with the value of a parameter, and repeats the value as Quote does: "must be text or
// json, got \"xml\"".
func (p *Parser) WrongValue(field, want string, v gjson.Result) {
	switch v.Type {
	case gjson.Number:
		p.Wrong(field, "must be "+want+", got "+v.Raw[:min(len(v.Raw), maxQuotedBytes)])
	case gjson.String:
		p.Wrong(field, "must be "+want+", got "+Quote(v.Str))
	default:
		p.WrongType(field, want, v)
	}
}

// WrongInteger adds the problem that a field is no integer within bounds.
func (p *Parser) WrongInteger(field string, v gjson.Result, least, most uint64) {
	p.WrongValue(field, "an integer between "+strconv.FormatUint(least, 10)+" and "+strconv.FormatUint(most, 10), v)
}

func typeName(v gjson.Result) string {
	switch {
	case v.Type == gjson.String && v.Str == "":
		return "an empty string"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "a number"
	case v.IsArray():
		return "an array"
	case v.IsObject():
		return "an object"
	}
	return v.Raw // true, false or null
}

const (
	maxQuotedBytes = 48 // of a value that an error message repeats
	minSecretBytes = 20 // API keys are longer
	maxWordBytes   = 12 // model names have shorter words, API keys longer ones
)

// Quote returns a value for an error message: in quotes, or only its size if it is long or could be an API key that
// was sent in the wrong place.
func Quote(text string) string {
	if len(text) > maxQuotedBytes || len(text) > minSecretBytes && likeSecret(text) {
		return "a string of " + strconv.Itoa(len(text)) + " bytes"
	}
	return `"` + text + `"`
}

func likeSecret(text string) bool {
	word := 0
	for i := 0; i < len(text) && word < maxWordBytes; i++ {
		c := text[i]
		if word++; !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') {
			word = 0
		}
	}
	return word >= maxWordBytes || text[:2] == "sk" || text[:2] == "pk"
}

// Full says that no more problems are named, so that nothing more need be looked at.
func (p *Parser) Full() bool { return len(p.Details) >= maxDetails }

// At is the name of a list's element: At("messages", 2, ".role") is messages[2].role.
func At(list string, index int, rest string) string {
	return list + "[" + strconv.Itoa(index) + "]" + rest
}

// Text reads a string.
func (p *Parser) Text(field string, v gjson.Result) jsontext.Spelled {
	if v.Type != gjson.String {
		p.WrongType(field, "a string", v)
		return ""
	}
	return jsontext.Inside(v.Raw)
}

// Number reads a number within bounds, as it is spelled. null is not given.
func (p *Parser) Number(field string, v gjson.Result, least, most float64) string {
	if v.Type == gjson.Null {
		return ""
	}
	if v.Type != gjson.Number || !(v.Num >= least && v.Num <= most) {
		p.WrongValue(field, "a number between "+bound(least)+" and "+bound(most), v)
		return ""
	}
	return v.Raw
}

func bound(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Integer reads a whole number within bounds. null is not given, and 0.
func (p *Parser) Integer(field string, v gjson.Result, least, most uint64) uint64 {
	if v.Type == gjson.Null {
		return 0
	}
	n := uint64(0)
	if v.Type == gjson.Number && v.Num >= 0 && v.Num < 1<<53 {
		n = uint64(v.Num)
	}
	if v.Type != gjson.Number || float64(n) != v.Num || n < least || n > most {
		p.WrongInteger(field, v, least, most)
		return 0
	}
	return n
}

// Bool reads true or false, as JSON. null is not given.
func (p *Parser) Bool(field string, v gjson.Result) string {
	switch v.Type {
	case gjson.True, gjson.False:
		return v.Raw
	case gjson.Null:
		return ""
	}
	p.WrongValue(field, "true or false", v)
	return ""
}

// Object reads an object, as JSON. null is not given.
func (p *Parser) Object(field string, v gjson.Result) string {
	if v.Type == gjson.Null {
		return ""
	}
	if !v.IsObject() {
		p.WrongType(field, "an object", v)
		return ""
	}
	return v.Raw
}

// Model reads the model's name: a catalog name, provider/model or a tier.
func (p *Parser) Model(v gjson.Result) string {
	if v.Type != gjson.String || v.Str == "" || len(v.Str) > 200 {
		p.WrongValue("model", "a string of 1 to 200 bytes", v)
		return ""
	}
	return v.Str
}

// MaxTokens is the largest limit on tokens that a request may name.
const MaxTokens = 10_000_000

// AppendMember writes one member of the body behind what dst has.
func AppendMember(dst []byte, key, value gjson.Result) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(append(dst, key.Raw...), ':')
	return append(dst, value.Raw...)
}
