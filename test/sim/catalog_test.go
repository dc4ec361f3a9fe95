package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/test/pricelists"
)

// worldCatalog is a small catalog. Its last four plans lend. It has three wire families, a model on three APIs, an
// expensive model, two models with service tiers, a model with a small context, and a free model. The last target of
// the cheap tier has no credentials.
const worldCatalog = `{"version":"world","defaultPlan":"open",
"plans":[
 {"name":"open","perSecond":0,"perDay":0,"concurrent":1000,"governor":true,"budget":"100"},
 {"name":"free","perSecond":10,"perDay":1000,"developmentPerSecond":5,"developmentPerDay":500,"concurrent":200,"governor":true,"budget":"100"},
 {"name":"tight","perSecond":3,"perDay":12,"developmentPerSecond":2,"developmentPerDay":6,"concurrent":4,"governor":true,"budget":"1"},
 {"name":"concurrent","perSecond":0,"perDay":0,"concurrent":3,"governor":true,"budget":"1"},
 {"name":"tokens","perSecond":0,"perDay":0,"tokensPerMinute":3000,"concurrent":50,"governor":true,"budget":"1"},
 {"name":"lending","perSecond":0,"perDay":0,"concurrent":1000,"governor":true,"budget":"100","lease":{"ms":2000,"requests":512}},
 {"name":"rated","perSecond":200,"perDay":0,"developmentPerSecond":5,"concurrent":400,"governor":true,"budget":"100","lease":{"ms":2000,"requests":64}},
 {"name":"daily","perSecond":0,"perDay":180,"developmentPerDay":6,"concurrent":400,"governor":true,"budget":"100","lease":{"ms":1000,"requests":512}},
 {"name":"slots","perSecond":0,"perDay":0,"concurrent":34,"governor":true,"budget":"100","lease":{"ms":500,"requests":16}}],
"providers":[
 {"name":"p1","wire":"openai","baseUrl":"https://p1.example/v1","keyEnv":"P1_KEY"},
 {"name":"p2","wire":"openai","baseUrl":"https://p2.example/v1","keyEnv":"P2_KEY"},
 {"name":"p3","wire":"anthropic","baseUrl":"https://p3.example/v1","keyEnv":"P3_KEY"},
 {"name":"p4","wire":"openai","baseUrl":"https://p4.example/v1","keyEnv":"P4_KEY"},
 {"name":"p5","wire":"responses","serves":["compact"],"baseUrl":"https://p5.example/v1","keyEnv":"P5_KEY"},
 {"name":"p6","wire":"openai","wires":[{"name":"responses"},{"name":"anthropic"}],"serves":["compact"],"baseUrl":"https://p6.example/v1","keyEnv":"P6_KEY"}],
"models":[
 {"name":"alpha","provider":"p1","input":"0.15","output":"0.60","factors":{"service_tier=priority":"2","service_tier=flex":"1/2"},"context":128000,"maxOutput":16384},
 {"name":"beta","provider":"p2","input":"0.40","output":"1.60","factors":{"service_tier=priority":"2","service_tier=flex":"1/2"},"context":128000,"maxOutput":16384},
 {"name":"gamma","provider":"p3","input":"3","output":"15","cached":"0.30","write":"3.75","context":200000,"maxOutput":64000},
 {"name":"delta","provider":"p4","input":"0.10","output":"0.40","context":128000,"maxOutput":16384},
 {"name":"omega","provider":"p3","input":"15","output":"75","context":200000,"maxOutput":32000},
 {"name":"zeta","provider":"p5","input":"2","output":"8","context":400000,"maxOutput":128000},
 {"name":"duo","provider":"p6","input":"1","output":"4","cached":"0.10","write":"1.25","context":200000,"maxOutput":32000},
 {"name":"small","provider":"p1","input":"0.50","output":"1.50","context":8192,"maxOutput":4096},
 {"name":"gratis","provider":"p2","input":"0","output":"0","context":32000,"maxOutput":8192},
 {"name":"vector","kind":"embedding","provider":"p1","input":"0.02","context":8191}],
"tiers":[
 {"name":"cheap","targets":[{"model":"alpha","weight":1},{"model":"beta"},{"model":"delta"}]},
 {"name":"balanced","targets":[{"model":"gamma","weight":1},{"model":"zeta","weight":1},{"model":"duo","weight":1},{"model":"alpha"}]},
 {"name":"frontier","targets":[{"model":"omega","weight":1},{"model":"gamma"}]},
 {"name":"lost","targets":[{"model":"delta","weight":1}]}],
"routing":{"retries":1,"backoffMs":250,"maxBackoffMs":4000,"coolAfter":3,"coolMs":30000,
 "headMs":120000,"firstByteMs":30000,"idleMs":30000,"totalMs":180000,"requestMs":180000,"mockPauseMs":20}}`

// providerSecrets are the deployment's API keys. Each key may appear only in requests to its own provider.
var providerSecrets = map[string]string{
	"p1": "upstream-secret-one-5f2c", "p2": "upstream-secret-two-91ab", "p3": "upstream-secret-three-77e0", "p5": "upstream-secret-five-30dd",
	"p6": "upstream-secret-six-c41b",
}

// worldConfig is the parsed catalog, which all worlds share.
var worldConfig = func() *config.Config {
	var env []abi.Header
	for name, value := range map[string]string{"p1": "P1_KEY", "p2": "P2_KEY", "p3": "P3_KEY", "p5": "P5_KEY", "p6": "P6_KEY"} {
		env = append(env, abi.Header{Name: value, Value: providerSecrets[name]})
	}
	c, wrong := config.Parse(abi.Config{Catalog: []byte(pricelists.Add(worldCatalog)), Env: env})
	if wrong != "" {
		panic(wrong)
	}
	return c
}()
