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
		p.Wrong(field, "has too many elements: all in all at most 20000")
	}
	return p.pieces <= maxPieces
}

// Wrong notes a problem with a field, such as messages[0].role: "is required", "must be a string".
func (p *Parser) Wrong(field, message string) {
	if len(p.Details) < maxDetails {
		p.Details = append(p.Details, fault.Detail{Field: field, Message: message})
	}
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
		p.Wrong(field, "must be a string")
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
		p.Wrong(field, "must be a number from "+bound(least)+" to "+bound(most))
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
		p.Wrong(field, "must be an integer from "+strconv.FormatUint(least, 10)+" to "+strconv.FormatUint(most, 10))
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
	p.Wrong(field, "must be true or false")
	return ""
}

// Object reads an object, as JSON. null is not given.
func (p *Parser) Object(field string, v gjson.Result) string {
	if v.Type == gjson.Null {
		return ""
	}
	if !v.IsObject() {
		p.Wrong(field, "must be an object")
		return ""
	}
	return v.Raw
}

// Model reads the model's name: a catalog name, provider/model or a tier.
func (p *Parser) Model(v gjson.Result) string {
	if v.Type != gjson.String || v.Str == "" || len(v.Str) > 200 {
		p.Wrong("model", "must be a string of 1 to 200 bytes")
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
