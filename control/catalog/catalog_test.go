package catalog_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/catalog"
	"github.com/postern-ai/postern/test/controltest"
)

func TestCatalog(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	got := b.Must(200, "GET", "/api/admin/catalog", "")
	var view struct {
		Version string
		Plans   []json.RawMessage
		Tiers   []json.RawMessage
		Models  []json.RawMessage
	}
	if err := json.Unmarshal(got.Body.Bytes(), &view); err != nil {
		t.Fatal(err)
	}
	if c := b.Config.Catalog; view.Version != c.PriceVersion || len(view.Plans) != len(c.Plans) || len(view.Tiers) != len(c.Tiers) || len(view.Models) != len(c.Models) {
		t.Errorf("version %s, %d plans, %d tiers, %d models", view.Version, len(view.Plans), len(view.Tiers), len(view.Models))
	}
	want := `{"name":"b-embed","provider":"beta","kind":"embedding","wires":["openai"],"aliases":[],"context":null,"maxOutput":null,"inputPrice":0.02,"outputPrice":0,` +
		`"cachedPrice":0.02,"source":"x","checked":"2026-01-01"}`
	if last := string(view.Models[len(view.Models)-1]); last != want {
		t.Errorf("model %s\nwant %s", last, want)
	}
	if !strings.Contains(got.Body.String(), `"name":"a-cheap","provider":"alpha","kind":"chat","wires":["openai"],"aliases":["cheapo"],"context":null,"maxOutput":null,"inputPrice":0.1,"outputPrice":0.4,`) {
		t.Error("no a-cheap")
	}
	if tier := string(view.Tiers[len(view.Tiers)-1]); tier != `{"name":"best","strategy":"ordered","targets":[{"model":"b-free","weight":0},{"model":"a-costly","weight":0}]}` {
		t.Error(tier)
	}
}

func TestKindsInTheCatalog(t *testing.T) {
	b := controltest.New(t)
	text := b.Must(200, "GET", "/api/admin/catalog", "").Body.String()
	for name, kind := range map[string]string{
		`gpt-4.1","provider":"openai`: "chat", `mistral-embed","provider":"mistral`: "embedding", `omni-moderation-latest","provider":"openai`: "moderation",
	} {
		if want := `"name":"` + name + `","kind":"` + kind + `"`; !strings.Contains(text, want) {
			t.Errorf("the catalog lacks %s", want)
		}
	}
}

func TestPlansInTheCatalog(t *testing.T) {
	b := controltest.New(t)
	text := b.Must(200, "GET", "/api/admin/catalog", "").Body.String()
	for _, plan := range []string{
		`"plans":[{"name":"free","budget":5,`, // the default is first
		`"production":{"requestsPerSecond":10,"requestsPerDay":1000,"tokensPerMinute":5000}`,
		`{"name":"team","budget":100,`,
		`"production":{"requestsPerSecond":50,"requestsPerDay":null,"tokensPerMinute":null}`,
		`"name":"team","budget":100,"concurrent":200,"governor":false,"lease":null,`,
		`"name":"unlimited","budget":1000,"concurrent":1000,"governor":true,"lease":{"ms":2000,"requests":512},`,
	} {
		if !strings.Contains(text, plan) {
			t.Errorf("no %s in %.600s", plan, text)
		}
	}
	// Every plan in the catalog can be selected.
	var view struct{ Plans []struct{ Name string } }
	if err := json.Unmarshal([]byte(text), &view); err != nil {
		t.Fatal(err)
	}
	for _, plan := range view.Plans {
		b.Must(201, "POST", "/api/admin/projects", `{"name":"x","plan":"`+plan.Name+`"}`)
	}
}

func providerEntry(t *testing.T, got controltest.Reply, name string) string {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(controltest.Field(got, "providers")), &list); err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		if strings.HasPrefix(string(entry), `{"name":"`+name+`",`) {
			return string(entry)
		}
	}
	return "none"
}

func TestProviders(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	unseen := b.Must(200, "GET", "/api/admin/providers", "")
	if controltest.Field(unseen, "observed") != "false" || providerEntry(t, unseen, "alpha") != `{"name":"alpha","wire":"openai","wires":["openai"],"ready":null,"models":[]}` {
		t.Error(unseen.Body)
	}
	if n := len(unseen.Fields["providers"].([]any)); n != len(b.Config.Catalog.Providers) {
		t.Errorf("%d providers", n)
	}
	seen := b.Do("GET", "/api/admin/providers", "", catalog.HealthHeader, `{"ready":["alpha"],"targets":[{"model":"a-costly","state":"open","latencyMs":0},{"model":"nobody","state":"open"}]}`)
	for name, want := range map[string]string{
		"alpha": `{"name":"alpha","wire":"openai","wires":["openai"],"ready":true,"models":[{"model":"a-costly","state":"open","latencyMs":null}]}`,
		"beta":  `{"name":"beta","wire":"openai","wires":["openai"],"ready":false,"models":[]}`,
	} {
		if got := providerEntry(t, seen, name); got != want || controltest.Field(seen, "observed") != "true" {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// An invalid header is ignored and causes no error.
func TestInvalidProviderHealth(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	path := b.Project()
	for _, header := range []string{
		" ", "null x", "5", "[]", `"ready"`, `{"ready":5}`, `{"targets":[5]}`, `{"targets":[{"latencyMs":-1}]}`, strings.Repeat("a", 33<<10),
		`{"ready":["` + strings.Repeat("a", 33<<10) + `"]}`, `{"ready":["alpha"]`, "\xff",
	} {
		got := b.Do("GET", "/api/admin/providers", "", catalog.HealthHeader, header)
		if got.Code != 200 || controltest.Field(got, "observed") != "false" {
			t.Errorf("%.40q: %d %.200s", header, got.Code, got.Body)
		}
		if got := b.Do("GET", path+"/routes", "", catalog.HealthHeader, header); got.Code != 200 || strings.Contains(got.Body.String(), `"ready":true`) {
			t.Errorf("%.40q: %d", header, got.Code)
		}
	}
}

// A host may split a long header into parts.
func TestProviderHealthInParts(t *testing.T) {
	whole := controltest.NewRequest(catalog.HealthHeader, healthOfAlpha)
	parts := controltest.NewRequest()
	for part := range strings.SplitSeq(healthOfAlpha, ",") {
		parts.Header.Add(catalog.HealthHeader, part)
	}
	if a, b := catalog.ReadHealth(whole), catalog.ReadHealth(parts); a == nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, in parts %+v", a, b)
	}
}
