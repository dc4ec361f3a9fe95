package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/classify"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

const (
	classifierOff       sideState = iota // the request is not classified
	classifierPlanned                    // the request is not admitted yet
	classifierReading                    // loading the stored text
	classifierJudging                    // waiting for the classifier's response
	classifierJudged                     // the classifier has responded or failed
	classifierReleasing                  // loading the settlement, which waited for the classifier
)

// classifierRows is the classifier's state machine. Only in strict mode does the request wait for it, in
// phaseClassify.
var classifierRows = [...]sideRow{
	{classifierReading, inClassifyText, (*exchange).onClassifyText, 1<<classifierJudging | 1<<classifierJudged | 1<<classifierReleasing, toAttempt},
	{classifierJudging, inClassified, (*exchange).onClassified, 1<<classifierJudged | 1<<classifierReleasing, toAttempt},
	{classifierReleasing, inHeldSettle, (*exchange).onHeldSettle, 1 << classifierJudged, 0},
}

func (x *exchange) classifierState() sideState {
	c := &x.s.govern.classification
	switch {
	case x.pending(idClassifyText):
		return classifierReading
	case x.pending(idClassify):
		return classifierJudging
	case x.pending(idSettle):
		return classifierReleasing
	case c.done:
		return classifierJudged
	case c.wanted:
		return classifierPlanned
	}
	return classifierOff
}

// If the project has a classifier, planClassification keeps the request's text for it. Requests with development keys
// are not classified, because no provider is called for them.
func (x *exchange) planClassification(body []byte) {
	c := &x.s.govern.classification
	*c = classification{}
	settings := &x.guard().settings.Classifier
	if settings.Kind == governor.NoClassifier || x.testMode() || !x.endpoint.texts.judged {
		return
	}
	r := x.reparse(body, false)
	text := classify.Text(r.Messages)
	if text == "" {
		return
	}
	c.wanted, c.model, c.prompt = true, settings.Model, chat.EstimateTokens(text)+classify.PromptTokens
	x.keep(bufferClassify, []byte(text))
}

// startClassifier starts the classifier for an admitted request. If the request must wait for it, startClassifier
// returns true.
func (x *exchange) startClassifier() bool {
	c := &x.s.govern.classification
	if !c.wanted || c.done || x.s.disconnected {
		return false
	}
	if x.guard().settings.Classifier.Strict {
		x.enter(phaseClassify)
	}
	x.supply(idClassifyText, bufferClassify)
	return x.guard().settings.Classifier.Strict
}

func (x *exchange) onClassifyText() {
	if x.s.phase == phaseClassify && x.s.disconnected {
		x.s.govern.classification.done = true
		x.dispatchClassified() // ends the exchange
		return
	}
	settings := &x.guard().settings.Classifier
	request, ok := x.classifierRequest(jsontext.Escaped(x.event.Data))
	if !ok {
		x.classifierFailed()
		return
	}
	request.Kind, request.ID, request.Buffer, request.Limit = abi.ActionFetch, idClassify, bufferClassified, maxClassifierBytes
	request.Timeouts = abi.Timeouts{HeadMs: settings.TimeoutMs, TotalMs: settings.TimeoutMs}
	x.await(request)
}

// maxClassifierBytes is the maximum size of a classifier's response in bytes.
const maxClassifierBytes = 64 << 10

// classifierRequest builds the classifier's request. If the deployment has no credentials for it, ok is false. A
// project's own provider keys are not used.
func (x *exchange) classifierRequest(text jsontext.Escaped) (request abi.Action, ok bool) {
	kind := x.guard().settings.Classifier.Kind
	if kind == governor.ModerationClassifier {
		return classify.ModerationRequest(x.config, x.s.govern.classification.model, text)
	}
	m := x.classifierModel()
	if m == nil || !m.Provider.Ready {
		return request, false
	}
	f, ok := provider.For(m.Provider.Wire)
	if !ok || m.Provider.Wire == mockProvider {
		return request, false
	}
	r := classify.Request(kind, m, text)
	r.Drop(f.Carries &^ m.Provider.Drops &^ m.Drops)
	request = f.Request(&wire.Call{Model: m, Request: &r, NowMs: x.now})
	return request, request.URL != ""
}

func (x *exchange) onClassified() {
	root := gjson.Result{}
	if x.event.Kind == abi.EventResponse && x.event.Code == 200 {
		root = x.json()
	}
	kind := x.guard().settings.Classifier.Kind
	if kind == governor.ModerationClassifier {
		score, ok := classify.ModerationScore(root)
		x.classified(score, ok)
		return
	}
	m := x.classifierModel()
	if m == nil || !x.classifierBills() {
		x.classifierFailed()
		return
	}
	var r chat.Response
	ok := root.IsObject()
	if ok {
		f, _ := provider.For(m.Provider.Wire)
		r, ok = f.Response(root)
	}
	x.chargeClassifier(m, &r)
	score := uint64(0)
	if ok {
		score, ok = classify.Score(kind, &r)
	}
	x.classified(score, ok)
}

// classifierBills reports whether the provider may bill the classifier's request. This is so if it responded with 200
// or its response was lost. If the usage is unknown, an estimate is charged.
func (x *exchange) classifierBills() bool {
	if x.event.Kind == abi.EventFault {
		return x.event.Code != abi.FaultConnect && x.event.Code != abi.FaultUndelivered && x.event.Code != abi.FaultClosing
	}
	return x.event.Code == 200
}

func (x *exchange) chargeClassifier(m *config.Model, r *chat.Response) {
	c := &x.s.govern.classification
	u := r.Usage
	estimated := !bill.Credible(&u, responseTokens(r))
	if estimated {
		u = chat.Usage{Input: c.prompt, Output: responseTokens(r)}
	}
	c.charges = append(c.charges, keymeter.Charge{
		Model: m.Name, Provider: m.Provider.Name, Tokens: keymeter.Tokens{Prompt: u.Input, Completion: u.Output},
		CostPico: m.Cost(&u), Estimated: estimated, PromptCache: bill.PromptCacheOf(&u, m.CacheSaving(&u)),
	})
}

// classifierFailed ends the classification without a score.
func (x *exchange) classifierFailed() { x.classified(0, false) }

// classified evaluates the score. A score at or above the project's threshold is a finding. If the request is waiting
// for the classifier, a finding blocks it.
func (x *exchange) classified(score uint64, ok bool) {
	c, g := &x.s.govern.classification, x.guard()
	settings := &g.settings.Classifier
	c.done, c.failed = true, !ok
	waiting := x.s.phase == phaseClassify
	if ok && score >= settings.Threshold {
		result := x.classifierFinding(waiting)
		x.s.govern.violations = x.violations(x.s.govern.violations, &result, governor.Input)
		if waiting {
			x.s.govern.input = verdict{governor.Rejected, governor.MaxRisk}
			x.refuse(fault.Blocked, x.blocked(&result))
			return
		}
	}
	switch {
	case waiting && !ok && settings.FailClosed:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs, details: []fault.Detail{
			{Field: "classifier", Message: "did not respond, and the project's policy requires it; try again"},
		}})
	case waiting:
		x.dispatchClassified()
	case c.held:
		x.supply(idSettle, bufferSettle)
	}
}

func (x *exchange) classifierFinding(blocks bool) inspect.Result {
	found := inspect.Finding{Rule: governor.RuleClassifier, Action: governor.Flag, Path: "messages"}
	if x.s.dialect == chat.Responses {
		found.Path = "input"
	}
	result := inspect.Result{Decision: governor.Review}
	if blocks {
		found.Action, result.Decision = governor.Block, governor.Rejected
	}
	result.Tally.Risk = governor.MaxRisk
	result.Findings = []inspect.Finding{found}
	result.Reports = []inspect.Report{{Finding: found, Count: 1}}
	return result
}

// onHeldSettle adds the classifier's cost and finding to the settlement and sends it.
func (x *exchange) onHeldSettle() {
	settle, err := keymeter.DecodeSettle(x.event.Data)
	if err != nil {
		panic("exchange: malformed settlement")
	}
	settle.Attempts = append(settle.Attempts, x.s.govern.classification.charges...)
	settle.Violations = append(settle.Violations, x.takeViolations()...)
	x.sendSettle(&settle)
}
