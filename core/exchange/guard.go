package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/hmac"
	"github.com/postern-ai/postern/core/jsontext"
)

// guard returns the policy and the redacted values. The caller's header tightens the policy. Decoding takes time, so
// guard decodes only once per step, and only the parts that most steps need.
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

// attach stores the policy and the redacted values for all later steps.
func (x *exchange) attach(settings []byte, r *governor.Redactor) {
	w := abi.Writer{Buf: make([]byte, 0, len(settings)+512)}
	w.Bytes(settings)
	r.Fields(abi.WriteTo(&w))
	x.guardMemo = nil
	x.attached = w.Buf
	x.keep(abi.AttachedBuffer, w.Buf)
}

// liveGuard returns the part of a stream's checks that does not change.
func (x *exchange) liveGuard() *live.Guard {
	g := x.guard()
	if g.live == nil {
		g.live = &live.Guard{Policy: g.check.Policy, Rules: g.check.Policy.Rules(governor.Output), Key: g.check.Key}
		if x.s.govern.rewritten {
			g.live.Redactor = x.restorer()
		}
	}
	return g.live
}

// blocked returns the variable part of a Blocked error. Its details name the rules that block. If no rule blocks, the
// risk score is too high, and the details name the rules that add to it. Each rule is named once, with the location
// of its first finding. The text found is not named.
func (x *exchange) blocked(result *inspect.Result) refusal {
	p := x.guard().check.Policy
	found := x.ownPaths(result.Findings)
	r := refusal{noRetry: true, findings: string(native.AppendFindings(nil, found, p))}
	action := cause(result.Reports)
	for i := range result.Reports {
		one := &result.Reports[i]
		if one.Action != action || len(r.details) == maxBlockedDetails {
			continue
		}
		name, category, severity := p.Rule(one.Rule)
		field := x.ownPath(one.Path)
		if field == "" {
			field = "body" // its length
		}
		contains := "contains "
		if category == governor.CustomPattern && one.End == 0 {
			contains = "exceeds the work budget of patterns and may contain "
		}
		r.details = append(r.details, fault.Detail{Field: field, Message: contains + name + " (" + severity.String() + ")"})
	}
	return r
}

// cause returns the action of the rules that blocked a request or response. If no rule has the action block, it
// returns flag. If no rule flags either, it returns redact, which blocks text that cannot be rewritten.
func cause(reports []inspect.Report) governor.Action {
	flags := false
	for i := range reports {
		switch reports[i].Action {
		case governor.Block:
			return governor.Block
		case governor.Flag:
			flags = true
		}
	}
	if flags {
		return governor.Flag
	}
	return governor.Redact
}

// maxBlockedDetails limits the details in a Blocked error. Only governor.MaxListed limits its list of findings.
const maxBlockedDetails = 5

func (x *exchange) ownPaths(found []inspect.Finding) []inspect.Finding {
	own := make([]inspect.Finding, len(found))
	for i := range found {
		own[i] = found[i]
		own[i].Path = x.ownPath(found[i].Path)
	}
	return own
}

// ownPath returns a path in the caller's dialect. For translated responses and for streams, packages inspect and live
// return paths of chat completions. In other dialects, the path is the field that contains all of the text.
func (x *exchange) ownPath(path string) string {
	if !strings.HasPrefix(path, "choices[") {
		return path
	}
	if x.endpoint.texts.folded { // a legacy completion
		return strings.Replace(path, ".message.content", ".text", 1)
	}
	switch x.s.dialect {
	case chat.Native:
		return "text"
	case chat.Responses:
		return "output"
	case chat.Anthropic:
		return "content"
	}
	return path
}

// fingerprintKey returns the project's key for fingerprints, which is derived from the first master key. Equal values
// have the same fingerprint. Without the key, nobody can test guesses. If the deployment has no master key, the key
// is empty.
func (x *exchange) fingerprintKey() []byte {
	if len(x.config.MasterKeys) == 0 {
		return nil
	}
	return hmac.SHA256([]byte(x.config.MasterKeys[0].Key), "postern/violations/"+x.s.record.ProjectID)
}

// restoreRaw returns a response in the caller's dialect with the caller's own values in place of their placeholders.
func (x *exchange) restoreRaw(raw []byte) []byte {
	if !x.s.govern.rewritten {
		return raw
	}
	if restored := inspect.Restore(x.endpoint.texts.response, raw, x.guard().redactor()); restored != nil {
		return restored
	}
	return raw
}

// restoreResponse does the same for a translated response, in place.
func (x *exchange) restoreResponse(r *chat.Response) {
	if x.s.govern.rewritten {
		inspect.RestoreResponse(r, x.restorer())
	}
}

func (x *exchange) restorer() *governor.Redactor {
	r := x.guard().redactor()
	r.JSON = x.s.request.json
	return r
}

// governorHeaders adds x-postern-governor: the decision about the request, its risk score and the version of the
// policy. A caller that was not admitted does not get this header. The response to a validation does not have it
// either: its body contains the decision.
func (x *exchange) governorHeaders(headers []abi.Header) []abi.Header {
	g := &x.s.govern
	if !g.on || !g.inspected || x.endpoint.policy == checksTexts {
		return headers
	}
	text := g.input.decision.String() + "; risk=" + strconv.FormatUint(g.input.risk, 10) +
		"; policy=" + strconv.FormatUint(x.s.record.Policy, 10)
	if g.unchecked != "" {
		text += "; unchecked=" + strings.ReplaceAll(g.unchecked, ",", "+")
	}
	return append(headers, abi.Header{Name: header.Governor, Value: text})
}

// governorJSON returns the value of api.Meta.Governor. A cached response was checked when it was stored, so its
// output is null.
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

func (x *exchange) streamFinding(r *live.Report) inspect.Finding {
	action := x.guard().check.Policy.Action(governor.Output, r.Rule)
	return inspect.Finding{Rule: r.Rule, Action: action, Path: r.Path, Start: int(r.Start), End: int(r.End)}
}

// streamResult returns the findings of a stream, one for each rule.
func (x *exchange) streamResult() *inspect.Result {
	result := &inspect.Result{}
	for i := range x.s.govern.live.Reports {
		r := &x.s.govern.live.Reports[i]
		found := x.streamFinding(r)
		result.Findings = append(result.Findings, found)
		result.Reports = append(result.Reports, inspect.Report{Finding: found, Count: r.Count})
	}
	return result
}

// noteOutput records the result of a stream's checks so far.
func (x *exchange) noteOutput() {
	g := &x.s.govern
	g.output = verdict{g.live.Tally.Decide(x.guard().check.Policy), uint64(g.live.Tally.Risk)}
	if g.live.Blocked() {
		g.output.decision = governor.Rejected
	}
}

// governMessage checks a provider's error message like response text, because it may repeat the prompt. If the policy
// blocks the message, the result is empty. Findings are not reported, because the request's text has already been
// checked.
func (x *exchange) governMessage(message jsontext.Escaped) jsontext.Escaped {
	if !x.s.govern.on || message == "" {
		return message
	}
	g := x.guard()
	result := g.check.Text(message.Plain(), governor.Output)
	switch {
	case result.Decision == governor.Rejected:
		return ""
	case result.Body != nil:
		return jsontext.Escape(string(result.Body))
	}
	return message
}
