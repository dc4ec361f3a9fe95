package native

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// maxTexts limits the number of texts in POST /api/governor/validate.
const maxTexts = 100

// Validation is the body of POST /api/governor/validate. Exactly one of Text, Texts and Messages is present.
type Validation struct {
	Direction             governor.Direction
	Text, Texts, Messages gjson.Result
}

// ParseValidation reads a body. It adds problems to the Parser. If there are any, the result must not be used.
func ParseValidation(p *api.Parser, root gjson.Result) (v Validation) {
	given := 0
	root.ForEach(func(key, value gjson.Result) bool {
		switch name := key.String(); name {
		case "text":
			v.Text, given = value, given+1
			p.Text(name, value)
		case "texts":
			v.Texts, given = value, given+1
			checkTexts(p, value)
		case "messages":
			v.Messages, given = value, given+1
			checkMessages(p, value)
		case "direction":
			if value.Str == "output" {
				v.Direction = governor.Output
			} else if value.Str != "input" {
				p.WrongValue(name, "input or output", value)
			}
		default:
			p.Wrong(strings.Trim(api.Quote(name), `"`), "is not a field of this endpoint; omit it")
		}
		return !p.Full()
	})
	if given != 1 && len(p.Details) == 0 {
		p.Wrong("body", "must have exactly one of text, texts and messages, got "+strconv.Itoa(given))
	}
	return v
}

func checkMessages(p *api.Parser, list gjson.Result) {
	if !list.IsArray() {
		p.WrongType("messages", "an array", list)
		return
	}
	n := 0
	list.ForEach(func(_, message gjson.Result) bool {
		if !message.IsObject() {
			p.WrongType(api.At("messages", n, ""), "an object", message)
		}
		n++
		return !p.Full()
	})
}

func checkTexts(p *api.Parser, list gjson.Result) {
	if !list.IsArray() {
		p.WrongType("texts", "an array", list)
		return
	}
	n := 0
	list.ForEach(func(_, text gjson.Result) bool {
		p.Text(api.At("texts", n, ""), text)
		n++
		return !p.Full()
	})
	if count := api.Length(list); count == 0 || count > maxTexts {
		p.Wrong("texts", "must have 1 to 100 elements, got "+strconv.Itoa(count))
	}
}

// Body returns a chat completions body with the messages.
func (v *Validation) Body() []byte { return []byte(`{"messages":` + v.Messages.Raw + `}`) }

type Validated struct {
	Results       []inspect.Result // one for each text, or the one for Body
	Policy        *governor.Policy
	PolicyVersion uint64
	RequestID     string
}

// AppendValidated appends r, the response to v.
func AppendValidated(dst []byte, v *Validation, r *Validated) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	if v.Texts.Exists() {
		b.Key("results")
		b.Open('[')
		for i := range r.Results {
			b.Open('{')
			v.result(&b, &r.Results[i], r.Policy)
			b.Close('}')
		}
		b.Close(']')
	} else {
		v.result(&b, &r.Results[0], r.Policy)
	}
	b.Key("policyVersion")
	b.Uint(r.PolicyVersion)
	b.Key("requestId")
	b.String(r.RequestID)
	b.Close('}')
	return b.B
}

func (v *Validation) result(b *jsontext.Builder, r *inspect.Result, p *governor.Policy) {
	b.Key("approved")
	b.Bool(r.Decision == governor.Approve)
	b.Key("decision")
	b.String(r.Decision.String())
	b.Key("riskScore")
	b.Uint(uint64(r.Tally.Risk))
	b.Key("findings")
	b.Raw(string(AppendFindings(nil, r.Findings, p)))
	b.Key("redacted")
	switch {
	case r.Body == nil:
		b.Raw("null")
	case v.Messages.Exists():
		b.Raw(gjson.GetBytes(r.Body, "messages").Raw)
	default:
		b.String(string(r.Body))
	}
}
