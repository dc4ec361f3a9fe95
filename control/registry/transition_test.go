package registry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/registry"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// For each state, the policy contains what the gateway needs and nothing else.
func TestTransitions(t *testing.T) {
	b := newRegistryBench(t)
	_, key := b.Key(b.project)
	id := key.Text("id")
	path := b.add("gpt-4.1", "approved")
	b.Must(200, "PATCH", path, `{"successor":"gpt-5.4"}`)
	now := uint64(b.Now.UnixMilli())
	for _, step := range []struct {
		body string
		want doc.RegistryModel
		keys string
	}{
		{`{"to":"restricted","reason":"pilot","keys":["` + id + `"]}`, doc.RegistryModel{State: doc.RegistryRestricted, Keys: []string{id}}, "[" + id + "]"},
		{`{"to":"deprecated","sunsetAt":"2027-01-31","successor":"gpt-5.4-mini"}`, doc.RegistryModel{
			State: doc.RegistryDeprecated, Keys: []string{id}, DeprecatedMs: now, SunsetMs: 1_801_353_600_000, Successor: "gpt-5.4-mini"}, "[" + id + "]"},
		{`{"to":"approved","reason":"needed longer"}`, doc.RegistryModel{State: doc.RegistryApproved}, "[]"},
		{`{"to":"deprecated"}`, doc.RegistryModel{State: doc.RegistryDeprecated, DeprecatedMs: now, Successor: "gpt-5.4-mini"}, "[]"},
		{`{"to":"retired","reason":null}`, doc.RegistryModel{State: doc.RegistryRetired, Successor: "gpt-5.4-mini"}, "[]"},
		{`{"to":"pending","successor":null}`, doc.RegistryModel{State: doc.RegistryPending}, "[]"},
		{`{"to":"blocked","reason":"incident"}`, doc.RegistryModel{State: doc.RegistryBlocked}, "[]"},
	} {
		got := b.Must(200, "POST", path+"/transitions", step.body)
		step.want.Model = "gpt-4.1"
		if p := b.policy(); len(p.Registry) != 1 || fmt.Sprint(p.Registry[0]) != fmt.Sprint(step.want) {
			t.Errorf("%s: %+v, want %+v", step.body, p.Registry, step.want)
		}
		if keys := fmt.Sprint(got.Fields["keys"]); keys != step.keys || got.Text("delivery") != registry.Delivered {
			t.Errorf("%s: %s", step.body, got.Body)
		}
	}
	got := b.Must(200, "GET", path, "")
	approvals, _ := json.Marshal(got.Fields["approvals"])
	if string(approvals) != strings.ReplaceAll(`[{"at":T,"by":"owner","reason":"because","state":"approved"},{"at":T,"by":"owner","reason":"pilot","state":"restricted"},`+
		`{"at":T,"by":"owner","reason":"needed longer","state":"approved"}]`, "T", `"2026-11-21T08:08:07.006Z"`) {
		t.Errorf("approvals: %s", approvals)
	}
	if n := len(got.Fields["history"].([]any)); n != 9 {
		t.Errorf("%d state changes", n)
	}
}

// If the current state does not allow a move, nothing changes. The response is a 409 that names the allowed moves.
func TestForbiddenTransitions(t *testing.T) {
	b := newRegistryBench(t)
	for _, c := range []struct{ states, to, allowed string }{
		{"", "retired", "approved, restricted or blocked"},
		{"", "pending", "approved, restricted or blocked"},
		{"approved", "retired", "restricted, deprecated or blocked"},
		{"approved", "approved", "restricted, deprecated or blocked"},
		{"approved deprecated retired", "approved", "pending or blocked"},
		{"blocked", "approved", "pending"},
	} {
		path := b.registry + "/" + inventory.EntryID("gpt-4.1")
		if b.Do("GET", path, "").Code == 404 {
			b.add("gpt-4.1")
		}
		for _, s := range strings.Fields(c.states) {
			b.move(path, s)
		}
		before := b.Must(200, "GET", path, "").Body.String()
		got := b.Do("POST", path+"/transitions", `{"to":"`+c.to+`","reason":"r"}`)
		b.Refused(got, fault.Conflict)
		if !strings.Contains(got.Body.String(), "must be "+c.allowed+", because the model is ") || b.Must(200, "GET", path, "").Body.String() != before {
			t.Errorf("%s to %s: %s", c.states, c.to, got.Body)
		}
		if state := b.Must(200, "GET", path, "").Text("state"); state != "pending" {
			if state != "blocked" {
				b.move(path, "blocked")
			}
			b.move(path, "pending")
		}
	}
}

// A model that has no entry yet can be blocked directly.
func TestBlockWithoutEntry(t *testing.T) {
	b := newRegistryBench(t)
	path := b.registry + "/" + inventory.EntryID("gpt-4.1") + "/transitions"
	b.Refused(b.Do("POST", path, `{"to":"approved","reason":"r"}`), fault.Conflict)
	b.Refused(b.Do("POST", path, `{"to":"blocked","reason":"r","version":1}`), fault.Conflict)
	if got := b.Must(200, "POST", path, `{"to":"blocked","reason":"incident","version":0}`); got.Text("model") != "gpt-4.1" || got.Text("state") != "blocked" {
		t.Error(got.Body)
	}
	if p := b.policy(); len(p.Registry) != 1 || p.Registry[0].State != doc.RegistryBlocked {
		t.Errorf("%+v", p)
	}
}

// Of two concurrent transitions, one is made and the other gets a 409. Naming a version makes no difference.
func TestTransitionRace(t *testing.T) {
	for _, version := range []string{"", `,"version":1`} {
		b := newRegistryBench(t)
		path := b.add("gpt-4.1")
		b.Interleave(func() { b.Must(200, "POST", path+"/transitions", `{"to":"blocked","reason":"first"`+version+`}`) })
		b.Refused(b.Do("POST", path+"/transitions", `{"to":"approved","reason":"second"`+version+`}`), fault.Conflict)
		if got := b.Must(200, "GET", path, ""); got.Text("state") != "blocked" || fmt.Sprint(got.Fields["version"]) != "2" {
			t.Error(got.Body)
		}
	}
}

// Even after many transitions, the history keeps the newest ones, and the document stays small.
func TestHistoryIsBounded(t *testing.T) {
	b := newRegistryBench(t)
	path := b.add("gpt-4.1")
	reason := strings.Repeat("あ", registry.MaxReasonRunes)
	var got controltest.Reply
	for range 30 {
		b.Now = b.Now.Add(time.Minute)
		b.Must(200, "POST", path+"/transitions", `{"to":"approved","reason":"`+reason+`"}`)
		b.Must(200, "POST", path+"/transitions", `{"to":"blocked","reason":"`+reason+`"}`)
		got = b.Must(200, "POST", path+"/transitions", `{"to":"pending"}`)
	}
	history, approvals := got.Fields["history"].([]any), got.Fields["approvals"].([]any)
	if got.Body.Len() > (16<<10)+1000 || len(history) < 3 || len(approvals) < 1 {
		t.Errorf("%d bytes, %d changes, %d approvals", got.Body.Len(), len(history), len(approvals))
	}
	if last := history[len(history)-1].(map[string]any); last["at"] != kernel.Timestamp(uint64(b.Now.UnixMilli())) || last["to"] != "pending" {
		t.Errorf("the newest change is %v", last)
	}
	for range 30 {
		b.Must(200, "POST", path+"/transitions", `{"to":"blocked","reason":"r"}`)
		got = b.Must(200, "POST", path+"/transitions", `{"to":"pending"}`)
	}
	if n := len(got.Fields["history"].([]any)); n != 50 {
		t.Errorf("%d changes", n)
	}
}
