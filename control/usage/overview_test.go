package usage_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

type overviewAnswer struct {
	Range, From, To, Step string
	AsOf                  *string
	Status                struct {
		FailingProviders []struct {
			Provider                 string
			Attempts, Failed, Opened uint64
		}
		BudgetsOver80, BudgetsSpent, OpenViolations, UnknownKeys, Unassigned uint64
		Refusals                                                             struct {
			LastHour, HourBefore uint64
			Rising               bool
		}
	}
	Totals, Before windowRow
	Series         []struct {
		Time              string
		Requests, Refused uint64
		Cost              json.Number
	}
	Projects []struct {
		ProjectID  string
		Name       *string
		Active     bool
		Budget     *struct{ Limit, Used json.Number }
		Forecast   *json.Number
		ReportedAt *string
		Spark      []uint64
		Cost       json.Number
		Outcomes   struct{ Served uint64 }
	}
	Next *string
	Keys []struct {
		KeyID, ProjectID     string
		KeyName, ProjectName *string
		Cost                 json.Number
	}
	Models    []windowRow
	Providers []struct {
		Provider, State string
		Attempts        struct {
			Total  uint64
			Failed struct{ Unavailable uint64 }
		}
	}
}

func readOverview(b *controltest.Bench, query string) (o overviewAnswer) {
	b.Helper()
	if err := json.Unmarshal(b.Must(200, "GET", "/api/admin/overview"+query, "").Body.Bytes(), &o); err != nil {
		b.Fatal(err)
	}
	return o
}

// TestOverview checks every part of an overview against the reports of two projects. The parts must add up to the
// totals.
func TestOverview(t *testing.T) {
	b, first, _ := windowBench(t)
	second := b.Project()
	key := b.Must(201, "POST", second+"/keys", `{"name":"expensive"}`).Text("id")
	for range 4 { // a summary covers twelve hours, and the hours before the first summary are never sent
		serveAt(b, second, 30, key, "gpt-5.5", 40)
		b.Summarize(first)
		b.Summarize(second)
	}
	o := readOverview(b, "")
	served := o.Projects[0].Outcomes.Served + o.Projects[1].Outcomes.Served
	if o.Step != "hour" || len(o.Series) != 24 || o.Totals.Outcomes.Served != served || served < 120 || o.Totals.Outcomes.Refused != served {
		t.Errorf("%+v", o)
	}
	sum, spark := uint64(0), uint64(0)
	for i, s := range o.Series {
		sum += s.Requests
		spark += o.Projects[0].Spark[i] + o.Projects[1].Spark[i]
	}
	if sum != o.Totals.Requests || spark != sum {
		t.Errorf("series %d, sparks %d, totals %d", sum, spark, o.Totals.Requests)
	}
	if k := o.Keys[0]; k.KeyID != key || k.KeyName == nil || *k.KeyName != "expensive" || k.ProjectName == nil || k.Cost != "1.2" {
		t.Errorf("%+v", o.Keys)
	}
	if m := o.Models[0]; m.Model != "gpt-5.5" || m.Provider == "" || m.Outcomes.Served != served || m.Latency == nil {
		t.Errorf("%+v", m)
	}
	if o.AsOf == nil || !o.Status.Refusals.Rising && o.Status.Refusals.HourBefore == 0 || o.Status.BudgetsOver80 != 0 {
		t.Errorf("%+v", o.Status)
	}
	for _, word := range []string{"7d", "30d", "90d", "month"} {
		if d := readOverview(b, "?range="+word); d.Step != "day" || d.Totals.Outcomes.Served < served || len(d.Series) != len(d.Projects[0].Spark) {
			t.Errorf("%s: %+v", word, d)
		}
	}
	b.Must(400, "GET", "/api/admin/overview?range=1h", "")
	rows, err := csv.NewReader(strings.NewReader(download(b, "/api/admin/overview?format=csv").String())).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][0] != "projectId" || rows[0][5] != "requests" || rows[1][5] == "0" {
		t.Errorf("%v %q", err, rows)
	}
}

// TestOverviewStatus checks the figures of the state strip: budgets, a failing provider, requests without a known
// key, and the remaining activity of a removed project.
func TestOverviewStatus(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	id := path[strings.LastIndex(path, "/")+1:]
	b.Memory.Deliver(t)
	b.Spend(id, "meter", "key_1", "gpt-5.5", 1, 450*money.Cent) // of a budget of 5 dollars
	hour := b.Memory.NowMs() / calendar.HourMs
	u := ledger.Usage{Day: hour / 24, Hour: hour % 24, Model: "gpt-5.5", Requests: 1}
	u.Attempts.Failed[ledger.CauseUnavailable] = 5
	b.Ask(abi.ClassLedger, id, (&ledger.Absorb{Key: "other", KeyID: "key_2", Seq: 1, Usage: []ledger.Usage{u}}).Encode())
	b.Ask(abi.ClassLedger, "proj_removed", (&ledger.Absorb{Key: "other", KeyID: "key_2", Seq: 1, Usage: []ledger.Usage{u}}).Encode())
	b.Ask(abi.ClassLedger, ledger.Root, (&ledger.Tally{Source: 1, Seq: 1, Counts: []ledger.EndCount{{Hour: hour, End: ledger.EndUnauthorized, Count: 17}, {Hour: hour, End: ledger.EndMethod, Count: 3}, {Hour: hour, End: ledger.EndOurs, Count: 2}}}).Encode())
	b.Summarize(id)
	b.Summarize("proj_removed")
	o := readOverview(b, "")
	if s := o.Status; s.BudgetsOver80 != 1 || s.BudgetsSpent != 0 || s.UnknownKeys != 17 || s.Unassigned != 5 || len(s.FailingProviders) != 1 || s.FailingProviders[0].Failed != 10 {
		t.Errorf("%+v", s)
	}
	if len(o.Projects) != 2 || o.Projects[1].Name != nil || o.Projects[1].Budget != nil || o.Projects[0].Budget.Used != "4.5" || o.Projects[0].ReportedAt == nil {
		t.Errorf("%+v", o.Projects)
	}
	if o.Totals.Requests != o.Projects[0].Outcomes.Served+o.Projects[1].Outcomes.Served {
		t.Errorf("unknown keys are in the totals: %+v", o.Totals)
	}
	b.Now = b.Now.Add(time.Hour)
	if o = readOverview(b, ""); len(o.Status.FailingProviders) != 0 {
		t.Error("a provider fails an hour after its last attempt")
	}
	b.Now = b.Now.Add(40 * 24 * time.Hour)
	if o = readOverview(b, ""); o.Status.BudgetsOver80 != 0 || o.Projects[0].Budget.Used != "0" {
		t.Errorf("the budget of a month that has ended: %+v", o.Projects[0])
	}
}

// TestOverviewOfManyProjects checks that thirty days of 200 projects take only a few calls.
func TestOverviewOfManyProjects(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	b.Project()
	for i := range 200 {
		for day := range uint64(60) {
			at := b.Memory.NowMs()/calendar.HourMs - 24*day
			h := ledger.SummaryHour{Hour: at, Models: []ledger.Named{{Name: "gpt-5.5", Activity: ledger.Activity{Usage: ledger.Usage{Requests: 2, CostPico: money.Cent}}}}}
			h.Keys = h.Models
			s := ledger.Summary{Project: fmt.Sprintf("proj_%03d", i), Seq: day + 1, AtMs: b.Memory.NowMs(), Hours: []ledger.SummaryHour{h}}
			b.Ask(abi.ClassLedger, ledger.Root, s.Encode())
		}
	}
	before := b.Memory.Calls
	o := readOverview(b, "?range=30d")
	if calls := b.Memory.Calls - before; o.Totals.Outcomes.Served != 200*30*2 || len(o.Projects) != 201 || calls > 36 {
		t.Errorf("%d requests, %d projects, %d calls", o.Totals.Outcomes.Served, len(o.Projects), calls)
	}
}

// TestOverviewPages checks that the pages of an overview list each project once, with the same totals, and that a table
// has all projects.
func TestOverviewPages(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	var ids []string
	for range 5 {
		path := b.Project()
		id := path[strings.LastIndex(path, "/")+1:]
		b.Memory.Deliver(t)
		b.Spend(id, "meter", "key_1", "gpt-5.5", 1, money.Cent)
		b.Summarize(id)
		ids = append(ids, id)
		b.Now = b.Now.Add(time.Second)
	}
	removed := "proj_zzz"
	b.Spend(removed, "meter", "key_1", "gpt-5.5", 1, money.Cent)
	b.Summarize(removed)
	var found []string
	after := ""
	for {
		o := readOverview(b, "?range=7d&limit=2"+after)
		if o.Totals.Requests != 6 {
			t.Fatalf("%d requests in the totals of a page", o.Totals.Requests)
		}
		for _, p := range o.Projects {
			if found = append(found, p.ProjectID); p.Outcomes.Served != 1 {
				t.Errorf("%s: %d requests", p.ProjectID, p.Outcomes.Served)
			}
		}
		if o.Next == nil {
			break
		}
		after = "&after=" + *o.Next
	}
	if want := append(ids, removed); !slices.Equal(found, want) {
		t.Errorf("the pages have %q, want %q", found, want)
	}
	rows, err := csv.NewReader(strings.NewReader(download(b, "/api/admin/overview?format=csv&compare=true&range=7d").String())).ReadAll()
	if err != nil || len(rows) != 1+2*6 {
		t.Errorf("%v: %d lines", err, len(rows))
	}
	b.Must(400, "GET", "/api/admin/overview?limit=101", "")
	b.Must(400, "GET", "/api/admin/overview?after=key_1", "")
}
