package control

import (
	"strconv"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// maxWeight is the maximum weight of a target in a project's route.
const maxWeight = 1_000_000

// routeView is a project's override of a tier.
type routeView struct {
	Strategy string       `json:"strategy"`
	Targets  []targetView `json:"targets"`
}

type targetView struct {
	Model  string `json:"model"`
	Weight uint64 `json:"weight"`
}

var (
	strategyWords = []string{"weighted", "ordered", "cheapest", "fastest"}
	strategies    = []config.Strategy{config.Weighted, config.Ordered, config.Cheapest, config.Fastest}
)

func viewRoutes(routes []doc.Route) map[string]routeView {
	views := map[string]routeView{}
	for _, r := range routes {
		view := routeView{Strategy: translate(config.Strategy(r.Strategy), strategies, strategyWords), Targets: []targetView{}}
		for _, t := range r.Targets {
			view.Targets = append(view.Targets, targetView(t))
		}
		views[r.Tier] = view
	}
	return views
}

// routes takes the field "routes": all tiers that the project overrides.
func (h *handler) routes(f *fields) (routes []doc.Route, given bool) {
	all, given := f.object("routes")
	if !given {
		return nil, false
	}
	for _, tier := range h.tierNames() {
		if inner, ok := all.object(tier); ok {
			routes = append(routes, h.route(tier, inner))
			all.addProblems(tier, inner)
		}
	}
	all.rejectRest("is not a tier; the tiers are " + allOf(h.tierNames()))
	f.addProblems("routes", all)
	return routes, true
}

func (h *handler) route(tier string, f *fields) doc.Route {
	strategy := f.defaultedChoice("strategy", strategyWords)
	r := doc.Route{Tier: tier, Strategy: uint8(translate(strategy, strategyWords, strategies))}
	if _, present := f.values["targets"]; !present {
		f.problem("targets", "is required")
	}
	targets, _ := f.objects("targets", doc.MaxTargets)
	for i, t := range targets {
		r.Targets = append(r.Targets, h.target(t))
		f.addProblems("targets["+strconv.Itoa(i)+"]", t)
	}
	return r
}

func (h *handler) target(f *fields) doc.RouteTarget {
	if _, present := f.values["model"]; !present {
		f.problem("model", "is required")
	}
	name, given := f.text("model", "")
	model := h.Catalog.Model(name)
	if given && (model == nil || model.Kind != config.ChatModel) {
		f.problem("model", "must be a chat model from the catalog"+got(name)+"; see GET /api/admin/catalog")
	}
	weight, given := f.integer("weight", 0, maxWeight)
	if !given {
		weight = 1
	}
	return doc.RouteTarget{Model: name, Weight: weight}
}
