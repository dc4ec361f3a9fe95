package usage

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// overviewCSV returns a table of all projects in CSV. If it includes the previous range, each row begins with the
// bounds of its range.
func (h *handler) overviewCSV(o *overview, compare bool) []byte {
	names := []string{"projectId", "project", "budget", "budgetUsed", "forecast"}
	heads, rows := h.overviewRows(o, o.found)
	if compare {
		names = append(boundNames, names...)
		before, rowsBefore := h.overviewRows(o, o.before)
		heads = append(withHours(o.hours, heads), withHours(o.hoursBefore(), before)...)
		rows = append(rows, rowsBefore...)
	}
	return tableOf(names, heads, rows)
}

// overviewRows returns the projects with their activity in a range.
func (h *handler) overviewRows(o *overview, of *activities) (heads [][]string, rows []reports.UsageRow) {
	for _, p := range o.all(of) {
		v := h.viewProject(o, &p)
		head := []string{v.ProjectID, csvText(v.Name), "", "", ""}
		if v.Budget != nil {
			head[2], head[3] = string(v.Budget.Limit), string(v.Budget.Used)
		}
		if v.Forecast != nil {
			head[4] = string(*v.Forecast)
		}
		found := of.projects[p.ID]
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
