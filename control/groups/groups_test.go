package groups_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

const (
	groupsPath = "/api/admin/groups"
	rootPath   = groupsPath + "/root"
)

// bench returns a bench whose objects run their reducers.
func bench(t *testing.T) *controltest.Bench {
	b := controltest.New(t)
	b.Memory.Reducers = true
	return b
}

// group creates a group and returns its ID.
func group(b *controltest.Bench, fields string) string {
	b.Helper()
	name := "Research"
	if n := b.Documents(doc.AllGroups); n > 0 {
		name += fmt.Sprint(" ", n+1)
	}
	return b.Must(201, "POST", groupsPath, `{"name":"`+name+`"`+fields+`}`).Text("id")
}

// member creates a project in a group and a key in the project.
func member(b *controltest.Bench, group string) (project string, key controltest.Reply) {
	b.Helper()
	if group != "null" {
		group = `"` + group + `"`
	}
	project = "/api/admin/projects/" + b.Must(201, "POST", "/api/admin/projects", `{"name":"p","group":`+group+`}`).Text("id")
	return project, b.Must(201, "POST", project+"/keys", `{"name":"k"}`)
}

// chainOf returns the IDs of the chain that a key's meter has.
func chainOf(b *controltest.Bench, key controltest.Reply) (ids []string) {
	b.Helper()
	for _, n := range b.RecordOf(key).Chain {
		ids = append(ids, n.ID)
	}
	return ids
}

func check(b *controltest.Bench, key controltest.Reply, want ...string) {
	b.Helper()
	if got := chainOf(b, key); !reflect.DeepEqual(got, want) {
		b.Errorf("the meter has the chain %q, want %q", got, want)
	}
}

func TestCreateGroup(t *testing.T) {
	b := bench(t)
	got := b.Must(201, "POST", groupsPath, `{"name":"Forschung","budget":12.5,"budgetPeriod":"week","enforce":"hard"}`)
	id := got.Text("id")
	want := `{"id":"` + id + `","name":"Forschung","parent":"root","budget":12.5,"budgetPeriod":"week","limits":{"requestsPerPeriod":null,"tokensPerPeriod":null},"models":[],"alerts":null,"enforce":"hard","archived":false,"createdAt":"2026-11-21T08:08:07.006Z","version":1,"delivery":"delivered"}`
	if got.Body.String() != want || !strings.HasPrefix(id, "grp_") {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
	if again := b.Must(200, "GET", groupsPath+"/"+id, ""); again.Body.String() != strings.TrimSuffix(want, "}")+`,"spent":{"amount":0,"requests":null,"tokens":null,"resetsAt":"2026-11-23T00:00:00.000Z"}}` {
		t.Errorf("read back: %s", again.Body)
	}
	if list := b.Must(200, "GET", groupsPath, ""); list.Body.String() != `{"groups":[`+want+`]}` {
		t.Errorf("list: %s", list.Body)
	}
	g := doc.Group{Cycle: calendar.Weekly}
	put := ledger.Put{Version: 1, BudgetPico: 12_500 * money.Dollar / 1000, Period: g.Period(controltest.Today)}
	if want := []controltest.Sent{{Class: abi.ClassLedger, Name: id, Command: put.Encode()}}; !reflect.DeepEqual(b.Memory.Sent[:1], want) {
		t.Errorf("sent: %+v", b.Memory.Sent)
	}
	plain := b.Must(201, "POST", groupsPath, `{"name":"x","parent":"`+id+`","budget":null}`)
	if !strings.Contains(plain.Body.String(), `"parent":"`+id+`","budget":null,"budgetPeriod":"month","limits":{"requestsPerPeriod":null,"tokensPerPeriod":null},"models":[],"alerts":null,"enforce":"hard","archived":false,`) {
		t.Error(plain.Body)
	}
}

func TestRootBeforeItsFirstChange(t *testing.T) {
	b := bench(t)
	want := `{"id":"root","name":"Deployment","parent":null,"budget":null,"budgetPeriod":"month","limits":{"requestsPerPeriod":null,"tokensPerPeriod":null},"models":[],"alerts":null,"enforce":"hard","hideNames":false,"archived":false,"createdAt":null,"version":1,"delivery":"delivered"}`
	if got := b.Must(200, "GET", rootPath, ""); got.Body.String() != want || len(b.Memory.Rows) != 0 {
		t.Error(got.Body)
	}
	if list := b.Must(200, "GET", groupsPath, ""); list.Body.String() != `{"groups":[]}` {
		t.Error(list.Body)
	}
}

// A new key, and a key that exists when its project enters a group, have the budgets above the project.
func TestKeysGetTheChain(t *testing.T) {
	b := bench(t)
	department := group(b, `,"budget":10`)
	team := group(b, `,"budget":5,"parent":"`+department+`"`)
	plain := group(b, "")
	soft := group(b, `,"budget":5,"enforce":"soft"`)
	project, key := member(b, team)
	check(b, key, department, team)
	for _, c := range []struct {
		group string
		want  []string
	}{{department, []string{department}}, {plain, nil}, {team, []string{department, team}}, {soft, nil}} {
		if got := b.Must(200, "PATCH", project, `{"group":"`+c.group+`"}`); got.Text("group") != c.group {
			t.Error(got.Body)
		}
		check(b, key, c.want...)
	}
	b.Must(200, "PATCH", rootPath, `{"budget":100}`)
	check(b, key, "root")
	b.Must(200, "PATCH", project, `{"group":"`+team+`"}`)
	check(b, key, "root", department, team)
	if got := b.Must(200, "PATCH", project, `{"group":null}`); got.Fields["group"] != nil {
		t.Error(got.Body)
	}
	check(b, key, "root")
	_, other := member(b, "null")
	check(b, other, "root")
}

func TestInvalidGroups(t *testing.T) {
	b := bench(t)
	department := group(b, "")
	team := group(b, `,"parent":"`+department+`"`)
	for body, want := range map[string][]string{
		`{}`:                                   {"name"},
		`{"name":"a\u0007b"}`:                  {"name"},
		`{"name":"a/b"}`:                       {"name"},
		`{"name":""}`:                          {"name"},
		`{"name":5}`:                           {"name"},
		`{"name":"x","parent":null}`:           {"parent"},
		`{"name":"x","parent":"proj_1"}`:       {"parent"},
		`{"name":"x","parent":"grp_none"}`:     {"parent"},
		`{"name":"x","parent":"` + team + `"}`: {"parent"},
		`{"name":"x","budget":-1,"a":1}`:       {"budget", "a"},
		`{"name":"x","budget":9000001}`:        {"budget"},
		`{"name":"x","budget":"5"}`:            {"budget"},
		`{"name":"x","budgetPeriod":"year","enforce":"never"}`:   {"budgetPeriod", "enforce"},
		`{"name":"` + strings.Repeat("é", 65) + `"}`:             {"name"},
		`{"name":"x","version":1,"id":"grp_1"}`:                  {"id", "version"},
		`{"name":"x","budgetPeriod":null,"enforce":null}`:        {"budgetPeriod", "enforce"},
		`{"name":"x","` + strings.Repeat("a", 65) + `":"grp_1"}`: {""},
	} {
		got := b.Do("POST", groupsPath, body)
		b.Refused(got, fault.InvalidRequest)
		if fields := got.Problems(); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: %q, want %q", body, fields, want)
		}
	}
	b.Must(201, "POST", groupsPath, `{"name":"`+strings.Repeat("é", 64)+`","budget":9000000}`)
	for _, body := range []string{`{"parent":"root"}`, `{"name":null}`, `{"version":0}`, `{"budget":true}`, `{"id":"x"}`} {
		b.Refused(b.Do("PATCH", groupsPath+"/"+team, body), fault.InvalidRequest)
	}
	for _, value := range []string{`"root"`, `""`, `"grp_none"`, `5`, `"proj_1"`, `"grp_a/b"`} {
		got := b.Do("POST", "/api/admin/projects", `{"name":"x","group":`+value+`}`)
		if b.Refused(got, fault.InvalidRequest); !reflect.DeepEqual(got.Problems(), []string{"group"}) {
			t.Error(got.Body)
		}
	}
	for _, path := range []string{"/grp_none", "/grp_", "/Root", "/proj_1", "/" + doc.Root + "/", "/grp_a%2Fb"} {
		b.Refused(b.Do("GET", groupsPath+path, ""), fault.NotFound)
	}
	b.Refused(b.Do("GET", groupsPath+"?limit=5", ""), fault.InvalidRequest)
}

func TestMaximumOfGroups(t *testing.T) {
	b := bench(t)
	b.Must(200, "PATCH", rootPath, `{"name":"All"}`)
	var last string
	for range doc.MaxGroups {
		last = group(b, "")
	}
	b.Refused(b.Do("POST", groupsPath, `{"name":"x"}`), fault.InvalidRequest)
	if n := len(b.Must(200, "GET", groupsPath, "").Fields["groups"].([]any)); n != doc.MaxGroups {
		t.Errorf("%d listed", n)
	}
	b.Must(204, "DELETE", groupsPath+"/"+last, "")
	b.Must(201, "POST", groupsPath, `{"name":"x"}`)
}

func TestDeleteGroup(t *testing.T) {
	b := bench(t)
	department := group(b, "")
	team := group(b, `,"parent":"`+department+`"`)
	project, _ := member(b, team)
	for _, id := range []string{department, team} {
		b.Refused(b.Do("DELETE", groupsPath+"/"+id, ""), fault.Conflict)
	}
	if got := b.Do("DELETE", groupsPath+"/"+team, ""); !strings.Contains(got.Body.String(), "has 1 project and 0 groups") {
		t.Error(got.Body)
	}
	b.Must(200, "PATCH", project, `{"group":null}`)
	b.Must(204, "DELETE", groupsPath+"/"+team, "")
	b.Refused(b.Do("GET", groupsPath+"/"+team, ""), fault.NotFound)
	b.Refused(b.Do("PATCH", groupsPath+"/"+team, `{}`), fault.NotFound)
	b.Refused(b.Do("DELETE", groupsPath+"/"+team, ""), fault.NotFound)
	b.Must(204, "DELETE", groupsPath+"/"+department, "")
	b.Refused(b.Do("DELETE", rootPath, ""), fault.InvalidRequest)
}

func TestAudit(t *testing.T) {
	b := bench(t)
	id := group(b, `,"budget":1`)
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":2}`)
	b.Must(204, "DELETE", groupsPath+"/"+id, "")
	log, _ := b.Entries("?action=group")
	seen := map[string]bool{}
	for _, e := range log {
		fields, _ := e["after"].(map[string]any)
		if fields == nil {
			fields = e["before"].(map[string]any)
		}
		seen[fmt.Sprint(e["action"], fields["groupId"] == id, fields["budget"])] = true
	}
	if want := map[string]bool{"group.createtrue1": true, "group.updatetrue2": true, "group.deletetrue2": true}; !reflect.DeepEqual(seen, want) {
		t.Errorf("%v", log)
	}
}
