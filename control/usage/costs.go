package usage

import (
	"context"
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/money"
)

// costsView shows a project's costs: what caches saved, how much is estimated, and where the budget is heading.
type costsView struct {
	From     string       `json:"from"`
	To       string       `json:"to"`
	Budget   budgetView   `json:"budget"`
	Forecast forecastView `json:"forecast"`
	Totals   costFigures  `json:"totals"`
	// Development is the number of requests of development keys. No other figure includes them.
	Development uint64       `json:"development"`
	Models      []modelCosts `json:"models"`
}

type costFigures struct {
	Requests uint64          `json:"requests"` // successful, including cache hits
	Hits     uint64          `json:"hits"`
	Cost     json.RawMessage `json:"cost"` // dollars, exact
	Saved    savedView       `json:"saved"`
	Flagged  flaggedView     `json:"flagged"`
}

// savedView is what caches saved, in dollars. The figure for the gateway's own cache is an estimate. The figure for
// the providers' caches is exact.
type savedView struct {
	Cache       json.RawMessage `json:"cache"`
	PromptCache json.RawMessage `json:"promptCache"` // negative if writes cost more than reads saved
	Total       json.RawMessage `json:"total"`
	UnknownHits uint64          `json:"unknownHits"` // hits for models without a served request: their savings are unknown and not included
}

// flaggedView is the usage that was not measured.
type flaggedView struct {
	Estimated  uint64          `json:"estimated"`  // charges for requests whose usage the provider did not report
	Expired    uint64          `json:"expired"`    // requests for which the reservation was charged
	CostAtMost json.RawMessage `json:"costAtMost"` // dollars; see modelUse.flaggedPico
}

type modelCosts struct {
	Model    string           `json:"model"`
	MeanCost *json.RawMessage `json:"meanCost"` // per served request, rounded up to a picodollar; null: none was served
	// MeanFrom is the first day of the period that the mean covers. If the report has served requests, that period is
	// the report's period. Otherwise, it consists of the days before the report.
	MeanFrom *string `json:"meanFrom"`
	costFigures
}

// earlierDays is the number of days before a report that are searched for served requests. They are searched only if
// the report itself has no served requests.
const earlierDays = 90

type mean struct {
	costPico money.Pico
	served   uint64 // 0: not known
	firstDay uint64
}

// of returns the cost of a number of requests, rounded up to a picodollar.
func (m *mean) of(requests uint64) money.Pico {
	if m.served == 0 {
		return 0
	}
	return money.Scale(max(0, m.costPico), requests, m.served)
}

type savings struct {
	cachePico, promptPico money.Pico
	unknownHits           uint64
}

func (s *savings) plus(o *savings) {
	s.cachePico = money.Add(s.cachePico, o.cachePico)
	s.promptPico = money.Add(s.promptPico, o.promptPico)
	s.unknownHits += o.unknownHits
}

func savingsOf(u *modelUse, m *mean) savings {
	s := savings{cachePico: m.of(u.Hits), promptPico: u.PromptCache.SavedPico}
	if m.served == 0 {
		s.unknownHits = u.Hits
	}
	return s
}

func (s *savings) view() savedView {
	return savedView{dollars(s.cachePico), dollars(s.promptPico), dollars(money.Add(s.promptPico, s.cachePico)), s.unknownHits}
}

func dollars(amount money.Pico) json.RawMessage { return money.Append(nil, amount, money.Dollar) }

// getCosts serves GET …/costs?from=&to=. Like getUsage, it first makes the meters report their usage.
func (h *handler) getCosts(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, "", "from", "to")
	if err != nil {
		return kernel.Answer{}, err
	}
	first, end, _ := h.readDays(q)
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	p, report, err := h.collect(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := costsView{From: kernel.DateText(first), To: kernel.DateText(end - 1), Budget: viewBudget(&report, &p), Models: []modelCosts{}}
	if view.Forecast, err = h.forecast(c, &p, &report); err != nil {
		return kernel.Answer{}, err
	}
	t, err := h.readTraffic(c, &p, first, end)
	if err != nil {
		return kernel.Answer{}, err
	}
	means, err := h.means(c, &p, &t, first)
	view.addModels(&t, means)
	return kernel.OK(view), err
}

func (v *costsView) addModels(t *traffic, means []mean) {
	var all modelUse
	var saved savings
	for i := range t.models {
		u, m := &t.models[i], &means[i]
		own := savingsOf(u, m)
		row := modelCosts{Model: u.Model, costFigures: viewCosts(u, &own)}
		if m.served > 0 {
			one, from := dollars(m.of(1)), kernel.DateText(m.firstDay)
			row.MeanCost, row.MeanFrom = &one, &from
		}
		v.Models = append(v.Models, row)
		all.plus(u)
		saved.plus(&own)
	}
	v.Totals, v.Development = viewCosts(&all, &saved), t.development
}

func viewCosts(u *modelUse, s *savings) costFigures {
	return costFigures{u.Requests, u.Hits, dollars(u.CostPico), s.view(), flaggedView{u.Estimated, u.Expired, dollars(u.flaggedPico)}}
}

// means returns the mean cost for each model in the traffic. For a model that was served only from the cache, it uses
// the days before the report.
func (h *handler) means(ctx context.Context, p *directory.Project, t *traffic, first uint64) ([]mean, error) {
	all := make([]mean, len(t.models))
	var without []int
	for i := range t.models {
		u := &t.models[i]
		all[i] = mean{u.CostPico, u.served(), first}
		if u.Hits > 0 && u.served() == 0 {
			without = append(without, i)
		}
	}
	if len(without) == 0 {
		return all, nil
	}
	start := first - min(first, earlierDays)
	before, err := h.readTraffic(ctx, p, start, first)
	for _, i := range without {
		for j := range before.models {
			if u := &before.models[j]; u.Model == t.models[i].Model {
				all[i] = mean{u.CostPico, u.served(), start}
			}
		}
	}
	return all, err
}
