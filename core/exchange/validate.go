package exchange

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// maxTexts bounds the texts of POST /api/governor/validate.
const maxTexts = 100

// validation is the body of POST /api/governor/validate. Exactly one of text, texts and messages is set.
type validation struct {
	direction             governor.Direction
	text, texts, messages gjson.Result
}

func readValidation(p *api.Parser, root gjson.Result) (v validation) {
	given := 0
	root.ForEach(func(key, value gjson.Result) bool {
		switch name := key.String(); name {
		case "text":
			v.text, given = value, given+1
			p.Text(name, value)
		case "texts":
			v.texts, given = value, given+1
			checkTexts(p, value)
		case "messages":
			v.messages, given = value, given+1
			checkMessages(p, value)
		case "direction":
			if value.Str == "output" {
				v.direction = governor.Output
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
	if count := length(list); count == 0 || count > maxTexts {
		p.Wrong("texts", "must have 1 to 100 elements, got "+strconv.Itoa(count))
	}
}

func (x *exchange) parseValidation(p *api.Parser, root gjson.Result) {
	if readValidation(p, root); len(p.Details) > 0 {
		x.reject(fault.InvalidRequest, p.Details...)
	}
}

// startValidation makes sure that there is a policy to check with: the project's, or else the defaults. A plan without
// the Governor rejects the request.
func (x *exchange) startValidation() {
	g := &x.s.govern
	if x.s.endpoint != endpointValidate || g.on || x.s.rejected != "" {
		return
	}
	if x.startGovernor(&doc.Policy{}); !g.on {
		x.reject(fault.Forbidden, fault.Detail{
			Field: "plan", Message: api.Subject(x.s.record.Plan) + "does not include the Governor; move the project to a plan that does",
		})
	}
}

// validate checks the texts and keeps the response until the request is admitted.
func (x *exchange) validate(body []byte) {
	v := readValidation(&api.Parser{}, gjson.ParseBytes(body))
	b := jsontext.Builder{B: make([]byte, 0, 512)}
	b.Open('{')
	switch {
	case v.texts.Exists():
		b.Key("results")
		b.Open('[')
		v.texts.ForEach(func(_, text gjson.Result) bool {
			b.Open('{')
			x.validateText(&b, text, v.direction)
			b.Close('}')
			return true
		})
		b.Close(']')
	case v.messages.Exists():
		x.validateMessages(&b, v.messages, v.direction)
	default:
		x.validateText(&b, v.text, v.direction)
	}
	b.Key("policyVersion")
	b.Uint(x.s.record.Policy)
	b.Key("requestId")
	b.String(x.s.requestID)
	b.Close('}')
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferAnswer, Data: b.B})
}

func (x *exchange) validateText(b *jsontext.Builder, text gjson.Result, d governor.Direction) {
	check := x.freshCheck()
	result := check.Text(text.String(), d)
	redacted := ""
	if result.Body != nil {
		redacted = string(jsontext.AppendString(nil, string(result.Body)))
	}
	validationFields(b, &result, check.Policy, redacted)
}

func (x *exchange) validateMessages(b *jsontext.Builder, messages gjson.Result, d governor.Direction) {
	check := x.freshCheck()
	body := []byte(`{"messages":` + messages.Raw + `}`)
	var result inspect.Result
	if d == governor.Input {
		result = check.Request(inspect.OpenAIRequest, body)
	} else {
		result = check.Answer(inspect.OpenAIAnswer, body)
	}
	validationFields(b, &result, check.Policy, gjson.GetBytes(result.Body, "messages").Raw)
}

// freshCheck numbers the placeholders of each text from 1.
func (x *exchange) freshCheck() inspect.Check {
	g := x.guard()
	return inspect.Check{Policy: g.check.Policy, Redactor: &governor.Redactor{Reversible: g.settings.Reversible}}
}

// validationFields writes one result. redacted is JSON, or empty if no value was redacted.
func validationFields(b *jsontext.Builder, r *inspect.Result, p *governor.Policy, redacted string) {
	b.Key("approved")
	b.Bool(r.Decision == governor.Approve)
	b.Key("decision")
	b.String(r.Decision.String())
	b.Key("riskScore")
	b.Uint(uint64(r.Tally.Risk))
	b.Key("findings")
	b.Raw(string(findingsJSON(nil, r.Findings, p)))
	b.Key("redacted")
	if redacted == "" {
		redacted = "null"
	}
	b.Raw(redacted)
}

// respondValidation sends the result to the admitted caller.
func (x *exchange) respondValidation() {
	x.respond(200, []abi.Header{{Name: "content-type", Value: "application/json"}}, []abi.Part{{Buffer: bufferAnswer}})
	x.log(200, "")
	x.end()
}
