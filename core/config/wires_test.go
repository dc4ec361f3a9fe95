package config_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

const wiresCatalog = `{"version":"1","defaultPlan":"p","routing":{"requestMs":1000},"plans":[{"name":"p","budget":"1"}],
 "renamed":{"old":{"provider":"a","wire":"responses"}},
 "providers":[{"name":"a","wire":"openai","baseUrlEnv":"A_URL","keyEnv":"A_KEY","drops":["n"],
   "wires":[{"name":"responses","drops":["seed"]},{"name":"anthropic","path":"/anthropic/v1","noTools":true}]},
  {"name":"b","wire":"openai","baseUrl":"https://b.example"}],
 "tools":[{"name":"search","wires":["responses","anthropic"],"price":"0","source":"s","date":"2026-01"},
  {"name":"own","providers":["old"],"price":"0","source":"s","date":"2026-01"}],
 "models":[{"name":"all","provider":"a","input":"1","output":"1"},
  {"name":"pro","provider":"a","wires":["responses"],"input":"1","output":"1"},
  {"name":"swapped","provider":"a","wires":["anthropic","openai"],"input":"1","output":"1"},
  {"name":"former","provider":"old","input":"1","output":"1"},
  {"name":"vectors","kind":"embedding","provider":"a","input":"1"},
  {"name":"plain","provider":"b","input":"1","output":"1"}]}`

func parseWires(t *testing.T, url, overlay string) *config.Config {
	t.Helper()
	c, problem := config.Parse(abi.Config{Catalog: []byte(wiresCatalog), Env: []abi.Header{
		{Name: "A_URL", Value: url}, {Name: "A_KEY", Value: "secret"}, {Name: config.EnvCatalog, Value: overlay},
	}})
	if problem != "" {
		t.Fatal(problem)
	}
	return c
}

func TestWiresOfModels(t *testing.T) {
	c := parseWires(t, "https://a.example/v1/", "")
	for name, want := range map[string]string{
		"all": "openai responses anthropic", "pro": "responses", "swapped": "anthropic openai", "former": "responses", "vectors": "openai",
		"plain": "openai",
	} {
		m := c.Model(name)
		if got := strings.Join(m.Wires(), " "); got != want {
			t.Errorf("%s has the wires %s, want %s", name, got, want)
		}
	}
	all := c.Model("all")
	for i, want := range []struct{ url, home string }{{"https://a.example/v1", "openai"}, {"https://a.example/anthropic/v1", "openai"}} {
		if p := all.Others[i]; p.BaseURL != want.url || p.Home != want.home || p.Name != "a" || p.Key != "secret" || !p.Ready || p.Account != "a" {
			t.Errorf("%+v, want %v", p, want)
		}
	}
	if all.Provider.Drops == all.Others[0].Drops || all.Others[0].Drops == 0 || all.Others[1].Drops != 0 {
		t.Error("the parameters that a wire does not support are not its own")
	}
	for i, want := range []bool{false, true, false} {
		if got := c.Tool(append([]*config.Provider{all.Provider}, all.Others...)[i], "search") != nil; got != want {
			t.Errorf("wire %d has the tool: %v", i, got)
		}
	}
	if c.Tool(all.Provider, "own") == nil {
		t.Error("a tool of the provider's earlier name is lost")
	}
}

// TestPathNeedsTheVersion: a base URL that has no place for a wire's path must not lead to another host or path.
func TestPathNeedsTheVersion(t *testing.T) {
	for url, want := range map[string]string{
		"https://a.example/v1": "openai responses anthropic", "https://a.example/v2": "openai responses", "https://a.example": "openai responses",
		"": "openai responses anthropic",
	} {
		catalog := strings.ReplaceAll(wiresCatalog, `"anthropic","openai"`, `"openai"`)
		c, problem := config.Parse(abi.Config{Catalog: []byte(catalog), Env: []abi.Header{{Name: "A_URL", Value: url}}})
		if problem != "" {
			t.Fatal(problem)
		}
		if got := strings.Join(c.Model("all").Wires(), " "); got != want {
			t.Errorf("%q: %s, want %s", url, got, want)
		}
		if got := c.Model("all").Provider.Further; len(got)+1 != len(strings.Fields(want)) {
			t.Errorf("%q: the provider has %v", url, got)
		}
	}
	if _, problem := config.Parse(abi.Config{Catalog: []byte(wiresCatalog), Env: []abi.Header{{Name: "A_URL", Value: "https://a.example"}}}); problem !=
		`catalog: model swapped has the wire "anthropic", for which the base URL of provider a must end with /v1` {
		t.Error(problem)
	}
}

func TestRenamedProviders(t *testing.T) {
	c := parseWires(t, "https://a.example/v1", "")
	for name, want := range map[string]string{"old/pro": "pro", "a/pro": "pro", "old/all": "all", "old/plain": "", "b/all": "", "older/pro": ""} {
		got := ""
		if m := c.Model(name); m != nil {
			got = m.Name
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	own := parseWires(t, "https://a.example/v1", `{"providers":[{"name":"old","wire":"responses","baseUrl":"https://own.example"}]}`)
	for name, want := range map[string]string{"pro": "https://own.example", "old/pro": "https://own.example", "former": "https://own.example", "all": "https://a.example/v1"} {
		if got := own.Model(name).Provider.BaseURL; got != want {
			t.Errorf("%s is at %s, want %s", name, got, want)
		}
	}
	if own.Model("a/pro") != nil || own.Model("old/all") != nil || own.ProviderName("old") != "old" || c.ProviderName("old") != "a" {
		t.Error("an operator's provider is taken for another")
	}
	one := parseWires(t, "", `{"providers":[{"name":"a","wire":"openai","baseUrl":"https://proxy.example"}]}`)
	for name, want := range map[string]string{"pro": "responses", "former": "responses", "all": "openai"} {
		if m := one.Model(name); m.Provider.BaseURL != "https://proxy.example" || strings.Join(m.Wires(), " ") != want {
			t.Errorf("%s: %s, %v", name, m.Provider.BaseURL, m.Wires())
		}
	}
}
