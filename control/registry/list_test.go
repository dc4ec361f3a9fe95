package registry_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/registry"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// A model that the project used is listed as discovered until it is registered. Being discovered does not change the
// policy.
func TestDiscoveredModels(t *testing.T) {
	b := newRegistryBench(t)
	b.Spend(b.project, "meter", "key_1", "gpt-4.1", 1, 5)
	b.Now = b.Now.Add(50 * 24 * time.Hour)
	b.Spend(b.project, "meter", "key_1", "gpt-4.1", 2, 5)
	b.Spend(b.project, "meter", "key_2", "gpt-4.1", 3, 5)
	b.Spend(b.project, "meter", "key_1", "gone-model", 4, 5)
	b.Spend(b.project, "meter", "key_1", "balanced", 5, 5)
	b.Spend(b.project, "meter", "key_1", "(unreported)", 6, 5)
	b.Spend(b.project, "meter", "key_1", "", 7, 5)
	b.add("gpt-5.4", "approved")
	list, got := b.entries("")
	if want := []string{"gone-model=discovered", "gpt-4.1=discovered", "gpt-5.4=approved"}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	entry := got.Fields["models"].([]any)[1].(map[string]any)
	if fmt.Sprintf("%v %v %v %v", entry["firstSeen"], entry["lastSeen"], entry["requests"], entry["version"]) != "2026-11-21 2027-01-10 3 0" {
		t.Errorf("%v", entry)
	}
	unused := got.Fields["models"].([]any)[2].(map[string]any)
	if unused["firstSeen"] != nil || fmt.Sprint(unused["requests"]) != "0" {
		t.Errorf("%v", unused)
	}
	if one := b.Must(200, "GET", b.registry+"/"+fmt.Sprint(entry["id"]), ""); one.Text("state") != "discovered" || one.Text("lastSeen") != "2027-01-10" {
		t.Error(one.Body)
	}
	if p := b.policy(); len(p.Registry) != 1 {
		t.Errorf("%+v", p.Registry)
	}
	for query, want := range map[string][]string{
		"?state=discovered":                      {"gone-model=discovered", "gpt-4.1=discovered"},
		"?state=approved":                        {"gpt-5.4=approved"},
		"?q=GPT":                                 {"gpt-4.1=discovered", "gpt-5.4=approved"},
		"?state=discovered&q=4.1":                {"gpt-4.1=discovered"},
		"?state=retired":                         nil,
		"?after=" + inventory.EntryID("gpt-4.1"): {"gpt-5.4=approved"},
		"?after=" + inventory.EntryID("gpt-5.4"): nil,
	} {
		if list, _ := b.entries(query); !slices.Equal(list, want) {
			t.Errorf("%s: %v, want %v", query, list, want)
		}
	}
	b.add("gpt-4.1")
	if list, _ := b.entries("?state=discovered"); !slices.Equal(list, []string{"gone-model=discovered"}) {
		t.Errorf("after its registration: %v", list)
	}
	b.Now = b.Now.Add(90 * 24 * time.Hour)
	if list, _ := b.entries("?state=discovered"); list != nil {
		t.Errorf("after 90 days: %v", list)
	}
}

func TestRegistryPages(t *testing.T) {
	b := newRegistryBench(t)
	var want []string
	for _, m := range controltest.TestCatalog().Models[:7] {
		b.add(m.Name)
		want = append(want, m.Name)
	}
	slices.Sort(want)
	for i := range want {
		want[i] += "=pending"
	}
	for limit := range 8 {
		var have []string
		after, pages := "", 0
		for {
			list, got := b.entries(fmt.Sprintf("?limit=%d%s", limit+1, after))
			have = append(have, list...)
			pages++
			if got.Fields["next"] == nil {
				break
			}
			after = "&after=" + got.Text("next")
		}
		if !slices.Equal(have, want) || pages != (7+limit)/(limit+1) {
			t.Errorf("limit %d: %v on %d pages", limit+1, have, pages)
		}
	}
}

func TestEnforcement(t *testing.T) {
	b := newRegistryBench(t)
	_, got := b.entries("")
	if got.Text("enforcement") != "off" || fmt.Sprint(got.Fields["policyVersion"]) != "0" || got.Text("delivery") != registry.Delivered {
		t.Error(got.Body)
	}
	for i, word := range []string{"enforce", "warn", "off", "off"} {
		put := b.Must(200, "PUT", b.registry+"/enforcement", `{"enforcement":"`+word+`"}`)
		p := b.policy()
		if settings.EnforcementWord(p.Enforcement) != word || fmt.Sprint(put.Fields["policyVersion"]) != fmt.Sprint(p.Version) || put.Text("delivery") != registry.Delivered {
			t.Errorf("%d: %+v %s", i, p, put.Body)
		}
	}
	b.Viewer = controltest.ViewerToken
	b.Refused(b.Do("PUT", b.registry+"/enforcement", `{"enforcement":"warn"}`, "Authorization", "Bearer "+controltest.ViewerToken), fault.ViewerForbidden)
	if got := b.Do("GET", b.registry, "", "Authorization", "Bearer "+controltest.ViewerToken); got.Code != 200 {
		t.Error(got.Body)
	}
}
