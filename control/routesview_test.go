package control

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

const sightOfAlpha = `{"ready":["alpha"],"targets":[{"model":"a-dear","state":"open","latencyMs":50},{"model":"a-cheap","state":"closed","latencyMs":900}]}`

func TestRoutesView(t *testing.T) {
	b := routedCatalog(t)
	path := b.project()
	const (
		dear  = `{"model":"a-dear","provider":"alpha","weight":%d,"share":%s,"inputPrice":3,"outputPrice":15,"allowed":true,"ready":%s,"state":%s}`
		cheap = `{"model":"a-cheap","provider":"alpha","weight":%d,"share":%s,"inputPrice":0.1,"outputPrice":0.4,"allowed":true,"ready":%s,"state":%s}`
		free  = `{"model":"b-free","provider":"beta","weight":%d,"share":%s,"inputPrice":0,"outputPrice":0,"allowed":true,"ready":%s,"state":%s}`
	)
	tier := func(name, strategy, source string, targets ...string) string {
		return fmt.Sprintf(`{"name":%q,"strategy":%q,"source":%q,"targets":[%s]}`, name, strategy, source, strings.Join(targets, ","))
	}
	best := tier("best", "ordered", "catalog", fmt.Sprintf(free, 0, "null", "null", "null"), fmt.Sprintf(dear, 0, "null", "null", "null"))
	fast := tier("fast", "weighted", "catalog", fmt.Sprintf(cheap, 3, "0.75", "null", "null"), fmt.Sprintf(dear, 1, "0.25", "null", "null"))
	b.routesAre(path, "", fast, best)
	b.must(200, "PATCH", path, `{"routes":{"fast":{"strategy":"fastest","targets":[{"model":"b-free"},{"model":"a-cheap"},{"model":"a-dear"}]},`+
		`"best":{"strategy":"cheapest","targets":[{"model":"a-dear"},{"model":"a-cheap","weight":0},{"model":"b-free"}]}}}`)
	b.routesAre(path, sightOfAlpha,
		tier("fast", "fastest", "project", fmt.Sprintf(free, 1, "null", "false", "null"), fmt.Sprintf(dear, 1, "null", "true", `"open"`), fmt.Sprintf(cheap, 1, "null", "true", `"closed"`)),
		tier("best", "cheapest", "project", fmt.Sprintf(free, 1, "null", "false", "null"), fmt.Sprintf(cheap, 0, "null", "true", `"closed"`), fmt.Sprintf(dear, 1, "null", "true", `"open"`)))
	b.must(200, "PATCH", path, `{"routes":{"fast":{"targets":[{"model":"b-free","weight":0},{"model":"a-cheap","weight":0}]}}}`)
	b.routesAre(path, "", tier("fast", "weighted", "project", fmt.Sprintf(free, 0, "null", "null", "null"), fmt.Sprintf(cheap, 0, "null", "null", "null")), best)
}

// routesAre compares the view with two tiers; the catalog's own come before them.
func (b *bench) routesAre(path, sight string, tiers ...string) {
	b.Helper()
	got := b.do("GET", path+"/routes", "", sightHeader, sight)
	if want := strings.Join(tiers, ",") + "]}"; got.Code != 200 || !strings.HasSuffix(got.Body.String(), want) {
		b.Errorf("got %d %s\nwant …%s", got.Code, got.Body, want)
	}
}

// A model that the catalog has no more is left out; the project's own key makes its provider ready.
func TestRoutesViewAfterTheCatalogChanged(t *testing.T) {
	b := routedCatalog(t)
	b.masters = "k1:" + strings.Repeat("A", 43) + "="
	path := b.project()
	b.must(200, "PATCH", path, `{"routes":{"fast":{"targets":[{"model":"b-free"},{"model":"a-dear"}]}}}`)
	b.must(200, "PUT", path+"/provider-keys/beta", `{"key":"sk-of-the-project"}`)
	got := b.do("GET", path+"/routes", "", sightHeader, `{"ready":[],"targets":[]}`)
	if !strings.Contains(got.Body.String(), `"model":"b-free","provider":"beta","weight":1,"share":1,"inputPrice":0,"outputPrice":0,"allowed":true,"ready":true,`) {
		t.Error(got.Body)
	}
	b.handler.(*handler).Catalog.Models = b.handler.(*handler).Catalog.Models[:len(b.handler.(*handler).Catalog.Models)-2]
	if got := b.must(200, "GET", path+"/routes", ""); strings.Contains(got.Body.String(), "b-free\",\"provider\":\"beta\",\"weight\":1") {
		t.Error(got.Body)
	}
}

// heldCatalog is the tests' catalog with every kind of provider that readiness depends on.
const heldCatalog = `{"providers":[
		{"name":"alpha","wire":"openai","baseUrl":"https://alpha.example/v1","keyEnv":"ALPHA_KEY"},
		{"name":"beta","wire":"openai","baseUrl":"https://beta.example/v1","keyEnv":"BETA_KEY"},
		{"name":"gamma","wire":"responses","baseUrl":"https://gamma.example/v1","keyEnv":"GAMMA_KEY"},
		{"name":"gamma-chat","wire":"openai","baseUrl":"https://gamma.example/v1","keyEnv":"GAMMA_KEY"},
		{"name":"house","wire":"openai","baseUrl":"https://house.example/v1","keyEnv":"HOUSE_KEY","deploymentKey":true}],
	"models":[
		{"name":"a-dear","provider":"alpha","upstream":"dear","input":"3","output":"15"},
		{"name":"a-cheap","provider":"alpha","aliases":["cheapo"],"input":"0.1","output":"0.4"},
		{"name":"b-free","provider":"beta","input":"0","output":"0"},
		{"name":"g-one","provider":"gamma","input":"1","output":"1"},
		{"name":"g-two","provider":"gamma-chat","input":"1","output":"2"},
		{"name":"h-one","provider":"house","input":"1","output":"1"},
		{"name":"a-embed","provider":"alpha","kind":"embedding","input":"0.02"}],
	"tiers":[
		{"name":"fast","strategy":"weighted","targets":[{"model":"a-dear","weight":1},{"model":"b-free","weight":2},{"model":"a-cheap","weight":3}]},
		{"name":"best","strategy":"ordered","targets":[{"model":"b-free"},{"model":"a-dear"}]},
		{"name":"far","strategy":"cheapest","targets":[{"model":"g-two"},{"model":"g-one"},{"model":"h-one"}]}]}`

// gatewaysConfig is what the gateway makes of a deployment that has alpha's key and the master key m2.
func gatewaysConfig(t *testing.T, masters string) *config.Config {
	t.Helper()
	parsed, wrong := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{
		{Name: config.EnvCatalog, Value: heldCatalog}, {Name: "ALPHA_KEY", Value: "sk-alpha"}, {Name: config.EnvMasterKeys, Value: masters},
	}})
	if wrong != "" {
		t.Fatal(wrong)
	}
	return parsed
}

// gatewaysSight is the header that it sends along.
func gatewaysSight(t *testing.T, cfg *config.Config) *sight {
	t.Helper()
	s := sight{Ready: []string{}, Targets: []targetSight{{Model: "a-cheap", State: "closed", LatencyMs: 90}, {Model: "b-free", State: "open", LatencyMs: 30}}}
	for _, p := range cfg.Providers {
		if p.Ready {
			s.Ready = append(s.Ready, p.Name)
		}
	}
	return &s
}

var heldPolicies = map[string]doc.Policy{
	"none":                                {},
	"models":                              {Models: []string{"a-cheap", "b-free"}},
	"a model by its alias":                {Models: []string{"cheapo"}},
	"a model by its provider":             {Models: []string{"alpha/dear"}},
	"a tier":                              {Models: []string{"best"}},
	"an embedding model":                  {Models: []string{"a-embed"}},
	"nothing that there is":               {Models: []string{"nobody"}},
	"a route":                             {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Fastest), Targets: heldTargets("a-dear", "a-cheap", "b-free")}}},
	"a route by weight":                   {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Weighted), Targets: heldTargets("b-free", "a-dear", "a-cheap")}}},
	"a route by alias":                    {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Ordered), Targets: heldTargets("cheapo", "alpha/dear")}}},
	"a route, some of which left":         {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Cheapest), Targets: heldTargets("gone", "a-dear")}}},
	"a route, all of which left":          {Routes: []doc.Route{{Tier: "fast", Strategy: uint8(config.Ordered), Targets: heldTargets("gone", "left")}}},
	"a route of embedding models":         {Routes: []doc.Route{{Tier: "fast", Strategy: uint8(config.Ordered), Targets: heldTargets("a-embed")}}},
	"a route that the project forbids":    {Models: []string{"b-free"}, Routes: []doc.Route{{Tier: "fast", Targets: heldTargets("a-dear", "b-free")}}},
	"a route for what is no tier":         {Routes: []doc.Route{{Tier: "a-dear", Targets: heldTargets("b-free")}}},
	"an own key":                          {ProviderKeys: []doc.ProviderKey{{Provider: "beta", KeyID: "m2"}}},
	"an own key in the deployment's":      {ProviderKeys: []doc.ProviderKey{{Provider: "alpha", KeyID: "m2"}}},
	"a master key that is gone":           {ProviderKeys: []doc.ProviderKey{{Provider: "alpha", KeyID: "m1"}}},
	"an account of two wires":             {ProviderKeys: []doc.ProviderKey{{Provider: "gamma", KeyID: "m2"}}},
	"a lost account of two wires":         {ProviderKeys: []doc.ProviderKey{{Provider: "gamma", KeyID: "m1"}}},
	"an own key that cannot be used":      {ProviderKeys: []doc.ProviderKey{{Provider: "house", KeyID: "m2"}}},
	"an own key on a wire of its own":     {ProviderKeys: []doc.ProviderKey{{Provider: "gamma-chat", KeyID: "m2"}}},
	"own keys and a route and a list":     {Models: []string{"g-one", "far"}, Routes: []doc.Route{{Tier: "far", Strategy: uint8(config.Weighted), Targets: heldTargets("g-one", "b-free")}}, ProviderKeys: []doc.ProviderKey{{Provider: "gamma", KeyID: "m2"}, {Provider: "beta", KeyID: "m1"}}},
	"own keys for all, whose master left": {ProviderKeys: []doc.ProviderKey{{Provider: "alpha", KeyID: "m0"}, {Provider: "beta", KeyID: "m0"}, {Provider: "gamma", KeyID: "m0"}}},
}

func heldTargets(models ...string) (targets []doc.RouteTarget) {
	for i, m := range models {
		targets = append(targets, doc.RouteTarget{Model: m, Weight: uint64(len(models) - i)})
	}
	return targets
}

// The dashboard shows what the gateway does: what control says of a project, which knows neither credentials nor
// circuits, is what core/policy says with the gateway's configuration.
func TestControlSeesWhatTheGatewayDoes(t *testing.T) {
	masters := "m2:" + strings.Repeat("A", 43) + "="
	gateway := gatewaysConfig(t, masters)
	seen := gatewaysSight(t, gateway)
	header, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	different := map[string]bool{}
	for about, p := range heldPolicies {
		b := newBench(t)
		b.masters = masters
		b.handler.(*handler).Catalog = parseCatalog(heldCatalog)
		path := b.project()
		b.setPolicy(path, p)
		var view struct{ Tiers []tierView }
		got := b.do("GET", path+"/routes", "", sightHeader, string(header))
		if err := json.Unmarshal(got.Body.Bytes(), &view); err != nil || len(view.Tiers) != len(gateway.Tiers) {
			t.Fatalf("%s: %v %s", about, err, got.Body)
		}
		truth := policy.View{Config: gateway, Project: &p}
		for _, tier := range view.Tiers {
			if have, want := controlSays(&tier), policySays(&truth, tier.Name, seen); have != want {
				t.Errorf("%s: control says %s\nthe gateway %s", about, have, want)
			}
			different[controlSays(&tier)] = true
		}
		for _, v := range []struct {
			key         []string
			development bool
		}{{nil, false}, {[]string{"cheapo", "far"}, false}, {nil, true}, {[]string{"best"}, true}} {
			truth := policy.View{Config: gateway, Project: &p, Key: v.key, Development: v.development}
			mine := b.handler.(*handler).viewOf(&p, seen)
			mine.Key, mine.Development = v.key, v.development
			if have, want := shownNames(mine), shownNames(&truth); !reflect.DeepEqual(have, want) {
				t.Errorf("%s, %+v: control shows %q, the gateway %q", about, v, have, want)
			}
		}
	}
	if len(different) < len(heldPolicies) {
		t.Errorf("%d policies make only %d different tiers", len(heldPolicies), len(different))
	}
}

// setPolicy puts a policy into a project as if it had been made before the catalog and the keys were what they are.
func (b *bench) setPolicy(path string, p doc.Policy) {
	b.Helper()
	h := b.handler.(*handler)
	stored, err := h.store.project(b.Context(), strings.TrimPrefix(path, "/api/admin/projects/"))
	if err != nil {
		b.Fatal(err)
	}
	changed := next(stored)
	changed.Policy = p
	if held, err := h.store.commit(b.Context(), change{writes: []directory.Write{writeProject(&changed)}}); err != nil || !held {
		b.Fatal(held, err)
	}
}

func controlSays(tier *tierView) string {
	said := tier.Name + " " + tier.Strategy + " " + tier.Source
	for _, target := range tier.Targets {
		said += fmt.Sprintf(" %s/%s:%d allowed=%v ready=%v share=%v", target.Provider, target.Model, target.Weight, target.Allowed, *target.Ready, target.Share != nil && *target.Share > 0)
	}
	return said
}

func policySays(v *policy.View, name string, seen *sight) string {
	strategy, targets, source := v.Strategy(name), v.Targets(name), "catalog"
	if policy.Select(v.Config, v.Project, name).Routed {
		source = "project"
	}
	said := name + " " + translate(strategy, strategies, strategyWords) + " " + source
	for _, c := range policy.Expected(strategy, targets, func(model string) uint64 {
		at := slices.IndexFunc(seen.Targets, func(s targetSight) bool { return s.Model == model })
		if at < 0 {
			return 0
		}
		return seen.Targets[at].LatencyMs
	}) {
		drawn := strategy == config.Weighted && c.DrawWeight() > 0
		said += fmt.Sprintf(" %s/%s:%d allowed=%v ready=%v share=%v", c.Model.Provider.Name, c.Model.Name, c.Weight, c.Allowed, c.Ready, drawn)
	}
	return said
}

func shownNames(v *policy.View) (names []string) {
	v.Names(func(name string, _ *config.Model) bool { names = append(names, name); return true })
	return names
}
