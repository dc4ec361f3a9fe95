package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

const unregistered = doc.RegistryState(0)

// registered returns a policy with an entry for each of the models. All entries have the same state and the keys
// key_1 and key_2.
func registered(e doc.Enforcement, s doc.RegistryState, models ...string) *doc.Policy {
	p := &doc.Policy{Enforcement: e}
	for _, m := range models {
		if s == unregistered {
			continue
		}
		entry := doc.RegistryModel{Model: m, State: s}
		if s == doc.RegistryRestricted {
			entry.Keys = []string{"key_1", "key_2"}
		}
		p.Registry = append(p.Registry, entry)
	}
	return p
}

// TestRulings checks the table in docs/guides/registry.md. It combines every state with every enforcement, for a key
// that a restricted model lists, for another key, and for any of the project's keys.
func TestRulings(t *testing.T) {
	cfg := testConfig(t)
	table := []struct {
		state doc.RegistryState
		key   string
		want  [3]Ruling // off, warn, enforce
	}{
		{unregistered, "key_1", [3]Ruling{Permits, Warns, Refuses}},
		{doc.RegistryPending, "key_1", [3]Ruling{Permits, Warns, Refuses}},
		{doc.RegistryApproved, "key_1", [3]Ruling{Permits, Permits, Permits}},
		{doc.RegistryRestricted, "key_1", [3]Ruling{Permits, Permits, Permits}},
		{doc.RegistryRestricted, "key_2", [3]Ruling{Permits, Permits, Permits}},
		{doc.RegistryRestricted, "key_3", [3]Ruling{Permits, Warns, Refuses}},
		{doc.RegistryRestricted, "", [3]Ruling{Permits, Permits, Permits}},
		{doc.RegistryDeprecated, "key_3", [3]Ruling{Permits, Permits, Permits}},
		{doc.RegistryRetired, "key_1", [3]Ruling{Refuses, Refuses, Refuses}},
		{doc.RegistryBlocked, "key_1", [3]Ruling{Refuses, Refuses, Refuses}},
		{doc.RegistryBlocked, "", [3]Ruling{Refuses, Refuses, Refuses}},
	}
	for _, row := range table {
		for e, want := range row.want {
			p := registered(doc.Enforcement(e), row.state, "a-large")
			about := fmt.Sprintf("%s, enforcement %d, key %q", StateWord(row.state), e, row.key)
			if got := Registered(cfg, p, row.key, cfg.Model("a-large")); got.Ruling != want || got.State != row.state {
				t.Errorf("%s: %+v, want ruling %d", about, got, want)
			}
			v := View{Config: cfg, Project: p, KeyID: row.key}
			targets := v.Targets("a-large")
			if targets[0].Allowed != (want != Refuses) || v.Usable("a-large") != targets[0].Allowed {
				t.Errorf("%s: Allowed %v, Usable %v", about, targets[0].Allowed, v.Usable("a-large"))
			}
			if listed := slices.Contains(names(&v), "a-large"); listed != targets[0].Allowed {
				t.Errorf("%s: listed %v", about, listed)
			}
			for _, name := range []string{"a-big", "alpha/a-large", "alpha/large-1"} {
				if v.Usable(name) != targets[0].Allowed {
					t.Errorf("%s: %s is decided differently", about, name)
				}
			}
		}
	}
}

// TestRegistryDoesNotLoosen checks that an approved model is still subject to the allow-lists.
func TestRegistryDoesNotLoosen(t *testing.T) {
	cfg := testConfig(t)
	p := registered(doc.Enforce, doc.RegistryApproved, "a-large", "a-small")
	p.Models = []string{"a-small"}
	if v := (View{Config: cfg, Project: p}); v.Usable("a-large") || !v.Usable("a-small") {
		t.Error("the registry overrides the project's list")
	}
	if v := (View{Config: cfg, Project: registered(doc.Enforce, doc.RegistryApproved, "a-large"), Key: []string{"a-small"}}); v.Usable("a-large") {
		t.Error("the registry overrides the key's list")
	}
}

// TestDeprecatedKeepsItsKeys checks that deprecating a restricted model does not admit other keys.
func TestDeprecatedKeepsItsKeys(t *testing.T) {
	cfg := testConfig(t)
	p := &doc.Policy{Enforcement: doc.Enforce, Registry: []doc.RegistryModel{{Model: "a-large", State: doc.RegistryDeprecated, Keys: []string{"key_1"}}}}
	for key, want := range map[string]Ruling{"key_1": Permits, "key_2": Refuses, "": Permits} {
		if got := Registered(cfg, p, key, cfg.Model("a-large")).Ruling; got != want {
			t.Errorf("key %q: %d, want %d", key, got, want)
		}
	}
}

// TestRestrictedWithoutKeys checks that a restricted model without keys is not permitted for all keys.
func TestRestrictedWithoutKeys(t *testing.T) {
	cfg := testConfig(t)
	p := &doc.Policy{Enforcement: doc.Enforce, Registry: []doc.RegistryModel{{Model: "a-large", State: doc.RegistryRestricted}}}
	if got := Registered(cfg, p, "key_1", cfg.Model("a-large")).Ruling; got != Refuses {
		t.Errorf("ruling %d", got)
	}
}

func TestTiersSkipRefusedTargets(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		about   string
		project *doc.Policy
		want    string
	}{
		{"blocked", registered(doc.EnforceOff, doc.RegistryBlocked, "a-small"), "a-small! b-large?"},
		{"enforced", registered(doc.Enforce, doc.RegistryApproved, "b-large"), "a-small! b-large?"},
		{"enforced without entries", registered(doc.Enforce, unregistered), "a-small! b-large!?"},
		{"warned", registered(doc.EnforceWarn, unregistered), "a-small b-large?"},
	} {
		v := View{Config: cfg, Project: c.project}
		if got := text(v.Targets("fast")); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}

func TestSuccessors(t *testing.T) {
	cfg := testConfig(t)
	for successor, want := range map[string]string{"a-small": "a-small", "a-big": "a-large", "alpha/a-small": "a-small", "gone": "", "": ""} {
		p := &doc.Policy{Registry: []doc.RegistryModel{
			{Model: "g-one", State: doc.RegistryDeprecated, DeprecatedMs: 5, SunsetMs: 7, Successor: successor},
			{Model: "g-two", State: doc.RegistryRetired, DeprecatedMs: 5, SunsetMs: 7},
		}}
		r := Registered(cfg, p, "", cfg.Model("g-one"))
		got := ""
		if r.Successor != nil {
			got = r.Successor.Name
		}
		if got != want || r.DeprecatedMs != 5 || r.SunsetMs != 7 {
			t.Errorf("%q: %q %+v, want %q", successor, got, r, want)
		}
		if r := Registered(cfg, p, "", cfg.Model("g-two")); r.DeprecatedMs != 0 || r.SunsetMs != 0 {
			t.Errorf("a retired model: %+v", r)
		}
	}
}

// TestSelectionStaysSmall limits the size of a selection, which is part of an exchange's state. The registry of the
// test has data about every target.
func TestSelectionStaysSmall(t *testing.T) {
	cfg := testConfig(t)
	p := routeOf("fast", config.Ordered, slices.Repeat([]string{"a-large", "g-one"}, doc.MaxTargets/2)...)
	size := func() int {
		s := Select(cfg, p, "key_1", "fast")
		var w abi.Writer
		s.Fields(abi.WriteTo(&w), cfg.Models)
		return len(w.Buf)
	}
	without := size()
	p.Registry = registered(doc.EnforceOff, doc.RegistryApproved, "a-large", "g-one").Registry
	if with := size(); with != without {
		t.Errorf("approved models take %d bytes", with-without)
	}
	const at = 1_795_262_400_000
	long := strings.Repeat("key_", 32)
	p.Registry = []doc.RegistryModel{
		{Model: "a-large", State: doc.RegistryDeprecated, Keys: []string{long}, DeprecatedMs: at, SunsetMs: at, Successor: "g-two"},
		{Model: "g-one", State: doc.RegistryDeprecated, Keys: []string{long}, DeprecatedMs: at, SunsetMs: at, Successor: "g-two"},
	}
	if with := size(); with-without > 16*doc.MaxTargets {
		t.Errorf("deprecated models take %d bytes", with-without)
	}
}

func TestStateWords(t *testing.T) {
	for s := doc.RegistryPending; s <= doc.RegistryBlocked; s++ {
		if got, ok := StateOf(StateWord(s)); !ok || got != s {
			t.Errorf("%q is read as %d, %v", StateWord(s), got, ok)
		}
	}
	for _, word := range []string{"", "unregistered", "discovered", "Approved"} {
		if s, ok := StateOf(word); ok {
			t.Errorf("%q is read as %d", word, s)
		}
	}
	if got := StateWord(77); got != "unregistered" {
		t.Errorf("an unknown state is %q", got)
	}
}

// TestTransitions compares all pairs with the table in docs/guides/registry.md.
func TestTransitions(t *testing.T) {
	//        pending approved restricted deprecated retired blocked
	table := map[doc.RegistryState]string{
		unregistered:           "x . . . . x",
		doc.RegistryPending:    ". x x . . x",
		doc.RegistryApproved:   ". . x x . x",
		doc.RegistryRestricted: ". x x x . x",
		doc.RegistryDeprecated: ". x x . x x",
		doc.RegistryRetired:    "x . . . . x",
		doc.RegistryBlocked:    "x . . . . .",
	}
	for from, row := range table {
		var moves []doc.RegistryState
		for i, mark := range strings.Fields(row) {
			target := doc.RegistryPending + doc.RegistryState(i)
			if got := MayMove(from, target); got != (mark == "x") {
				t.Errorf("from %s to %s: %v", StateWord(from), StateWord(target), got)
			}
			if mark == "x" {
				moves = append(moves, target)
			}
		}
		if got := Moves(from); !slices.Equal(got, moves) {
			t.Errorf("from %s: %v, want %v", StateWord(from), got, moves)
		}
		if MayMove(from, unregistered) || MayMove(from, doc.RegistryBlocked+1) {
			t.Errorf("%s may change to a state that is not one", StateWord(from))
		}
	}
	if MayMove(77, doc.RegistryPending) {
		t.Error("an unknown state may change")
	}
}
