package ledger_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// forgetSums deletes the sums of all projects, as if an older version had stored the summaries.
func (d *deployment) forgetSums() {
	for _, key := range d.Keys("sa/", "sc\x00") {
		delete(d.Rows, key)
	}
}

// busy makes requests in 40 projects for some hours. Reports repeat and correct their hours.
func (d *deployment) busy(random *rand.Rand, hours int) {
	for range hours {
		for i := range 40 {
			p := d.project(fmt.Sprintf("proj_%02d", i))
			for range random.IntN(3) {
				model, key := fmt.Sprint("m", random.IntN(20)), fmt.Sprint("key_", random.IntN(15))
				p.serve(key, model, random.Uint64N(5)+1, ledger.Request{DurationMs: random.Uint64N(5000)})
			}
		}
		d.pass(calendar.HourMs)
	}
}

// totals returns the sums of all projects in the order of names.
func (d *deployment) totals(q ledger.OverviewQuery) ledger.OverviewReply {
	all := d.overview(q)
	var total ledger.OverviewReply
	for _, s := range all.Steps {
		at := slices.IndexFunc(total.Steps, func(o ledger.Step) bool { return o.Hour == s.Hour })
		if at < 0 {
			total.Steps = append(total.Steps, s)
			continue
		}
		total.Steps[at].Usage.Plus(&s.Usage)
	}
	for _, m := range all.Models {
		at := slices.IndexFunc(total.Models, func(o ledger.Named) bool { return o.Name == m.Name })
		if at < 0 {
			total.Models = append(total.Models, m)
			continue
		}
		total.Models[at].Plus(&m.Activity)
	}
	slices.SortFunc(total.Steps, func(a, b ledger.Step) int { return cmp.Compare(a.Hour, b.Hour) })
	slices.SortFunc(total.Models, func(a, b ledger.Named) int { return strings.Compare(a.Name, b.Name) })
	total.Keys = all.Keys
	return total
}

// TestSumsOfAllProjects checks that the sums of all projects are those of the projects' own rows, whatever the summaries
// repeated and corrected, and that their keys are the most expensive ones.
func TestSumsOfAllProjects(t *testing.T) {
	d := newDeployment(t)
	d.busy(rand.New(rand.NewPCG(1, 2)), 30)
	hour := d.now / calendar.HourMs
	queries := []ledger.OverviewQuery{
		{First: hour - 23, End: hour + 1}, {First: hour - 5, End: hour - 3}, {First: (hour/24 - 2) * 24, End: (hour/24 + 1) * 24, Daily: true},
	}
	var sums []ledger.OverviewReply
	for _, q := range queries {
		sums = append(sums, d.totals(q))
	}
	d.forgetSums()
	for i, q := range queries {
		rows := d.totals(q)
		if !reflect.DeepEqual(rows.Steps, sums[i].Steps) || !reflect.DeepEqual(rows.Models, sums[i].Models) || len(rows.Steps) < 2 {
			t.Errorf("query %d: %+v, in the rows of the projects %+v", i, sums[i], rows)
		}
		if least := sums[i].Keys; len(least) < 20 || least[0].Usage.CostPico < money.Dollar {
			t.Errorf("query %d: %d keys, %+v", i, len(least), least[0])
		}
	}
}

// TestSumsAfterAnUpgrade checks that a deployment with summaries of an older version has complete figures: its earlier
// hours come from the projects' rows, page by page, and the later ones from the sums.
func TestSumsAfterAnUpgrade(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	d := newDeployment(t)
	d.busy(random, 20)
	d.forgetSums()
	d.busy(random, 30)
	hour := d.now / calendar.HourMs
	for _, q := range []ledger.OverviewQuery{
		{First: hour - 47, End: hour + 1}, {First: hour - 10, End: hour + 1}, {First: (hour/24 - 3) * 24, End: (hour/24 + 1) * 24, Daily: true},
	} {
		got, want := d.totals(q), uint64(0)
		for _, p := range d.overview(q).Projects {
			want += p.Usage.Requests
		}
		sum := uint64(0)
		for i := range got.Steps {
			sum += got.Steps[i].Usage.Requests
		}
		if sum != want || want == 0 {
			t.Errorf("%+v: %d requests, the projects have %d", q, sum, want)
		}
	}
	if rows := len(d.Keys("sa/", "sa0")); rows < 20 || rows > 31 {
		t.Errorf("%d hours of sums after the upgrade", rows)
	}
}

// TestProjectsOfAnOverview checks the bounds of a query with projects.
func TestProjectsOfAnOverview(t *testing.T) {
	d := newDeployment(t)
	d.busy(rand.New(rand.NewPCG(5, 6)), 5)
	hour := d.now / calendar.HourMs
	q := ledger.OverviewQuery{First: hour - 23, End: hour + 1, FromID: "proj_03", ToID: "proj_05"}
	reply, err := ledger.DecodeOverviewReply(d.call(q.Encode()))
	if err != nil || len(reply.Projects) != 2 || len(reply.Models)+len(reply.Keys)+len(reply.Steps) != 0 || reply.Next != "" {
		t.Fatalf("%v %+v", err, reply)
	}
	for _, p := range reply.Projects {
		if p.Name != "proj_04" && p.Name != "proj_05" {
			t.Error(p.Name)
		}
	}
}

// TestSumsArePruned checks that the sums of all projects are deleted together with the rows of the projects.
func TestSumsArePruned(t *testing.T) {
	d := newDeployment(t)
	d.busy(rand.New(rand.NewPCG(7, 8)), 30)
	day := d.now/calendar.DayMs + 1
	d.call((&ledger.Prune{FirstDay: day, FirstHourDay: day}).Encode())
	if left := append(d.Keys("sa/", "sc"), d.Keys("sd/", "si")...); len(left) > 0 {
		t.Errorf("%d rows are left, such as %s", len(left), left[0])
	}
}
