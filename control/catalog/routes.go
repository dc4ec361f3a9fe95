package catalog

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// tierView is a tier as it applies to requests of the project's production keys.
type tierView struct {
	Name     string           `json:"name"`
	Strategy string           `json:"strategy"`
	Source   string           `json:"source"` // "catalog" or "project"
	Targets  []tierTargetView `json:"targets"`
}

type tierTargetView struct {
	Model       string   `json:"model"`
	Provider    string   `json:"provider"`
	Weight      uint64   `json:"weight"`
	Share       *float64 `json:"share"`       // share of requests that try this target first; null: not weighted
	InputPrice  *price   `json:"inputPrice"`  // dollars per million tokens
	OutputPrice *price   `json:"outputPrice"` // likewise
	Allowed     bool     `json:"allowed"`     // the project's list of models allows it
	Ready       *bool    `json:"ready"`       // the provider has credentials; null: the gateway did not report it
	State       *string  `json:"state"`       // state of its circuit breaker; null: the gateway has not called it recently
}

// listRoutes serves GET …/routes. It returns each tier as it applies to the project. A tier's targets are in the
// order in which the gateway tries them.
func (h *handler) listRoutes(c *kernel.Call) (kernel.Answer, error) {
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	observed := readHealth(c.Request)
	v := h.policyView(&p.Policy, observed)
	v.Above = p.Restrictions
	tiers := []tierView{}
	for i := range h.Catalog.Tiers {
		tiers = append(tiers, viewTier(v, h.Catalog.Tiers[i].Name, observed))
	}
	return kernel.OK(map[string]any{"tiers": tiers}), nil
}

// policyView applies a project's policy to the catalog, with the current master keys. If the gateway reported
// nothing, all providers count as ready.
func (h *handler) policyView(p *doc.Policy, observed *health) *policy.View {
	catalog := *h.Catalog
	catalog.MasterKeys = settings.MasterKeys(h.Plane)
	return &policy.View{Config: &catalog, Project: p, Ready: func(p *config.Provider) bool {
		ready := observed.ready(p)
		return ready == nil || *ready
	}}
}

func viewTier(v *policy.View, name string, observed *health) tierView {
	selected := policy.Select(v.Config, v.Project, v.KeyID, name)
	strategy, targets := selected.StrategyOf(v.Config, name), v.SelectedTargets(&selected, name)
	view := tierView{Name: name, Strategy: kernel.Translate(strategy, settings.Strategies, settings.StrategyWords), Source: "catalog", Targets: []tierTargetView{}}
	if selected.Routed {
		view.Source = "project"
	}
	total := uint64(0)
	for i := range targets {
		total += targets[i].DrawWeight()
	}
	if strategy != config.Weighted {
		total = 0
	}
	for _, t := range policy.Expected(strategy, targets, observed.latency) {
		view.Targets = append(view.Targets, viewTarget(&t, total, observed))
	}
	return view
}

// viewTarget returns the API's view of one target of a tier. total is the sum of the targets' weights, or 0 if the
// tier is not weighted.
func viewTarget(t *policy.Target, total uint64, observed *health) tierTargetView {
	m := t.Model
	view := tierTargetView{
		Model: m.Name, Provider: m.Provider.Name, Weight: t.Weight, InputPrice: perMillion(m.Prices.Input),
		OutputPrice: perMillion(m.Prices.Output), Allowed: t.Allowed, Ready: &t.Ready, State: observed.state(m.Name),
	}
	if t.MasterKeyID == "" {
		view.Ready = observed.ready(m.Provider)
	}
	if total > 0 {
		share := float64(t.DrawWeight()) / float64(total)
		view.Share = &share
	}
	return view
}
