// Package inventory reads the model registry of a project together with the models' usage.
package inventory

import (
	"context"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// seenDays is the number of days for which usage is read.
const seenDays = 90

// modelUse is a model's usage in the project over the last seenDays days.
type modelUse struct {
	FirstSeen *string `json:"firstSeen"` // date of the first use; null: not used
	LastSeen  *string `json:"lastSeen"`
	Requests  uint64  `json:"requests"` // successful and failed requests
}

// List returns a project's registry, sorted by model name. It includes models that the project used but that have no
// entry.
func List(ctx context.Context, cp *kernel.Plane, p *directory.Project) ([]Entry, error) {
	all, err := readAll(ctx, cp, p.ID)
	if err != nil {
		return nil, err
	}
	uses, err := Uses(ctx, cp, p)
	if err != nil {
		return nil, err
	}
	for i := range all {
		Complete(cp, &all[i], uses)
		delete(uses, all[i].Model)
	}
	for model := range uses {
		e := Entry{ID: EntryID(model), Model: model}
		Complete(cp, &e, uses)
		all = append(all, e)
	}
	kernel.SortBy(all, func(a, b *Entry) int { return strings.Compare(a.Model, b.Model) })
	return all, nil
}

// Complete adds the fields that an entry has only in responses.
func Complete(cp *kernel.Plane, e *Entry, uses map[string]*modelUse) {
	if e.modelUse = uses[e.Model]; e.modelUse == nil {
		e.modelUse = &modelUse{}
	}
	FlagOverdue(cp, e)
}

// FlagOverdue sets reviewOverdue and makes sure that approvals and history are not null in responses.
func FlagOverdue(cp *kernel.Plane, e *Entry) {
	overdue := e.IsOverdue(cp.NowMs())
	e.Overdue = &overdue
	e.Approvals, e.History = append([]Approval{}, e.Approvals...), append([]Move{}, e.History...)
}

// Uses reads the usage of models from the project's ledger. Meters report new usage to the ledger within seconds.
func Uses(ctx context.Context, cp *kernel.Plane, p *directory.Project) (map[string]*modelUse, error) {
	today := calendar.Day(cp.NowMs())
	groups, err := reports.UsageGroups(ctx, cp, p, ledger.Query{FirstDay: today + 1 - seenDays, EndDay: today + 1, By: ledger.ByModelDay})
	if err != nil {
		return nil, err
	}
	kernel.SortBy(groups, func(a, b *ledger.Group) int { return int(a.Usage.Day) - int(b.Usage.Day) })
	uses := map[string]*modelUse{}
	for i := range groups {
		u := &groups[i].Usage
		if !isModel(cp, u.Model) {
			continue
		}
		use := uses[u.Model]
		day := kernel.DateText(u.Day)
		if use == nil {
			use = &modelUse{FirstSeen: &day}
			uses[u.Model] = use
		}
		use.LastSeen = &day
		use.Requests += u.Requests + u.Failed
	}
	return uses, nil
}

// isModel reports whether a name in the usage is the name of a model. The model may no longer be in the catalog. The
// usage also contains names of tiers, because a request that never got a target is counted under the name of its
// tier.
func isModel(cp *kernel.Plane, name string) bool {
	return kernel.IsModelName(name) && !strings.HasPrefix(name, "(") && (cp.Catalog.Tier(name) == nil || cp.Catalog.Model(name) != nil)
}
