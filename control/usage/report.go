package usage

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

type report struct {
	rows  []reports.UsageRow
	total ledger.Activity
}

func (r *report) add(row reports.UsageRow, a *ledger.Activity) {
	row.Figures = reports.ViewFigures(a)
	r.rows = append(r.rows, row)
	r.total.Plus(a)
}

func (h *handler) read(c *kernel.Call, q *usageQuery, p *directory.Project, w window) (*report, error) {
	r, read := &report{rows: []reports.UsageRow{}}, h.readSpans
	if w.days {
		read = h.readDaily
	}
	err := read(c, q, p, w, r)
	if q.by == groupKey && err == nil {
		h.nameKeys(c, p, r.rows)
	}
	return r, err
}

// readDaily reads a window of whole days from the rows by day.
func (h *handler) readDaily(c *kernel.Call, q *usageQuery, p *directory.Project, w window, r *report) error {
	query := ledger.Query{FirstDay: w.first, EndDay: w.end, By: q.grouping(), Key: q.Key, Model: q.Model}
	groups, err := reports.Groups(c, h.Plane, p, query)
	if err != nil {
		return err
	}
	all, err := reports.Durations(c, h.Plane, p, &query, groups)
	if err != nil {
		return err
	}
	if q.by == groupProvider {
		h.byProvider(r, groups, all)
		return nil
	}
	for i := range groups {
		r.add(reports.UsageRowOf(query.By, &groups[i]), &all[i])
	}
	return nil
}

// readSpans reads a window of ten-minute spans.
func (h *handler) readSpans(c *kernel.Call, q *usageQuery, p *directory.Project, w window, r *report) error {
	first, end := w.spans()
	query := ledger.ActivityQuery{First: first, End: end, By: ledger.ActivityByStep, Step: ledger.HourSpans, Key: q.Key, Model: q.Model}
	switch q.by {
	case groupMinute:
		query.By = ledger.ActivityByMinute
	case groupDay:
		query.Step = ledger.DaySpans
	case groupModel, groupProvider:
		query.By = ledger.ActivityByModel
	case groupKey:
		query.By = ledger.ActivityByKey
	}
	found, err := reports.Activity(c, h.Plane, p, query)
	if err != nil {
		return err
	}
	if q.by == groupMinute {
		pairEnds(found)
	}
	if q.by == groupProvider {
		groups, all := groupsOf(found)
		h.byProvider(r, groups, all)
		return nil
	}
	for i := range found {
		g := &found[i]
		r.add(rowOf(q.by, g), &g.Activity)
	}
	return nil
}

func rowOf(by string, g *ledger.ActivityGroup) (r reports.UsageRow) {
	at := kernel.Timestamp(g.Minute * minuteMs)
	switch by {
	case groupMinute:
		r.Minute = &at
	case groupHour:
		r.Hour = &at
	case groupDay:
		at = at[:len("2026-11-21")]
		r.Day = &at
	case groupModel:
		r.Model = &g.Name
	case groupKey:
		r.KeyID = &g.Name
	}
	return r
}

const minuteMs = 60_000

// groupsOf converts activities by model to groups of usage.
func groupsOf(found []ledger.ActivityGroup) (groups []ledger.Group, all []ledger.Activity) {
	for i := range found {
		groups = append(groups, ledger.Group{Usage: ledger.Usage{Model: found[i].Name}})
		all = append(all, found[i].Activity)
	}
	return groups, all
}

// byProvider adds up the usage of models by provider. Models that are no longer in the catalog are counted under an
// empty provider name.
func (h *handler) byProvider(r *report, models []ledger.Group, all []ledger.Activity) {
	var names []string
	sums := map[string]*ledger.Activity{}
	for i := range models {
		name := ""
		if m := h.Catalog.Model(models[i].Usage.Model); m != nil {
			name = m.Provider.Name
		}
		if sums[name] == nil {
			names = append(names, name)
			sums[name] = new(ledger.Activity)
		}
		sums[name].Plus(&all[i])
	}
	for _, name := range names {
		r.add(reports.UsageRow{Provider: &name}, sums[name])
	}
}
