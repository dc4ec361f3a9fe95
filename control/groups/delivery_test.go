package groups_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/controltest"
)

// crowd puts projects with one key each into a group.
func crowd(b *controltest.Bench, id string, n int) (made []controltest.Reply) {
	b.Helper()
	for range n {
		b.Now = b.Now.Add(time.Millisecond) // IDs are in order
		_, key := member(b, id)
		made = append(made, key)
	}
	return made
}

func delivery(b *controltest.Bench, id string) string {
	b.Helper()
	word := b.Must(200, "GET", groupsPath+"/"+id, "").Text("delivery")
	if list := b.Must(200, "GET", groupsPath, "").Body.String(); !strings.Contains(list, `"delivery":"`+word+`"`) {
		b.Errorf("the list does not agree with %s: %s", word, list)
	}
	return word
}

// A change is pending if there are more than 200 keys, until the Directory has delivered it to all of them.
func TestPendingChange(t *testing.T) {
	b := bench(t)
	id := group(b, "")
	made := crowd(b, id, 203)
	for b.Memory.Ring(t) {
	}
	commits := 0
	b.Memory.Before = func(command []byte) {
		if command[0] == 2 || command[0] == 7 {
			commits++
		}
	}
	if got := b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":5}`); got.Text("delivery") != "pending" {
		t.Error(got.Body)
	}
	if commits != 3 {
		t.Errorf("%d commits, want that of the group, one for all projects, and the end", commits)
	}
	b.Memory.Before = nil
	check(b, made[199], id)
	check(b, made[200])
	if got := delivery(b, id); got != "pending" {
		t.Error(got)
	}
	b.Memory.Ring(t)
	if got := delivery(b, id); got != "pending" {
		t.Error("after the first alarm:", got)
	}
	for b.Memory.Ring(t) {
	}
	check(b, made[202], id)
	if got := delivery(b, id); got != "delivered" {
		t.Error(got)
	}
	if err := b.Hourly(); err != nil {
		t.Fatal(err)
	}
	if g := stored(b, id); g.Delivered != g.Revision {
		t.Errorf("the hourly job does not note the delivery: %+v", g)
	}
}

// An archived group deactivates the keys of all projects below it, until it is restored.
func TestArchive(t *testing.T) {
	b := bench(t)
	department := group(b, "")
	team := group(b, `,"parent":"`+department+`"`)
	project, key := member(b, team)
	_, outside := member(b, "null")
	active := func(key controltest.Reply, want doc.Status) {
		b.Helper()
		if status, _ := b.MeterView(keys.Hash(key.Text("value"))); status != want {
			b.Errorf("the key's status is %d, want %d", status, want)
		}
	}
	path := groupsPath + "/" + department
	for range 2 {
		if got := b.Must(200, "POST", path+"/archive", ""); got.Fields["archived"] != true || got.Text("delivery") != "delivered" {
			t.Error(got.Body)
		}
		active(key, doc.Inactive)
		active(outside, doc.Active)
	}
	if got := b.Must(200, "GET", groupsPath+"/"+team, ""); got.Fields["archived"] != false {
		t.Error(got.Body)
	}
	for body, problem := range map[string]string{`{"name":"n","group":"` + team + `"}`: "group", `{"name":"n","group":"` + department + `"}`: "group"} {
		got := b.Do("POST", "/api/admin/projects", body)
		if b.Refused(got, fault.InvalidRequest); fmt.Sprint(got.Problems()) != "["+problem+"]" {
			t.Error(got.Body)
		}
	}
	b.Refused(b.Do("POST", groupsPath, `{"name":"n","parent":"`+department+`"}`), fault.InvalidRequest)
	b.Must(200, "PATCH", project, `{"name":"renamed","group":"`+team+`"}`)
	active(key, doc.Inactive)
	b.Must(200, "POST", groupsPath+"/"+team+"/archive", "")
	b.Must(200, "POST", path+"/restore", "")
	active(key, doc.Inactive)
	b.Must(200, "POST", groupsPath+"/"+team+"/restore", "")
	active(key, doc.Active)
	b.Refused(b.Do("POST", rootPath+"/archive", ""), fault.InvalidRequest)
	b.Must(200, "POST", path+"/archive", "")
	b.Must(200, "PATCH", project, `{"group":null}`)
	active(key, doc.Active)
}

// Wherever the control plane stops, the hourly job archives the keys that are left.
func TestUnfinishedArchive(t *testing.T) {
	controltest.Quiet(t)
	for stop, done := 1, false; !done; stop++ {
		b := bench(t)
		id := group(b, "")
		made := crowd(b, id, 3)
		calls := 0
		b.Memory.Fail = func(abi.Class, string, []byte) error {
			if calls++; calls > stop {
				return controltest.ErrOut
			}
			return nil
		}
		done = b.Do("POST", groupsPath+"/"+id+"/archive", "").Code == 200
		b.Memory.Fail = nil
		if err := b.Hourly(); err != nil {
			t.Fatal(err)
		}
		for _, key := range made {
			if status, _ := b.MeterView(keys.Hash(key.Text("value"))); (status == doc.Inactive) != stored(b, id).Archived {
				t.Errorf("stopped after %d calls: status %d", stop, status)
			}
		}
		if stop > 200 {
			t.Fatal("never finished")
		}
	}
}

// The number of groups is a condition of the commit, so groups that are created at once do not exceed it.
func TestMostGroupsAtOnce(t *testing.T) {
	b := bench(t)
	first := group(b, "")
	for range doc.MaxGroups - 2 {
		group(b, "")
	}
	b.Interleave(func() { group(b, `,"parent":"`+first+`"`) })
	got := b.Do("POST", groupsPath, `{"name":"one too many"}`)
	if b.Refused(got, fault.InvalidRequest); fmt.Sprint(got.Problems()) != "[groups]" {
		t.Error(got.Body)
	}
}
