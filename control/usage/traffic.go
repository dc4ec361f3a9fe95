package usage

import (
	"context"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// traffic is a project's usage by model. Development keys are left out, because the built-in mock answers them free
// of charge. Their requests would lower every mean cost, and their tokens would raise the cost on every other model.
type traffic struct {
	models      []modelUse // by name
	development uint64     // number of successful requests that are left out
}

// modelUse is the usage of a model, or of a key and a model.
type modelUse struct {
	ledger.Usage
	// flaggedPico is the sum of the costs of all combinations of day, key and model that have an estimated or expired
	// charge. At most this much of the cost was not measured. The exact amount is unknown, because Usage does not
	// contain the cost of a single charge.
	flaggedPico money.Pico
}

func (m *modelUse) plus(o *modelUse) {
	m.Usage.Plus(&o.Usage)
	m.flaggedPico = money.Add(m.flaggedPico, o.flaggedPico)
}

// served returns the number of requests that a provider answered or that were never settled.
func (m *modelUse) served() uint64 { return m.Requests - min(m.Requests, m.Hits) }

// used reports whether the usage contains anything other than failures without a cost.
func (m *modelUse) used() bool { return m.Requests+m.Prompt+m.Completion > 0 || m.CostPico != 0 }

type useID struct{ key, model string }

func (h *handler) readTraffic(ctx context.Context, p *directory.Project, first, end uint64) (t traffic, err error) {
	uses, err := h.readUses(ctx, p, first, end)
	if err != nil {
		return t, err
	}
	mocked, err := h.mockedKeys(ctx, p, uses)
	if err != nil {
		return t, err
	}
	at := map[string]int{}
	for id, use := range uses {
		if mocked[id.key] {
			t.development += use.Requests
			continue
		}
		i, ok := at[id.model]
		if !ok {
			i = len(t.models)
			at[id.model] = i
			t.models = append(t.models, modelUse{Usage: ledger.Usage{Model: id.model}})
		}
		t.models[i].plus(use)
	}
	kernel.SortBy(t.models, func(a, b *modelUse) int { return strings.Compare(a.Model, b.Model) })
	return t, nil
}

// readUses reads the usage of each key and model. It adds up the pages one by one, because keeping one row per day
// would take too much memory for long ranges.
func (h *handler) readUses(ctx context.Context, p *directory.Project, first, end uint64) (map[useID]*modelUse, error) {
	uses := map[useID]*modelUse{}
	query := ledger.Query{FirstDay: first, EndDay: end, By: ledger.ByDetail}
	for {
		page, err := reports.QueryPage(ctx, h.Plane, p, &query)
		if err != nil {
			return nil, err
		}
		for i := range page.Groups {
			addGroup(uses, &page.Groups[i])
		}
		if page.Next == "" {
			return uses, nil
		}
		query.After = page.Next
	}
}

func addGroup(uses map[useID]*modelUse, g *ledger.Group) {
	use := modelUse{Usage: g.Usage}
	if !use.used() {
		return
	}
	if g.Usage.Estimated+g.Usage.Expired > 0 {
		use.flaggedPico = g.Usage.CostPico
	}
	id := useID{g.KeyID, g.Usage.Model}
	if uses[id] == nil {
		uses[id] = &modelUse{}
	}
	uses[id].plus(&use)
}

// mockedKeys returns the development keys in the usage. It looks up only keys without a cost. A deleted key counts as
// a development key if it used a model that has a price and its tokens cost nothing.
func (h *handler) mockedKeys(ctx context.Context, p *directory.Project, uses map[useID]*modelUse) (map[string]bool, error) {
	mocked, cost := map[string]bool{}, map[string]money.Pico{}
	for id, use := range uses {
		cost[id.key] = money.Add(cost[id.key], use.CostPico)
	}
	var free []string
	for key, pico := range cost {
		if pico <= 0 {
			free = append(free, key)
		}
	}
	found, err := h.Store.KeysByID(ctx, p.ID, free)
	for _, key := range free {
		k, ok := found[key]
		mocked[key] = ok && k.Environment == keys.Development
	}
	for id, use := range uses {
		if _, known := found[id.key]; !known && cost[id.key] <= 0 && use.Prompt > 0 {
			m := h.Catalog.Model(id.model)
			mocked[id.key] = mocked[id.key] || m != nil && hasPrice(m)
		}
	}
	return mocked, err
}

// hasPrice reports whether a model's tokens have a price. Models on the operator's own servers have no price in the
// catalog. That does not mean that they are free of charge.
func hasPrice(m *config.Model) bool { return m.Prices.Input > 0 || m.Prices.Output > 0 }
