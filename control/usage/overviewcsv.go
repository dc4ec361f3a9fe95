package usage

import (
	"context"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// overviewCSV returns a table of all projects in CSV. If it includes the previous range, each row begins with the
// bounds of its range, and the rows of the previous range follow the others.
func (h *handler) overviewCSV(ctx context.Context, o *overview, compare bool) ([]byte, error) {
	names := []string{"projectId", "project", "budget", "budgetUsed", "forecast"}
	var heads, headsBefore [][]string
	var rows, rowsBefore []reports.UsageRow
	for first := true; first || o.page.next != ""; first = false {
		if err := h.readPage(ctx, o, o.page.next, overviewProjects, compare); err != nil {
			return nil, err
		}
		heads, rows = h.overviewRows(o, o.page.found, heads, rows)
		if compare {
			headsBefore, rowsBefore = h.overviewRows(o, o.page.before, headsBefore, rowsBefore)
		}
	}
	if compare {
		names = append(boundNames, names...)
		heads = append(withHours(o.hours, heads), withHours(o.hoursBefore(), headsBefore)...)
	}
	return tableOf(names, heads, append(rows, rowsBefore...)), nil
}

// overviewRows adds the projects of a page with their activity in a range.
func (h *handler) overviewRows(o *overview, of map[string]*ledger.ProjectActivity, heads [][]string, rows []reports.UsageRow) ([][]string, []reports.UsageRow) {
	for i := range o.page.projects {
		v := h.viewProject(o, &o.page.projects[i])
		head := []string{v.ProjectID, csvText(v.Name), "", "", ""}
		if v.Budget != nil {
			head[2], head[3] = string(v.Budget.Limit), string(v.Budget.Used)
		}
		if v.Forecast != nil {
			head[4] = string(*v.Forecast)
		}
		found := of[v.ProjectID]
		if found == nil {
			found = &ledger.ProjectActivity{}
		}
		heads, rows = append(heads, head), append(rows, reports.UsageRow{Figures: reports.ViewFigures(&found.Activity)})
	}
	return heads, rows
}

func withHours(q ledger.OverviewQuery, heads [][]string) [][]string {
	return withBounds(kernel.Timestamp(q.First*calendar.HourMs), kernel.Timestamp(q.End*calendar.HourMs), heads)
}
