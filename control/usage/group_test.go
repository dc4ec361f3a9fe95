package usage_test

import (
	"encoding/csv"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

const groupsPath = "/api/admin/groups"

// tree is a department with a team, a project in each, and the usage that these projects have reported.
type tree struct {
	*controltest.Bench
	department, team   string
	above, below       string // projects directly in the department and in the team
	aboveKey, belowKey string
}

func newTree(t *testing.T) *tree {
	w := &tree{Bench: controltest.New(t)}
	w.Memory.Reducers = true
	w.department = w.Must(201, "POST", groupsPath, `{"name":"=Research"}`).Text("id")
	w.team = w.Must(201, "POST", groupsPath, `{"name":"Vision","parent":"`+w.department+`"}`).Text("id")
	w.above, w.aboveKey = w.project(w.department)
	w.below, w.belowKey = w.project(w.team)
	seq := map[string]uint64{}
	spend := func(ledger, key, model string, cost money.Pico) {
		seq[ledger]++
		w.Spend(ledger, "meter", key, model, seq[ledger], cost*money.Dollar)
	}
	for _, spent := range []struct {
		ledgers      []string
		project, key string
		model        string
		cost         money.Pico
	}{
		{[]string{w.department, "root"}, w.above, w.aboveKey, "m-a", 1},
		{[]string{w.team, w.department, "root"}, w.below, w.belowKey, "m-a", 20},
		{[]string{w.team, w.department, "root"}, w.below, w.belowKey, "m-b", 300},
	} {
		spend(spent.project, spent.key, spent.model, spent.cost)
		for _, id := range spent.ledgers { // a node has the project in place of a key
			spend(id, spent.project, spent.model, spent.cost)
		}
		w.Now = w.Now.Add(time.Second)
	}
	return w
}

func (w *tree) project(group string) (id, key string) {
	w.Now = w.Now.Add(time.Millisecond) // IDs are in order
	id = w.Must(201, "POST", "/api/admin/projects", `{"name":"in `+group+`","group":"`+group+`"}`).Text("id")
	return id, w.Must(201, "POST", "/api/admin/projects/"+id+"/keys", `{"name":"k"}`).Text("id")
}

func (w *tree) file(id, query string) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+controltest.Token)
	got := w.Raw(r, groupsPath+"/"+id+"/usage?"+query)
	if got.Code != 200 {
		w.Fatal(got.Body)
	}
	return got
}

// table returns the first cells of a CSV file's rows with their costs.
func (w *tree) table(id, query string) (rows []string) {
	w.Helper()
	all, err := csv.NewReader(w.file(id, "format=csv&"+query).Body).ReadAll()
	if err != nil {
		w.Fatal(err)
	}
	for _, cells := range all[1:] {
		rows = append(rows, strings.Join(cells[:len(cells)-9], " ")+" "+cells[len(cells)-3])
	}
	return rows
}

func TestGroupUsage(t *testing.T) {
	w := newTree(t)
	for _, c := range []struct {
		id, by string
		want   []string
	}{
		{w.department, "group", []string{w.team + " Vision 320", "  1"}},
		{w.team, "group", []string{"  320"}},
		{"root", "group", []string{w.department + " '=Research 321"}},
		{w.department, "project", []string{w.above + " in " + w.department + " 1", w.below + " in " + w.team + " 320"}},
		{w.team, "project", []string{w.below + " in " + w.team + " 320"}},
		{w.department, "key", []string{w.above + " " + w.aboveKey + " k 1", w.below + " " + w.belowKey + " k 320"}},
		{w.department, "day", []string{"2026-11-21 321"}},
		{w.department, "model", []string{"m-a 21", "m-b 300"}},
		{w.team, "model", []string{"m-a 20", "m-b 300"}},
	} {
		if got := w.table(c.id, "by="+c.by); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s by %s: %q, want %q", c.id, c.by, got, c.want)
		}
		got := w.Must(200, "GET", groupsPath+"/"+c.id+"/usage?by="+c.by, "")
		rows := got.Fields["rows"].([]any)
		if len(rows) != len(c.want) || got.Fields["by"] != c.by || got.Fields["next"] != nil {
			t.Error(got.Body)
		}
		sum := 0
		for _, r := range rows {
			cost := 0
			fmt.Sscan(fmt.Sprint(r.(map[string]any)["cost"]), &cost)
			sum += cost
		}
		if total := got.Fields["totals"].(map[string]any)["cost"]; fmt.Sprint(total) != fmt.Sprint(sum) {
			t.Errorf("the rows add up to %d, the total is %v", sum, total)
		}
		lines := w.file(c.id, "format=ndjson&by="+c.by).Body.String()
		if strings.Count(lines, "\n") != len(c.want) || !strings.HasPrefix(lines, "{") {
			t.Error(lines)
		}
	}
	if got := w.table(w.department, "from=2026-11-01&to=2026-11-20"); got != nil {
		t.Errorf("before there was usage: %q", got)
	}
}

// The figures state their age. With fresh=1, the meters are flushed first.
func TestAgeOfGroupUsage(t *testing.T) {
	w := newTree(t)
	got := w.Must(200, "GET", groupsPath+"/"+w.team+"/usage", "")
	if want := w.Now.UTC().Add(-310 * time.Second).Format("2006-01-02T15:04:05.000Z"); got.Text("asOf") != want {
		t.Errorf("as of %s, want %s", got.Text("asOf"), want)
	}
	w.Memory.Sent = nil
	got = w.Must(200, "GET", groupsPath+"/"+w.team+"/usage?fresh=1", "")
	asked := map[string]bool{}
	for _, s := range w.Memory.Sent {
		asked[s.Name] = asked[s.Name] || s.Class == abi.ClassLedger
	}
	if want := w.Now.UTC().Format("2006-01-02T15:04:05.000Z"); got.Text("asOf") != want || !asked[w.below] || asked[w.above] {
		t.Errorf("as of %s after %v", got.Text("asOf"), asked)
	}
}

// A project that has left the group reports too, because it may have usage from before.
func TestFreshUsageAfterAMove(t *testing.T) {
	w := newTree(t)
	other := w.Must(201, "POST", groupsPath, `{"name":"Other"}`).Text("id")
	w.Must(200, "PATCH", "/api/admin/projects/"+w.below, `{"group":"`+other+`"}`)
	for id, want := range map[string]bool{w.team: true, w.department: true, other: true} {
		w.Memory.Sent = nil
		w.Must(200, "GET", groupsPath+"/"+id+"/usage?fresh=1", "")
		asked := false
		for _, s := range w.Memory.Sent {
			asked = asked || s.Class == abi.ClassLedger && s.Name == w.below
		}
		if asked != want {
			t.Errorf("%s: the project gets a call: %t", id, asked)
		}
	}
}

// A project whose only key has been deleted reports too.
func TestFreshUsageOfADeletedKey(t *testing.T) {
	w := newTree(t)
	w.Must(204, "DELETE", "/api/admin/projects/"+w.below+"/keys/"+w.belowKey, "")
	w.Memory.Sent = nil
	w.Must(200, "GET", groupsPath+"/"+w.team+"/usage?fresh=1", "")
	if !slices.ContainsFunc(w.Memory.Sent, func(s controltest.Sent) bool { return s.Class == abi.ClassLedger && s.Name == w.below }) {
		t.Errorf("the project is not asked: %+v", w.Memory.Sent)
	}
}

// By key, the report has pages of projects.
func TestPagesOfGroupUsage(t *testing.T) {
	w := newTree(t)
	for range 105 {
		w.project(w.team)
	}
	last, key := w.project(w.team)
	w.Spend(last, "meter", key, "m-a", 1, 5*money.Dollar)
	got := w.Must(200, "GET", groupsPath+"/"+w.team+"/usage?by=key&limit=100", "")
	next, ok := got.Fields["next"].(string)
	if !ok || len(got.Fields["rows"].([]any)) != 1 {
		t.Fatal(got.Body)
	}
	if rows := w.table(w.team, "by=key&after="+next); !reflect.DeepEqual(rows, []string{last + " " + key + " k 5"}) {
		t.Errorf("%q", rows)
	}
	file := w.file(w.team, "by=key&format=csv&limit=100")
	if file.Header().Get("X-Postern-Next") != next || !strings.Contains(file.Header().Get("Content-Disposition"), `"usage-`+w.team+`-2026-11-01-2026-11-30-key.csv"`) {
		t.Error(file.Header())
	}
}

func TestMalformedGroupUsage(t *testing.T) {
	w := newTree(t)
	for query, field := range map[string]string{
		"by=hour": "by", "fresh=yes": "fresh", "format=xml": "format", "from=2026-12-01": "from", "from=x": "from", "key=key_1": "key", "after=proj_1": "after", "limit=5": "limit", "by=key&limit=0": "limit",
		"by=key&after=x": "after",
	} {
		got := w.Do("GET", groupsPath+"/"+w.team+"/usage?"+query, "")
		if w.Refused(got, fault.InvalidRequest); !reflect.DeepEqual(got.Problems(), []string{field}) {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
	w.Refused(w.Do("GET", groupsPath+"/grp_none/usage", ""), fault.NotFound)
	controltest.Quiet(t)
	w.Memory.FailAll(abi.ClassLedger)
	for _, by := range []string{"group", "project", "key", "day", "model"} {
		w.Refused(w.Do("GET", groupsPath+"/"+w.team+"/usage?by="+by, ""), fault.Unavailable)
	}
}
