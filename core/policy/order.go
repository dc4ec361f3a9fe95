package policy

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
)

// typical is the usage for which Expected compares prices. It has three input tokens for each output token.
var typical = chat.Usage{Input: 3000, Output: 1000}

// Expected returns targets in the order in which a strategy usually tries them, regardless of the request. The order
// is by weight, by the price of a typical request, by latency in milliseconds (0 is unknown and comes first), or as
// listed. It ignores circuit breakers. For an actual request, core/route orders the targets.
func Expected(s config.Strategy, targets []Target, latencyMs func(model string) uint64) []Target {
	rank := func(*Target) int64 { return 0 }
	switch s {
	case config.Weighted:
		rank = func(t *Target) int64 { return -int64(t.DrawWeight()) }
	case config.Cheapest:
		rank = func(t *Target) int64 { return t.Model.Cost(&typical) }
	case config.Fastest:
		rank = func(t *Target) int64 { return int64(latencyMs(t.Model.Name)) }
	}
	sorted := slices.Clone(targets)
	slices.SortStableFunc(sorted, func(a, b Target) int { return compare(rank(&a), rank(&b)) })
	return sorted
}

// DrawWeight returns the target's weight when the first target is drawn at random. It returns 0 if the target is not
// usable.
func (t *Target) DrawWeight() uint64 {
	if !t.Usable() {
		return 0
	}
	return t.Weight
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
