package settings

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// RouteView is a project's override of a tier.
type RouteView struct {
	Strategy string       `json:"strategy"`
	Targets  []TargetView `json:"targets"`
}

// TargetView is a target of a tier.
type TargetView struct {
	Model  string `json:"model"`
	Weight uint64 `json:"weight"`
}

// ViewRoutes returns the API's view of a policy's routes by tier.
func ViewRoutes(routes []doc.Route) map[string]RouteView {
	views := map[string]RouteView{}
	for _, r := range routes {
		view := RouteView{Strategy: kernel.Translate(config.Strategy(r.Strategy), Strategies, StrategyWords), Targets: []TargetView{}}
		for _, t := range r.Targets {
			view.Targets = append(view.Targets, TargetView(t))
		}
		views[r.Tier] = view
	}
	return views
}

// The API's names for strategies and their values, in the same order.
var (
	StrategyWords = []string{"weighted", "ordered", "cheapest", "fastest"}
	Strategies    = []config.Strategy{config.Weighted, config.Ordered, config.Cheapest, config.Fastest}
)

// KindOf returns the kind of a model, which depends on the first of its APIs. Only models of the kind "chat" can be
// in routes.
func KindOf(apis config.API) string {
	switch {
	case apis&config.APIsOfChat != 0:
		return "chat"
	case apis&config.APIEmbeddings != 0:
		return "embedding"
	case apis&config.APICompletions != 0:
		return "completion"
	}
	return "moderation"
}
