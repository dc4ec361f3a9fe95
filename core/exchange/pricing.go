package exchange

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/classify"
	"github.com/postern-ai/postern/core/money"
)

//go:noinline
func (x *exchange) quote() *bill.Quote {
	return &bill.Quote{
		Order: &x.s.request.Order, Config: x.config, Outputs: x.endpoint.calls.outputs, Unlimited: x.endpoint.calls.unlimited, Streams: x.streams(), Twice: x.s.request.json,
		Unbounded: x.s.record.Unbounded, Native: x.isNative,
	}
}

// maxOutputTokens returns the number of output tokens to reserve for one response.
func (x *exchange) maxOutputTokens(m *config.Model) uint64 { return x.quote().MaxOutput(m) }

func (x *exchange) planReservation() {
	a := &x.s.admission
	a.amount, a.minAmount = 0, 0
	if x.testMode() {
		return
	}
	amount, least := x.quote().Reservation(x.targets())
	classifier := x.classifierBound()
	a.amount, a.minAmount = money.Add(amount, classifier), money.Add(least, classifier)
}

func (x *exchange) imposedLimit(m *config.Model) uint64 {
	if x.testMode() {
		return 0
	}
	return x.quote().ImposedLimit(m, x.s.admission.reserved-x.s.spent.CostPico-x.classifierBound())
}

func (x *exchange) price(m *config.Model, u *chat.Usage) { x.quote().Price(m, u) }

// priceBound is like price, for an attempt whose response is not complete.
func (x *exchange) priceBound(m *config.Model, u *chat.Usage) { x.quote().PriceBound(m, u) }

// spend charges an attempt at the current target's prices.
func (x *exchange) spend(u *chat.Usage) {
	x.price(x.model(), u)
	m := x.model()
	x.s.spent.Charge(uint64(x.currentIndex()), u, m.Cost(u), m.CacheSaving(u))
}

func (x *exchange) chargeNothing(u *chat.Usage) {
	x.s.spent.Charge(uint64(x.currentIndex()), u, 0, 0)
}

func (x *exchange) billableUsage(u chat.Usage, tokens uint64, complete bool) chat.Usage {
	return x.s.request.Billable(u, tokens, complete)
}

// chargeUnreported charges the estimated prompt of an attempt that reported no usage, because the provider may bill
// it.
func (x *exchange) chargeUnreported() {
	x.spend(&chat.Usage{Input: x.s.request.PromptTokens})
}

// classifierModel returns the classifier's model from the catalog. If the classifier is the moderation endpoint, or
// if the catalog no longer has the model, it returns nil.
func (x *exchange) classifierModel() *config.Model {
	if x.guard().settings.Classifier.Kind == governor.ModerationClassifier {
		return nil
	}
	return x.config.Model(x.s.govern.classification.model)
}

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

// classifierTimeoutMs returns the maximum time that a classifier may add to the request, in milliseconds. The
// classifier runs before the first attempt or alongside the attempts.
func (x *exchange) classifierTimeoutMs() uint64 {
	if !x.s.govern.classification.wanted {
		return 0
	}
	return x.guard().settings.Classifier.TimeoutMs
}

// estimate returns the estimated usage for a response with the given number of tokens. It assumes the requested terms
// and all tool calls that the request allows.
func (x *exchange) estimate(tokens uint64) chat.Usage {
	u := chat.Usage{Input: x.s.request.PromptTokens, Output: tokens}
	x.price(x.model(), &u)
	return u
}

// latencyMs returns the time from the start of the last attempt to the first content of its response.
func (x *exchange) latencyMs() uint64 {
	start := x.s.times.upstreamStart
	if first := x.s.stream.firstContentMs; first >= start {
		return first - start
	}
	return x.since(start)
}

// firstTokenMs returns the time from the request's arrival to the first content of its stream. If there was none, it
// returns 0.
func (x *exchange) firstTokenMs() uint64 {
	first := x.s.stream.firstContentMs
	return first - min(first, x.s.startMs)
}
