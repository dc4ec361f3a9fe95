// Package inspect applies the Governor's policy to whole JSON bodies: it checks every text of a request or an answer,
// rewrites the findings to redact where they are, and puts a caller's own values back into its answer.
//
// Every string of a body is a text, except where this package knows better: names of fixed sets (roles, types),
// identifiers, model names, media types, encoded media, addresses of media, signatures and encrypted content. A text
// member that is new in an API is therefore checked, too.
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
	// Key gives the project's key for fingerprints of matches; nil, or an empty key: reports have none. It is called for
	// findings only.
	Key func() []byte
	// Schema is the JSON Schema that the text of an answer must satisfy (Settings.Schema); empty: any. Its finding has the
	// rule RuleSchema.
	Schema string
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
	Findings   []Finding // the first governor.MaxListed
	Tally      governor.Tally
	Decision   governor.Decision
	Unchecked  []string // kinds of content that cannot be read: image, audio, file, tokens; each once
	Reports    []Report // by rule
	Characters uint64   // of all texts; counted only if the policy limits them
}

// Request checks the body of a request. body must be valid for jsontext.Check; the result does not share its memory.
func (c *Check) Request(kind Kind, body []byte) Result {
	return c.body(kind, governor.Input, body, c.Redactor)
}

// Answer checks a whole answer. body must be valid for jsontext.Check.
func (c *Check) Answer(kind Kind, body []byte) Result {
	return c.body(kind, governor.Output, body, nil)
}

// body checks a body and rewrites it.
func (c *Check) body(kind Kind, d governor.Direction, body []byte, r *governor.Redactor) Result {
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

// inspector begins a check. Without a redactor, placeholders have no numbers.
func (c *Check) inspector(d governor.Direction, body []byte, r *governor.Redactor) *inspector {
	if r == nil {
		r = &governor.Redactor{}
	}
	_, counts := c.Policy.TooLong(d, math.MaxUint64)
	return &inspector{
		check: c, dir: d, body: body, redactor: r, scanner: governor.NewScanner(c.Policy.Rules(d)),
		reported: make([]uint16, governor.MaxRules), counts: counts,
	}
}

// decide sets the decision.
func (in *inspector) decide() {
	in.result.Decision = in.result.Tally.Decide(in.check.Policy)
}

// rewritten is the body with all edits.
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

// repeated handles the texts that repeat others.
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

// Header checks the value of a header as a text of a request, and adds what it finds to the result of the body. It returns true if
// a finding is to be redacted.
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
	result.Decision = result.Tally.Decide(c.Policy)
	return one.Tally.Redact
}

// addReport adds a rule's findings in another text.
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

// Text checks a plain text. Result.Body is the text with its redactions, also if the decision is Rejected.
func (c *Check) Text(text string, d governor.Direction) Result {
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
