package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/ledger"
)

// governance is the state of the Governor in an exchange. The policy and the values to restore are in the attached
// buffer.
type governance struct {
	on        bool   // texts are checked
	inspected bool   // the request was checked
	schema    bool   // the project has a JSON Schema for responses
	buffered  bool   // a streamed response is checked as a whole before it is sent
	rewritten bool   // bufferChecked has the request with placeholders
	strict    bool   // the caller sent x-postern-govern: strict
	threshold uint64 // the caller's threshold, plus one; 0: none

	input, output  verdict
	unchecked      string             // kinds of parts that cannot be read, comma-separated
	violations     []ledger.Violation // to report with the next admission or settlement
	live           live.Stream        // the state of the checks of a stream
	classification classification
}

// verdict is the result of the checks in one direction.
type verdict struct {
	decision governor.Decision
	risk     uint64
}

func (v *verdict) fields(f *abi.Fields) {
	abi.Enum(f, &v.decision)
	f.Uint(&v.risk)
}

func (g *governance) fields(f *abi.Fields) {
	f.Flags(&g.on, &g.inspected, &g.schema, &g.buffered, &g.rewritten, &g.strict)
	f.Uint(&g.threshold)
	if !g.on {
		return
	}
	g.input.fields(f)
	g.output.fields(f)
	f.String(&g.unchecked)
	abi.List(f, &g.violations, ledger.ViolationFields)
	g.live.Fields(f)
	g.classification.fields(f)
}

// governHeader is the request header with which a caller tightens the project's policy for one request: strict,
// threshold=N, or both, separated by a comma.
const governHeader = "x-postern-govern"

// readGovernHeader returns false if the header is invalid.
func (x *exchange) readGovernHeader() bool {
	value := x.header(governHeader)
	if value == "" {
		return true
	}
	for part := range strings.SplitSeq(value, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, ok := parseUint(number)
		switch {
		case name == "strict" && number == "":
			x.s.govern.strict = true
		case name == "threshold" && ok && n <= governor.MaxRisk:
			x.s.govern.threshold = n + 1
		default:
			x.reject(fault.InvalidRequest, fault.Detail{
				Field: governHeader, Message: "must be strict, threshold=N with N between 0 and 100, or both, got " + api.Quote(value),
			})
			return false
		}
	}
	return true
}

// startGovernor attaches the project's policy for texts, if the Governor checks this exchange. Settings that cannot be
// decoded refuse the request, and it returns false: they may block what would pass without them.
func (x *exchange) startGovernor(p *doc.Policy) bool {
	g := &x.s.govern
	g.on, g.inspected, g.schema, g.buffered = false, false, false, false
	if !x.s.endpoint.hasBody() || !x.config.Plan(x.s.record.Plan).Governor {
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
	if !settings.Enabled && x.s.endpoint != endpointValidate {
		return true
	}
	g.on, g.schema = true, settings.Schema.Schema != ""
	g.buffered = g.schema && settings.Schema.Action == governor.Block
	x.attach(encoded, &governor.Redactor{Reversible: settings.Reversible})
	return true
}

// attach stores the policy and the redacted values for all later steps.
func (x *exchange) attach(settings []byte, r *governor.Redactor) {
	w := abi.Writer{Buf: make([]byte, 0, len(settings)+512)}
	w.Bytes(settings)
	r.Fields(abi.WriteTo(&w))
	x.guardMemo = nil
	x.attached = w.Buf
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: abi.AttachedBuffer, Data: w.Buf})
}

// guard is the decoded content of the attached buffer.
type guard struct {
	encoded  []byte // the settings
	values   []byte // the redactor
	settings governor.Settings
	check    inspect.Check
	redacted *governor.Redactor // result of redactor; nil: not used in this step
	live     *live.Guard        // nil: not used in this step
}

// redactor is the request's redactor. Most steps do without it.
func (g *guard) redactor() *governor.Redactor {
	if g.redacted == nil {
		g.redacted = &governor.Redactor{}
		if abi.DecodeFields(g.values, g.redacted.Fields) != nil {
			panic("exchange: malformed attached buffer")
		}
	}
	return g.redacted
}

// guard returns the policy, tightened by the caller's header, and the redacted values. It decodes them once per step, and
// no more than most steps need: it is part of the cost of every piece of a stream.
func (x *exchange) guard() *guard {
	if x.guardMemo != nil {
		return x.guardMemo
	}
	g := &guard{}
	r := abi.Reader{Buf: x.attached}
	g.encoded = r.Bytes()
	g.values = r.Buf
	var err error
	if g.settings, err = governor.DecodeSettings(g.encoded); err != nil {
		panic("exchange: malformed attached buffer")
	}
	g.check = inspect.Check{Policy: g.settings.Policy(), Key: x.fingerprintKey, Schema: g.settings.Schema.Schema}
	if s := &x.s.govern; s.strict || s.threshold > 0 {
		limit := governor.MaxRisk
		if s.threshold > 0 {
			limit = int(s.threshold - 1)
		}
		g.check.Policy.Tighten(s.strict, limit)
	}
	x.guardMemo = g
	return g
}

// streams reports whether the response is streamed from the provider. A schema that blocks needs the whole response
// first; the caller then gets all events of the stream at once.
func (x *exchange) streams() bool { return x.s.request.stream && !x.s.govern.buffered }

// startsInspection reports whether the request's texts still have to be checked.
func (x *exchange) startsInspection() bool {
	x.startValidation()
	g := &x.s.govern
	return (g.on && !g.inspected || !g.on && g.rewritten) && x.s.rejected == ""
}

// readForInspection gets the caller's body back.
func (x *exchange) readForInspection() {
	x.enter(phaseInspect)
	x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferBody})
}

// onInspect checks the texts of the request. Redacted ones replace the originals in everything that follows, except in
// the comparison of requests with the same Idempotency-Key.
func (x *exchange) onInspect() {
	x.s.govern.inspected = true
	x.enter(phaseIntake)
	if !x.s.govern.on { // a newer policy does not check this request, which an older one has rewritten
		x.useChecked(&inspect.Result{})
		x.proceed()
		return
	}
	if x.s.endpoint == endpointValidate {
		x.validate(x.event.Data)
		x.proceed()
		return
	}
	g := x.guard()
	g.check.Redactor = g.redactor()
	result := g.check.Request(x.requestKind(), x.event.Data)
	x.noteInput(&result)
	switch {
	case result.Decision == governor.Rejected:
		x.rejectBlocked(&result)
	case result.Body != nil || x.s.govern.rewritten:
		x.useChecked(&result)
	}
	if x.s.rejected == "" {
		body := x.event.Data
		if result.Body != nil {
			body = result.Body
		}
		x.planClassification(body)
	}
	x.proceed()
}

// useChecked continues with the checked body. A body that was redacted under an older policy may be the original again.
func (x *exchange) useChecked(result *inspect.Result) {
	body := x.event.Data
	if x.s.govern.rewritten = result.Body != nil; x.s.govern.rewritten {
		body = result.Body
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferChecked, Data: body})
		g := x.guard()
		x.attach(g.encoded, g.redactor())
	}
	original := x.s.bodyHash
	x.parse(body)
	x.s.bodyHash = original
}

// requestBuffer is the buffer of the request as providers may get it.
func (x *exchange) requestBuffer() uint64 {
	if x.s.govern.rewritten {
		return bufferChecked
	}
	return bufferBody
}

// requestKind is the form of the request's body.
func (x *exchange) requestKind() inspect.Kind {
	if x.s.endpoint == endpointEmbeddings {
		return inspect.EmbeddingsRequest
	}
	return inspect.RequestKind(x.s.dialect)
}

// noteInput records the result of the request's checks.
func (x *exchange) noteInput(result *inspect.Result) {
	g := &x.s.govern
	g.input = verdict{result.Decision, uint64(result.Tally.Risk)}
	g.unchecked = strings.Join(result.Unchecked, ",")
	g.violations = x.violations(nil, result, governor.Input)
}

// rejectBlocked rejects the request with the findings.
func (x *exchange) rejectBlocked(result *inspect.Result) {
	e := x.apiError(fault.Blocked, x.blocked(result.Findings))
	x.s.rejected, x.s.bodyDone = fault.Blocked.Code, true
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferError, Data: x.family().Error(nil, e)})
}

// blocked is the variable part of a Blocked error.
func (x *exchange) blocked(found []inspect.Finding) refusal {
	p := x.guard().check.Policy
	r := refusal{noRetry: true, findings: string(findingsJSON(nil, found, p))}
	for i := range found {
		name, _, severity := p.Rule(found[i].Rule)
		if len(r.details) == maxBlockedDetails {
			break
		}
		field := found[i].Path
		if field == "" {
			field = "body" // its length
		}
		r.details = append(r.details, fault.Detail{
			Field: field, Message: "contains " + name + " (" + severity.String() + ")",
		})
	}
	return r
}

// maxBlockedDetails bounds the details of a Blocked error; its findings are complete up to governor.MaxListed.
const maxBlockedDetails = 5

// governorHeaders adds x-postern-governor: the decision about the request, its risk and the version of the policy. A
// caller that was not admitted does not learn them. The body of a validation has its own decisions.
func (x *exchange) governorHeaders(headers []abi.Header) []abi.Header {
	g := &x.s.govern
	if !g.on || !g.inspected || x.s.endpoint == endpointValidate {
		return headers
	}
	text := g.input.decision.String() + "; risk=" + strconv.FormatUint(g.input.risk, 10) +
		"; policy=" + strconv.FormatUint(x.s.record.Policy, 10)
	if g.unchecked != "" {
		text += "; unchecked=" + strings.ReplaceAll(g.unchecked, ",", "+")
	}
	return append(headers, abi.Header{Name: "x-postern-governor", Value: text})
}

// governorJSON is api.Meta.Governor. A cached response was checked when it was stored, so its output is null.
func (x *exchange) governorJSON(cached bool) string {
	g := &x.s.govern
	if !g.on {
		return ""
	}
	text := `{"input":` + g.input.json() + `,"output":`
	if cached {
		text += "null"
	} else {
		text += g.output.json()
	}
	return text + `,"policyVersion":` + strconv.FormatUint(x.s.record.Policy, 10) + "}"
}

func (v *verdict) json() string {
	return `{"decision":"` + v.decision.String() + `","riskScore":` + strconv.FormatUint(v.risk, 10) + "}"
}
