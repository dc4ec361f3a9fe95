// Package catalog is the catalog resource: models, tiers, plans, and providers with their health.
package catalog

import (
	"encoding/json"
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints of the catalog.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodGet, Path: "/api/admin/catalog", For: kernel.Operators, Operation: "catalog", Serve: h.getCatalog},
		{Method: http.MethodGet, Path: "/api/admin/providers", For: kernel.Operators, Operation: "providers", Serve: h.listProviders},
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/routes", For: kernel.Operators, Operation: "routes", Serve: h.listRoutes},
	}
}

// price is in dollars per million tokens, exact.
type price = json.RawMessage

func perMillion(pico money.Pico) *price {
	p := price(money.Append(nil, 1_000_000*pico, money.Dollar))
	return &p
}

type catalogView struct {
	Version string         `json:"version"` // version of the prices, as in x-postern-price-version
	Plans   []planView     `json:"plans"`   // the default plan first
	Tiers   []tierEntry    `json:"tiers"`
	Models  []catalogModel `json:"models"`
}

type planView struct {
	Name        string              `json:"name"`
	Budget      json.RawMessage     `json:"budget"` // dollars
	Concurrent  uint64              `json:"concurrent"`
	Governor    bool                `json:"governor"`   // its projects may enable the Governor
	Lease       *leaseView          `json:"lease"`      // null: its keys' limits are never lent
	Production  settings.LimitsView `json:"production"` // null: no limit
	Development settings.LimitsView `json:"development"`
}

// leaseView describes the share of a key's limits that is lent to a location.
type leaseView struct {
	MS       uint64 `json:"ms"`
	Requests uint64 `json:"requests"`
}

type tierEntry struct {
	Name     string                `json:"name"`
	Strategy string                `json:"strategy"`
	Targets  []settings.TargetView `json:"targets"`
}

type catalogModel struct {
	Name        string   `json:"name"`
	Provider    string   `json:"provider"`
	Kind        string   `json:"kind"`
	Wires       []string `json:"wires"` // formats of the APIs through which the model is called
	Aliases     []string `json:"aliases"`
	Context     *uint64  `json:"context"`   // tokens; null: not known
	MaxOutput   *uint64  `json:"maxOutput"` // likewise
	InputPrice  *price   `json:"inputPrice"`
	OutputPrice *price   `json:"outputPrice"`
	CachedPrice *price   `json:"cachedPrice"`
	Source      *string  `json:"source"`
	Checked     *string  `json:"checked"`
}

// getCatalog serves GET /api/admin/catalog.
func (h *handler) getCatalog(*kernel.Call) (kernel.Answer, error) {
	view := catalogView{Version: h.Catalog.PriceVersion, Plans: []planView{}, Tiers: []tierEntry{}, Models: []catalogModel{}}
	for _, name := range settings.PlanNames(h.Plane) {
		plan := h.Catalog.Plan(name)
		view.Plans = append(view.Plans, planView{
			plan.Name, money.Append(nil, plan.BudgetPico, money.Dollar), plan.Concurrent, plan.Governor, viewLease(plan.Lease),
			settings.ViewLimits(doc.Limits(plan.Production)), settings.ViewLimits(doc.Limits(plan.Development)),
		})
	}
	for _, t := range h.Catalog.Tiers {
		entry := tierEntry{Name: t.Name, Strategy: kernel.Translate(t.Strategy, settings.Strategies, settings.StrategyWords), Targets: []settings.TargetView{}}
		for _, target := range t.Targets {
			entry.Targets = append(entry.Targets, settings.TargetView{Model: target.Model.Name, Weight: target.Weight})
		}
		view.Tiers = append(view.Tiers, entry)
	}
	for i := range h.Catalog.Models {
		view.Models = append(view.Models, h.viewModel(&h.Catalog.Models[i]))
	}
	return kernel.OK(view), nil
}

func viewLease(l config.Lease) *leaseView {
	if l == (config.Lease{}) {
		return nil
	}
	return &leaseView{l.DurationMs, l.Requests}
}

func (h *handler) viewModel(m *config.Model) catalogModel {
	return catalogModel{
		Name: m.Name, Provider: m.Provider.Name, Kind: settings.KindOf(m.APIs), Wires: m.Wires(), Aliases: append([]string{}, m.Aliases...),
		Context: kernel.NullIfZero(m.Context), MaxOutput: kernel.NullIfZero(m.MaxOutput), InputPrice: perMillion(m.Prices.Input),
		OutputPrice: perMillion(m.Prices.Output), CachedPrice: perMillion(m.Prices.Cached),
		Source: kernel.NullIfEmpty(h.source(m.Source)), Checked: kernel.NullIfEmpty(m.Date),
	}
}

// source returns the value of a source named in the catalog, usually a URL. Unknown names are returned unchanged.
func (h *handler) source(name string) string {
	for _, s := range h.Catalog.Sources {
		if s.Name == name {
			return s.Value
		}
	}
	return name
}
