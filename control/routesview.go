package control

import (
	"net/http"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// tierView is a tier as requests of the project's production keys find it.
type tierView struct {
	Name     string           `json:"name"`
	Strategy string           `json:"strategy"`
	Source   string           `json:"source"` // catalog or project
	Targets  []routeStateView `json:"targets"`
}

type routeStateView struct {
	Model       string   `json:"model"`
	Provider    string   `json:"provider"`
	Weight      uint64   `json:"weight"`
	Share       *float64 `json:"share"`       // of the requests that it gets first; null: not by weight
	InputPrice  *price   `json:"inputPrice"`  // dollars for a million tokens
	OutputPrice *price   `json:"outputPrice"` // likewise
	Allowed     bool     `json:"allowed"`     // by the project's list of models
	Ready       *bool    `json:"ready"`       // there are credentials; null: the gateway did not say
	State       *string  `json:"state"`       // of its circuit; null: the gateway has not asked it lately
}

// listRoutes is GET …/routes: what each tier means for the project, in the order in which targets are tried.
func (h *handler) listRoutes(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	seen := readSight(c.request)
	v := h.viewOf(&p.Policy, seen)
	tiers := []tierView{}
	for i := range h.Catalog.Tiers {
		tiers = append(tiers, viewTier(v, h.Catalog.Tiers[i].Name, seen))
	}
	return answer{http.StatusOK, map[string]any{"tiers": tiers}}, nil
}

// viewOf is the catalog as a project's keys may use it, with the master keys that are there now. Where the
// gateway did not say what is ready, all is.
func (h *handler) viewOf(p *doc.Policy, seen *sight) *policy.View {
	catalog := *h.Catalog
	catalog.MasterKeys = h.masterKeys()
	return &policy.View{Config: &catalog, Project: p, Ready: func(p *config.Provider) bool {
		ready := seen.ready(p)
		return ready == nil || *ready
	}}
}

func viewTier(v *policy.View, name string, seen *sight) tierView {
	selected := policy.Select(v.Config, v.Project, name)
	strategy, targets := selected.StrategyOf(v.Config, name), v.SelectedTargets(&selected, name)
	view := tierView{Name: name, Strategy: translate(strategy, strategies, strategyWords), Source: "catalog", Targets: []routeStateView{}}
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
	for _, t := range policy.Expected(strategy, targets, seen.latency) {
		view.Targets = append(view.Targets, viewTarget(&t, total, seen))
	}
	return view
}

// viewTarget is one target of a tier whose targets have a total weight; 0: they are not drawn by weight.
func viewTarget(t *policy.Target, total uint64, seen *sight) routeStateView {
	m := t.Model
	view := routeStateView{
		Model: m.Name, Provider: m.Provider.Name, Weight: t.Weight, InputPrice: perMillion(m.Prices.Input),
		OutputPrice: perMillion(m.Prices.Output), Allowed: t.Allowed, Ready: &t.Ready, State: seen.state(m.Name),
	}
	if t.MasterKeyID == "" {
		view.Ready = seen.ready(m.Provider)
	}
	if total > 0 {
		share := float64(t.DrawWeight()) / float64(total)
		view.Share = &share
	}
	return view
}
