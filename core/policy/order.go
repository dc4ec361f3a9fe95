package policy

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
)

// typical is the usage at which Expected compares prices: three input tokens for each output token.
var typical = chat.Usage{Input: 3000, Output: 1000}

// Expected returns targets in the order in which a strategy tries them, independent of a request: by weight, by the
// price of a typical request, by latency in milliseconds (0: unknown, tried first), or as listed. It ignores circuit
// breakers. core/route orders the targets of an actual request.
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

// DrawWeight returns the target's weight in the draw for the first target: 0 if it is not usable.
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
