// Package api is the contract between the exchange and the API families that callers use. It defines how each
// family's requests are parsed, and how its responses, streams and errors are written. A family is a folder in
// core/api with request.go, response.go, stream.go and errors.go, and a file for each format other than completions.
package api

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Family is one API that callers use, such as OpenAI's chat completions.
type Family struct {
	Dialect chat.Dialect
	// Members is the dialect of Parsed.Members. It is the family's own dialect. The native family's fields are in
	// OpenAI's dialect.
	Members chat.Dialect
	// Parse reads a body. The body is a JSON object that has passed jsontext.Check. Parse adds problems to the
	// Parser. If there are any, the result must not be used.
	Parse func(p *Parser, root gjson.Result) Parsed
	// Answer appends a complete response.
	Answer func(dst []byte, r *chat.Response, m *Meta) []byte
	// Stream appends the server-sent events of one delta. It appends nothing for DeltaUsage and DeltaEnd, which
	// End covers, and nothing for DeltaError.
	Stream func(dst []byte, s *State, d *chat.Delta, m *Meta) []byte
	// End appends the end of a complete stream: finish reasons, usage and the family's end mark. If NeedsWhole is
	// set, whole is the complete response. Otherwise, it is nil.
	End        func(dst []byte, s *State, whole *chat.Response, m *Meta) []byte
	NeedsWhole bool
	// StreamError appends the error that ends an incomplete stream. No end mark follows.
	StreamError func(dst []byte, s *State, e *Error, m *Meta) []byte
	// Error appends the body of an error response.
	Error func(dst []byte, e *Error) []byte
	// Models is the format of GET /v1/models. It is nil if the family has none.
	Models *ModelList
}

// Parsed is the result of Family.Parse.
type Parsed struct {
	Request chat.Request
	// Members contains the body's fields in the dialect Family.Members, comma-separated. The fields that
	// wire.Family.Direct writes are left out. Each value keeps its JSON spelling.
	Members []byte
	// PromptTokens is an estimate. If it is 0, the exchange estimates the tokens from Request.
	PromptTokens uint64
	// Defaulted contains the parameters that the family sets because the request omits them.
	Defaulted chat.Params
	// Aliases are the functions that replace the request's tools.
	Aliases chat.Aliases
	// Unknown contains fields that are not forwarded.
	Unknown []chat.Member
}

// Meta contains the data that Postern adds to a response.
type Meta struct {
	RequestID    string
	Model        string // catalog name
	Provider     string
	CreatedMs    uint64
	Cached       bool
	CostPico     money.Pico
	Usage        chat.Usage
	IncludeUsage bool // OpenAI's stream_options.include_usage
	Aliases      chat.Aliases
	Attempts     uint64 // calls to providers
	LatencyMs    uint64 // since the request arrived
	Governor     string // the Governor's decisions as a JSON object; empty if the Governor is not enabled
}

// maxDetails is the maximum number of problems in one error.
const maxDetails = 20

// Parser collects the problems of a request.
type Parser struct {
	Details []fault.Detail
	// Skim means that the exchange keeps only parts of the result. If Parsed.PromptTokens is set, Request.Messages
	// may then be missing.
	Skim bool
	// Strict rejects fields that the native family would otherwise ignore.
	Strict bool
	// Native keeps the names of tools, because the target has the request's dialect.
	Native bool
	// Foreign describes the first part that only targets with the request's own dialect support. The text is the end
	// of a sentence, such as: is "video".
	Foreign fault.Detail
	// Own is like Foreign, for the first provider tool or item that belongs to a provider tool.
	Own fault.Detail
	// Catalog has the fields that are forwarded and the prices of provider tools. If Catalog is nil, all fields are
	// forwarded.
	Catalog  *config.Config
	elements int
	terms    string
	uses     []chat.ToolUse
}

// maxElements limits the number of messages, parts and tools in a request, because each takes more memory than its
// JSON.
const maxElements = 20_000

// Body returns a request's body. If the body is not a JSON object, Body adds a problem, and ok is false.
func (p *Parser) Body(body []byte) (root gjson.Result, ok bool) {
	if found := jsontext.Examine(body); found.Problem != jsontext.OK {
		message := found.Message(Quote)
		if len(body) == 0 {
			message = "is required"
		}
		p.Wrong("body", message)
		return root, false
	}
	root = gjson.ParseBytes(body)
	if !root.IsObject() {
		p.WrongType("body", "a JSON object", root)
		return root, false
	}
	return root, true
}

// CountElement counts a message, part or tool. It returns false once there are more than maxElements.
func (p *Parser) CountElement(field string) bool {
	if p.elements++; p.elements == maxElements+1 {
		p.Wrong(field, "has too many elements; the limit is 20000 messages, parts and tools in total")
	}
	return p.elements <= maxElements
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

// WrongValue adds a problem with a parameter's value. The message contains the value as Quote returns it: "must be
// text or json, got \"xml\"".
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

// WrongInteger is like WrongValue, for a field that must be an integer between least and most.
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
	maxQuotedBytes = 48 // the maximum length of a value that an error message repeats
	minSecretBytes = 20 // API keys are longer
	maxWordBytes   = 12 // words in model names are shorter; API keys are longer
)

// Quote returns a value for an error message, in quotes. If the value is long, or if it could be an API key in the
// wrong place, Quote returns only its size.
func Quote(text string) string {
	if Hides(text) {
		return "a string of " + strconv.Itoa(len(text)) + " bytes"
	}
	return `"` + text + `"`
}

// Name returns a field's name for an error message. If Quote hides the name, Name returns its size.
func Name(text string) string {
	if Hides(text) {
		return Quote(text)
	}
	return text
}

// Hides reports whether Quote hides a value.
func Hides(text string) bool {
	return len(text) > maxQuotedBytes || len(text) > minSecretBytes && likeSecret(text)
}

// Subject returns the start of a message about a field's value: the value as Quote returns it, and a space. If Quote
// hides the value, Subject returns "".
func Subject(text string) string {
	if Hides(text) {
		return ""
	}
	return Quote(text) + " "
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

// NoteForeign sets Foreign to describe a part, unless Foreign is already set. kind is the value of the field named
// field.
func (p *Parser) NoteForeign(field string, kind gjson.Result) {
	if p.Foreign.Field == "" {
		p.Foreign = fault.Detail{Field: field, Message: "is " + Quote(kind.String())}
	}
}

// ForeignPart is like chat.ForeignPart, but leaves out a type that Quote hides.
func ForeignPart(member string, kind gjson.Result) chat.Part {
	name := kind.String()
	if Hides(name) {
		name = ""
	}
	return chat.ForeignPart(member, name)
}

// NoteOwn sets Own in the same way, for a provider tool or an item that belongs to one.
func (p *Parser) NoteOwn(field string, kind gjson.Result) {
	if p.Own.Field == "" {
		p.Own = fault.Detail{Field: field, Message: "is " + Quote(kind.String())}
	}
}

// Flatten calls chat.Request.Flatten, unless the target has the request's dialect.
func (p *Parser) Flatten(r *chat.Request) chat.Aliases {
	if p.Native {
		return ""
	}
	return r.Flatten()
}

// Full reports whether there are maxDetails problems, so that parsing can stop.
func (p *Parser) Full() bool { return len(p.Details) >= maxDetails }

// At returns the name of a list element: At("messages", 2, ".role") is messages[2].role.
func At(list string, index int, rest string) string {
	return list + "[" + strconv.Itoa(index) + "]" + rest
}

// Length returns the number of elements of an array.
func Length(v gjson.Result) (n int) {
	v.ForEach(func(_, _ gjson.Result) bool { n++; return true })
	return n
}

// Text returns a string value.
func (p *Parser) Text(field string, v gjson.Result) jsontext.Escaped {
	if v.Type != gjson.String {
		p.WrongType(field, "a string", v)
		return ""
	}
	return jsontext.Inside(v.Raw)
}

// Number returns a number between least and most, spelled as in the request. null counts as omitted.
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

// Seed returns an integer, spelled as in the request. null counts as omitted.
func (p *Parser) Seed(field string, v gjson.Result) string {
	const most = 9e18
	if v.Type == gjson.Null {
		return ""
	}
	if v.Type != gjson.Number || !(v.Num >= -most && v.Num <= most && v.Num == float64(int64(v.Num))) {
		p.WrongValue(field, "an integer between -9e18 and 9e18", v)
		return ""
	}
	return v.Raw
}

func bound(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Integer returns an integer between least and most. null counts as omitted and returns 0.
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

// Bool returns true or false as JSON. null counts as omitted.
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

// Object returns an object as JSON. null counts as omitted.
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

// Model returns the requested model, which is a catalog name, provider/model or a tier.
func (p *Parser) Model(v gjson.Result) string {
	if v.Type != gjson.String || v.Str == "" || len(v.Str) > 200 {
		p.WrongValue("model", "a string of 1 to 200 bytes", v)
		return ""
	}
	return v.Str
}

// MaxTokens is the largest value of max tokens that a request may set.
const MaxTokens = 10_000_000

// AppendMember appends a field of the body to dst, after a comma if dst is not empty.
func AppendMember(dst []byte, key, value gjson.Result) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(append(dst, key.Raw...), ':')
	return append(dst, value.Raw...)
}
