package control

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// figures are totals of usage.
type figures struct {
	Requests         uint64          `json:"requests"` // successful requests, cache hits included
	Hits             uint64          `json:"hits"`
	Misses           uint64          `json:"misses"`
	Failed           uint64          `json:"failed"` // admitted requests that failed
	PromptTokens     uint64          `json:"promptTokens"`
	CompletionTokens uint64          `json:"completionTokens"`
	Cost             json.RawMessage `json:"cost"`      // dollars, exact
	Estimated        uint64          `json:"estimated"` // requests whose usage the provider did not report
	Expired          uint64          `json:"expired"`   // requests charged with their reservation because no settlement came
	Latency          *latencyView    `json:"latency"`   // null: not measured
}

// latencyView is a distribution of latencies. Its percentiles are the upper bounds of buckets.
type latencyView struct {
	MeanMs uint64 `json:"meanMs"`
	P50Ms  uint64 `json:"p50Ms"`
	P95Ms  uint64 `json:"p95Ms"`
}

func viewFigures(u *ledger.Usage) figures {
	f := figures{
		u.Requests, u.Hits, u.Misses, u.Failed, u.Prompt, u.Completion, money.Append(nil, u.CostPico, money.Dollar),
		u.Estimated, u.Expired, nil,
	}
	if n := u.Latency.Count(); n > 0 {
		f.Latency = &latencyView{u.Latency.SumMs / n, u.Latency.Percentile(50), u.Latency.Percentile(95)}
	}
	return f
}

// usageRow is the usage of one group.
type usageRow struct {
	Day     *string `json:"day,omitempty"`
	Hour    *string `json:"hour,omitempty"`
	KeyID   *string `json:"keyId,omitempty"`
	KeyName *string `json:"keyName,omitempty"`
	Model   *string `json:"model,omitempty"`
	figures
}

// usageView is a usage report.
type usageView struct {
	From   string     `json:"from"`
	To     string     `json:"to"`
	By     string     `json:"by"`
	Budget budgetView `json:"budget"`
	Totals figures    `json:"totals"`
	Rows   []usageRow `json:"rows"`
}

// budgetView is the budget in its current period, whichever days were requested.
type budgetView struct {
	Limit     json.RawMessage `json:"limit"`
	Used      json.RawMessage `json:"used"`
	Remaining json.RawMessage `json:"remaining"`
	Period    string          `json:"period"`
	Start     string          `json:"start"`
	End       string          `json:"end"` // exclusive
}

// groupingWords are the API's names of groupings, in the same order.
var (
	groupingWords = []string{"day", "hour", "model", "key", "all"}
	groupings     = []ledger.Grouping{ledger.ByDay, ledger.ByHour, ledger.ByModel, ledger.ByKey, ledger.ByDetail}
	usageFormats  = []string{"json", "csv", "ndjson"}
)

const (
	maxUsageDays = ledger.KeepDays
	hourDays     = ledger.KeepHourDays - 1 // before today; one more day is kept until it is pruned
	maxUsageRows = 40_000                  // per response, which takes 80 MB to build; larger reports must be requested in parts
)

// usageQuery is a decoded request for usage.
type usageQuery struct {
	ledger.Query
	by, format string
}

// getUsage is GET …/usage?from=&to=&by=&key=&model=&format=. It flushes all meters first, so its totals match
// GET /api/usage.
func (h *handler) getUsage(c *call) (answer, error) {
	q, err := h.readUsage(c.request)
	if err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	report, err := h.flushMeters(c, &p)
	if err != nil {
		return answer{}, err
	}
	groups, err := h.groups(c, &p, q.Query)
	if err != nil {
		return answer{}, err
	}
	view := usageView{
		From: dateText(q.FirstDay), To: dateText(q.EndDay - 1), By: q.by, Budget: viewBudget(&report, &p), Rows: []usageRow{},
	}
	var total ledger.Usage
	for i := range groups {
		total.Plus(&groups[i].Usage)
		view.Rows = append(view.Rows, q.row(&groups[i]))
	}
	view.Totals = viewFigures(&total)
	if q.By == ledger.ByKey {
		h.nameKeys(c, &p, view.Rows)
	}
	if q.format != "json" {
		return h.download(c, q, &p, view.Rows)
	}
	return answer{http.StatusOK, view}, nil
}

// readUsage decodes a request for usage. The default is the current month.
func (h *handler) readUsage(r *http.Request) (*usageQuery, error) {
	q, err := readQuery(r, "", "from", "to", "by", "key", "model", "format")
	if err != nil {
		return nil, err
	}
	today := calendar.Day(h.nowMs())
	first, end := calendar.Monthly.Bounds(today)
	u := &usageQuery{by: q.choice("by", groupingWords), format: q.choice("format", usageFormats)}
	u.FirstDay, u.EndDay = q.day("from", first), q.day("to", end-1)+1
	u.Key, u.Model = q.values.Get("key"), q.values.Get("model")
	if u.by == "" {
		u.by = groupingWords[0]
	}
	if u.format == "" {
		u.format = usageFormats[0]
	}
	u.By = translate(u.by, groupingWords, groupings)
	switch {
	case u.EndDay <= u.FirstDay, u.EndDay-u.FirstDay > maxUsageDays:
		u.rejectDays(q)
	case u.By == ledger.ByHour && (u.Key != "" || u.Model != ""):
		q.problem("by", "hour cannot be combined with key or model")
	case u.By == ledger.ByHour && (u.FirstDay+hourDays < today || u.EndDay-u.FirstDay > hourDays+1):
		q.problem("by", "hour is available for today and the previous "+strconv.Itoa(hourDays)+" days only")
	case u.Key != "" && !isID(u.Key, keyPrefix):
		q.problem("key", badKeyID+got(u.Key))
	case len(u.Model) > maxQueryText:
		q.problem("model", "must be a model name of at most "+strconv.Itoa(maxQueryText)+" characters")
	}
	return u, q.err()
}

// rejectDays reports days in the wrong order, or too many of them. The problem is that of the parameter that was
// sent, "from" if both were.
func (u *usageQuery) rejectDays(q *query) {
	most := "; one response covers at most " + strconv.Itoa(maxUsageDays) + " days"
	first, last := dateText(u.FirstDay), dateText(u.EndDay-1)
	sent := q.values.Get("from") != ""
	switch reversed := u.EndDay <= u.FirstDay; {
	case reversed && sent:
		q.problem("from", "must not be after "+last+got(first))
	case reversed:
		q.problem("to", "must not be before "+first+got(last))
	case sent:
		q.problem("from", "must not be before "+dateText(u.EndDay-maxUsageDays)+got(first)+most)
	default:
		q.problem("to", "must not be after "+dateText(u.FirstDay+maxUsageDays-1)+got(last)+most)
	}
}

// day reads a parameter that is a date, such as 2026-11-21.
func (q *query) day(name string, fallback uint64) uint64 {
	text := q.values.Get(name)
	if text == "" {
		return fallback
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || at.Year() < 1971 {
		q.problem(name, "must be a date such as 2026-11-21"+got(text))
		return fallback
	}
	return calendar.Day(uint64(at.UnixMilli()))
}

func dateText(day uint64) string { return string(calendar.AppendDate(nil, day)) }

// flushMeters makes meters with unreported usage report it to the ledger, and returns the ledger's report. It waits for requests
// that are being settled, and for what leases report. While nothing can be written, because the disk is full for example, the report
// has what the ledger knows.
func (h *handler) flushMeters(ctx context.Context, p *project) (ledger.ReportReply, error) {
	command := ledger.Report{Waited: true}
	for pauses := 0; ; pauses++ {
		report, err := h.ledgerReport(ctx, p, command.Encode())
		if err != nil {
			break
		}
		if len(report.Flush) == 0 {
			return report, nil
		}
		open, err := h.flushOnce(ctx, p, report.Flush)
		if err != nil || open == 0 || pauses == len(keymeter.SettleWaitMs) {
			break
		}
		if err := h.store.wait(ctx, keymeter.SettleWaitMs[pauses]); err != nil {
			return report, err
		}
	}
	command.Final = true
	return h.ledgerReport(ctx, p, command.Encode())
}

// flushOnce flushes meters and returns how much of theirs is open.
func (h *handler) flushOnce(ctx context.Context, p *project, meters []string) (uint64, error) {
	var open atomic.Uint64
	flush := keymeter.Flush{}
	err := parallel(meters, func(meter string) error {
		reply, err := h.store.objects.Call(ctx, abi.ClassKeyMeter, meter, p.Region, flush.Encode())
		if err != nil {
			return nil // the meter will report by itself
		}
		flushed, err := h.store.deliverFlushed(ctx, p, reply)
		open.Add(flushed.Open)
		return err
	})
	return open.Load(), err
}

func (h *handler) ledgerReport(ctx context.Context, p *project, command []byte) (report ledger.ReportReply, err error) {
	reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command)
	if err != nil {
		return report, unavailable(err)
	}
	return ledger.DecodeReportReply(reply)
}

// groups reads all pages of a query.
func (h *handler) groups(ctx context.Context, p *project, q ledger.Query) (all []ledger.Group, err error) {
	at := map[groupID]int{}
	for {
		part, err := h.queryPage(ctx, p, &q)
		if err != nil {
			return nil, err
		}
		for _, g := range part.Groups {
			id := groupID{g.KeyID, g.Usage.Model, g.Usage.Day, g.Usage.Hour}
			if i, ok := at[id]; ok {
				all[i].Usage.Plus(&g.Usage)
				continue
			}
			at[id] = len(all)
			all = append(all, g)
		}
		if part.Next == "" {
			return all, nil
		}
		if len(all) > maxUsageRows {
			return nil, invalid(tooMuchUsage)
		}
		q.After = part.Next
	}
}

// queryPage reads one page of a query.
func (h *handler) queryPage(ctx context.Context, p *project, q *ledger.Query) (ledger.QueryReply, error) {
	reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, q.Encode())
	if err != nil {
		return ledger.QueryReply{}, unavailable(err)
	}
	return ledger.DecodeQueryReply(reply)
}

type groupID struct {
	key, model string
	day, hour  uint64
}

func viewBudget(r *ledger.ReportReply, p *project) budgetView {
	first, end := r.Period.Bounds()
	return budgetView{
		Limit: money.Append(nil, r.BudgetPico, money.Dollar), Used: money.Append(nil, r.UsedPico, money.Dollar),
		Remaining: money.Append(nil, max(0, r.BudgetPico-r.UsedPico), money.Dollar),
		Period:    translate(p.Cycle, cycles, cycleWords), Start: timestamp(first * calendar.DayMs), End: timestamp(end * calendar.DayMs),
	}
}

// row converts a group to a row with its name.
func (q *usageQuery) row(g *ledger.Group) usageRow {
	r := usageRow{figures: viewFigures(&g.Usage)}
	day, model := dateText(g.Usage.Day), g.Usage.Model
	switch q.By {
	case ledger.ByDay:
		r.Day = &day
	case ledger.ByHour:
		hour := timestamp(g.Usage.Day*calendar.DayMs + g.Usage.Hour*calendar.HourMs)
		r.Hour = &hour
	case ledger.ByModel:
		r.Model = &model
	case ledger.ByKey:
		r.KeyID = &g.KeyID
	default:
		r.Day, r.KeyID, r.Model = &day, &g.KeyID, &model
	}
	return r
}

// maxNamed is the maximum number of key names that one response looks up.
const maxNamed = 100

// nameKeys sorts rows by requests, and adds the names of the most used keys. Deleted keys have no name.
func (h *handler) nameKeys(ctx context.Context, p *project, rows []usageRow) {
	sortBy(rows, func(a, b *usageRow) int { return int(b.Requests) - int(a.Requests) })
	named := rows[:min(len(rows), maxNamed)]
	_ = parallel(indexes(named), func(i int) error {
		if k, err := h.store.key(ctx, p.ID, *named[i].KeyID); err == nil {
			named[i].KeyName = &k.Name
		}
		return nil
	})
}

func indexes[T any](list []T) []int {
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	return all
}

// download responds with a file.
func (h *handler) download(c *call, q *usageQuery, p *directory.Project, rows []usageRow) (answer, error) {
	name := strings.Join([]string{"usage", p.ID, dateText(q.FirstDay), dateText(q.EndDay - 1), q.by}, "-") + "." + q.format
	c.header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if q.format == "csv" {
		return answer{http.StatusOK, file{"text/csv; charset=utf-8", csvOf(q.By, rows)}}, nil
	}
	text, err := ndjsonOf(rows)
	return answer{http.StatusOK, file{"application/x-ndjson", text}}, err
}
