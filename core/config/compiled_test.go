package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// complete has a nonzero value for every field of the format.
const complete = `{"version":"1","defaultPlan":"free","sources":{"s":"a source"},
 "plans":[{"name":"free","perSecond":1,"perDay":2,"tokensPerMinute":3,"developmentPerSecond":4,"developmentPerDay":5,
  "developmentTokensPerMinute":6,"concurrent":7,"budget":"8.5","governor":true,"lease":{"ms":100,"requests":9}}],
 "routing":{"retries":1,"backoffMs":2,"maxBackoffMs":3,"coolAfter":4,"coolMs":5,"headMs":6,"firstByteMs":7,"idleMs":8,
  "totalMs":9,"requestMs":10,"cacheReadMs": 7, "mockPauseMs":11},
 "providers":[{"name":"p","wire":"openai","baseUrl":"https://{zone}.example/v1","baseUrlEnv":"P_URL","keyEnv":"P_KEY","keyOptional":true,
  "drops":["n"],"noStreamOptions":true,"headers":["session-id"],"serves":["compact"],"takes":["metadata"],"settings":{"zone":{"env":"P_ZONE","default":"eu"},"o":{"env":"P_O","optional":true},
  "s":{"env":"P_S","suffices":true}}},
  {"name":"q","wire":"openai","baseUrlEnv":"Q_URL","keyEnv":"Q_KEY","deploymentKey":true,"wires":[{"name":"responses","path":"/beta","drops":["seed"],"noTools":true,"source":"s","date":"2026-01"}]}],
 "renamed":{"old":{"provider":"q","wire":"responses"}},
 "models":[{"name":"m","aliases":["a","b"],"kind":"embedding","provider":"p","upstream":"u","input":"1","output":"2","cached":"3","write":"4",
  "write1h":"5","longAbove":6,"longInput":"7","longOutput":"8","longCached":"9","longWrite":"10","factors":{"service_tier=flex":"1/2"},"context":11,"maxOutput":12,"drops":["seed"],
  "maxTokensField":"max_completion_tokens","source":"s","date":"2026-01","wires":["openai","responses"]},
  {"name":"n","provider":"q","input":"1","output":"2"}],
 "tools":[{"name":"search","wires":["openai"],"providers":["q"],"price":"0.01","max":2,"limit":"max_uses","meter":"searches","source":"s","date":"2026-01"}],
 "members":{"openai":["a","b"],"anthropic-beta":["c"]},
 "tiers":[{"name":"t","strategy":"fastest","targets":[{"model":"m","weight":1},{"model":"n","weight":2}],"headMs":1,"firstByteMs":2,"idleMs":3,
  "totalMs":4,"requestMs":5}]}`

// TestCompiledKeepsEveryMember also fails if complete lacks a field of the format.
func TestCompiledKeepsEveryMember(t *testing.T) {
	for _, env := range [][]abi.Header{
		nil, {{Name: "P_KEY", Value: "k"}, {Name: "P_O", Value: "o"}, {Name: "Q_URL", Value: "https://q.example"}, {Name: "Q_KEY", Value: "k"}},
		{{Name: "P_URL", Value: "https://up.example"}, {Name: "P_ZONE", Value: "us"}, {Name: "P_S", Value: "s"}},
	} {
		want, problem := config.Parse(abi.Config{Catalog: []byte(complete), Env: env})
		if problem != "" {
			t.Fatal(problem)
		}
		got, problem := config.Parse(abi.Config{Catalog: compile(t, complete), Env: env})
		if problem != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: the compiled catalog differs from its JSON: %s\ngot  %+v\nwant %+v", env, problem, got, want)
		}
		for name, v := range map[string]any{
			"Plan": want.Plans[0], "Prices": want.Models[0].Prices, "Model": want.Models[0], "Factor": want.Models[0].Factors[0], "Tool": want.Tools[0], "Members": want.Members[0], "Renamed": want.Renamed[0], "Tier": want.Tiers[0], "Routing": want.Routing,
		} {
			noZeroFields(t, name, reflect.ValueOf(v))
		}
	}
}

func noZeroFields(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field := name + "." + v.Type().Field(i).Name
		if v.Field(i).IsZero() {
			t.Errorf("%s is zero: add its member to the catalog of this test", field)
		} else if v.Field(i).Kind() == reflect.Struct {
			noZeroFields(t, field, v.Field(i))
		}
	}
}

func compile(t *testing.T, catalog string) []byte {
	t.Helper()
	compiled, problem := config.Compile([]byte(catalog))
	if problem != "" {
		t.Fatal(problem)
	}
	return compiled
}

// TestOverlayOnCompiled: an error names the catalog that contains the faulty declaration.
func TestOverlayOnCompiled(t *testing.T) {
	for overlay, want := range map[string]string{
		"":                       "catalog: setting zone of provider p must be printable ASCII without spaces",
		`{"defaultPlan":"gold"}`: `POSTERN_CATALOG: defaultPlan "gold" is not in plans; add it`,
		`{"providers":[{"name":"p","wire":"openai","baseUrl":"p.example"}]}`: "POSTERN_CATALOG: base URL of provider p must start with https:// or http://",
	} {
		env := []abi.Header{{Name: config.EnvCatalog, Value: overlay}}
		if overlay == "" {
			env = append(env, abi.Header{Name: "P_ZONE", Value: "a b"})
		}
		if _, problem := config.Parse(abi.Config{Catalog: compile(t, complete), Env: env}); problem != want {
			t.Errorf("%s: %s, want %s", overlay, problem, want)
		}
	}
}

func TestMalformedCompiledCatalog(t *testing.T) {
	whole := compile(t, complete)
	const want = "catalog is not a compiled catalog of this version; "
	for n := 1; n < len(whole); n++ {
		if _, problem := config.Parse(abi.Config{Catalog: whole[:n]}); !strings.HasPrefix(problem, want) {
			t.Fatalf("the first %d bytes: %q", n, problem)
		}
	}
	if _, problem := config.Parse(abi.Config{Catalog: append(whole, 0)}); !strings.HasPrefix(problem, want) {
		t.Errorf("a trailing byte: %q", problem)
	}
	if _, problem := config.Parse(abi.Config{}); problem == "" {
		t.Error("an empty catalog is accepted")
	}
	// A catalog with a flipped bit may be accepted or rejected, but must not cause a panic.
	for i := 1; i < len(whole); i++ {
		changed := append([]byte(nil), whole...)
		changed[i] ^= 1 << (i % 8)
		config.Parse(abi.Config{Catalog: changed})
	}
}

func TestCompileReportsErrors(t *testing.T) {
	if _, problem := config.Compile([]byte(`{"plans":[{}]}`)); !strings.HasPrefix(problem, "catalog: name in plans must be") {
		t.Error(problem)
	}
}
