package usage

import (
	"context"
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

// overviewRanges are the ranges of an overview. A range consists of whole hours or of whole UTC days. It includes the
// current hour or today.
var overviewRanges = []string{word2Hours, wordDay, wordWeek, word30Days, word90Days, wordMonth}

const (
	word2Hours = "2h" // the current hour and the previous one
	wordCustom = "custom"
)

func (h *handler) overviewRoute() kernel.Route {
	return kernel.Route{Method: http.MethodGet, Path: "/api/admin/overview", For: kernel.Operators, Operation: "overview", Serve: h.getOverview}
}

// overview is what the deployment's Ledger knows about a range and the previous one.
type overview struct {
	word   string
	hours  ledger.OverviewQuery // without paging
	found  *activities
	before *activities
	recent *activities // the current hour and the previous one
	week   *activities // the last full days, for forecasts
	status map[string]*ledger.Summary
	// projects are sorted by ID.
	projects []directory.Project
	// unknown is the activity of requests without a known key.
	unknown ledger.Activity
}

type activities struct {
	projects map[string]*ledger.ProjectActivity
	steps    map[uint64]*ledger.Usage
	models   map[string]*ledger.Activity
	keys     map[keyOf]*ledger.Usage
	total    ledger.Activity
}

type keyOf struct{ project, key string }

// getOverview serves GET /api/admin/overview?range=&from=&to=&format=&compare=. It reads what the projects' ledgers
// have reported but does not call any of the ledgers.
func (h *handler) getOverview(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, "", "range", "from", "to", "format", "compare")
	if err != nil {
		return kernel.Answer{}, err
	}
	word, hours := h.readHours(q)
	format, compare := q.Choice("format", usageFormats[:2]), q.Choice("compare", []string{"true", "false"}) == "true"
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	o, err := h.readOverview(c, word, hours)
	if err != nil {
		return kernel.Answer{}, err
	}
	if format == "csv" {
		c.Header.Set("Content-Disposition", `attachment; filename="usage-all-`+word+`.csv"`)
		return kernel.OK(kernel.File{ContentType: "text/csv; charset=utf-8", Data: h.overviewCSV(o, compare)}), nil
	}
	return kernel.OK(h.viewOverview(c, o)), nil
}

// readHours reads range, or from and to. If from and to are dates, both are inclusive. If they are times, they are
// rounded outward to whole hours. The default is the last 24 hours.
func (h *handler) readHours(q *kernel.Query) (word string, hours ledger.OverviewQuery) {
	word = q.Choice("range", overviewRanges)
	switch custom := q.Values.Get("from")+q.Values.Get("to") != ""; {
	case custom && word != "":
		q.Problem("range", "cannot be combined with from and to")
		return word, hours
	case custom:
		w, _ := h.readWindow(q)
		first, end := w.spans()
		return wordCustom, ledger.OverviewQuery{First: first / ledger.HourSpans, End: (end + ledger.HourSpans - 1) / ledger.HourSpans, Daily: w.days}
	case word == "":
		word = wordDay
	}
	return word, hoursOf(word, h.NowMs())
}

func hoursOf(word string, nowMs uint64) ledger.OverviewQuery {
	switch end := nowMs/calendar.HourMs + 1; word {
	case word2Hours:
		return ledger.OverviewQuery{First: end - 2, End: end}
	case wordDay:
		return ledger.OverviewQuery{First: end - 24, End: end}
	}
	today := calendar.Day(nowMs)
	first := today - 6
	if w := windowOf(word, nowMs); w.days {
		first = w.first
	}
	return ledger.OverviewQuery{First: first * 24, End: (today + 1) * 24, Daily: true}
}

func (h *handler) readOverview(ctx context.Context, word string, hours ledger.OverviewQuery) (*overview, error) {
	now := h.NowMs()
	hour, today := now/calendar.HourMs, calendar.Day(now)
	o := &overview{word: word, hours: hours}
	before := o.hoursBefore()
	reads := []func() error{
		func() (err error) { o.found, err = h.activities(ctx, o.hours); return err },
		func() (err error) { o.before, err = h.activities(ctx, before); return err },
		func() (err error) {
			o.recent, err = h.activities(ctx, ledger.OverviewQuery{First: hour - 1, End: hour + 1})
			return err
		},
		func() (err error) {
			o.week, err = h.activities(ctx, ledger.OverviewQuery{First: (today - forecastDays) * 24, End: today * 24, Daily: true})
			return err
		},
		func() (err error) { o.status, err = h.statuses(ctx); return err },
		func() (err error) { o.projects, err = h.allProjects(ctx); return err },
		func() (err error) { o.unknown, err = h.unknown(ctx, o.hours); return err },
	}
	return o, kernel.Parallel(reads, func(read func() error) error { return read() })
}

// hoursBefore returns the range of the same length that precedes the overview's range.
func (o *overview) hoursBefore() ledger.OverviewQuery {
	q := o.hours
	q.First, q.End = o.hours.First-(o.hours.End-o.hours.First), o.hours.First
	return q
}

// maxOverviewPages limits the calls for one range, because an invocation on the platform's free plan may make only
// 50.
const maxOverviewPages = 16

var tooManySummaries = fault.Detail{Field: "range", Message: "covers too many days for the number of projects; choose a shorter range"}

// activities reads all pages of a range.
func (h *handler) activities(ctx context.Context, q ledger.OverviewQuery) (*activities, error) {
	a := &activities{map[string]*ledger.ProjectActivity{}, map[uint64]*ledger.Usage{}, map[string]*ledger.Activity{}, map[keyOf]*ledger.Usage{}, ledger.Activity{}}
	for range maxOverviewPages {
		reply, err := h.Store.Objects.Call(ctx, abi.ClassLedger, reports.Root.ID, reports.Root.Region, q.Encode())
		if err != nil {
			return nil, kernel.Unavailable(err)
		}
		page, err := ledger.DecodeOverviewReply(reply)
		if err != nil {
			return nil, err
		}
		a.add(&page)
		if q.After = page.Next; q.After == "" {
			return a, nil
		}
	}
	return nil, kernel.Invalid(tooManySummaries)
}

func (a *activities) add(page *ledger.OverviewReply) {
	for i := range page.Projects {
		p := &page.Projects[i]
		sum := in(a.projects, p.Name)
		sum.Plus(&p.Activity)
		sum.Steps = append(sum.Steps, p.Steps...)
		a.total.Plus(&p.Activity)
	}
	for i := range page.Steps {
		in(a.steps, page.Steps[i].Hour).Plus(&page.Steps[i].Usage)
	}
	for i := range page.Models {
		in(a.models, page.Models[i].Name).Plus(&page.Models[i].Activity)
	}
	for i := range page.Keys {
		k := &page.Keys[i]
		in(a.keys, keyOf{k.Project, k.Name}).Plus(&k.Usage)
	}
}

// in returns the sum for the given key. If there is none, it adds an empty one.
func in[K comparable, T any](sums map[K]*T, key K) *T {
	if sums[key] == nil {
		sums[key] = new(T)
	}
	return sums[key]
}

// statuses reads the last summary of each project.
func (h *handler) statuses(ctx context.Context) (map[string]*ledger.Summary, error) {
	all := map[string]*ledger.Summary{}
	for q := (ledger.StatusQuery{}); ; {
		reply, err := h.Store.Objects.Call(ctx, abi.ClassLedger, reports.Root.ID, reports.Root.Region, q.Encode())
		if err != nil {
			return nil, kernel.Unavailable(err)
		}
		list, err := ledger.DecodeStatuses(reply)
		if err != nil {
			return nil, err
		}
		for i := range list {
			all[list[i].Project] = &list[i]
			q.After = list[i].Project
		}
		if len(list) < ledger.MaxStatuses {
			return all, nil
		}
	}
}

// projectsAtOnce is the number of projects that one call reads.
const projectsAtOnce = 1000

func (h *handler) allProjects(ctx context.Context) (all []directory.Project, err error) {
	q := directory.List{Prefix: doc.ProjectKey(""), Limit: projectsAtOnce}
	for {
		docs, err := h.Store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			p, err := directory.DecodeProject(d)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
			q.After = d.Key
		}
		if len(docs) < projectsAtOnce {
			return all, nil
		}
	}
}

// unknown returns the activity of requests without a known key in a range. These requests do not belong to any
// project.
func (h *handler) unknown(ctx context.Context, q ledger.OverviewQuery) (total ledger.Activity, err error) {
	found, err := reports.Activity(ctx, h.Plane, &reports.Root, ledger.ActivityQuery{
		First: q.First * ledger.HourSpans, End: q.End * ledger.HourSpans, By: ledger.ActivityByStep, Step: ledger.DaySpans,
	})
	for i := range found {
		total.Plus(&found[i].Activity)
	}
	return total, err
}
