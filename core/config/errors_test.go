package config_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

const minimal = `{"version":"1","defaultPlan":"free","plans":[{"name":"free","budget":"1"}],"routing":{"requestMs":1000},
 "providers":[{"name":"p","wire":"openai","baseUrl":"https://up.example/v1","keyEnv":"P_KEY"}],
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
		`{"`:                            "POSTERN_CATALOG must be valid JSON",
		`[1]`:                           "POSTERN_CATALOG must be a JSON object",
		`{"models":[{"provider":"p"}]}`: `POSTERN_CATALOG: name in models must be 1 to 64 printable ASCII characters without spaces, got ""`,
		`{"plans":[{"name":"a b"}]}`:    `POSTERN_CATALOG: name in plans must be 1 to 64 printable ASCII characters without spaces, got "a b"`,
		`{"models":[{"name":"x","provider":"p","output":"1"}]}`:             "POSTERN_CATALOG: input price of model x is required",
		`{"models":[{"name":"x","provider":"p","input":-1,"output":1}]}`:    `POSTERN_CATALOG: input price of model x must be a non-negative decimal number, got "-1"`,
		`{"models":[{"name":"x","provider":"q","input":"1","output":"1"}]}`: `model x has the unknown provider "q"; add it to providers`,
		`{"models":[{"name":"x",` + priced + `,"drops":["heat"]}]}`:         `POSTERN_CATALOG: drops of x has the unknown parameter "heat"; the parameters are temperature,top_p,`,
		`{"models":[{"name":"x",` + priced + `,"context":"8k"}]}`:           `POSTERN_CATALOG: context of "x" must be an integer of at least 0, got "8k"`,
		`{"models":[{"name":"x",` + priced + `,"upstream":7}]}`:             `POSTERN_CATALOG: upstream of "x" must be a string, got 7`,
		`{"routing":{"retries":-1}}`:                                        `POSTERN_CATALOG: retries must be an integer of at least 0, got -1`,
		`{"routing":{"retries":1.5}}`:                                       `POSTERN_CATALOG: retries must be an integer of at least 0, got 1.5`,
		`{"tiers":[{"name":"t","targets":[]}]}`:                             "POSTERN_CATALOG: tier t must have 1 to 8 targets, got 0",
		`{"tiers":[{"name":"t","targets":[{"model":"y"}]}]}`:                `tier t has the unknown model "y"; add it to models`,
		`{"tiers":[{"name":"t","strategy":"best","targets":[{}]}]}`:         `POSTERN_CATALOG: strategy of tier t must be weighted, ordered, cheapest or fastest, got "best"`,
		`{"providers":[{"name":"q","baseUrl":"up.example"}]}`:               "POSTERN_CATALOG: base URL of provider q must start with https:// or http://",
		`{"providers":[{"name":"q","baseUrl":"https://a@b"}]}`:              `POSTERN_CATALOG: base URL of provider q must be printable ASCII without spaces, #, ?, @ or \`,
		`{"defaultPlan":"gold"}`:                                            `defaultPlan "gold" is not one of plans; add it to plans`,
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
		config.EnvMasterKeys: "POSTERN_MASTER_KEYS must be a comma-separated list of id:key, each id 1 to 16 letters, digits or hyphens " +
			"and not starting with a hyphen, each key 32 bytes in base64",
	} {
		env := []abi.Header{{Name: name, Value: "a secret"}}
		if _, got := config.Parse(abi.Config{Catalog: []byte(minimal), Env: env}); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}
