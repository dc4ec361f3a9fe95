package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/header"
)

// readGovernHeader reads header.Govern: strict, threshold=N, or both, separated by a comma. If the header is invalid,
// it returns false.
func (x *exchange) readGovernHeader() bool {
	value := x.header(header.Govern)
	if value == "" {
		return true
	}
	for part := range strings.SplitSeq(value, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, ok := head.Uint(number)
		switch {
		case name == "strict" && number == "":
			x.s.govern.strict = true
		case name == "threshold" && ok && n <= governor.MaxRisk:
			x.s.govern.threshold = n + 1
		default:
			x.reject(fault.InvalidRequest, fault.Detail{
				Field: header.Govern, Message: "must be strict, threshold=N with N between 0 and 100, or both, got " + api.Quote(value),
			})
			return false
		}
	}
	return true
}

// startGovernor attaches the project's Governor settings if the Governor checks this exchange. If the settings cannot
// be decoded, they might block text that would otherwise pass. startGovernor then refuses the request and returns
// false.
func (x *exchange) startGovernor(p *doc.Policy) bool {
	g := &x.s.govern
	g.on, g.inspected, g.schema, g.buffered = false, false, false, false
	if x.endpoint.body == noBody || !x.config.Plan(x.s.record.Plan).Governor {
		return true
	}
	settings, encoded := governor.NewSettings(), p.Governor
	if len(encoded) == 0 {
		encoded = settings.Encode()
	}
	settings, err := governor.DecodeSettings(encoded)
	if err != nil {
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return false
	}
	if !settings.Enabled && !x.endpoint.texts.always {
		return true
	}
	g.on, g.schema = true, settings.Schema.Schema != ""
	g.buffered = g.schema && settings.Schema.Action == governor.Block
	x.attach(encoded, &governor.Redactor{Reversible: settings.Reversible})
	return true
}

// startsInspection reports whether the request's text must still be checked.
func (x *exchange) startsInspection() bool {
	x.startValidation()
	g := &x.s.govern
	return (g.on && !g.inspected || !g.on && g.rewritten) && x.s.rejected == fault.None
}

// inspectNowBytes is the maximum size of a body that is checked in the step that parses it. A larger one is read again
// from its buffer, because the memory that a step uses is free only after it.
const inspectNowBytes = 64 << 10

func (x *exchange) readForInspection() {
	if x.event.Kind == abi.EventBody && len(x.event.Data) <= inspectNowBytes {
		x.onInspect()
		return
	}
	x.enter(phaseInspect)
	x.supply(idBuffer, bufferBody)
}

// onInspect checks the request's text. All later steps use the redacted body. Only the comparison of requests with
// the same Idempotency-Key uses the original.
func (x *exchange) onInspect() {
	x.s.govern.inspected = true
	if !x.s.govern.on { // the current policy does not check this request, but an earlier one has rewritten it
		x.useChecked(&inspect.Result{})
		x.proceeds = true
		return
	}
	if x.endpoint.policy == checksTexts {
		x.validate(x.event.Data)
		x.proceeds = true
		return
	}
	g := x.guard()
	g.check.Redactor = g.redactor()
	result := g.check.Request(x.endpoint.texts.request, x.event.Data)
	dropped := x.checkPassed(&g.check, &result)
	x.noteInput(&result)
	switch {
	case result.Decision == governor.Rejected:
		x.rejectBlocked(&result)
	case result.Body != nil || x.s.govern.rewritten || dropped:
		x.useChecked(&result)
	}
	if x.s.rejected == fault.None {
		body := x.event.Data
		if result.Body != nil {
			body = result.Body
		}
		x.planClassification(body)
	}
	x.proceeds = true
}

// useChecked continues with the checked body. If an earlier policy redacted the body, the checked body may be the
// original again.
func (x *exchange) useChecked(result *inspect.Result) {
	body := x.event.Data
	if x.s.govern.rewritten = result.Body != nil; x.s.govern.rewritten {
		body = result.Body
		x.keep(bufferChecked, body)
		g := x.guard()
		x.attach(g.encoded, g.redactor())
	}
	original := x.s.bodyHash
	x.parse(body)
	x.s.bodyHash = original
}

// noteInput records the result of the request's checks.
func (x *exchange) noteInput(result *inspect.Result) {
	g := &x.s.govern
	g.input = verdict{result.Decision, uint64(result.Tally.Risk)}
	g.unchecked = strings.Join(result.Unchecked, ",")
	g.rules = ""
	g.violations = x.violations(nil, result, governor.Input)
}

func (x *exchange) rejectBlocked(result *inspect.Result) {
	e := x.apiError(fault.Blocked, x.blocked(result))
	x.s.rejected, x.s.bodyDone = fault.Blocked.Deferred(), true
	x.keep(bufferError, x.family().Error(nil, e))
}

// startValidation ensures that a validation has a policy: the project's or the default one. If the plan lacks the
// Governor, the request is rejected.
func (x *exchange) startValidation() {
	g := &x.s.govern
	if x.endpoint.policy != checksTexts || g.on || x.s.rejected != fault.None {
		return
	}
	if x.startGovernor(&doc.Policy{}); !g.on {
		x.reject(fault.Forbidden, fault.Detail{
			Field: "plan", Message: api.Subject(x.s.record.Plan) + "does not include the Governor; move the project to a plan that does",
		})
	}
}
