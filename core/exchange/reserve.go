package exchange

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

// Tokens of an answer that are reserved before anybody knows its length.
const (
	initialStreamTokens = 1024   // for a stream, which reserves more as it goes
	minAnswerTokens     = 4096   // for a whole answer without a limit, when the budget is short; thinking comes on top
	assumedTokens       = 32_768 // the longest answer of a model whose own maximum is not known
)

// promptBound is how many tokens the prompt is taken to have at most. The estimate is an average.
func (q *request) promptBound() uint64 { return 2*q.promptTokens + q.unseenTokens }

// room is how much of a model's context the prompt leaves for the answer. tight: less than an answer with its
// thinking usually takes, so that the bound on the prompt says too little; the provider's own limit then holds.
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

// overfull says whether a limit of so many tokens does not fit into the model's context beside the prompt, as that
// is estimated. A provider refuses such a limit; without one, the context bounds the answer.
func (q *request) exceedsContext(m *config.Model, limit uint64) bool {
	return q.promptTokens+limit > m.Context
}

// longest is how long one answer can become, in tokens: the caller's limit, else the model's.
func (x *exchange) maxOutputTokens(m *config.Model) uint64 {
	q := &x.s.request
	switch {
	case x.s.endpoint == endpointEmbeddings:
		return 0
	case q.maxTokens > 0 && q.thinking >= q.maxTokens:
		return q.maxTokens + q.thinking // a translated limit that thinking would use up is raised by it
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

// least is the shortest answer that is worth asking for when the budget is short.
func (x *exchange) minOutputTokens(m *config.Model) uint64 {
	longest := x.maxOutputTokens(m)
	if x.s.request.maxTokens > 0 {
		return longest
	}
	return min(longest, minAnswerTokens+x.s.request.thinking)
}

// answerCost is what the request costs at a model if its prompt is as long as it may be, and each answer so long.
func (x *exchange) costBound(m *config.Model, tokens uint64) money.Pico {
	q := &x.s.request
	return m.Cost(&chat.Usage{Input: q.promptBound(), Output: tokens * max(q.n, 1)})
}

// expect sets what is to be reserved: the most that any target of the route may cost, or for a stream its
// beginning; and the least that will do if the budget has not that much. JSON mode may ask twice.
func (x *exchange) planReservation() {
	a := &x.s.admission
	a.amount, a.minAmount = 0, 0
	if x.testMode() {
		return
	}
	for _, t := range x.targets() {
		if !t.Usable() {
			continue
		}
		longest, least := x.maxOutputTokens(t.Model), x.minOutputTokens(t.Model)
		if x.s.request.stream {
			// What a model thinks is billed, but need not be seen.
			start := initialStreamTokens + x.s.request.thinking
			longest, least = min(longest, start), min(least, start)
		}
		a.amount = max(a.amount, x.costBound(t.Model, longest))
		a.minAmount = max(a.minAmount, x.costBound(t.Model, least))
	}
	if x.s.request.json {
		a.amount, a.minAmount = money.Add(a.amount, a.amount), money.Add(a.minAmount, a.minAmount)
	}
}

// limitTokens is the limit that a target gets though the caller named none: what was reserved, if that is less
// than the longest answer that the model would give; else 0.
func (x *exchange) imposedLimit(m *config.Model) uint64 {
	q := &x.s.request
	if q.maxTokens > 0 || q.stream || x.s.record.Unbounded || x.testMode() || x.s.endpoint == endpointEmbeddings || m.Prices.Output == 0 {
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

// affordable is the longest answer, up to a bound, that the reservation still covers after what attempts have cost.
func (x *exchange) affordableTokens(m *config.Model, longest uint64) uint64 {
	budget := x.s.admission.reserved - x.s.spent.costPico
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
