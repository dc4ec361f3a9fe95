package projects

import (
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// maxWeight is the maximum weight of a target in a project's route.
const maxWeight = 1_000_000

// routes takes the field "routes", which contains all tiers that the project overrides.
func (h *handler) routes(f *kernel.Fields) (routes []doc.Route, given bool) {
	all, given := f.Object("routes")
	if !given {
		return nil, false
	}
	for _, tier := range settings.TierNames(h.Plane) {
		if inner, ok := all.Object(tier); ok {
			routes = append(routes, h.route(tier, inner))
			all.AddProblems(tier, inner)
		}
	}
	all.RejectRest("is not a tier; the tiers are " + kernel.AllOf(settings.TierNames(h.Plane)))
	f.AddProblems("routes", all)
	return routes, true
}

func (h *handler) route(tier string, f *kernel.Fields) doc.Route {
	strategy := f.DefaultedChoice("strategy", settings.StrategyWords)
	r := doc.Route{Tier: tier, Strategy: uint8(kernel.Translate(strategy, settings.StrategyWords, settings.Strategies))}
	if !f.Has("targets") {
		f.Problem("targets", "is required")
	}
	targets, _ := f.Objects("targets", doc.MaxTargets)
	for i, t := range targets {
		r.Targets = append(r.Targets, h.target(t))
		f.AddProblems("targets["+strconv.Itoa(i)+"]", t)
	}
	return r
}

func (h *handler) target(f *kernel.Fields) doc.RouteTarget {
	if !f.Has("model") {
		f.Problem("model", "is required")
	}
	name, given := f.Text("model", "")
	model := h.Catalog.Model(name)
	if given && (model == nil || model.APIs&config.APIsOfChat == 0) {
		f.Problem("model", "must be a chat model from the catalog"+kernel.Got(name)+"; see GET /api/admin/catalog")
	}
	weight, given := f.Integer("weight", 0, maxWeight)
	if !given {
		weight = 1
	}
	return doc.RouteTarget{Model: name, Weight: weight}
}
