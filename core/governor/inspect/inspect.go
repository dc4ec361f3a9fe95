// Package inspect applies the Governor's policy to whole JSON bodies: it checks every text of a request or an answer,
// rewrites the findings to redact where they are, and puts a caller's own values back into its answer.
//
// Every string of a body is a text, except where this package knows better: names of fixed sets (roles, types),
// identifiers, model names, media types, encoded media, addresses of media, signatures and encrypted content. A text
// member that this build has never heard of is therefore checked, too.
package inspect

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
)

// Kind is the format of a body.
type Kind uint8

const (
	NativeRequest Kind = iota
	OpenAIRequest
	ResponsesRequest
	AnthropicRequest
	EmbeddingsRequest
	NativeAnswer
	OpenAIAnswer
	ResponsesAnswer
	AnthropicAnswer
)

// RequestKind is the format of a completion request in a dialect.
func RequestKind(d chat.Dialect) Kind { return Kind(d) - Kind(chat.Native) + NativeRequest }

// AnswerKind is the format of a whole answer in a dialect.
func AnswerKind(d chat.Dialect) Kind { return Kind(d) - Kind(chat.Native) + NativeAnswer }

// Check is how to check: the same for every text of one exchange.
type Check struct {
	Policy *governor.Policy
	// Redactor gives the placeholders of the request's texts, and restores them in the answer. Answers are redacted for
	// good, by placeholders without a number: a value that only the model knows is not the caller's to get back.
	Redactor *governor.Redactor
	// Key is the project's key for fingerprints of matches; empty: reports have none.
	Key []byte
}

// Finding is a place in a body.
type Finding struct {
	Rule   governor.ID
	Action governor.Action // the policy's, or Block for a redaction that the text does not allow
	// Path names the text, such as messages[2].content[0].text; a JSON document in a body, such as a tool call's
	// arguments, is one text. A member whose name may come from a caller is "*".
	Path string
	// Start and End are byte offsets in the decoded text, in UTF-8. A finding that is split over several parts of a
	// message has the path of the first, and End counts on into the others.
	Start, End int
}

// Report is what to record of a rule's findings.
type Report struct {
	Finding        // the first
	Count   uint64 // of all findings of the rule
	MAC     string // HMAC-SHA-256 of the first match with Check.Key, hexadecimal
	Excerpt string // the last two characters of the first match, for rules of personal data only
}

// Result is what a check has found.
type Result struct {
	// Body is the rewritten body; nil: nothing to rewrite, or the decision is Rejected. Bytes outside of findings are
	// unchanged.
	Body       []byte
	Findings   []Finding // the first governor.MaxListed, in the body's order
	Tally      governor.Tally
	Decision   governor.Decision
	Unchecked  []string // kinds of content that cannot be read: image, audio, file, tokens; each once
	Reports    []Report // by rule
	Characters uint64   // of all texts
}

// Request checks the body of a request. body must be valid for jsontext.Check; the result does not share its memory.
func (c *Check) Request(kind Kind, body []byte) Result {
	return c.check(kind, governor.Input, body, c.Redactor)
}

// Answer checks a whole answer. body must be valid for jsontext.Check.
func (c *Check) Answer(kind Kind, body []byte) Result {
	return c.check(kind, governor.Output, body, &governor.Redactor{})
}

// Response checks a translated answer and rewrites its texts in place. Result.Body is nil.
func (c *Check) Response(resp *chat.Response) Result { return Result{} }

// Text checks a plain text. Result.Body is the text with its redactions, also if the decision is Rejected.
func (c *Check) Text(text string, d governor.Direction) Result { return Result{} }

// Restore puts the values of r back in the place of their placeholders in an answer. It returns nil if there are none.
func Restore(kind Kind, body []byte, r *governor.Redactor) []byte { return nil }

// RestoreResponse is Restore for a translated answer; it works in place.
func RestoreResponse(resp *chat.Response, r *governor.Redactor) {}

func (c *Check) check(kind Kind, d governor.Direction, body []byte, r *governor.Redactor) Result {
	return Result{}
}
