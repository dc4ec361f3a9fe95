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
	f.addProblems("routes", all)
	return routes, true
}

func (h *handler) route(tier string, f *fields) doc.Route {
	strategy := f.defaultedChoice("strategy", strategyWords)
	r := doc.Route{Tier: tier, Strategy: uint8(translate(strategy, strategyWords, strategies))}
	_, named := f.values["targets"]
	targets, given := f.objects("targets", doc.MaxTargets)
	if !named || given && len(targets) == 0 {
		f.problem("targets", "must be an array of 1 to "+strconv.Itoa(doc.MaxTargets)+" targets")
	}
	for i, t := range targets {
		r.Targets = append(r.Targets, h.target(t))
		f.addProblems("targets."+strconv.Itoa(i), t)
	}
	return r
}

func (h *handler) target(f *fields) doc.RouteTarget {
	name, _ := f.text("model", "")
	model := h.Catalog.Model(name)
	if len(f.problems) == 0 && (model == nil || model.Kind != config.ChatModel) {
		f.problem("model", "must be a chat model of the catalog"+got(name)+"; see GET /api/admin/catalog")
	}
	weight := uint64(1)
	if digits, given := f.number("weight"); given {
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n > maxWeight {
			f.problem("weight", "must be an integer between 0 and "+strconv.Itoa(maxWeight)+gotNumber(digits))
		}
		weight = n
	}
	return doc.RouteTarget{Model: name, Weight: weight}
}
