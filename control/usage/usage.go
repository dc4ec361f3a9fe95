// Package usage is the usage resource of a project: usage, costs and recent requests. It also exports the usage of
// closed days.
package usage

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints for a project's usage, costs and recent requests.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/usage", For: kernel.Operators, Operation: "projectUsage", Serve: h.getUsage},
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/requests", For: kernel.Operators, Operation: "requests", Serve: h.listRequests},
		h.findRoute(), h.overviewRoute(), h.groupRoute(),
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/costs", For: kernel.Operators, Operation: "projectCosts", Serve: h.getCosts},
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/costs/compare", For: kernel.Operators, Operation: "compareCosts", Serve: h.compareCosts},
	}
}

type usageView struct {
	From   string             `json:"from"`
	To     string             `json:"to"`
	By     string             `json:"by"`
	Step   *string            `json:"step"` // "minute", "hour" or "day"; null: rows are not grouped by time
	Budget budgetView         `json:"budget"`
	Totals reports.Figures    `json:"totals"`
	Rows   []reports.UsageRow `json:"rows"`
	// Compared is the previous range of the same length. It is null if it was not requested.
	Compared *comparedView `json:"compared"`
}

type comparedView struct {
	From   string             `json:"from"`
	To     string             `json:"to"`
	Totals reports.Figures    `json:"totals"`
	Rows   []reports.UsageRow `json:"rows"`
}

// budgetView is the state of the budget in its current period, regardless of the requested range.
type budgetView struct {
	Limit     json.RawMessage `json:"limit"`
	Used      json.RawMessage `json:"used"`
	Remaining json.RawMessage `json:"remaining"`
	Period    string          `json:"period"`
	Start     *string         `json:"start"` // null: the budget never resets
	End       *string         `json:"end"`   // exclusive; null: the budget never resets
}

const (
	groupDay, groupHour, groupMinute, groupTime = "day", "hour", "minute", "time" // "time" means the step that fits the range
	groupModel, groupKey, groupProvider         = "model", "key", "provider"
	groupAll                                    = "all"
)

// groupingWords are the API's names for the ledger's groupings, in the same order.
var (
	groupingWords = []string{groupDay, groupHour, groupModel, groupKey, groupAll, groupMinute, groupProvider, groupTime}
	groupings     = []ledger.Grouping{ledger.ByDay, ledger.ByHour, ledger.ByModel, ledger.ByKey, ledger.ByDetail, 0, ledger.ByModel, 0}
	usageFormats  = []string{"json", "csv", "ndjson"}
)

const (
	maxUsageDays = ledger.KeepDays
	hourDays     = ledger.KeepHourDays - 1 // days before today; one more is kept until it is pruned
)

var modelTooLong = "must be a model name of at most " + strconv.Itoa(kernel.MaxQueryText) + " characters"

// getUsage serves GET …/usage?range=&from=&to=&by=&key=&model=&compare=&format=. It flushes all meters first, so its
// totals match those of GET /api/usage.
func (h *handler) getUsage(c *kernel.Call) (kernel.Answer, error) {
	q, err := h.readUsage(c.Request)
	if err != nil {
		return kernel.Answer{}, err
	}
	p, flushed, err := h.collect(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	r, err := h.read(c, q, &p, q.window)
	if err != nil {
		return kernel.Answer{}, err
	}
	parts := []compared{{q.window, r.rows}}
	before := &report{}
	if q.compare {
		if before, err = h.read(c, q, &p, q.window.before()); err != nil {
			return kernel.Answer{}, err
		}
		parts = append(parts, compared{q.window.before(), before.rows})
	}
	if q.format != usageFormats[0] {
		return h.download(c, q, &p, parts)
	}
	view := usageView{
		From: q.window.from(), To: q.window.to(), By: q.by, Step: q.step(), Budget: viewBudget(&flushed, &p), Totals: reports.ViewFigures(&r.total), Rows: r.rows,
	}
	if q.compare {
		w := q.window.before()
		view.Compared = &comparedView{w.from(), w.to(), reports.ViewFigures(&before.total), before.rows}
	}
	return kernel.OK(view), nil
}

// collect reads the project and makes its meters report all usage that they have not reported yet.
func (h *handler) collect(c *kernel.Call) (p directory.Project, report ledger.ReportReply, err error) {
	if p, err = h.Store.Project(c, c.Project); err == nil {
		report, err = reports.FlushMeters(c, h.Plane, &p)
	}
	return p, report, err
}

// readUsage decodes the query string. The default is the current month by day.
func (h *handler) readUsage(r *http.Request) (*usageQuery, error) {
	q, err := kernel.ReadQuery(r, "", "range", "from", "to", "by", "key", "model", "compare", "format")
	if err != nil {
		return nil, err
	}
	u := &usageQuery{by: q.Choice("by", groupingWords), format: q.Choice("format", usageFormats), Key: q.Values.Get("key"), Model: q.Values.Get("model")}
	u.compare = q.Choice("compare", []string{"true", "false"}) == "true"
	w, valid := h.readWindow(q)
	u.window = w
	if u.by == "" {
		u.by = groupDay
	}
	if u.by == groupTime {
		u.by = w.step()
	}
	if u.format == "" {
		u.format = usageFormats[0]
	}
	switch {
	case u.Key != "" && !kernel.IsID(u.Key, kernel.KeyPrefix):
		q.Problem("key", kernel.BadKeyID+kernel.Got(u.Key))
	case len(u.Model) > kernel.MaxQueryText:
		q.Problem("model", modelTooLong)
	case valid && w.days:
		h.checkDaily(q, u)
	case valid:
		checkSpans(q, u)
	}
	return u, q.Err()
}

// checkDaily adds a problem if the rows by day do not support the grouping.
func (h *handler) checkDaily(q *kernel.Query, u *usageQuery) {
	today := calendar.Day(h.NowMs())
	switch {
	case u.by == groupMinute:
		q.Problem("by", "minute needs a range of at most 3 hours")
	case u.by == groupHour && (u.Key != "" || u.Model != ""):
		q.Problem("by", "hour cannot be combined with key or model in a range of dates; send times")
	case u.by == groupHour && (u.window.first+hourDays < today || u.window.end-u.window.first > hourDays+1):
		q.Problem("by", "hour is available for today and the previous "+strconv.Itoa(hourDays)+" days only")
	}
}

// checkSpans adds a problem if the ten-minute rows do not support the grouping.
func checkSpans(q *kernel.Query, u *usageQuery) {
	switch {
	case u.by == groupAll:
		q.Problem("by", "all needs a range of dates")
	case u.by == groupMinute && u.window.end-u.window.first > maxMinuteSpans:
		q.Problem("by", "minute needs a range of at most 3 hours")
	case u.Key != "" && u.Model != "":
		q.Problem("model", "cannot be combined with key in a range of hours; send dates")
	case u.Key+u.Model != "" && u.by != groupHour && u.by != groupDay:
		q.Problem("by", "must be hour or day with key or model in a range of hours")
	}
}

// readDays decodes the first day of a report and the day after its last day. The default is the current month.
func (h *handler) readDays(q *kernel.Query) (first, end uint64, valid bool) {
	first, end = calendar.Monthly.Bounds(calendar.Day(h.NowMs()))
	first, end = readDay(q, "from", first), readDay(q, "to", end-1)+1
	valid = first < end && end-first <= maxUsageDays
	if !valid {
		rejectDays(q, first, end)
	}
	return first, end, valid
}

// rejectDays reports that days are in the wrong order or that there are too many days. The problem names the
// parameter that was sent. If both were sent, it names "from".
func rejectDays(q *kernel.Query, firstDay, endDay uint64) {
	most := "; one response covers at most " + strconv.Itoa(maxUsageDays) + " days"
	first, last := kernel.DateText(firstDay), kernel.DateText(endDay-1)
	sent := q.Values.Get("from") != ""
	switch reversed := endDay <= firstDay; {
	case reversed && sent:
		q.Problem("from", "must not be after "+last+kernel.Got(first))
	case reversed:
		q.Problem("to", "must not be before "+first+kernel.Got(last))
	case sent:
		q.Problem("from", "must not be before "+kernel.DateText(endDay-maxUsageDays)+kernel.Got(first)+most)
	default:
		q.Problem("to", "must not be after "+kernel.DateText(firstDay+maxUsageDays-1)+kernel.Got(last)+most)
	}
}

// readDay reads a parameter that is a date, such as 2026-11-21.
func readDay(q *kernel.Query, name string, fallback uint64) uint64 {
	text := q.Values.Get(name)
	if text == "" {
		return fallback
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || at.Year() < 1971 {
		q.Problem(name, "must be a date such as 2026-11-21"+kernel.Got(text))
		return fallback
	}
	return calendar.Day(uint64(at.UnixMilli()))
}

func viewBudget(r *ledger.ReportReply, p *directory.Project) budgetView {
	return budgetView{
		Limit: money.Append(nil, r.BudgetPico, money.Dollar), Used: money.Append(nil, r.UsedPico, money.Dollar),
		Remaining: money.Append(nil, max(0, r.BudgetPico-r.UsedPico), money.Dollar),
		Period:    kernel.Translate(p.Cycle, settings.Cycles, settings.CycleWords), Start: settings.StartOf(r.Period), End: settings.EndOf(r.Period),
	}
}

// maxNamed is the maximum number of key names that one response looks up.
const maxNamed = 100

// nameKeys sorts rows by number of requests. It adds key names to the first maxNamed rows. Deleted keys have no name.
func (h *handler) nameKeys(ctx context.Context, p *directory.Project, rows []reports.UsageRow) {
	kernel.SortBy(rows, func(a, b *reports.UsageRow) int { return int(b.Requests) - int(a.Requests) })
	named := rows[:min(len(rows), maxNamed)]
	ids := make([]string, len(named))
	for i := range named {
		ids[i] = *named[i].KeyID
	}
	keys, err := h.Store.KeysByID(ctx, p.ID, ids)
	if err != nil {
		return // the report is complete without names
	}
	for i := range named {
		if k, ok := keys[ids[i]]; ok {
			named[i].KeyName = &k.Name
		}
	}
}

func (h *handler) download(c *kernel.Call, q *usageQuery, p *directory.Project, parts []compared) (kernel.Answer, error) {
	name := strings.Join([]string{"usage", p.ID, fileText(q.window.from()), fileText(q.window.to()), q.by}, "-") + "." + q.format
	c.Header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if q.format == "csv" {
		return kernel.OK(kernel.File{ContentType: "text/csv; charset=utf-8", Data: csvOf(q.by, parts)}), nil
	}
	text, err := ndjsonOf(parts)
	return kernel.OK(kernel.File{ContentType: "application/x-ndjson", Data: text}), err
}

// fileText returns a date or a time in a form that is suitable for file names.
func fileText(at string) string {
	return strings.NewReplacer(":", "", ".000", "").Replace(at)
}

type usageQuery struct {
	window     window
	by, format string
	Key, Model string
	compare    bool
}

// grouping returns the ledger's grouping for the rows by day.
func (q *usageQuery) grouping() ledger.Grouping {
	return kernel.Translate(q.by, groupingWords, groupings)
}

func (q *usageQuery) step() *string {
	switch q.by {
	case groupMinute, groupHour, groupDay:
		return &q.by
	}
	return nil
}
