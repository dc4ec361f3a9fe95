package ledger_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/testobject"
)

// deployment is the Ledger of a deployment and the Ledgers of the projects that report to it.
type deployment struct {
	*harness
	projects map[string]*harness
	sent     int // summaries
}

func newDeployment(t *testing.T) *deployment {
	d := &deployment{harness: newHarness(t), projects: map[string]*harness{}}
	d.Object = &testobject.Object{Class: abi.ClassLedger, Name: ledger.Root, Reads: ledger.Reads, Apply: ledger.Apply}
	return d
}

func (d *deployment) project(id string) *harness {
	if d.projects[id] == nil {
		d.projects[id] = newHarness(d.T)
		d.projects[id].Name = id
	}
	p := d.projects[id]
	p.now = d.now
	return p
}

// pass advances the clock, runs the alarms that are due, and delivers the summaries.
func (d *deployment) pass(ms uint64) {
	d.Helper()
	for end := d.now + ms; ; {
		next := end
		for _, p := range d.projects {
			if p.AlarmMs != 0 {
				next = min(next, p.AlarmMs)
			}
		}
		d.now = max(d.now, next)
		rung := false
		for id, p := range d.projects {
			if p.AlarmMs == 0 || p.AlarmMs > d.now {
				continue
			}
			rung = true
			if _, err := d.project(id).Ring(d.now); err != nil {
				d.Fatal(err)
			}
			d.deliver(p)
		}
		if !rung {
			return
		}
	}
}

// deliver takes the summary out of the outbox of a project.
func (d *deployment) deliver(p *harness) {
	d.Helper()
	row, ok := p.Rows["o/ffffffffffff"]
	if !ok {
		return
	}
	delivery, err := abi.DecodeDelivery(row)
	if err != nil || delivery.Class != abi.ClassLedger || delivery.Name != ledger.Root || delivery.Region != "" {
		d.Fatalf("%v %+v", err, delivery)
	}
	d.call(delivery.Data)
	d.call(delivery.Data) // at least once
	d.sent++
	p.delivered()
}

// overview reads the sums of all projects, and then the projects.
func (d *deployment) overview(q ledger.OverviewQuery) (all ledger.OverviewReply) {
	d.Helper()
	of := q
	of.ToID = "proj_~"
	projects, err := ledger.DecodeOverviewReply(d.call(of.Encode()))
	if err != nil {
		d.Fatal(err)
	}
	all.Projects = projects.Projects
	for {
		part, err := ledger.DecodeOverviewReply(d.call(q.Encode()))
		if err != nil {
			d.Fatal(err)
		}
		all.Steps = append(all.Steps, part.Steps...)
		all.Models = append(all.Models, part.Models...)
		all.Keys = append(all.Keys, part.Keys...)
		if q.After = part.Next; q.After == "" {
			return all
		}
	}
}

func (d *deployment) statuses() []ledger.Summary {
	d.Helper()
	list, err := ledger.DecodeStatuses(d.call((&ledger.StatusQuery{}).Encode()))
	if err != nil {
		d.Fatal(err)
	}
	return list
}

// TestSummariesReachTheDeployment checks that the figures arrive at most a minute late. If nothing has changed,
// nothing is sent.
func TestSummariesReachTheDeployment(t *testing.T) {
	d := newDeployment(t)
	a, b := d.project("proj_a"), d.project("proj_b")
	a.put(10, month(), hook)
	a.serve("key_1", "m", 3, ledger.Request{DurationMs: 40})
	b.serve("key_2", "m", 1, ledger.Request{DurationMs: 80})
	d.pass(60_000)
	hour := d.now / calendar.HourMs
	day := ledger.OverviewQuery{First: hour - 23, End: hour + 1}
	if o := d.overview(day); len(o.Projects) != 2 || o.Projects[0].Usage.Requests != 3 || o.Projects[0].Latency.Percentile(95) != 40 || o.Models[0].Usage.Requests != 4 || o.Keys[1].Name != "proj_b/key_2" || o.Keys[1].Usage.CostPico != money.Dollar {
		t.Fatalf("%+v", o)
	}
	if s := d.statuses(); len(s) != 2 || s[0].Project != "proj_a" || s[0].BudgetPico != 10*money.Dollar || s[0].SpentPico != money.Dollar || d.now-s[0].AtMs > 60_000 {
		t.Fatalf("%+v", s)
	}
	before := d.sent
	if d.pass(calendar.HourMs); d.sent != before || a.AlarmMs != 0 || b.AlarmMs != 0 {
		t.Errorf("%d summaries without news; alarms %d, %d", d.sent-before, a.AlarmMs, b.AlarmMs)
	}

	// The same hour grows, and another one begins.
	d.project("proj_a").serve("key_1", "m", 5)
	d.project("proj_a").tally(ledger.Tally{Source: 1, Seq: 1, Counts: []ledger.EndCount{{Hour: d.now/calendar.HourMs - 1, Model: "m", End: ledger.EndBudget, Count: 7}}})
	d.pass(60_000)
	o := d.overview(ledger.OverviewQuery{First: hour, End: hour + 2})
	if len(o.Steps) != 2 || o.Steps[0].Usage.Outcomes().Refused != 7 || o.Steps[1].Usage.Requests != 5 || len(o.Projects[0].Steps) != 2 {
		t.Errorf("%+v", o)
	}
	midnight := d.now / calendar.DayMs * 24
	if o = d.overview(ledger.OverviewQuery{First: midnight, End: midnight + 24, Daily: true}); o.Projects[0].Usage.Requests != 8 || o.Projects[0].Usage.Ends.By[ledger.EndBudget] != 7 || o.Keys[0].Name != "proj_a/key_1" || o.Keys[0].Usage.Requests != 8 {
		t.Errorf("%+v", o)
	}
	if o = d.overview(ledger.OverviewQuery{First: hour + 1, End: hour + 2}); len(o.Projects) != 1 || o.Projects[0].Usage.Requests != 5 {
		t.Errorf("%+v", o)
	}
}

// A group is not a project of the overview.
func TestGroupsSendNoSummaries(t *testing.T) {
	d := newDeployment(t)
	group := d.project("grp_a")
	group.put(10, month(), doc.Alerts{})
	held := ledger.Return{Key: "meter", Seq: 1, Period: month(), Epoch: 1, HeldPico: money.Dollar, SpentPico: money.Dollar}
	group.call(held.Encode())
	if d.pass(60_000); d.sent != 0 || len(d.statuses()) != 0 {
		t.Errorf("%d summaries, %+v", d.sent, d.statuses())
	}
}

// TestSummariesWait checks that the next summary waits until the last one is delivered, and that nothing is lost if
// the deployment's Ledger is unavailable for a day.
func TestSummariesWait(t *testing.T) {
	d := newDeployment(t)
	p := d.project("proj_a")
	first := d.now / calendar.HourMs
	for range 26 {
		p.serve("key_1", "m", 1)
		for range 3 {
			p.now += 30_000
			if _, err := p.Ring(p.now); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.rowsOf("o/"); n != 1 {
			t.Fatalf("%d rows in the outbox", n)
		}
		p.now += calendar.HourMs
	}
	d.now = p.now
	d.deliver(p)
	d.pass(5 * 60_000)
	o := d.overview(ledger.OverviewQuery{First: first, End: first + 30})
	if o.Projects[0].Usage.Requests != 26 || d.sent < 3 {
		t.Errorf("%d requests in %d summaries", o.Projects[0].Usage.Requests, d.sent)
	}
}

// TestManyProjects checks the pages of an overview. Names that an hour does not list separately are counted together.
func TestManyProjects(t *testing.T) {
	d := newDeployment(t)
	for i := range 300 {
		p := d.project(fmt.Sprintf("proj_%03d", i))
		for j := range 14 * (1 - min(i, 1)) {
			p.serve(fmt.Sprintf("key_%02d", j), fmt.Sprintf("m%02d", j), 1)
		}
		p.serve("key_00", "m00", 1)
	}
	d.pass(60_000)
	hour := d.now / calendar.HourMs
	o := d.overview(ledger.OverviewQuery{First: hour, End: hour + 1})
	names := map[string]bool{}
	for i := range o.Models {
		names[o.Models[i].Name] = true
	}
	if len(o.Projects) != 300 || o.Steps[0].Usage.Requests != 314 || len(names) != 13 || !names[""] || !names["m00"] || len(o.Keys) != 20 {
		t.Errorf("%d projects, %d requests, models %v, %d keys", len(o.Projects), o.Steps[0].Usage.Requests, names, len(o.Keys))
	}
}

// TestFirstSummaryHasThePast checks that the first summary contains the earlier days (as after an upgrade) and the
// hours that are kept (as after a move). Neither replaces known figures.
func TestFirstSummaryHasThePast(t *testing.T) {
	d := newDeployment(t)
	p := d.project("proj_a")
	present := d.now
	for _, days := range []uint64{200, 100, 40, 2, 1, 0} {
		p.now = present - days*calendar.DayMs
		p.serve("key_1", "m", days+1, ledger.Request{DurationMs: 30})
		p.tally(ledger.Tally{Source: 1, Seq: 300 - days, Counts: []ledger.EndCount{{Hour: p.now / calendar.HourMs, Model: "n", End: ledger.EndLimited, Count: 5}}})
	}
	prune := ledger.Prune{FirstDay: today - 400, FirstHourDay: today - 9}
	p.call(prune.Encode())
	d.pass(5 * 60_000)
	midnight := d.now / calendar.DayMs * 24
	for _, c := range []struct{ days, requests, refused uint64 }{{1, 1, 5}, {3, 6, 15}, {90, 47, 20}, {180, 148, 25}} {
		o := d.overview(ledger.OverviewQuery{First: midnight + 24 - c.days*24, End: midnight + 24, Daily: true})
		if o.Projects[0].Usage.Requests != c.requests || o.Projects[0].Usage.Outcomes().Refused != c.refused || o.Projects[0].Latency.Percentile(50) == 0 {
			t.Errorf("%d days: %+v, want %+v", c.days, o.Projects[0].Usage, c)
		}
	}
	hour := d.now / calendar.HourMs
	if o := d.overview(ledger.OverviewQuery{First: hour - 60, End: hour + 1}); o.Projects[0].Usage.Requests != 6 || len(o.Projects[0].Steps) != 3 || o.Keys[0].Name != "proj_a/key_1" {
		t.Errorf("%+v", o)
	}
	d.project("proj_a").serve("key_1", "m", 1)
	d.pass(60_000)
	if o := d.overview(ledger.OverviewQuery{First: midnight - 48, End: midnight + 24, Daily: true}); o.Projects[0].Usage.Requests != 7 {
		t.Errorf("%+v", o)
	}
}

// TestSummariesSkipIdleTime checks that a project without requests for weeks does not send summaries for that time.
func TestSummariesSkipIdleTime(t *testing.T) {
	d := newDeployment(t)
	d.project("proj_a").serve("key_1", "m", 1)
	d.pass(5 * 60_000)
	d.now += 15 * calendar.DayMs
	before := d.sent
	d.project("proj_a").serve("key_1", "m", 2)
	d.pass(60_000)
	hour := d.now / calendar.HourMs
	if o := d.overview(ledger.OverviewQuery{First: hour - 1, End: hour + 1}); len(o.Projects) != 1 || o.Projects[0].Usage.Requests != 2 || d.sent-before > 2 {
		t.Errorf("%+v after %d summaries", o.Projects, d.sent-before)
	}
}
