package usage

import (
	"context"
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// forecastDays is the maximum number of full days that a forecast is based on. It is a week, so that each weekday
// counts once.
const forecastDays = 7

// maxForecastDays is how far ahead a forecast looks for the end of a budget that never resets.
const maxForecastDays = 3650

// forecastView is a forecast for the budget's current period. It assumes that the mean spend per day of the last full
// days continues until the end of the period.
type forecastView struct {
	Days      uint64           `json:"days"`      // full days from which the mean was calculated; 0: there is no forecast yet
	DailyMean *json.RawMessage `json:"dailyMean"` // dollars
	Spend     *json.RawMessage `json:"spend"`     // dollars by the end of the period, as if the budget did not stop requests; null: it never ends
	RunsOut   *string          `json:"runsOut"`   // day on which the budget is used up; null: not in this period
}

// forecast reads the project's last full days. The day on which it was created does not count.
func (h *handler) forecast(ctx context.Context, p *directory.Project, r *ledger.ReportReply) (forecastView, error) {
	now := h.NowMs()
	today := calendar.Day(now)
	first := max(today-forecastDays, calendar.Day(p.CreatedMs)+1)
	if first >= today {
		return viewForecast(r, now, 0, 0), nil
	}
	groups, err := reports.UsageGroups(ctx, h.Plane, p, ledger.Query{FirstDay: first, EndDay: today, By: ledger.ByDay})
	var spent money.Pico
	for i := range groups {
		spent = money.Add(spent, groups[i].Usage.CostPico)
	}
	return viewForecast(r, now, max(0, spent), today-first), err
}

// viewForecast extrapolates the spend of the last full days to the end of the budget's period.
func viewForecast(r *ledger.ReportReply, nowMs uint64, spent money.Pico, days uint64) (v forecastView) {
	v.Days = days
	left := max(0, r.BudgetPico-r.UsedPico)
	if left == 0 {
		v.RunsOut = dayOf(nowMs)
	}
	if days == 0 {
		return v
	}
	_, end := r.Period.Bounds()
	if !r.Period.Resets() {
		end = calendar.Day(nowMs) + maxForecastDays
	}
	restMs := end*calendar.DayMs - min(nowMs, end*calendar.DayMs)
	rest := money.Scale(spent, restMs, days*calendar.DayMs)
	mean, spend := dollars(money.Scale(spent, 1, days)), dollars(money.Add(r.UsedPico, rest))
	if v.DailyMean = &mean; r.Period.Resets() {
		v.Spend = &spend
	}
	if left > 0 && rest > left {
		v.RunsOut = dayOf(nowMs + uint64(money.Scale(left, days*calendar.DayMs, uint64(spent))))
	}
	return v
}

func dayOf(ms uint64) *string {
	day := kernel.DateText(calendar.Day(ms))
	return &day
}
