package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/classify"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

// classification is the state of the project's classifier in an exchange: a model that judges the request, before it is
// sent (strict) or beside it (monitor).
type classification struct {
	wanted  bool // the request has a text to classify
	done    bool // the classifier has responded or failed
	held    bool // the settlement waits in bufferSettle for the classifier
	failed  bool
	model   string // of the catalog, or the moderation endpoint's
	prompt  uint64 // estimated tokens of the text
	charges []keymeter.Charge
}

func (c *classification) fields(f *abi.Fields) {
	f.Flags(&c.wanted, &c.done, &c.held, &c.failed)
	if !c.wanted {
		return
	}
	f.String(&c.model)
	f.Uint(&c.prompt)
	abi.List(f, &c.charges, keymeter.ChargeFields)
}

// planClassification keeps the text for the classifier, if the project has one. Development keys have none: the mock
// answers them without a provider.
func (x *exchange) planClassification(body []byte) {
	c := &x.s.govern.classification
	*c = classification{}
	settings := &x.guard().settings.Classifier
	if settings.Kind == governor.NoClassifier || x.testMode() || x.s.endpoint == endpointEmbeddings || x.s.endpoint == endpointCount {
		return
	}
	r := x.reparse(body)
	text := classify.Text(r.Messages)
	if text == "" {
		return
	}
	c.wanted, c.model, c.prompt = true, settings.Model, chat.EstimateTokens(text)+classify.PromptTokens
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferClassify, Data: []byte(text)})
}

// classifierModel is the classifier's model in the catalog; nil for the moderation endpoint, or if the catalog has it
// no more.
func (x *exchange) classifierModel() *config.Model {
	if x.guard().settings.Classifier.Kind == governor.ModerationClassifier {
		return nil
	}
	return x.config.Model(x.s.govern.classification.model)
}

// classifierBound is the cost to reserve for the classifier.
func (x *exchange) classifierBound() money.Pico {
	c := &x.s.govern.classification
	if !c.wanted {
		return 0
	}
	if m := x.classifierModel(); m != nil {
		return m.Cost(&chat.Usage{Input: 2 * c.prompt, Output: classify.MaxTokens})
	}
	return 0
}

// classifierTimeoutMs is how much longer a request with a classifier may take: the classifier responds before the first
// attempt, or at the latest this long after it.
func (x *exchange) classifierTimeoutMs() uint64 {
	if !x.s.govern.classification.wanted {
		return 0
	}
	return x.guard().settings.Classifier.TimeoutMs
}

// startClassifier starts the classifier of an admitted request. It returns true if the request has to wait for it.
func (x *exchange) startClassifier() bool {
	c := &x.s.govern.classification
	if !c.wanted || c.done || x.s.disconnected {
		return false
	}
	if x.guard().settings.Classifier.Strict {
		x.enter(phaseClassify)
	}
	x.await(abi.Action{Kind: abi.ActionSupply, ID: idClassifyText, Buffer: bufferClassify})
	return x.guard().settings.Classifier.Strict
}

// onClassifyText sends the text to the classifier.
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

// maxClassifierBytes is the limit for a classifier's response.
const maxClassifierBytes = 64 << 10

// classifierRequest builds the request. ok is false without credentials of the deployment: projects' own provider keys
// are not used for it.
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

// onClassified takes the classifier's response or its failure.
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

// classifierBills reports whether the provider may bill the classifier's request: it responded with 200, or its response
// was lost. An estimate is charged if the usage is unknown.
func (x *exchange) classifierBills() bool {
	if x.event.Kind == abi.EventFault {
		return x.event.Code != abi.FaultConnect && x.event.Code != abi.FaultUndelivered && x.event.Code != abi.FaultClosing
	}
	return x.event.Code == 200
}

// chargeClassifier adds the classifier's cost to the exchange's.
func (x *exchange) chargeClassifier(m *config.Model, r *chat.Response) {
	c := &x.s.govern.classification
	u := r.Usage
	estimated := !credible(&u, responseTokens(r))
	if estimated {
		u = chat.Usage{Input: c.prompt, Output: responseTokens(r)}
	}
	c.charges = append(c.charges, keymeter.Charge{
		Model: m.Name, Provider: m.Provider.Name, Tokens: keymeter.Tokens{Prompt: u.Input, Completion: u.Output},
		CostPico: m.Cost(&u), Estimated: estimated,
	})
}

// classifierFailed ends the classification without a score.
func (x *exchange) classifierFailed() { x.classified(0, false) }

// classified acts on the score: from the project's threshold on it is a finding, which blocks if the request waits.
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
			x.refuse(fault.Blocked, x.blocked(result.Findings))
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
		x.await(abi.Action{Kind: abi.ActionSupply, ID: idSettle, Buffer: bufferSettle})
	}
}

// classifierFinding is the classifier's finding as a result.
func (x *exchange) classifierFinding(blocks bool) inspect.Result {
	found := inspect.Finding{Rule: governor.RuleClassifier, Action: governor.Flag, Path: "messages"}
	result := inspect.Result{Decision: governor.Review}
	if blocks {
		found.Action, result.Decision = governor.Block, governor.Rejected
	}
	result.Tally.Risk = governor.MaxRisk
	result.Findings = []inspect.Finding{found}
	result.Reports = []inspect.Report{{Finding: found, Count: 1}}
	return result
}

// classifying reports whether the classifier beside the request has not responded.
func (x *exchange) classifying() bool { return x.pending(idClassifyText) || x.pending(idClassify) }

// holdSettle keeps the settlement until the classifier beside the request has responded: its cost belongs to it.
func (x *exchange) holdSettle(settle *keymeter.Settle) bool {
	c := &x.s.govern.classification
	if !x.classifying() {
		settle.Attempts = append(settle.Attempts, c.charges...)
		return false
	}
	c.held = true
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferSettle, Data: settle.Encode()})
	return true
}

// onHeldSettle sends the settlement with the classifier's cost and finding.
func (x *exchange) onHeldSettle() {
	settle, err := keymeter.DecodeSettle(x.event.Data)
	if err != nil {
		panic("exchange: malformed settlement")
	}
	settle.Attempts = append(settle.Attempts, x.s.govern.classification.charges...)
	settle.Violations = append(settle.Violations, x.takeViolations()...)
	x.sendSettle(&settle)
}
