package control

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/base64"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// What a project's routes and alerts may be.
const (
	maxWeight          = 1_000_000
	maxURLBytes        = 512
	webhookSecretBytes = 24
)

// routeView stands in for a tier.
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

// routes takes the field "routes": all of the project's overrides, by tier.
func (h *handler) routes(f *fields) (routes []doc.Route, given bool) {
	all, given := f.object("routes")
	if !given {
		return nil, false
	}
	for _, tier := range h.tierNames() {
		if inner, ok := all.object(tier); ok {
			routes = append(routes, h.route(tier, inner))
			all.close(tier, inner)
		}
	}
	f.close("routes", all)
	return routes, true
}

func (h *handler) route(tier string, f *fields) doc.Route {
	strategy := f.defaultedChoice("strategy", strategyWords)
	r := doc.Route{Tier: tier, Strategy: uint8(translate(strategy, strategyWords, strategies))}
	_, named := f.values["targets"]
	targets, given := f.objects("targets", doc.MaxTargets)
	if !named || given && len(targets) == 0 {
		f.wrong("targets", "must be 1 to "+strconv.Itoa(doc.MaxTargets)+" models")
	}
	for i, t := range targets {
		r.Targets = append(r.Targets, h.target(t))
		f.close("targets."+strconv.Itoa(i), t)
	}
	return r
}

func (h *handler) target(f *fields) doc.RouteTarget {
	name, _ := f.text("model", "")
	model := h.Catalog.Model(name)
	if len(f.problems) == 0 && (model == nil || model.Kind != config.ChatModel) {
		f.wrong("model", "must be the name of a chat model of the catalog")
	}
	weight := uint64(1)
	if digits, given := f.number("weight"); given {
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n > maxWeight {
			f.wrong("weight", "must be an integer from 0 to "+strconv.Itoa(maxWeight))
		}
		weight = n
	}
	return doc.RouteTarget{Model: name, Weight: weight}
}

// alerts takes the field "alerts": {"url"}, or null for none.
func (f *fields) alerts() (address string, given bool) {
	if f.null("alerts") {
		return "", true
	}
	inner, given := f.object("alerts")
	if !given {
		return "", false
	}
	address, _ = inner.text("url", "")
	if len(inner.problems) == 0 && !isWebhookURL(address) {
		inner.wrong("url", "must be an https URL of at most 512 characters, without a user or a fragment")
	}
	f.close("alerts", inner)
	return address, true
}

// isWebhookURL: https, or plain http to this machine, where a developer tries it out.
func isWebhookURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURLBytes || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return false
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname())
}

// hostOf is a webhook's address without what may be secret in it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/***"
}

// webhookSecret is a secret as the receiver's library wants it (Standard Webhooks).
func webhookSecret(secret []byte) string { return string(base64.Append([]byte("whsec_"), secret)) }

// tierView is a tier as requests of the project find it.
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
	tiers := []tierView{}
	for i := range h.Catalog.Tiers {
		tiers = append(tiers, h.viewTier(&h.Catalog.Tiers[i], &p, seen))
	}
	return answer{http.StatusOK, map[string]any{"tiers": tiers}}, nil
}

func (h *handler) viewTier(t *config.Tier, p *project, seen *sight) tierView {
	strategy, targets, source := t.Strategy, t.Targets, "catalog"
	if r := p.Policy.Route(t.Name); r != nil {
		strategy, source, targets = config.Strategy(r.Strategy), "project", nil
		for _, rt := range r.Targets {
			if m := h.Catalog.Model(rt.Model); m != nil {
				targets = append(targets, config.Target{Model: m, Weight: rt.Weight})
			}
		}
	}
	view := tierView{Name: t.Name, Strategy: translate(strategy, strategies, strategyWords), Source: source, Targets: []routeStateView{}}
	total := uint64(0)
	for _, target := range targets {
		total += target.Weight
	}
	for _, target := range effective(strategy, targets, seen) {
		m := target.Model
		state := routeStateView{
			Model: m.Name, Provider: m.Provider.Name, Weight: target.Weight, InputPrice: perMillion(m.Prices.Input),
			OutputPrice: perMillion(m.Prices.Output), Ready: seen.ready(m.Provider, &p.Policy), State: seen.state(m.Name),
		}
		if strategy == config.Weighted && total > 0 {
			share := float64(target.Weight) / float64(total)
			state.Share = &share
		}
		view.Targets = append(view.Targets, state)
	}
	return view
}

// effective is the order in which targets are tried, as far as it does not depend on the request: by weight,
// as listed, by the price of a typical request (three tokens in for one out), or by the latency that was seen.
func effective(strategy config.Strategy, targets []config.Target, seen *sight) []config.Target {
	sorted := slices.Clone(targets)
	slices.SortStableFunc(sorted, func(a, b config.Target) int {
		switch strategy {
		case config.Weighted:
			return compare(b.Weight, a.Weight)
		case config.Cheapest:
			return compare(typical(a.Model), typical(b.Model))
		case config.Fastest:
			return compare(seen.latency(a.Model.Name), seen.latency(b.Model.Name))
		}
		return 0
	})
	return sorted
}

func typical(m *config.Model) uint64 { return uint64(3*m.Prices.Input + m.Prices.Output) }

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
