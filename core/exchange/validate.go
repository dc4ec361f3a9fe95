package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
)

func (x *exchange) parseValidation(p *api.Parser, root gjson.Result) {
	if native.ParseValidation(p, root); len(p.Details) > 0 {
		x.reject(fault.InvalidRequest, p.Details...)
	}
}

// validate checks the text to validate and keeps the response until the request is admitted.
func (x *exchange) validate(body []byte) {
	v := native.ParseValidation(&api.Parser{}, gjson.ParseBytes(body))
	r := native.Validated{Policy: x.guard().check.Policy, PolicyVersion: x.s.record.Policy, RequestID: x.s.requestID}
	check := func(_, text gjson.Result) bool {
		c := x.freshCheck()
		r.Results = append(r.Results, c.Text(text.String(), v.Direction))
		return true
	}
	switch {
	case v.Texts.Exists():
		v.Texts.ForEach(check)
	case v.Messages.Exists():
		r.Results = []inspect.Result{x.checkMessages(&v)}
	default:
		check(gjson.Result{}, v.Text)
	}
	x.keep(bufferAnswer, native.AppendValidated(make([]byte, 0, 512), &v, &r))
}

// checkMessages checks the messages like those of a request or a response.
func (x *exchange) checkMessages(v *native.Validation) inspect.Result {
	check := x.freshCheck()
	if v.Direction == governor.Input {
		return check.Request(inspect.OpenAIRequest, v.Body())
	}
	return check.Answer(inspect.OpenAIAnswer, v.Body())
}

// freshCheck returns a new check. The placeholders in each text are therefore numbered from 1.
func (x *exchange) freshCheck() inspect.Check {
	g := x.guard()
	return inspect.Check{Policy: g.check.Policy, Redactor: &governor.Redactor{Reversible: g.settings.Reversible}}
}

func (x *exchange) respondValidation() {
	x.reply(200, jsonHeaders(), abi.Part{Buffer: bufferAnswer})
}
