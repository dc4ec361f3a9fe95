package groups_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// The operator decides whether refusals name groups. The switch is the root's and applies to all groups.
func TestNamesCanBeHidden(t *testing.T) {
	b := bench(t)
	b.Must(200, "PATCH", groupsPath+"/root", `{"budget":9}`)
	id := group(b, `,"budget":5`)
	project, key := member(b, id)
	names := func(root, team string) {
		b.Helper()
		chain := b.RecordOf(key).Chain
		if len(chain) != 2 || chain[0].Name != root || chain[1].Name != team {
			b.Errorf("%+v", chain)
		}
	}
	team := stored(b, id).Name
	names("Deployment", team)
	if got := b.Must(200, "PATCH", groupsPath+"/root", `{"hideNames":true}`); got.Fields["hideNames"] != true {
		t.Error(got.Body)
	}
	names("", "")
	if got := b.Must(200, "GET", groupsPath+"/"+id, ""); got.Text("name") != team {
		t.Error("operators still see the name:", got.Body)
	}
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":6,"name":"Vision"}`)
	names("", "")
	b.Must(200, "PATCH", project, `{"group":null}`)
	b.Must(200, "PATCH", project, `{"group":"`+id+`"}`)
	names("", "")
	b.Must(200, "PATCH", groupsPath+"/root", `{"hideNames":false}`)
	names("Deployment", "Vision")
	isApplied(b, "root", true)
	b.Refused(b.Do("PATCH", groupsPath+"/"+id, `{"hideNames":true}`), fault.InvalidRequest)
	b.Refused(b.Do("POST", groupsPath, `{"name":"New","hideNames":true}`), fault.InvalidRequest)
	b.Refused(b.Do("PATCH", groupsPath+"/root", `{"hideNames":1}`), fault.InvalidRequest)
}

// Groups with the same parent have different names, even if they get them at the same time.
func TestNamesAreUnique(t *testing.T) {
	b := bench(t)
	create := func(name, parent string) controltest.Reply {
		return b.Do("POST", groupsPath, `{"name":"`+name+`","parent":"`+parent+`"}`)
	}
	rename := func(id, name string) controltest.Reply {
		return b.Do("PATCH", groupsPath+"/"+id, `{"name":"`+name+`"}`)
	}
	taken := func(got controltest.Reply, by string) {
		t.Helper()
		if b.Refused(got, fault.Conflict); !reflect.DeepEqual(got.Problems(), []string{"name"}) || !strings.Contains(got.Body.String(), by) {
			t.Error(got.Body)
		}
	}
	sales, research := create("Sales", "root").Text("id"), create("Research", "root").Text("id")
	taken(create("Sales", "root"), sales)
	taken(rename(research, "Sales"), sales)
	team := create("Sales", sales).Text("id")
	if again, below := rename(sales, "Sales"), create("Sales", research); again.Code != 200 || below.Code != 201 {
		t.Error(again.Body, below.Body)
	}
	b.Must(200, "POST", groupsPath+"/"+team+"/archive", "")
	taken(create("Sales", sales), team)
	rename(team, "Old sales")
	if got := create("Sales", sales); got.Code != 201 {
		t.Error(got.Body)
	}

	for name, other := range map[string]func(name string){
		"A": func(name string) { create(name, "root") }, "B": func(name string) { rename(research, name) },
	} {
		b.Interleave(func() { other(name) })
		b.Refused(create(name, "root"), fault.Conflict)
		b.Interleave(func() { other(name + "2") })
		b.Refused(rename(sales, name+"2"), fault.Conflict)
	}
}
