package reports

import (
	"context"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/sketch"
)

// Root takes the place of a project in queries to the deployment's Ledger.
var Root = directory.Project{Project: doc.Project{ID: ledger.Root}}

// Activity reads all pages of a query from the Ledger of a project or of the deployment.
func Activity(ctx context.Context, cp *kernel.Plane, p *directory.Project, q ledger.ActivityQuery) (all []ledger.ActivityGroup, err error) {
	type id struct {
		minute uint64
		name   string
	}
	at := map[id]int{}
	for {
		reply, err := cp.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, q.Encode())
		if err != nil {
			return nil, kernel.Unavailable(err)
		}
		part, err := ledger.DecodeActivityReply(reply)
		if err != nil {
			return nil, err
		}
		for i := range part.Groups {
			g := &part.Groups[i]
			k, found := at[id{g.Minute, g.Name}]
			if !found {
				k, all = len(all), append(all, ledger.ActivityGroup{Minute: g.Minute, Named: ledger.Named{Name: g.Name}})
				at[id{g.Minute, g.Name}] = k
			}
			all[k].Plus(&g.Activity)
		}
		if q.After = part.Next; q.After == "" {
			return all, nil
		}
	}
}

// Durations returns groups of usage together with the durations of their requests. The durations are missing in
// groupings that the ten-minute rows do not support.
func Durations(ctx context.Context, cp *kernel.Plane, p *directory.Project, q *ledger.Query, groups []ledger.Group) ([]ledger.Activity, error) {
	all := make([]ledger.Activity, len(groups))
	for i := range groups {
		all[i].Usage = groups[i].Usage
	}
	a := ledger.ActivityQuery{First: q.FirstDay * ledger.DaySpans, End: q.EndDay * ledger.DaySpans, Key: q.Key, Model: q.Model}
	filtered := q.Key != "" || q.Model != ""
	switch {
	case q.By == ledger.ByDay && (q.Key == "" || q.Model == ""):
		a.By, a.Step = ledger.ActivityByStep, ledger.DaySpans
	case q.By == ledger.ByHour:
		a.By, a.Step = ledger.ActivityByStep, ledger.HourSpans
	case q.By == ledger.ByModel && !filtered:
		a.By = ledger.ActivityByModel
	case q.By == ledger.ByKey && !filtered:
		a.By = ledger.ActivityByKey
	default:
		return all, nil
	}
	timed, err := Activity(ctx, cp, p, a)
	if err != nil {
		return nil, err
	}
	at := map[groupID]*ledger.ActivityGroup{}
	for i := range timed {
		at[timedID(q.By, &timed[i])] = &timed[i]
	}
	for i := range groups {
		if g := at[idOf(&groups[i])]; g != nil {
			all[i].Latency, all[i].FirstToken, all[i].Usage.Mocked = g.Latency, g.FirstToken, g.Usage.Mocked
		}
	}
	return all, nil
}

func timedID(by ledger.Grouping, g *ledger.ActivityGroup) groupID {
	switch by {
	case ledger.ByModel:
		return groupID{model: g.Name}
	case ledger.ByKey:
		return groupID{key: g.Name}
	}
	id := groupID{day: g.Minute / (24 * 60)}
	if by == ledger.ByHour {
		id.hour = g.Minute / 60 % 24
	}
	return id
}

// DurationsView contains durations in milliseconds. Percentiles are accurate to 3.2 %.
type DurationsView struct {
	MeanMs uint64 `json:"meanMs"`
	P50Ms  uint64 `json:"p50Ms"`
	P90Ms  uint64 `json:"p90Ms"`
	P95Ms  uint64 `json:"p95Ms"`
	P99Ms  uint64 `json:"p99Ms"`
}

// Cells returns the durations as table cells. The cells are empty if the durations were not measured.
func (v *DurationsView) Cells() []string {
	cells := make([]string, 5)
	if v != nil {
		for i, n := range []uint64{v.MeanMs, v.P50Ms, v.P90Ms, v.P95Ms, v.P99Ms} {
			cells[i] = strconv.FormatUint(n, 10)
		}
	}
	return cells
}

func viewDurations(s *sketch.Sketch) *DurationsView {
	n := s.Count()
	if n == 0 {
		return nil
	}
	return &DurationsView{s.SumMs / n, s.Percentile(50), s.Percentile(90), s.Percentile(95), s.Percentile(99)}
}

// viewLatency returns the latency of an activity. Older versions filled only the coarse buckets of the usage. If more
// than half of the requests are missing from a.Latency, viewLatency uses the coarse buckets.
func viewLatency(a *ledger.Activity) *DurationsView {
	l := &a.Usage.Latency // of failed requests, too
	coarse := l.Count()
	if coarse == 0 || 2*a.Latency.Count() >= min(coarse, a.Usage.Requests) {
		return viewDurations(&a.Latency)
	}
	return &DurationsView{l.SumMs / coarse, l.Percentile(50), l.Percentile(90), l.Percentile(95), l.Percentile(99)}
}
