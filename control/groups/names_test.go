package groups_test

import (
	"testing"

	"github.com/postern-ai/postern/core/fault"
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
