package policy

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
)

// typical is the request that prices are compared for when there is none: three tokens in for one out.
var typical = chat.Usage{Input: 3000, Output: 1000}

// Expected are targets in the order in which a strategy tries them, as far as that does not depend on the
// request: by weight, by the price of a typical request, by latency (0: not known, which is tried first), or
// as listed. Rests of circuits are left out. core/route draws and sorts for an actual request.
func Expected(s config.Strategy, targets []Target, latencyMs func(model string) uint64) []Target {
	rank := func(*Target) int64 { return 0 }
	switch s {
	case config.Weighted:
		rank = func(t *Target) int64 { return -int64(t.Drawn()) }
	case config.Cheapest:
		rank = func(t *Target) int64 { return t.Model.Cost(&typical) }
	case config.Fastest:
		rank = func(t *Target) int64 { return int64(latencyMs(t.Model.Name)) }
	}
	sorted := slices.Clone(targets)
	slices.SortStableFunc(sorted, func(a, b Target) int { return compare(rank(&a), rank(&b)) })
	return sorted
}

// Drawn is the weight with which the first target is drawn: 0 if it cannot be asked.
func (t *Target) Drawn() uint64 {
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
