package policy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// catalogText has one provider with credentials, alpha, and four without: beta, gamma, gamma-chat and house. gamma
// and gamma-chat are two wires of one account. house does not support project keys.
const catalogText = `{"version":"1","defaultPlan":"p","routing":{"requestMs":1000},"plans":[{"name":"p","budget":"1"}],
	"providers":[
		{"name":"alpha","wire":"openai","baseUrl":"https://alpha.example/v1","keyEnv":"ALPHA_KEY"},
		{"name":"beta","wire":"openai","baseUrl":"https://beta.example/v1","keyEnv":"BETA_KEY"},
		{"name":"gamma","wire":"responses","baseUrl":"https://gamma.example/v1","keyEnv":"GAMMA_KEY"},
		{"name":"gamma-chat","wire":"openai","baseUrl":"https://gamma.example/v1","keyEnv":"GAMMA_KEY"},
		{"name":"house","wire":"openai","baseUrl":"https://house.example/v1","keyEnv":"HOUSE_KEY","deploymentKey":true}],
	"models":[
		{"name":"a-large","provider":"alpha","aliases":["a-big"],"upstream":"large-1","input":"3","output":"15"},
		{"name":"a-small","provider":"alpha","input":"0.1","output":"0.4"},
		{"name":"b-large","provider":"beta","input":"2","output":"8"},
		{"name":"g-one","provider":"gamma","input":"1","output":"1"},
		{"name":"g-two","provider":"gamma-chat","input":"1","output":"2"},
		{"name":"h-one","provider":"house","input":"1","output":"1"},
		{"name":"a-embed","provider":"alpha","kind":"embedding","input":"0.02"},
		{"name":"twin","provider":"alpha","input":"1","output":"1"}],
	"tiers":[
		{"name":"fast","strategy":"weighted","targets":[{"model":"a-small","weight":3},{"model":"b-large","weight":1}]},
		{"name":"best","strategy":"ordered","targets":[{"model":"b-large"},{"model":"a-large"}]},
		{"name":"far","strategy":"cheapest","targets":[{"model":"g-one"},{"model":"h-one"}]},
		{"name":"twin","strategy":"ordered","targets":[{"model":"b-large"}]}]}`

func testConfig(t *testing.T) *config.Config {
	t.Helper()
	c, wrong := config.Parse(abi.Config{Catalog: []byte(catalogText), Env: []abi.Header{
		{Name: "ALPHA_KEY", Value: "sk-alpha"},
		{Name: config.EnvMasterKeys, Value: "m2:" + strings.Repeat("A", 43) + "="},
	}})
	if wrong != "" {
		t.Fatal(wrong)
	}
	return c
}

// withProviderKey returns a policy with one of the project's own provider keys, encrypted with a master key.
func withProviderKey(provider, master string) *doc.Policy {
	return &doc.Policy{ProviderKeys: []doc.ProviderKey{{Provider: provider, KeyID: master, Sealed: []byte("sealed")}}}
}

func routeOf(tier string, s config.Strategy, models ...string) *doc.Policy {
	r := doc.Route{Tier: tier, Strategy: uint8(s)}
	for i, m := range models {
		r.Targets = append(r.Targets, doc.RouteTarget{Model: m, Weight: uint64(i + 1)})
	}
	return &doc.Policy{Routes: []doc.Route{r}}
}

// text returns targets as model names. A name is followed by ! if the target is not allowed, ? if it is not ready,
// and =ID with the ID of its master key.
func text(targets []Target) string {
	var words []string
	for _, t := range targets {
		word := t.Model.Name
		if !t.Allowed {
			word += "!"
		}
		if !t.Ready {
			word += "?"
		}
		if t.MasterKeyID != "" {
			word += "=" + t.MasterKeyID
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestTargets(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		about string
		view  View
		name  string
		want  string
	}{
		{"a tier", View{}, "fast", "a-small b-large?"},
		{"a model", View{}, "a-large", "a-large"},
		{"an alias", View{}, "a-big", "a-large"},
		{"provider/model", View{}, "alpha/a-large", "a-large"},
		{"provider/upstream", View{}, "alpha/large-1", "a-large"},
		{"an embedding model", View{}, "a-embed", "a-embed"},
		{"an unknown name", View{}, "nobody", ""},
		{"the empty name", View{}, "", ""},
		{"a tier with the same name as a model", View{}, "twin", "b-large?"},

		{"a key's model", View{Key: []string{"a-large"}}, "best", "b-large!? a-large"},
		{"a key's model by alias", View{Key: []string{"a-big"}}, "best", "b-large!? a-large"},
		{"a key's model by provider", View{Key: []string{"alpha/a-large"}}, "a-large", "a-large"},
		{"a key's tier", View{Key: []string{"best"}}, "best", "b-large? a-large"},
		{"a key's tier does not allow its models by name", View{Key: []string{"best"}}, "a-large", "a-large!"},
		{"a key's tier does not allow another tier's models", View{Key: []string{"best"}}, "fast", "a-small! b-large!?"},
		{"a listed tier also allows the model of that name when named by provider", View{Key: []string{"twin"}}, "alpha/twin", "twin"},
		{"a key's unknown name", View{Key: []string{"nobody"}}, "a-large", "a-large!"},
		{"requested by the listed name", View{Key: []string{"alpha/large-1"}}, "alpha/large-1", "a-large"},

		{"a project's model", View{Project: &doc.Policy{Models: []string{"a-small"}}}, "fast", "a-small b-large!?"},
		{"both lists", View{Key: []string{"a-large"}, Project: &doc.Policy{Models: []string{"b-large"}}}, "best", "b-large!? a-large!"},
		{"a project with an empty policy", View{Project: &doc.Policy{Version: 4}}, "fast", "a-small b-large?"},

		{"a project's route", View{Project: routeOf("fast", config.Ordered, "a-large", "g-one")}, "fast", "a-large g-one?"},
		{"the route of another tier", View{Project: routeOf("fast", config.Ordered, "a-large")}, "best", "b-large? a-large"},
		{"a route's alias", View{Project: routeOf("fast", config.Ordered, "a-big")}, "fast", "a-large"},
		{"a route with a removed model", View{Project: routeOf("fast", config.Ordered, "gone", "a-large")}, "fast", "a-large"},
		{"a route with an embedding model", View{Project: routeOf("fast", config.Ordered, "a-embed", "a-large")}, "fast", "a-large"},
		{"a route of removed models", View{Project: routeOf("fast", config.Ordered, "gone", "a-embed")}, "fast", "a-small b-large?"},
		{"a route for a removed tier", View{Project: routeOf("a-large", config.Ordered, "a-small")}, "a-large", "a-large"},

		{"a provider key of the project", View{Project: withProviderKey("beta", "m2")}, "best", "b-large=m2 a-large"},
		{"a provider key of the project in place of the deployment's", View{Project: withProviderKey("alpha", "m2")}, "best", "b-large? a-large=m2"},
		{"a provider key of the project whose master key is missing", View{Project: withProviderKey("alpha", "m1")}, "best", "b-large? a-large?=m1"},
		{"a provider key of the project of an account with two wires", View{Project: withProviderKey("gamma", "m2")}, "g-two", "g-two=m2"},
		{"a provider key of the project under the second wire's name", View{Project: withProviderKey("gamma-chat", "m2")}, "g-two", "g-two?"},
		{"a provider key of the project where it cannot be used", View{Project: withProviderKey("house", "m2")}, "h-one", "h-one?=m2"},

		{"development", View{Development: true}, "far", "g-one h-one"},
		{"development with a key's list", View{Development: true, Key: []string{"g-one"}}, "far", "g-one h-one!"},
		{"development with a provider key whose master key is missing", View{Development: true, Project: withProviderKey("alpha", "m1")}, "a-large", "a-large"},

		{"Ready overrides the catalog", View{Ready: func(p *config.Provider) bool { return p.Name == "beta" }}, "best", "b-large a-large?"},
		{"Ready does not override a project's provider key",
			View{Project: withProviderKey("beta", "m1"), Ready: func(p *config.Provider) bool { return p.Name == "beta" }}, "best", "b-large?=m1 a-large?"},
	} {
		c.view.Config = cfg
		targets := c.view.Targets(c.name)
		if got := text(targets); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.about, got, c.want)
		}
		usable := false
		for i := range targets {
			usable = usable || targets[i].Allowed && targets[i].Ready
		}
		if c.view.Usable(c.name) != usable {
			t.Errorf("%s: Usable says %v", c.about, !usable)
		}
	}
}

func TestRouteIsCapped(t *testing.T) {
	cfg := testConfig(t)
	many := make([]string, doc.MaxTargets+3)
	for i := range many {
		many[i] = []string{"a-large", "a-small"}[i%2]
	}
	v := View{Config: cfg, Project: routeOf("fast", config.Cheapest, many...)}
	targets := v.Targets("fast")
	if len(targets) != doc.MaxTargets || targets[doc.MaxTargets-1].Weight != doc.MaxTargets || targets[1].Model.Name != "a-small" {
		t.Errorf("%d targets: %s", len(targets), text(targets))
	}
}

func TestStrategy(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		project *doc.Policy
		name    string
		want    config.Strategy
	}{
		{nil, "fast", config.Weighted},
		{nil, "far", config.Cheapest},
		{nil, "a-large", config.Ordered},
		{nil, "nobody", config.Ordered},
		{routeOf("fast", config.Fastest, "a-large"), "fast", config.Fastest},
		{routeOf("fast", config.Fastest, "a-large"), "far", config.Cheapest},
		{routeOf("fast", config.Fastest, "gone"), "fast", config.Weighted},
	} {
		if got := (&View{Config: cfg, Project: c.project}).Strategy(c.name); got != c.want {
			t.Errorf("%s under %+v: %d, want %d", c.name, c.project, got, c.want)
		}
	}
}

func names(v *View) (shown []string) {
	v.Names(func(name string, m *config.Model) bool {
		if (m == nil) != (v.Config.Tier(name) != nil) {
			panic(name)
		}
		shown = append(shown, name)
		return true
	})
	return shown
}

func TestNames(t *testing.T) {
	cfg := testConfig(t)
	for _, c := range []struct {
		about string
		view  View
		want  string
	}{
		{"only ready models", View{}, "fast best a-large a-small a-embed"},
		{"a key's list", View{Key: []string{"a-small", "best"}}, "fast best a-small"},
		{"a project's list", View{Project: &doc.Policy{Models: []string{"a-big", "a-embed"}}}, "best a-large a-embed"},
		{"the lists of two groups", View{Above: []doc.Restriction{{Models: []string{"a-big", "a-small"}}, {Models: []string{"a-large", "fast"}}}}, "fast best a-large"},
		{"lists at every level", View{
			Key: []string{"a-small", "best"}, Project: &doc.Policy{Models: []string{"a-small", "a-embed"}}, Above: []doc.Restriction{{Models: []string{"a-small", "best"}}},
		}, "fast a-small"},
		{"a provider key of the project", View{Project: withProviderKey("gamma", "m2")}, "fast best far a-large a-small g-one g-two a-embed"},
		{"a missing master key", View{Project: withProviderKey("alpha", "m1")}, ""},
		{"a project's route", View{Project: routeOf("best", config.Ordered, "b-large")}, "fast a-large a-small a-embed"},
		{"development", View{Development: true}, "fast best far twin a-large a-small b-large g-one g-two h-one a-embed"},
	} {
		c.view.Config = cfg
		got := names(&c.view)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.about, got, c.want)
		}
		for _, name := range got {
			if !c.view.Usable(name) {
				t.Errorf("%s: %s is listed but not usable", c.about, name)
			}
		}
		for i := range got {
			stopped := 0
			c.view.Names(func(string, *config.Model) bool { stopped++; return stopped <= i })
			if stopped != i+1 {
				t.Errorf("%s: yield returned false at name %d, Names stopped at %d", c.about, i+1, stopped)
			}
		}
	}
}

func TestKnows(t *testing.T) {
	cfg := testConfig(t)
	for name, want := range map[string][2]bool{ // chat, embedding
		"fast": {true, false}, "a-large": {true, false}, "a-big": {true, false}, "a-embed": {false, true}, "nobody": {false, false},
	} {
		if got := [2]bool{Knows(cfg, name, config.APIChat), Knows(cfg, name, config.APIEmbeddings)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestSelectionRoundTrip checks that a stored selection results in the same targets as its policy for every key.
func TestSelectionRoundTrip(t *testing.T) {
	cfg := testConfig(t)
	policies := []*doc.Policy{
		nil, {}, {Models: []string{"a-small", "best"}}, withProviderKey("gamma", "m2"), withProviderKey("alpha", "m1"),
		routeOf("fast", config.Fastest, "a-large", "gone", "b-large"), routeOf("best", config.Weighted, "gone"),
		registered(doc.Enforce, doc.RegistryRestricted, "a-large", "b-large"), registered(doc.EnforceWarn, doc.RegistryRetired, "a-small"),
		{Registry: []doc.RegistryModel{{Model: "a-large", State: doc.RegistryDeprecated, DeprecatedMs: 5, SunsetMs: 7, Successor: "twin"}}},
	}
	checked := 0
	for _, p := range policies {
		for _, name := range []string{"fast", "best", "far", "twin", "a-large", "g-two", "nobody"} {
			for _, key := range [][]string{nil, {"a-large"}, {"fast"}} {
				checked++
				made, stored := Select(cfg, p, "key_1", name), Selection{}
				var w abi.Writer
				made.Fields(abi.WriteTo(&w), cfg.Models)
				r := abi.Reader{Buf: w.Buf}
				stored.Fields(abi.ReadFrom(&r), cfg.Models)
				if err := r.End(); err != nil || !reflect.DeepEqual(made, stored) {
					t.Fatalf("%v: %+v, was %+v", err, stored, made)
				}
				whole, kept := View{Config: cfg, Key: key, KeyID: "key_1", Project: p}, View{Config: cfg, Key: key}
				if want, got := whole.Targets(name), kept.SelectedTargets(&stored, name); text(got) != text(want) || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s, want %s", name, text(got), text(want))
				}
			}
		}
	}
	if checked != 10*7*3 {
		t.Errorf("%d selections checked", checked)
	}
}

// TestMalformedSelections checks that a selection for another catalog, or a truncated one, is an error.
func TestMalformedSelections(t *testing.T) {
	cfg := testConfig(t)
	p := routeOf("fast", config.Fastest, "a-large", "twin")
	p.Registry = []doc.RegistryModel{{Model: "a-large", State: doc.RegistryDeprecated, Successor: "twin"}}
	s := Select(cfg, p, "", "fast")
	var w abi.Writer
	s.Fields(abi.WriteTo(&w), cfg.Models)
	for _, models := range [][]config.Model{nil, cfg.Models[:2]} {
		var stored Selection
		r := abi.Reader{Buf: w.Buf}
		if stored.Fields(abi.ReadFrom(&r), models); r.End() == nil {
			t.Errorf("decoded with %d models: %+v", len(models), stored)
		}
	}
	for i := range w.Buf {
		var stored Selection
		r := abi.Reader{Buf: w.Buf[:i]}
		if stored.Fields(abi.ReadFrom(&r), cfg.Models); r.End() == nil {
			t.Errorf("%d of %d bytes are decoded: %+v", i, len(w.Buf), stored)
		}
	}
}
