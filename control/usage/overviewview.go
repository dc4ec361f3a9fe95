package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

type overviewView struct {
	Range     string              `json:"range"`
	From      string              `json:"from"`
	To        string              `json:"to"` // exclusive
	Step      string              `json:"step"`
	AsOf      *string             `json:"asOf"` // time of the newest report; null: no report
	Status    overviewStatus      `json:"status"`
	Totals    reports.Figures     `json:"totals"`
	Before    reports.Figures     `json:"before"` // of the previous range of the same length
	Series    []stepView          `json:"series"`
	Projects  []projectFigures    `json:"projects"`
	Next      *string             `json:"next"`      // pass as "after" to get the next page of projects; null: last page
	Keys      []keyFigures        `json:"keys"`      // with the highest cost
	Models    []reports.UsageRow  `json:"models"`    // with the highest cost
	Providers []overviewProviders `json:"providers"` // in the catalog
}

// overviewStatus has the figures that operators look at first.
type overviewStatus struct {
	FailingProviders []failingProvider `json:"failingProviders"`
	BudgetsOver80    uint64            `json:"budgetsOver80"`
	BudgetsSpent     uint64            `json:"budgetsSpent"`
	Refusals         refusalsView      `json:"refusals"`
	OpenViolations   uint64            `json:"openViolations"`
	UnknownKeys      uint64            `json:"unknownKeys"`
	Unassigned       uint64            `json:"unassigned"` // other requests that ended before their key was known
}

type failingProvider struct {
	Provider string `json:"provider"`
	recentAttempts
}

// refusalsView compares the refusals of the current hour so far with those of the previous hour.
type refusalsView struct {
	LastHour   uint64 `json:"lastHour"`
	HourBefore uint64 `json:"hourBefore"`
	Rising     bool   `json:"rising"`
}

// risingRefusals is the minimum number of refusals in the last hour that counts as a rise.
const risingRefusals = 20

// stepView is one point in a chart.
type stepView struct {
	Time     string          `json:"time"`
	Requests uint64          `json:"requests"`
	Served   uint64          `json:"served"`
	Refused  uint64          `json:"refused"`
	Failed   uint64          `json:"failed"`
	Left     uint64          `json:"left"`
	Cost     json.RawMessage `json:"cost"`
}

// projectFigures is a project with its figures. A removed project has neither a name nor a budget.
type projectFigures struct {
	ProjectID      string           `json:"projectId"`
	Name           *string          `json:"name"`
	Active         bool             `json:"active"`
	Budget         *overviewBudget  `json:"budget"`
	Forecast       *json.RawMessage `json:"forecast"` // dollars by the end of the budget's period; null: not known yet
	OpenViolations uint64           `json:"openViolations"`
	ReportedAt     *string          `json:"reportedAt"` // null: the project has not reported
	Spark          []uint64         `json:"spark"`      // requests by step
	reports.Figures
}

type overviewBudget struct {
	Limit  json.RawMessage `json:"limit"`
	Used   json.RawMessage `json:"used"`
	Period string          `json:"period"`
	End    *string         `json:"end"` // exclusive; null: the budget never resets
}

type keyFigures struct {
	ProjectID   string          `json:"projectId"`
	ProjectName *string         `json:"projectName"`
	KeyID       string          `json:"keyId"`
	KeyName     *string         `json:"keyName"`
	Requests    uint64          `json:"requests"`
	Failed      uint64          `json:"failed"`
	Refused     uint64          `json:"refused"`
	Cost        json.RawMessage `json:"cost"`
}

// Maximum numbers of keys and models that an overview lists.
const (
	topKeys   = 10
	topModels = 20
)

func (h *handler) viewOverview(ctx context.Context, o *overview) *overviewView {
	v := &overviewView{
		Range: o.word, From: kernel.Timestamp(o.hours.First * calendar.HourMs), To: kernel.Timestamp(o.hours.End * calendar.HourMs), Step: groupHour,
		Totals: reports.ViewFigures(&o.found.total), Before: reports.ViewFigures(&o.before.total), Projects: []projectFigures{},
	}
	if o.hours.Daily {
		v.Step = groupDay
	}
	v.Series = o.series()
	v.Models, v.Providers = h.viewModels(o), h.viewProviders(o)
	v.Status = h.viewStatus(o, v.Providers)
	newest := uint64(0)
	for _, s := range o.status {
		newest = max(newest, s.AtMs)
	}
	v.AsOf = kernel.TimestampOrNull(newest)
	for i := range o.page.projects {
		v.Projects = append(v.Projects, h.viewProject(o, &o.page.projects[i]))
	}
	v.Next = kernel.NullIfEmpty(o.page.next)
	v.Keys = h.viewKeys(ctx, o)
	return v
}

func (o *overview) step() uint64 {
	if o.hours.Daily {
		return 24
	}
	return 1
}

func (o *overview) series() []stepView {
	list := []stepView{}
	for hour := o.hours.First; hour < o.hours.End; hour += o.step() {
		u := o.found.steps[hour]
		if u == nil {
			u = &ledger.Usage{}
		}
		n := u.Outcomes()
		list = append(list, stepView{
			kernel.Timestamp(hour * calendar.HourMs), n.Requests, n.Served, n.Refused, n.Failed, n.Left, money.Append(nil, u.CostPico, money.Dollar),
		})
	}
	return list
}

func (h *handler) viewStatus(o *overview, providers []overviewProviders) (v overviewStatus) {
	v.FailingProviders = []failingProvider{}
	for i := range providers {
		if p := &providers[i]; p.State == stateFailing {
			v.FailingProviders = append(v.FailingProviders, failingProvider{p.Provider, p.Recent})
		}
	}
	for i := range o.projects {
		limit, used, _ := h.budgetOf(o, &o.projects[i])
		switch {
		case o.projects[i].Archived:
		case used >= limit: // also a budget of nothing
			v.BudgetsSpent++
			v.BudgetsOver80++
		case used >= limit/100*80:
			v.BudgetsOver80++
		}
	}
	for _, s := range o.status {
		v.OpenViolations += s.OpenViolations
	}
	hour := h.NowMs() / calendar.HourMs
	v.Refusals.LastHour, v.Refusals.HourBefore = o.refused(hour), o.refused(hour-1)
	v.Refusals.Rising = v.Refusals.LastHour >= risingRefusals && v.Refusals.LastHour > 2*v.Refusals.HourBefore
	v.UnknownKeys, v.Unassigned = o.withoutKey()
	return v
}

// withoutKey returns the number of requests that no project counts. unknownKeys is the number of requests that were
// refused for their key or for too many wrong keys. unassigned is the number of all others.
func (o *overview) withoutKey() (unknownKeys, unassigned uint64) {
	n := o.unknown.Usage.Outcomes()
	unknownKeys = o.unknown.Usage.Ends.By[ledger.EndUnauthorized] + o.unknown.Usage.Ends.By[ledger.EndLimited]
	return unknownKeys, n.Requests - min(n.Requests, unknownKeys)
}

func (o *overview) refused(hour uint64) uint64 {
	if u := o.recent.steps[hour]; u != nil {
		return u.Outcomes().Refused
	}
	return 0
}

// budgetOf returns a project's budget and how much of it has been spent in the current period.
func (h *handler) budgetOf(o *overview, p *directory.Project) (limit, used money.Pico, period calendar.Period) {
	today := calendar.Day(h.NowMs())
	if s := o.status[p.ID]; s != nil && s.Period.Cycle() == p.Cycle {
		if s.Period.Contains(today) {
			return p.BudgetPico, s.SpentPico, s.Period
		}
		return p.BudgetPico, 0, s.Period.At(today)
	}
	return p.BudgetPico, 0, calendar.NewPeriod(p.Cycle, 0, today)
}

func (h *handler) viewProject(o *overview, p *directory.Project) projectFigures {
	v := projectFigures{ProjectID: p.ID, Spark: make([]uint64, (o.hours.End-o.hours.First)/o.step())}
	of := o.page.found[p.ID]
	if of == nil {
		of = &ledger.ProjectActivity{}
	}
	v.Figures = reports.ViewFigures(&of.Activity)
	for _, s := range of.Steps {
		v.Spark[(s.Hour-o.hours.First)/o.step()] += s.Usage.Requests
	}
	if s := o.status[p.ID]; s != nil {
		v.OpenViolations, v.ReportedAt = s.OpenViolations, kernel.TimestampOrNull(s.AtMs)
	}
	if p.Name == "" && p.CreatedMs == 0 {
		return v
	}
	v.Name, v.Active = &p.Name, !p.Archived
	limit, used, period := h.budgetOf(o, p)
	v.Budget = &overviewBudget{
		money.Append(nil, limit, money.Dollar), money.Append(nil, used, money.Dollar), kernel.Translate(p.Cycle, settings.Cycles, settings.CycleWords),
		settings.EndOf(period),
	}
	v.Forecast = h.forecastOf(o, p, &ledger.ReportReply{BudgetPico: limit, UsedPico: used, Period: period})
	return v
}

// forecastOf returns the same forecast as the project's own page.
func (h *handler) forecastOf(o *overview, p *directory.Project, r *ledger.ReportReply) *json.RawMessage {
	now := h.NowMs()
	today := calendar.Day(now)
	first := max(today-forecastDays, calendar.Day(p.CreatedMs)+1)
	spent := money.Pico(0)
	if of := o.page.week[p.ID]; of != nil {
		for _, s := range of.Steps {
			if s.Hour >= first*24 {
				spent = money.Add(spent, s.Usage.CostPico)
			}
		}
	}
	return viewForecast(r, now, max(0, spent), today-min(today, first)).Spend
}

// viewKeys returns the keys with the highest cost, with their names.
func (h *handler) viewKeys(ctx context.Context, o *overview) []keyFigures {
	ids := slices.SortedFunc(maps.Keys(o.found.keys), func(a, b string) int {
		u, v := o.found.keys[a], o.found.keys[b]
		return cmp.Or(cmp.Compare(v.CostPico, u.CostPico), cmp.Compare(v.Outcomes().Requests, u.Outcomes().Requests), cmp.Compare(a, b))
	})
	ids = slices.DeleteFunc(ids, func(k string) bool { return strings.HasSuffix(k, "/") })
	ids = ids[:min(len(ids), topKeys)]
	names := map[string]*string{}
	for i := range o.projects {
		names[o.projects[i].ID] = &o.projects[i].Name
	}
	list := make([]keyFigures, len(ids))
	_ = kernel.Parallel(kernel.Indexes(ids), func(i int) error {
		u := o.found.keys[ids[i]]
		n := u.Outcomes()
		project, key, _ := strings.Cut(ids[i], "/")
		list[i] = keyFigures{project, names[project], key, nil, n.Requests, n.Failed, n.Refused, money.Append(nil, u.CostPico, money.Dollar)}
		if k, err := h.Store.Key(ctx, project, key); err == nil {
			list[i].KeyName = &k.Name
		}
		return nil
	})
	return list
}

func (h *handler) viewModels(o *overview) []reports.UsageRow {
	names := slices.SortedFunc(maps.Keys(o.found.models), func(a, b string) int {
		u, v := &o.found.models[a].Usage, &o.found.models[b].Usage
		return cmp.Or(cmp.Compare(v.CostPico, u.CostPico), cmp.Compare(v.Outcomes().Requests, u.Outcomes().Requests), cmp.Compare(a, b))
	})
	list := []reports.UsageRow{}
	for _, name := range names[:min(len(names), topModels)] {
		row := reports.UsageRow{Model: &name, Provider: h.providerOf(name), Figures: reports.ViewFigures(o.found.models[name])}
		list = append(list, row)
	}
	return list
}

// providerOf returns the provider of a model, or nil if the model is not in the catalog.
func (h *handler) providerOf(model string) *string {
	if m := h.Catalog.Model(model); m != nil {
		return &m.Provider.Name
	}
	return nil
}
