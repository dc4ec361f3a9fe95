// Package inspect applies the Governor's policy to complete JSON bodies. It checks every text in a request or
// response and redacts findings if the policy requires it. In a response, it also restores the caller's own values.
//
// Every string in a body is treated as text, with known exceptions: names from fixed sets (roles, types),
// identifiers, model names, media types, encoded media, URLs of media, signatures and encrypted content. If an API
// adds a text field later, that field is therefore checked as well.
package inspect

import (
	"math"

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

// RequestKind returns the format of a completion request in a dialect.
func RequestKind(d chat.Dialect) Kind { return Kind(d) - Kind(chat.Native) + NativeRequest }

// AnswerKind returns the format of a non-streaming response in a dialect.
func AnswerKind(d chat.Dialect) Kind { return Kind(d) - Kind(chat.Native) + NativeAnswer }

// Check configures a check. All texts of an exchange share it.
type Check struct {
	Policy *governor.Policy
	// Redactor makes the placeholders for the request's texts and restores the values in the response. Findings in
	// responses get placeholders without a number. These are never restored, because the caller does not know the
	// values.
	Redactor *governor.Redactor
	// Key returns the project's key for fingerprints of matches. If Key is nil or returns an empty key, reports have
	// no fingerprints. Key is called only if there are findings.
	Key func() []byte
	// Schema is the JSON Schema (Settings.Schema) for the text of a response. If Schema is empty, any text is valid.
	// If a text is not valid, its finding has the rule RuleSchema.
	Schema string

	work governor.Work // of the patterns since the last body or text
}

// Finding is something that a rule found in a body.
type Finding struct {
	Rule   governor.ID
	Action governor.Action // the policy's action, or Block if the text cannot be redacted
	// Path names the text, such as messages[2].content[0].text. A JSON document inside a body, such as a tool call's
	// arguments, is one text. If a field name may come from a caller, it appears as "*".
	Path string
	// Start and End are UTF-8 byte offsets in the decoded text. A finding may span several parts of a message. Path
	// is then the path of the first part, and End counts on into the other parts.
	Start, End int
}

// Report summarizes a rule's findings for the record.
type Report struct {
	Finding        // the first
	Count   uint64 // number of findings of the rule
	MAC     string // HMAC-SHA-256 of the first match, keyed with Check.Key, in hexadecimal
	Excerpt string // last two characters of the first match; only for personal data
}

// Result is the result of a check.
type Result struct {
	// Body is the rewritten body. If nothing was rewritten or the decision is Rejected, Body is nil. Bytes outside
	// findings are unchanged.
	Body       []byte
	Findings   []Finding // at most governor.MaxListed: the first ones
	Tally      governor.Tally
	Decision   governor.Decision
	Unchecked  []string // kinds of content that cannot be read, without duplicates: image, audio, file, tokens
	Reports    []Report // by rule
	Characters uint64   // number of characters in all texts; counted only if the policy limits it
}

// Request checks the body of a request. body must be valid according to jsontext.Check. The result shares no memory
// with body.
func (c *Check) Request(kind Kind, body []byte) Result {
	return c.body(kind, governor.Input, body, c.Redactor)
}

// Answer checks a non-streaming response. body must be valid according to jsontext.Check.
func (c *Check) Answer(kind Kind, body []byte) Result {
	return c.body(kind, governor.Output, body, nil)
}

func (c *Check) body(kind Kind, d governor.Direction, body []byte, r *governor.Redactor) Result {
	c.work = 0
	w := &walker{inspector: c.inspector(d, body, r), kind: kind}
	w.roles = d == governor.Input && c.Policy.Roles()
	w.walk()
	w.turn(d)
	w.repeated()
	w.length()
	w.locate()
	w.matchAnswer()
	w.decide()
	if w.edits.count > 0 && w.result.Decision != governor.Rejected {
		if w.redactor.Reversible {
			w.number()
		}
		w.result.Body = w.rewritten()
	}
	return w.result
}

// inspector starts a check. If there is no redactor, placeholders have no numbers.
func (c *Check) inspector(d governor.Direction, body []byte, r *governor.Redactor) *inspector {
	if r == nil {
		r = &governor.Redactor{}
	}
	_, counts := c.Policy.TooLong(d, math.MaxUint64)
	return &inspector{
		check: c, dir: d, body: body, redactor: r, scanner: c.scanner(d),
		reported: make([]uint16, governor.MaxRules), counts: counts,
	}
}

// scanner returns a scanner for texts of one direction. All scanners of a check share the work budget.
func (c *Check) scanner(d governor.Direction) *governor.Scanner {
	s := governor.NewScanner(c.Policy.Rules(d))
	s.Count(&c.work)
	return s
}

func (in *inspector) decide() {
	in.result.Decision = in.result.Tally.Decide(in.check.Policy)
}

func (in *inspector) rewritten() []byte {
	in.edits.sort()
	w := in.writer()
	return w.rewrite(make([]byte, 0, len(in.body)+in.edits.size), 0, len(in.body))
}

func (in *inspector) writer() writer {
	w := writer{body: in.body, edits: &in.edits, redactor: in.redactor}
	if in.check != nil {
		w.policy = in.check.Policy
	}
	return w
}

// repeated checks the texts that repeat others.
func (w *walker) repeated() {
	if w.mode == scan {
		w.mode = repeat
	}
	for i := range w.repeats {
		w.one(w.repeats[i])
	}
	for _, s := range w.logs {
		w.logProbs(s)
	}
}

// Header checks the value of a header like a text of the request, and adds the findings to the body's result. If a
// finding must be redacted, Header returns true.
//
//go:noinline
func (c *Check) Header(result *Result, name, value string) (redact bool) {
	in := c.inspector(governor.Input, []byte(value), nil)
	in.one(segment{end: uint32(len(value))})
	for i := range in.places {
		in.setPath(in.places[i], "headers."+name)
	}
	one := &in.result
	result.Findings = append(result.Findings, one.Findings[:min(len(one.Findings), governor.MaxListed-len(result.Findings))]...)
	for i := range one.Reports {
		result.addReport(&one.Reports[i])
	}
	result.Tally.Add(c.Policy, governor.Input, one.Tally.Listed)
	result.Tally.Blocked = result.Tally.Blocked || one.Tally.Blocked
	result.Decision = result.Tally.Decide(c.Policy)
	return one.Tally.Redact
}

// addReport adds the report for another text. If there is a report of the same rule, addReport merges the two.
//
//go:noinline
func (r *Result) addReport(other *Report) {
	for i := range r.Reports {
		if one := &r.Reports[i]; one.Rule == other.Rule {
			one.Count += other.Count
			one.Action = max(one.Action, other.Action)
			return
		}
	}
	r.Reports = append(r.Reports, *other)
}

// Text checks plain text. Result.Body is the redacted text, even if the decision is Rejected.
func (c *Check) Text(text string, d governor.Direction) Result {
	c.work = 0
	in := c.inspector(d, []byte(text), c.Redactor)
	in.one(segment{end: uint32(len(text))})
	in.length()
	for i := range in.places {
		in.setPath(in.places[i], "text")
	}
	in.decide()
	if in.edits.count > 0 {
		if in.redactor.Reversible {
			in.redactor.Reserve(in.body)
		}
		in.result.Body = in.rewritten()
	}
	return in.result
}
