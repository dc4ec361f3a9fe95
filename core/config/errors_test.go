package config_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

const minimal = `{"version":"1","defaultPlan":"free","plans":[{"name":"free","budget":"1"}],"routing":{"requestMs":1000},
 "providers":[{"name":"p","wire":"openai","baseUrl":"https://up.example/v1","baseUrlEnv":"P_URL","keyEnv":"P_KEY"}],
 "models":[{"name":"m","provider":"p","input":"1","output":"2"}],"tiers":[{"name":"t","targets":[{"model":"m"}]}]}`

func parse(overlay string, more ...abi.Header) string {
	env := append([]abi.Header{{Name: config.EnvCatalog, Value: overlay}}, more...)
	_, problem := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env})
	return problem
}

func TestCatalogErrors(t *testing.T) {
	const priced = `"provider":"p","input":"1","output":"1"`
	for overlay, want := range map[string]string{
		"":                              "",
		`{"`:                            "POSTERN_CATALOG must be valid JSON; the error is at byte 2",
		`{"tiers":[],"tiers":[]}`:       `POSTERN_CATALOG must not have the key "tiers" twice in one object`,
		`[1]`:                           "POSTERN_CATALOG must be a JSON object",
		`{"models":[{"provider":"p"}]}`: `POSTERN_CATALOG: name in models must be 1 to 64 printable ASCII characters without spaces, got ""`,
		`{"plans":[{"name":"a b"}]}`:    `POSTERN_CATALOG: name in plans must be 1 to 64 printable ASCII characters without spaces, got "a b"`,
		`{"models":[{"name":"x","provider":"p","output":"1"}]}`:                                            "POSTERN_CATALOG: input price of model x is required",
		`{"models":[{"name":"x","provider":"p","input":-1,"output":1}]}`:                                   `POSTERN_CATALOG: input price of model x must be a non-negative decimal number, got "-1"`,
		`{"models":[{"name":"x","provider":"q","input":"1","output":"1"}]}`:                                `POSTERN_CATALOG: model x names the unknown provider "q"; add it to providers`,
		`{"models":[{"name":"x",` + priced + `,"drops":["heat"]}]}`:                                        `POSTERN_CATALOG: drops of "x" contains the unknown parameter "heat"; the parameters are temperature,top_p,`,
		`{"models":[{"name":"x",` + priced + `,"context":"8k"}]}`:                                          `POSTERN_CATALOG: context of "x" must be an integer of at least 0, got "8k"`,
		`{"models":[{"name":"x",` + priced + `,"upstream":7}]}`:                                            `POSTERN_CATALOG: upstream of "x" must be a string, got 7`,
		`{"routing":{"retries":-1}}`:                                                                       `POSTERN_CATALOG: retries must be an integer of at least 0, got -1`,
		`{"routing":{"retries":1.5}}`:                                                                      `POSTERN_CATALOG: retries must be an integer of at least 0, got 1.5`,
		`{"tiers":[{"name":"t","targets":[]}]}`:                                                            "POSTERN_CATALOG: tier t must have 1 to 8 targets, got 0",
		`{"tiers":[{"name":"t","targets":[{"model":"y"}]}]}`:                                               `POSTERN_CATALOG: tier t names the unknown model "y"; add it to models`,
		`{"tiers":[{"name":"t","strategy":"best","targets":[{}]}]}`:                                        `POSTERN_CATALOG: strategy of tier t must be weighted, ordered, cheapest or fastest, got "best"`,
		`{"providers":[{"name":"q","baseUrl":"up.example"}]}`:                                              "POSTERN_CATALOG: base URL of provider q must start with https:// or http://",
		`{"providers":[{"name":"q","baseUrl":"https://a@b"}]}`:                                             `POSTERN_CATALOG: base URL of provider q must be printable ASCII without spaces, #, ?, @ or \`,
		`{"defaultPlan":"gold"}`:                                                                           `POSTERN_CATALOG: defaultPlan "gold" is not in plans; add it`,
		`{"providers":[{"name":"q","wire":"openai","wires":[{"name":"openai"}]}]}`:                         `POSTERN_CATALOG: provider q has the wire "openai" twice`,
		`{"providers":[{"name":"q","wire":"openai","wires":[{"name":"responses"},{"name":"responses"}]}]}`: `POSTERN_CATALOG: provider q has the wire "responses" twice`,
		`{"providers":[{"name":"q","wire":"openai","wires":[{"name":"responses","url":"x"}]}]}`:            `POSTERN_CATALOG: unknown member "url" of "responses"; the members are name, noTools, path, drops, source, date`,
		`{"renamed":{"z":{"provider":"p","wire":"responses"}},"models":[{"name":"z/x",` + priced + `}]}`:   `POSTERN_CATALOG: name "z/x" must not start with a provider's name and a slash`,
		// Names that could already be read as "provider/name".
		`{"models":[{"name":"p/x",` + priced + `}]}`:                                                                          `POSTERN_CATALOG: name "p/x" must not start with a provider's name and a slash; set the provider's own name for a model as upstream`,
		`{"models":[{"name":"x",` + priced + `,"aliases":["y","p/m"]}]}`:                                                      `POSTERN_CATALOG: alias "p/m" of model x must not start with a provider's name and a slash`,
		`{"providers":[{"name":"q","wire":"openai","baseUrl":"https://q.example"}],"models":[{"name":"q/x",` + priced + `}]}`: `POSTERN_CATALOG: name "q/x" must not start with`,
		`{"models":[{"name":"x",` + priced + `,"upstream":"p/x"}]}`:                                                           "",
		`{"models":[{"name":"pp/x",` + priced + `,"aliases":["p","px/y","@p/z"]}]}`:                                           "",
		`{"models":[{"name":"p/",` + priced + `}]}`:                                                                           `POSTERN_CATALOG: name "p/" must not start with`,
		// A path instead of JSON.
		`catalog.json`: `POSTERN_CATALOG must be JSON, not the name of a file; use POSTERN_CATALOG="$(cat FILE)"`,
		// Unknown fields.
		`{"model":[]}`:                                                                `POSTERN_CATALOG: unknown member "model"; the members are version, defaultPlan, plans, providers, models, tiers, tools, members, renamed, sources, routing`,
		`{"routing":{"maxAttempts":99}}`:                                              `POSTERN_CATALOG: unknown member "maxAttempts"; the members are retries, backoffMs, `,
		`{"plans":[{"name":"free","rpm":1,"budget":1}]}`:                              `POSTERN_CATALOG: unknown member "rpm" of "free"; the members are name, perSecond, `,
		`{"models":[{"name":"x",` + priced + `,"price":1}]}`:                          `POSTERN_CATALOG: unknown member "price" of "x"; the members are name, `,
		`{"tiers":[{"name":"t","targets":[{"model":"m","share":1}]}]}`:                `POSTERN_CATALOG: unknown member "share"; the members are weight, model`,
		`{"providers":[{"name":"q","wire":"openai","url":"x"}]}`:                      `POSTERN_CATALOG: unknown member "url" of "q"; the members are name, wire, baseUrl, `,
		`{"providers":[{"name":"q","wire":"openai","settings":{"a":{"var":"A"}}}]}`:   `POSTERN_CATALOG: unknown member "var"; the members are default, env, optional, suffices`,
		`{"plans":[{"name":"x","budget":1,"lease":{"ms":100,"requests":1,"usd":1}}]}`: `POSTERN_CATALOG: unknown member "usd"; the members are ms, requests`,
		// Wrong types and values.
		`{"models":{}}`:   "POSTERN_CATALOG: models must be an array, got {}",
		`{"tiers":["t"]}`: `POSTERN_CATALOG: tiers must be an array of objects, got "t"`,
		`{"routing":5}`:   "POSTERN_CATALOG: routing must be an object, got 5",
		`{"sources":[]}`:  "POSTERN_CATALOG: sources must be an object, got []",
		`{"models":[{"name":"x",` + priced + `,"kind":"image"}]}`: `POSTERN_CATALOG: kind of "x" must be chat or embedding, got "image"`,
		`{"models":[{"name":"x",` + priced + `,"kind":"chat"}]}`:  "",
		`{"models":[{"name":"x",` + priced + `,"aliases":"y"}]}`:  `POSTERN_CATALOG: aliases of "x" must be an array, got "y"`,
		`{"models":[{"name":"x",` + priced + `,"aliases":[1]}]}`:  `POSTERN_CATALOG: aliases of "x" must be an array of strings, got 1`,
		`{"providers":[{"name":"q","wire":"openai","headers":["cookie"]}]}`: "POSTERN_CATALOG: headers of provider q must be among anthropic-beta, anthropic-version, openai-beta, originator, " +
			`x-openai-internal-codex-responses-lite, session-id, session_id, thread-id, x-client-request-id, x-session-affinity, x-session-id, got "cookie"`,
		`{"providers":[{"name":"q","wire":"openai","headers":"session-id"}]}`:        `POSTERN_CATALOG: headers of "q" must be an array, got "session-id"`,
		`{"providers":[{"name":"q","wire":"responses","serves":["compact","all"]}]}`: `POSTERN_CATALOG: serves of provider q must be compact or input_tokens, got "all"`,
		`{"providers":[{"name":"q","wire":"openai","keyOptional":"yes"}]}`:           `POSTERN_CATALOG: keyOptional of "q" must be true or false, got "yes"`,
	} {
		if got := parse(overlay); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", overlay, got, want)
		}
	}
}

func TestVariableErrorsHideValues(t *testing.T) {
	for name, want := range map[string]string{
		"P_KEY":                "P_KEY, the API key of provider p, must be printable ASCII without spaces",
		config.EnvMaxBodyBytes: "POSTERN_MAX_BODY_BYTES must be an integer between 1 and 4294967295 (bytes)",
		"P_URL":                "P_URL, the base URL of provider p, must start with https:// or http://",
		config.EnvControl:      "POSTERN_CONTROL must be on or off",
		config.EnvLog:          "POSTERN_LOG must be all, errors or off",
		config.EnvLeases:       "POSTERN_LEASES must be on or off",
		config.EnvDocs:         "POSTERN_DOCS must be on or off",
		config.EnvMasterKeys: "POSTERN_MASTER_KEYS must be a comma-separated list of id:key; each id must be unique and 1 to 16 letters, digits or hyphens, " +
			"not starting with a hyphen; each key must be 32 bytes in base64",
	} {
		env := []abi.Header{{Name: name, Value: "a secret"}}
		if _, got := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env}); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestControl(t *testing.T) {
	for value, want := range map[string]bool{"": false, "on": false, "off": true} {
		env := []abi.Header{{Name: config.EnvControl, Value: value}}
		if c, problem := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env}); problem != "" || c.ControlOff != want {
			t.Errorf("POSTERN_CONTROL=%s: %t, %s", value, c.ControlOff, problem)
		}
	}
}

func TestLog(t *testing.T) {
	for value, want := range map[string]config.Log{"": config.LogAll, "all": config.LogAll, "errors": config.LogErrors, "off": config.LogOff} {
		env := []abi.Header{{Name: config.EnvLog, Value: value}}
		if c, problem := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env}); problem != "" || c.Log != want {
			t.Errorf("POSTERN_LOG=%s: %d, %s", value, c.Log, problem)
		}
	}
}

// TestDocs: the documentation is off without the control plane, which serves it.
func TestDocs(t *testing.T) {
	for _, c := range []struct {
		docs, control string
		off           bool
	}{{"", "", false}, {"on", "on", false}, {"off", "", true}, {"", "off", true}, {"on", "off", true}} {
		env := []abi.Header{{Name: config.EnvDocs, Value: c.docs}, {Name: config.EnvControl, Value: c.control}}
		if got, problem := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env}); problem != "" || got.DocsOff != c.off {
			t.Errorf("%+v: %t, %s", c, got.DocsOff, problem)
		}
	}
}

func TestMasterKeyIDsAreDifferent(t *testing.T) {
	const key = "bWFzdGVyLWtleS1vZi10aGUtZGVwbG95bWVudC0zMiE="
	if _, ok := config.ParseMasterKeys("a:" + key + ",b:" + key); !ok {
		t.Error("two IDs are rejected")
	}
	if _, ok := config.ParseMasterKeys("a:" + key + ",a:" + key); ok {
		t.Error("the same ID twice is accepted")
	}
}

func TestMissingVariables(t *testing.T) {
	const overlay = `{"providers":[
 {"name":"p","wire":"openai","baseUrlEnv":"P_URL","keyEnv":"P_KEY"},
 {"name":"q","wire":"openai","baseUrl":"https://{region}.example","keyEnv":"Q_KEY","settings":{"region":{"env":"Q_REGION"},"zone":{"env":"Q_ZONE","optional":true},"token":{"env":"Q_TOKEN","optional":true,"suffices":true}}},
 {"name":"o","wire":"openai","baseUrl":"https://o.example","keyEnv":"O_KEY","keyOptional":true}]}`
	missing := func(env ...abi.Header) string {
		env = append(env, abi.Header{Name: config.EnvCatalog, Value: overlay})
		c, problem := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env})
		text := problem
		for _, p := range c.Providers {
			text += p.Name + "=" + strings.Join(p.Missing, ",") + " "
			if p.Ready != (len(p.Missing) == 0) {
				t.Errorf("%s: ready %t, missing %v", p.Name, p.Ready, p.Missing)
			}
		}
		return text
	}
	if got := missing(); got != "p=P_URL,P_KEY q=Q_KEY,Q_REGION o= " {
		t.Error(got)
	}
	if got := missing(abi.Header{Name: "P_KEY", Value: "k"}, abi.Header{Name: "Q_TOKEN", Value: "t"}, abi.Header{Name: "Q_REGION", Value: "eu"}); got != "p=P_URL q= o= " {
		t.Error(got)
	}
}
