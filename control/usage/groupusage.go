package usage

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/header"
)

func (h *handler) groupRoute() kernel.Route {
	return kernel.Route{Method: http.MethodGet, Path: kernel.GroupPath + "/usage", For: kernel.Operators, Operation: "groupUsage", Serve: h.getGroupUsage}
}

const (
	byChild   = "group" // the groups directly below
	byProject = "project"
)

var groupWords = []string{byChild, byProject, groupKey, groupDay, groupModel}

type groupUsageView struct {
	From   string     `json:"from"`
	To     string     `json:"to"` // inclusive
	By     string     `json:"by"`
	AsOf   string     `json:"asOf"` // requests that ended before are included
	Totals groupRow   `json:"totals"`
	Rows   []groupRow `json:"rows"`
	Next   *string    `json:"next"` // by key: pass as "after" to get the next page; null: last page
}

type groupQuery struct {
	first, end uint64 // days
	by, format string
	after      string // by key: the last project of the previous page
	limit      int    // by key: projects per page
	fresh      bool
}

// reportAgeMs is the age of requests that a group's Ledger has without a flush: a key with few requests reports within
// four minutes, and its project a minute later.
const reportAgeMs = 310_000

// getGroupUsage serves GET /api/admin/groups/{group}/usage?from=&to=&by=&format=&fresh=&limit=&after=.
func (h *handler) getGroupUsage(c *kernel.Call) (kernel.Answer, error) {
	q, err := h.readGroupQuery(c.Request)
	if err != nil {
		return kernel.Answer{}, err
	}
	if _, err := h.Store.Group(c, c.Group); err != nil {
		return kernel.Answer{}, err
	}
	asOf := h.NowMs() - reportAgeMs
	if q.fresh {
		now := h.NowMs()
		complete, err := reports.FlushBelow(c, h.Plane, c.Group)
		if err != nil {
			return kernel.Answer{}, err
		}
		kernel.Set(complete, &asOf, now)
	}
	r, err := h.readGroup(c, q)
	if err != nil {
		return kernel.Answer{}, err
	}
	if q.format != usageFormats[0] {
		return downloadGroup(c, q, r)
	}
	view := groupUsageView{From: kernel.DateText(q.first), To: kernel.DateText(q.end - 1), By: q.by, AsOf: kernel.Timestamp(asOf), Rows: r.rows, Next: r.next}
	view.Totals.count(&r.total)
	return kernel.OK(view), nil
}

func (h *handler) readGroupQuery(r *http.Request) (*groupQuery, error) {
	q, err := kernel.ReadQuery(r, kernel.ProjectPrefix, "from", "to", "by", "fresh", "format")
	if err != nil {
		return nil, err
	}
	g := &groupQuery{by: q.Choice("by", groupWords), format: q.Choice("format", usageFormats), after: q.After, limit: q.Limit}
	g.fresh = q.Choice("fresh", []string{"0", "1"}) == "1"
	g.first, g.end, _ = h.readDays(q)
	if g.by == "" {
		g.by = groupDay
	}
	if g.format == "" {
		g.format = usageFormats[0]
	}
	for _, name := range []string{"after", "limit"} {
		if q.Values.Get(name) != "" && g.by != groupKey {
			q.Problem(name, "needs by=key; the other groupings have one page")
		}
	}
	return g, q.Err()
}

func downloadGroup(c *kernel.Call, q *groupQuery, r *groupReport) (kernel.Answer, error) {
	name := strings.Join([]string{"usage", c.Group, kernel.DateText(q.first), kernel.DateText(q.end - 1), q.by}, "-") + "." + q.format
	c.Header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if r.next != nil {
		c.Header.Set(header.Next, *r.next)
	}
	if q.format == "csv" {
		return kernel.OK(kernel.File{ContentType: "text/csv; charset=utf-8", Data: groupCSV(q.by, r.rows)}), nil
	}
	var out bytes.Buffer
	for i := range r.rows {
		line, err := kernel.Encode(&r.rows[i])
		if err != nil {
			return kernel.Answer{}, err
		}
		out.Write(append(line, '\n'))
	}
	return kernel.OK(kernel.File{ContentType: "application/x-ndjson", Data: out.Bytes()}), nil
}

// groupNames are the first columns of a table, by grouping.
var groupNames = map[string][]string{
	byChild: {"groupId", "groupName"}, byProject: {"projectId", "projectName"}, groupKey: {"projectId", "keyId", "keyName"},
	groupDay: {"day"}, groupModel: {"model"},
}

// groupFigures are the columns with figures.
var groupFigures = []string{"requests", "hits", "misses", "failed", "promptTokens", "completionTokens", "cost", "estimated", "expired"}

func groupCSV(by string, rows []groupRow) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	// Writing to memory cannot fail.
	_ = w.Write(append(append([]string{}, groupNames[by]...), groupFigures...))
	for i := range rows {
		r := &rows[i]
		var cells []string
		for _, name := range groupNames[by] {
			cells = append(cells, csvText(r.named(name)))
		}
		for _, n := range []uint64{r.Requests, r.Hits, r.Misses, r.Failed, r.PromptTokens, r.CompletionTokens} {
			cells = append(cells, strconv.FormatUint(n, 10))
		}
		cells = append(cells, string(r.Cost), strconv.FormatUint(r.Estimated, 10), strconv.FormatUint(r.Expired, 10))
		_ = w.Write(cells)
	}
	w.Flush()
	return out.Bytes()
}

// named returns the value of one of a row's first columns.
func (r *groupRow) named(column string) *string {
	switch column {
	case "groupId":
		id := ""
		_ = json.Unmarshal(*r.GroupID, &id) // null stays empty
		return &id
	case "groupName":
		return r.GroupName
	case "projectId":
		return r.ProjectID
	case "projectName":
		return r.ProjectName
	case "keyId":
		return r.KeyID
	case "keyName":
		return r.KeyName
	case groupDay:
		return r.Day
	}
	return r.Model
}
