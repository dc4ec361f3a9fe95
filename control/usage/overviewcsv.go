package usage

import (
	"github.com/postern-ai/postern/control/reports"
)

// overviewCSV is a table of all projects.
func (h *handler) overviewCSV(o *overview) []byte {
	var heads [][]string
	var rows []reports.UsageRow
	for _, p := range o.all() {
		v := h.viewProject(o, &p)
		head := []string{v.ProjectID, csvText(v.Name), "", "", ""}
		if v.Budget != nil {
			head[2], head[3] = string(v.Budget.Limit), string(v.Budget.Used)
		}
		if v.Forecast != nil {
			head[4] = string(*v.Forecast)
		}
		heads, rows = append(heads, head), append(rows, reports.UsageRow{Figures: v.Figures})
	}
	return tableOf([]string{"projectId", "project", "budget", "budgetUsed", "forecast"}, heads, rows)
}
