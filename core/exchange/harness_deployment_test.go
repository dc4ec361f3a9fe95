package exchange_test

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/pricelists"
)

// noon is November 21, 2026, 12:00 UTC, the arrival time of requests.
const noon = 1_795_262_400_000

var (
	productionKey  = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1})
	developmentKey = keys.New(keys.Gateway, keys.Development, [keys.RandomBytes]byte{2})
)

// openaiSecret is the deployment's OpenAI key, and tenant is an equally secret setting of another provider.
const (
	openaiSecret = "sk-of-the-deployment"
	tenant       = "tenant-of-12"
)

var variables = []abi.Header{
	{Name: "OPENAI_API_KEY", Value: openaiSecret}, {Name: "ANTHROPIC_API_KEY", Value: "key-for-anthropic"},
	{Name: "TENANT", Value: tenant}, {Name: "ZONE", Value: "eu"}, {Name: "POSTERN_MASTER_KEYS", Value: "m1:bWFzdGVyLWtleS1vZi10aGUtZGVwbG95bWVudC0zMiE="},
}

const deploymentCatalog = `{"version":"7","defaultPlan":"free",
	"plans":[{"name":"free","perSecond":10,"perDay":1000,"developmentPerSecond":5,"developmentPerDay":500,"budget":"100"}],
	"providers":[
		{"name":"openai","wire":"openai","baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY"},
		{"name":"anthropic","wire":"anthropic","baseUrl":"https://anthropic.test/v1","keyEnv":"ANTHROPIC_API_KEY"},
		{"name":"local","wire":"openai","baseUrl":"https://local.test/v1","settings":{"tenant":{"env":"TENANT"},"zone":{"env":"ZONE"}}},
		{"name":"mock","wire":"mock"}],
	"models":[
		{"name":"gpt","provider":"openai","input":"1","output":"10","context":128000,"maxOutput":32000,"source":"made up","date":"2026-11"},
		{"name":"mini","provider":"openai","input":"1","output":"2","context":128000,"maxOutput":32000,"source":"made up","date":"2026-11"},
		{"name":"claude","provider":"anthropic","input":"3","output":"15","context":200000,"maxOutput":32000,"source":"made up","date":"2026-11"},
		{"name":"house","provider":"local","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"small","provider":"local","input":"1","output":"1","context":8192,"source":"made up","date":"2026-11"},
		{"name":"roomy","provider":"local","input":"1","output":"1","context":64000,"source":"made up","date":"2026-11"},
		{"name":"plain","provider":"openai","input":"1","output":"10","drops":["temperature"],"source":"made up","date":"2026-11"},
		{"name":"parrot","provider":"mock","input":"0","output":"0","source":"made up","date":"2026-11"},
		{"name":"vectors","kind":"embedding","provider":"openai","input":"1","source":"made up","date":"2026-11"}],
	"tiers":[
		{"name":"balanced","strategy":"ordered","targets":[{"model":"gpt"},{"model":"mini"}]},
		{"name":"cheap","strategy":"ordered","targets":[{"model":"gpt"}]},
		{"name":"frontier","strategy":"ordered","targets":[{"model":"plain"}]},
		{"name":"thrifty","strategy":"cheapest","targets":[{"model":"gpt"},{"model":"mini"}]},
		{"name":"verses","strategy":"ordered","targets":[{"model":"claude"},{"model":"gpt"}]},
		{"name":"echo","strategy":"ordered","targets":[{"model":"gpt"},{"model":"parrot"}]}],
	"routing":{"retries":0,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":3,"coolMs":30000,"headMs":8000,"totalMs":15000,"requestMs":40000}}`

// deployments caches the configurations by overlay. They are read-only.
var deployments = map[string]*config.Config{}

func configured(t *testing.T, overlay string) *config.Config {
	t.Helper()
	if deployments[overlay] == nil {
		env := append([]abi.Header{{Name: "POSTERN_CATALOG", Value: overlay}}, variables...)
		cfg, wrong := config.Parse(abi.Config{Catalog: []byte(pricelists.Add(deploymentCatalog)), Env: env})
		if wrong != "" {
			t.Fatal(wrong)
		}
		deployments[overlay] = cfg
	}
	return deployments[overlay]
}
