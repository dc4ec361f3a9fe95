package usage

import (
	"context"
	"maps"
	"net/http"
	"slices"

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
	status map[string]*ledger.Summary
	// projects are sorted by ID.
	projects []directory.Project
	// unknown is the activity of requests without a known key.
	unknown ledger.Activity
	page    projectsPage
}

// projectsPage is a page of the projects, with their activity.
type projectsPage struct {
	projects            []directory.Project                // with removed projects that have activity, which come last
	found, before, week map[string]*ledger.ProjectActivity // week: the last full days, for forecasts
	next                string                             // the ID after which the next page begins; empty: this is the last page
}

type activities struct {
	steps  map[uint64]*ledger.Usage
	models map[string]*ledger.Activity
	keys   map[string]*ledger.Usage // by project ID, a slash, and key ID
	total  ledger.Activity
}

// overviewProjects is the maximum number of projects on a page. For long ranges, there are fewer.
const overviewProjects = 200

// getOverview serves GET /api/admin/overview?range=&from=&to=&format=&compare=&limit=&after=. It reads what the projects'
// ledgers have reported but does not call any of the ledgers. Each page has the figures of all projects together, and
// those of some of the projects. A table has all projects.
func (h *handler) getOverview(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, kernel.ProjectPrefix, "range", "from", "to", "format", "compare")
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
		table, err := h.overviewCSV(c, o, compare)
		return kernel.OK(kernel.File{ContentType: "text/csv; charset=utf-8", Data: table}), err
	}
	limit := overviewProjects
	if q.Values.Has("limit") {
		limit = q.Limit
	}
	if err := h.readPage(c, o, q.After, limit, false); err != nil {
		return kernel.Answer{}, err
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
	hour := now / calendar.HourMs
	o := &overview{word: word, hours: hours}
	before := o.hoursBefore()
	reads := []func() error{
		func() (err error) { o.found, err = h.activities(ctx, o.hours); return err },
		func() (err error) { o.before, err = h.activities(ctx, before); return err },
		func() (err error) {
			o.recent, err = h.activities(ctx, ledger.OverviewQuery{First: hour - 1, End: hour + 1})
			return err
		},
		func() (err error) { o.status, err = h.statuses(ctx); return err },
		func() (err error) { o.projects, err = h.allProjects(ctx); return err },
		func() (err error) { o.unknown, err = h.unknown(ctx, o.hours); return err },
	}
	return o, kernel.Parallel(reads, func(read func() error) error { return read() })
}

// readPage reads the activity of the projects after an ID. before also reads that of the previous range.
func (h *handler) readPage(ctx context.Context, o *overview, after string, limit int, before bool) (err error) {
	limit = min(limit, max(1, ledger.MaxOverviewDays/int((o.hours.End-o.hours.First)/24+1)))
	page, to := projectsPage{}, kernel.ProjectPrefix+"~"
	for i := range o.projects {
		if o.projects[i].ID <= after {
			continue
		}
		if len(page.projects) == limit {
			to = page.projects[limit-1].ID
			page.next = to
			break
		}
		page.projects = append(page.projects, o.projects[i])
	}
	today := calendar.Day(h.NowMs())
	week := ledger.OverviewQuery{First: (today - forecastDays) * 24, End: today * 24, Daily: true}
	page.found, err = h.projectsIn(ctx, o.hours, after, to)
	if err == nil {
		page.week, err = h.projectsIn(ctx, week, after, to)
	}
	if err == nil && before {
		page.before, err = h.projectsIn(ctx, o.hoursBefore(), after, to)
	}
	page.addRemoved(page.found)
	page.addRemoved(page.before)
	o.page = page
	return err
}

// projectsIn reads the activity of projects, by ID.
func (h *handler) projectsIn(ctx context.Context, q ledger.OverviewQuery, from, to string) (map[string]*ledger.ProjectActivity, error) {
	q.FromID, q.ToID = from, to
	reply, err := h.overviewReply(ctx, &q)
	found := map[string]*ledger.ProjectActivity{}
	for i := range reply.Projects {
		found[reply.Projects[i].Name] = &reply.Projects[i]
	}
	return found, err
}

// addRemoved adds the projects with activity that are not on the page, because they were removed.
func (p *projectsPage) addRemoved(active map[string]*ledger.ProjectActivity) {
	known := map[string]bool{}
	for i := range p.projects {
		known[p.projects[i].ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(active)) {
		if !known[id] {
			removed := directory.Project{}
			removed.ID = id
			p.projects = append(p.projects, removed)
		}
	}
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
	a := &activities{map[uint64]*ledger.Usage{}, map[string]*ledger.Activity{}, map[string]*ledger.Usage{}, ledger.Activity{}}
	for range maxOverviewPages {
		page, err := h.overviewReply(ctx, &q)
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

func (h *handler) overviewReply(ctx context.Context, q *ledger.OverviewQuery) (page ledger.OverviewReply, err error) {
	reply, err := h.Store.Objects.Call(ctx, abi.ClassLedger, reports.Root.ID, reports.Root.Region, q.Encode())
	if err != nil {
		return page, kernel.Unavailable(err)
	}
	return ledger.DecodeOverviewReply(reply)
}

func (a *activities) add(page *ledger.OverviewReply) {
	for i := range page.Steps {
		in(a.steps, page.Steps[i].Hour).Plus(&page.Steps[i].Usage)
	}
	for i := range page.Models {
		in(a.models, page.Models[i].Name).Plus(&page.Models[i].Activity)
		a.total.Plus(&page.Models[i].Activity)
	}
	for i := range page.Keys {
		in(a.keys, page.Keys[i].Name).Plus(&page.Keys[i].Usage)
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
