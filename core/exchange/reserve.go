package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/policy"
)

// Output tokens to reserve while the length of the response is unknown.
const (
	initialStreamTokens = 1024   // for a stream, whose reservation is extended later
	minAnswerTokens     = 4096   // for a response that is not streamed and has no max tokens, if the budget is short or the key is Unbounded; thinking is added
	assumedTokens       = 32_768 // the output limit of a model for which the catalog has none
)

// promptBound is an upper bound for the prompt in tokens. promptTokens is an average estimate, so it is doubled.
func (q *request) promptBound() uint64 { return 2*q.promptTokens + q.unseenTokens }

// outputRoom is the part of a model's context, in tokens, that the prompt leaves for the response. tight means
// that not even a typical response with its thinking fits. The bound on the prompt is then too pessimistic, so
// tokens is the whole context and the provider's own limit applies.
func (q *request) outputRoom(m *config.Model) (tokens uint64, tight bool) {
	if m.Context == 0 {
		return assumedTokens, false
	}
	left := m.Context - min(m.Context, q.promptBound())
	if left < minAnswerTokens+q.thinking {
		return m.Context, true
	}
	return left, false
}

// exceedsContext reports whether the estimated prompt and an output of limit tokens together exceed the model's context.
// Providers reject such a limit. Without a limit, the context itself bounds the response.
func (q *request) exceedsContext(m *config.Model, limit uint64) bool {
	return q.promptTokens+limit > m.Context
}

// maxOutputTokens is the number of output tokens to reserve for one response: the caller's max tokens, else a typical
// number for an Unbounded record, else the model's limit.
func (x *exchange) maxOutputTokens(m *config.Model) uint64 {
	q := &x.s.request
	switch {
	case x.s.endpoint == endpointEmbeddings:
		return 0
	case q.maxTokens > 0 && q.thinking >= q.maxTokens:
		return q.maxTokens + q.thinking // translation raises a limit that thinking would use up
	case q.maxTokens > 0:
		return q.maxTokens
	case x.s.record.Unbounded:
		return minAnswerTokens
	}
	room, _ := q.outputRoom(m)
	if m.MaxOutput > 0 {
		return min(m.MaxOutput, room)
	}
	return min(assumedTokens, room)
}

// minOutputTokens is the smallest useful response in tokens, reserved when the budget is short.
func (x *exchange) minOutputTokens(m *config.Model) uint64 {
	longest := x.maxOutputTokens(m)
	if x.s.request.maxTokens > 0 {
		return longest
	}
	return min(longest, minAnswerTokens+x.s.request.thinking)
}

// costBound is the maximum cost of the request with a model, for the bound on the prompt and the given number
// of output tokens per choice.
func (x *exchange) costBound(m *config.Model, tokens uint64) money.Pico {
	q := &x.s.request
	u := chat.Usage{Input: q.promptBound(), Output: tokens * max(q.n, 1), Extras: &chat.Extras{Terms: x.boundTerms(m), FeePico: x.feeBound(m)}}
	// The prompt may all be written to the provider's cache. OpenAI's newer models charge for that without a request.
	switch p := &m.Prices; {
	case q.bought.cache == 2:
		u.CacheWrite1h = u.Input
	case p.Write > p.Input && (q.bought.cache == 1 || m.Provider.Wire != "anthropic" && m.Provider.Wire != "bedrock"):
		u.CacheWrite = u.Input
	}
	return m.Cost(&u)
}

// planReservation sets the amount to reserve, and the minimum to accept when the budget is short. The amount
// covers the most expensive target of the route; for a stream it covers only the first tokens. JSON mode doubles
// both, because it may send the request twice. If no target is usable, the allowed ones count: a short budget is reported
// before missing credentials.
func (x *exchange) planReservation() {
	a := &x.s.admission
	a.amount, a.minAmount = 0, 0
	if x.testMode() {
		return
	}
	targets := x.targets()
	usable := slices.ContainsFunc(targets, func(t policy.Target) bool { return t.Usable() })
	for _, t := range targets {
		if !t.Allowed || usable && !t.Usable() {
			continue
		}
		longest, least := x.maxOutputTokens(t.Model), x.minOutputTokens(t.Model)
		if x.streams() {
			// Thinking is billed even if it is not part of the stream.
			start := initialStreamTokens + x.s.request.thinking
			longest, least = min(longest, start), min(least, start)
		}
		a.amount = max(a.amount, x.costBound(t.Model, longest))
		a.minAmount = max(a.minAmount, x.costBound(t.Model, least))
	}
	if x.s.request.json {
		a.amount, a.minAmount = money.Add(a.amount, a.amount), money.Add(a.minAmount, a.minAmount)
	}
	classifier := x.classifierBound()
	a.amount, a.minAmount = money.Add(a.amount, classifier), money.Add(a.minAmount, classifier)
}

// imposedLimit is the max tokens for a target when the caller set none: as many as the reservation covers, if that
// is less than the model's own limit. 0 means no limit.
func (x *exchange) imposedLimit(m *config.Model) uint64 {
	q := &x.s.request
	if q.maxTokens > 0 || x.streams() || x.s.record.Unbounded || x.testMode() || x.s.endpoint == endpointEmbeddings || m.Prices.Output == 0 {
		return 0
	}
	longest := x.maxOutputTokens(m)
	limit := max(x.affordableTokens(m, longest), x.minOutputTokens(m))
	_, tight := q.outputRoom(m)
	switch {
	case m.MaxOutput > 0 && limit >= m.MaxOutput:
		return 0
	case tight && (limit == longest || q.exceedsContext(m, limit)):
		return 0
	}
	return limit
}

// affordableTokens is the longest response in tokens, at most longest, that the reservation still covers after the
// cost of earlier attempts.
func (x *exchange) affordableTokens(m *config.Model, longest uint64) uint64 {
	budget := x.s.admission.reserved - x.s.spent.costPico - x.classifierBound()
	low, high := uint64(0), longest
	for low < high {
		middle := (low + high + 1) / 2
		if x.costBound(m, middle) <= budget {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}
