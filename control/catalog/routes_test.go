package catalog_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/catalog"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/test/controltest"

	builtin "github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

const healthOfAlpha = `{"ready":["alpha"],"targets":[{"model":"a-costly","state":"open","latencyMs":50},{"model":"a-cheap","state":"closed","latencyMs":900}]}`

func TestRoutesView(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	path := b.Project()
	const (
		costly = `{"model":"a-costly","provider":"alpha","weight":%d,"share":%s,"inputPrice":3,"outputPrice":15,"allowed":true,"ready":%s,"state":%s}`
		cheap  = `{"model":"a-cheap","provider":"alpha","weight":%d,"share":%s,"inputPrice":0.1,"outputPrice":0.4,"allowed":true,"ready":%s,"state":%s}`
		free   = `{"model":"b-free","provider":"beta","weight":%d,"share":%s,"inputPrice":0,"outputPrice":0,"allowed":true,"ready":%s,"state":%s}`
	)
	tier := func(name, strategy, source string, targets ...string) string {
		return fmt.Sprintf(`{"name":%q,"strategy":%q,"source":%q,"targets":[%s]}`, name, strategy, source, strings.Join(targets, ","))
	}
	best := tier("best", "ordered", "catalog", fmt.Sprintf(free, 0, "null", "null", "null"), fmt.Sprintf(costly, 0, "null", "null", "null"))
	fast := tier("fast", "weighted", "catalog", fmt.Sprintf(cheap, 3, "0.75", "null", "null"), fmt.Sprintf(costly, 1, "0.25", "null", "null"))
	routesAre(b, path, "", fast, best)
	b.Must(200, "PATCH", path, `{"routes":{"fast":{"strategy":"fastest","targets":[{"model":"b-free"},{"model":"a-cheap"},{"model":"a-costly"}]},`+
		`"best":{"strategy":"cheapest","targets":[{"model":"a-costly"},{"model":"a-cheap","weight":0},{"model":"b-free"}]}}}`)
	routesAre(b, path, healthOfAlpha,
		tier("fast", "fastest", "project", fmt.Sprintf(free, 1, "null", "false", "null"), fmt.Sprintf(costly, 1, "null", "true", `"open"`), fmt.Sprintf(cheap, 1, "null", "true", `"closed"`)),
		tier("best", "cheapest", "project", fmt.Sprintf(free, 1, "null", "false", "null"), fmt.Sprintf(cheap, 0, "null", "true", `"closed"`), fmt.Sprintf(costly, 1, "null", "true", `"open"`)))
	b.Must(200, "PATCH", path, `{"routes":{"fast":{"targets":[{"model":"b-free","weight":0},{"model":"a-cheap","weight":0}]}}}`)
	routesAre(b, path, "", tier("fast", "weighted", "project", fmt.Sprintf(free, 0, "null", "null", "null"), fmt.Sprintf(cheap, 0, "null", "null", "null")), best)
}

// routesAre compares the last two tiers of a response with the expected ones. The catalog's own tiers come before
// them.
func routesAre(b *controltest.Bench, path, health string, tiers ...string) {
	b.Helper()
	got := b.Do("GET", path+"/routes", "", catalog.HealthHeader, health)
	if want := strings.Join(tiers, ",") + "]}"; got.Code != 200 || !strings.HasSuffix(got.Body.String(), want) {
		b.Errorf("got %d %s\nwant …%s", got.Code, got.Body, want)
	}
}

// A model that was removed from the catalog is omitted. A project's own key for a provider makes that provider ready.
func TestRoutesViewAfterTheCatalogChanged(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	b.Masters = "k1:" + strings.Repeat("A", 43) + "="
	path := b.Project()
	b.Must(200, "PATCH", path, `{"routes":{"fast":{"targets":[{"model":"b-free"},{"model":"a-costly"}]}}}`)
	b.Must(200, "PUT", path+"/provider-keys/beta", `{"key":"sk-of-the-project"}`)
	got := b.Do("GET", path+"/routes", "", catalog.HealthHeader, `{"ready":[],"targets":[]}`)
	if !strings.Contains(got.Body.String(), `"model":"b-free","provider":"beta","weight":1,"share":1,"inputPrice":0,"outputPrice":0,"allowed":true,"ready":true,`) {
		t.Error(got.Body)
	}
	b.Config.Catalog.Models = b.Config.Catalog.Models[:len(b.Config.Catalog.Models)-2]
	if got := b.Must(200, "GET", path+"/routes", ""); strings.Contains(got.Body.String(), "b-free\",\"provider\":\"beta\",\"weight\":1") {
		t.Error(got.Body)
	}
}

// parityCatalog is a catalog with one provider for each rule about readiness.
const parityCatalog = `{"providers":[
		{"name":"alpha","wire":"openai","baseUrl":"https://alpha.example/v1","keyEnv":"ALPHA_KEY"},
		{"name":"beta","wire":"openai","baseUrl":"https://beta.example/v1","keyEnv":"BETA_KEY"},
		{"name":"gamma","wire":"responses","baseUrl":"https://gamma.example/v1","keyEnv":"GAMMA_KEY"},
		{"name":"gamma-chat","wire":"openai","baseUrl":"https://gamma.example/v1","keyEnv":"GAMMA_KEY"},
		{"name":"house","wire":"openai","baseUrl":"https://house.example/v1","keyEnv":"HOUSE_KEY","deploymentKey":true}],
	"models":[
		{"name":"a-costly","provider":"alpha","upstream":"costly","input":"3","output":"15"},
		{"name":"a-cheap","provider":"alpha","aliases":["cheapo"],"input":"0.1","output":"0.4"},
		{"name":"b-free","provider":"beta","input":"0","output":"0"},
		{"name":"g-one","provider":"gamma","input":"1","output":"1"},
		{"name":"g-two","provider":"gamma-chat","input":"1","output":"2"},
		{"name":"h-one","provider":"house","input":"1","output":"1"},
		{"name":"a-embed","provider":"alpha","kind":"embedding","input":"0.02"}],
	"tiers":[
		{"name":"fast","strategy":"weighted","targets":[{"model":"a-costly","weight":1},{"model":"b-free","weight":2},{"model":"a-cheap","weight":3}]},
		{"name":"best","strategy":"ordered","targets":[{"model":"b-free"},{"model":"a-costly"}]},
		{"name":"far","strategy":"cheapest","targets":[{"model":"g-two"},{"model":"g-one"},{"model":"h-one"}]}]}`

// gatewayConfig returns the gateway's configuration with alpha's key and the given master keys.
func gatewayConfig(t *testing.T, masters string) *config.Config {
	t.Helper()
	parsed, problem := config.Parse(abi.Config{Catalog: builtin.Default, Env: []abi.Header{
		{Name: config.EnvCatalog, Value: parityCatalog}, {Name: "ALPHA_KEY", Value: "sk-alpha"}, {Name: config.EnvMasterKeys, Value: masters},
	}})
	if problem != "" {
		t.Fatal(problem)
	}
	return parsed
}

func gatewayHealth(t *testing.T, cfg *config.Config) *catalog.Health {
	t.Helper()
	s := catalog.Health{Ready: []string{}, Targets: []catalog.TargetHealth{{Model: "a-cheap", State: "closed", LatencyMs: 90}, {Model: "b-free", State: "open", LatencyMs: 30}}}
	for _, p := range cfg.Providers {
		if p.Ready {
			s.Ready = append(s.Ready, p.Name)
		}
	}
	return &s
}

var parityPolicies = map[string]doc.Policy{
	"none":                                        {},
	"models":                                      {Models: []string{"a-cheap", "b-free"}},
	"a model by its alias":                        {Models: []string{"cheapo"}},
	"a model by its provider":                     {Models: []string{"alpha/costly"}},
	"a tier":                                      {Models: []string{"best"}},
	"an embedding model":                          {Models: []string{"a-embed"}},
	"an unknown model":                            {Models: []string{"nobody"}},
	"a route":                                     {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Fastest), Targets: parityTargets("a-costly", "a-cheap", "b-free")}}},
	"a route by weight":                           {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Weighted), Targets: parityTargets("b-free", "a-costly", "a-cheap")}}},
	"a route by alias":                            {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Ordered), Targets: parityTargets("cheapo", "alpha/costly")}}},
	"a route with a removed model":                {Routes: []doc.Route{{Tier: "best", Strategy: uint8(config.Cheapest), Targets: parityTargets("removed", "a-costly")}}},
	"a route of removed models":                   {Routes: []doc.Route{{Tier: "fast", Strategy: uint8(config.Ordered), Targets: parityTargets("removed", "deleted")}}},
	"a route of embedding models":                 {Routes: []doc.Route{{Tier: "fast", Strategy: uint8(config.Ordered), Targets: parityTargets("a-embed")}}},
	"a route with a forbidden model":              {Models: []string{"b-free"}, Routes: []doc.Route{{Tier: "fast", Targets: parityTargets("a-costly", "b-free")}}},
	"a route for an unknown tier":                 {Routes: []doc.Route{{Tier: "a-costly", Targets: parityTargets("b-free")}}},
	"an own key":                                  {ProviderKeys: []doc.ProviderKey{{Provider: "beta", KeyID: "m2"}}},
	"an own key besides the deployment's":         {ProviderKeys: []doc.ProviderKey{{Provider: "alpha", KeyID: "m2"}}},
	"a removed master key":                        {ProviderKeys: []doc.ProviderKey{{Provider: "alpha", KeyID: "m1"}}},
	"an account of two wires":                     {ProviderKeys: []doc.ProviderKey{{Provider: "gamma", KeyID: "m2"}}},
	"an account of two wires, removed master key": {ProviderKeys: []doc.ProviderKey{{Provider: "gamma", KeyID: "m1"}}},
	"an own key that is not accepted":             {ProviderKeys: []doc.ProviderKey{{Provider: "house", KeyID: "m2"}}},
	"an own key for one of two wires":             {ProviderKeys: []doc.ProviderKey{{Provider: "gamma-chat", KeyID: "m2"}}},
	"own keys, a route and a list":                {Models: []string{"g-one", "far"}, Routes: []doc.Route{{Tier: "far", Strategy: uint8(config.Weighted), Targets: parityTargets("g-one", "b-free")}}, ProviderKeys: []doc.ProviderKey{{Provider: "gamma", KeyID: "m2"}, {Provider: "beta", KeyID: "m1"}}},
	"own keys for all, removed master key":        {ProviderKeys: []doc.ProviderKey{{Provider: "alpha", KeyID: "m0"}, {Provider: "beta", KeyID: "m0"}, {Provider: "gamma", KeyID: "m0"}}},
}

func parityTargets(models ...string) (targets []doc.RouteTarget) {
	for i, m := range models {
		targets = append(targets, doc.RouteTarget{Model: m, Weight: uint64(len(models) - i)})
	}
	return targets
}

// The dashboard must show the gateway's actual routing. The control plane knows neither credentials nor circuit
// breakers. Its result must still be that of core/policy with the gateway's configuration.
func TestRoutesViewMatchesGateway(t *testing.T) {
	masters := "m2:" + strings.Repeat("A", 43) + "="
	gateway := gatewayConfig(t, masters)
	health := gatewayHealth(t, gateway)
	header, err := json.Marshal(health)
	if err != nil {
		t.Fatal(err)
	}
	different := map[string]bool{}
	for name, p := range parityPolicies {
		b := controltest.New(t)
		b.Masters = masters
		b.Configure(func(c *kernel.Config) { c.Catalog = controltest.ParseCatalog(parityCatalog) })
		path := b.Project()
		setPolicy(b, path, p)
		var view struct{ Tiers []catalog.TierView }
		got := b.Do("GET", path+"/routes", "", catalog.HealthHeader, string(header))
		if err := json.Unmarshal(got.Body.Bytes(), &view); err != nil || len(view.Tiers) != len(gateway.Tiers) {
			t.Fatalf("%s: %v %s", name, err, got.Body)
		}
		expected := policy.View{Config: gateway, Project: &p}
		for _, tier := range view.Tiers {
			if have, want := controlView(&tier), policyResult(&expected, tier.Name, health); have != want {
				t.Errorf("%s: control has %s\nthe gateway %s", name, have, want)
			}
			different[controlView(&tier)] = true
		}
		for _, v := range []struct {
			key         []string
			development bool
		}{{nil, false}, {[]string{"cheapo", "far"}, false}, {nil, true}, {[]string{"best"}, true}} {
			expected := policy.View{Config: gateway, Project: &p, Key: v.key, Development: v.development}
			actual := catalog.PolicyView(kernel.NewPlane(b.Config), &p, health)
			actual.Key, actual.Development = v.key, v.development
			if have, want := shownNames(actual), shownNames(&expected); !reflect.DeepEqual(have, want) {
				t.Errorf("%s, %+v: control shows %q, the gateway %q", name, v, have, want)
			}
		}
	}
	if len(different) < len(parityPolicies) {
		t.Errorf("%d policies result in only %d different tiers", len(parityPolicies), len(different))
	}
}

// setPolicy stores a policy without validation. A stored policy can be invalid if the catalog or the master keys have
// changed since it was stored.
func setPolicy(b *controltest.Bench, path string, p doc.Policy) {
	b.Helper()
	changed := kernel.NextProject(b.Stored(path))
	changed.Policy = p
	b.Commit(kernel.WriteProject(&changed))
}

func controlView(tier *catalog.TierView) string {
	text := tier.Name + " " + tier.Strategy + " " + tier.Source
	for _, target := range tier.Targets {
		text += fmt.Sprintf(" %s/%s:%d allowed=%v ready=%v share=%v", target.Provider, target.Model, target.Weight, target.Allowed, *target.Ready, target.Share != nil && *target.Share > 0)
	}
	return text
}

func policyResult(v *policy.View, name string, health *catalog.Health) string {
	strategy, targets, source := v.Strategy(name), v.Targets(name), "catalog"
	if policy.Select(v.Config, v.Project, v.KeyID, name).Routed {
		source = "project"
	}
	text := name + " " + kernel.Translate(strategy, settings.Strategies, settings.StrategyWords) + " " + source
	for _, c := range policy.Expected(strategy, targets, func(model string) uint64 {
		at := slices.IndexFunc(health.Targets, func(s catalog.TargetHealth) bool { return s.Model == model })
		if at < 0 {
			return 0
		}
		return health.Targets[at].LatencyMs
	}) {
		drawn := strategy == config.Weighted && c.DrawWeight() > 0
		text += fmt.Sprintf(" %s/%s:%d allowed=%v ready=%v share=%v", c.Model.Provider.Name, c.Model.Name, c.Weight, c.Allowed, c.Ready, drawn)
	}
	return text
}

func shownNames(v *policy.View) (names []string) {
	v.Names(func(name string, _ *config.Model) bool { names = append(names, name); return true })
	return names
}
