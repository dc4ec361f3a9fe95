package bill

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/policy"
)

// Output tokens to reserve while the length of the response is unknown.
const (
	InitialStreamTokens = 1024   // for a stream, whose reservation is extended later
	minAnswerTokens     = 4096   // for a non-streaming response without max tokens, if the budget is short or the key is Unbounded. If the budget is short, thinking is added
	assumedTokens       = 32_768 // the output limit of a model that has none in the catalog
)

// promptBound returns an upper bound on the prompt's length in tokens. PromptTokens is an estimate. It is right only
// on average, so promptBound doubles it.
func (o *Order) promptBound() uint64 { return 2*o.PromptTokens + o.UnseenTokens }

// thinking returns the number of thinking tokens to expect from a model. If the model does not support the reasoning
// parameter, the parameter is left out, and the number is 0.
func (o *Order) thinking(m *config.Model) uint64 {
	if (m.Drops|m.Provider.Drops)&chat.ParamReasoning != 0 {
		return 0
	}
	return o.Thinking
}

// outputRoom returns how many tokens of a model's context the prompt leaves for the response. If not even a typical
// response with its thinking fits, tight is true. The bound on the prompt is then probably too high, so tokens is the
// complete context. The provider applies its own limit.
func (o *Order) outputRoom(m *config.Model) (tokens uint64, tight bool) {
	if m.Context == 0 {
		return assumedTokens, false
	}
	left := m.Context - min(m.Context, o.promptBound())
	if left < minAnswerTokens+o.thinking(m) {
		return m.Context, true
	}
	return left, false
}

// exceedsContext reports whether the estimated prompt and limit output tokens exceed the model's context. Providers
// reject such a limit. If there is no limit, the context bounds the response.
func (o *Order) exceedsContext(m *config.Model, limit uint64) bool {
	return o.PromptTokens+limit > m.Context
}

// MaxOutput returns the number of output tokens to reserve for one response. If the caller set max tokens, it is that
// number. Otherwise, if the key has no budget, it is a typical number. In all other cases, it is the model's limit.
func (q *Quote) MaxOutput(m *config.Model) uint64 {
	thinking := q.thinking(m)
	switch {
	case !q.Outputs:
		return 0
	case q.MaxTokens > 0 && thinking >= q.MaxTokens:
		return q.MaxTokens + thinking // if thinking alone would use up a limit, translation raises the limit
	case q.MaxTokens > 0:
		return q.MaxTokens
	case q.Unbounded:
		return minAnswerTokens
	}
	room, _ := q.outputRoom(m)
	if m.MaxOutput > 0 {
		return min(m.MaxOutput, room)
	}
	return min(assumedTokens, room)
}

// MinOutput returns the length of the smallest useful response in tokens. It is reserved when the budget is short.
func (q *Quote) MinOutput(m *config.Model) uint64 {
	longest := q.MaxOutput(m)
	if q.MaxTokens > 0 || q.Unlimited {
		return longest
	}
	return min(longest, minAnswerTokens+q.thinking(m))
}

// costBound returns the maximum cost of the request with a model. It uses the upper bound on the prompt and the given
// number of output tokens per choice.
func (q *Quote) costBound(m *config.Model, tokens uint64) money.Pico {
	u := chat.Usage{Input: q.promptBound(), Output: tokens * max(q.N, 1), Extras: &chat.Extras{Terms: q.boundTerms(m), FeePico: q.feeBound(m)}}
	// The provider may write the whole prompt to its cache. OpenAI's newer models charge for that even if it was not
	// requested.
	switch p := &m.Prices; {
	case q.Bought.Cache == 2:
		u.CacheWrite1h = u.Input
	case p.Write > p.Input && (q.Bought.Cache == 1 || m.Provider.Wire != "anthropic" && m.Provider.Wire != "bedrock"):
		u.CacheWrite = u.Input
	}
	return m.Cost(&u)
}

// Reservation returns the amount to reserve, and the least to accept when the budget is short. The amount covers the
// most expensive target of the route. For a stream, it covers only the first tokens. If the request may be sent
// twice, both amounts are doubled. If no target is usable, all allowed targets count, so that a short budget is
// reported before missing credentials.
func (q *Quote) Reservation(targets []policy.Target) (amount, least money.Pico) {
	usable := slices.ContainsFunc(targets, func(t policy.Target) bool { return t.Usable() })
	for _, t := range targets {
		if !t.Allowed || usable && !t.Usable() {
			continue
		}
		most, fewest := q.MaxOutput(t.Model), q.MinOutput(t.Model)
		if q.Streams {
			// Thinking is billed even if it is not part of the stream.
			start := InitialStreamTokens + q.thinking(t.Model)
			most, fewest = min(most, start), min(fewest, start)
		}
		amount = max(amount, q.costBound(t.Model, most))
		least = max(least, q.costBound(t.Model, fewest))
	}
	if q.Twice {
		amount, least = money.Add(amount, amount), money.Add(least, least)
	}
	return amount, least
}

// ImposedLimit returns the max tokens to send to a target if the caller set none. It is the number that the rest of
// the reservation covers. If the model's own limit is not higher, ImposedLimit returns 0.
func (q *Quote) ImposedLimit(m *config.Model, rest money.Pico) uint64 {
	if q.MaxTokens > 0 || q.Unlimited || q.Streams || q.Unbounded || !q.Outputs || m.Prices.Output == 0 {
		return 0
	}
	longest := q.MaxOutput(m)
	limit := max(q.affordable(m, longest, rest), q.MinOutput(m))
	_, tight := q.outputRoom(m)
	switch {
	case m.MaxOutput > 0 && limit >= m.MaxOutput:
		return 0
	case tight && (limit == longest || q.exceedsContext(m, limit)):
		return 0
	}
	return limit
}

// affordable returns the number of tokens in the longest response that the rest of the reservation covers. The result
// is at most longest.
func (q *Quote) affordable(m *config.Model, longest uint64, rest money.Pico) uint64 {
	low, high := uint64(0), longest
	for low < high {
		middle := (low + high + 1) / 2
		if q.costBound(m, middle) <= rest {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}
