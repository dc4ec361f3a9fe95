package explore_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/pricelists"
)

var (
	callerKey      = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1})
	developmentKey = keys.New(keys.Gateway, keys.Development, [keys.RandomBytes]byte{2})
	projectKey     = keys.New(keys.Project, keys.Production, [keys.RandomBytes]byte{3})
)

const catalogHead = `{"version":"1","defaultPlan":"free",
	"plans":[{"name":"free","perSecond":10,"perDay":1000,"developmentPerSecond":5,"developmentPerDay":500,"budget":"100"},
		{"name":"governed","perSecond":10,"perDay":1000,"developmentPerSecond":5,"developmentPerDay":500,"budget":"100","governor":true},
		{"name":"lending","perSecond":0,"perDay":0,"budget":"100","governor":true,"lease":{"ms":2000,"requests":64}}],
	"providers":[
		{"name":"openai","wire":"openai","baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY"},
		{"name":"openai-responses","wire":"responses","baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY"},
		{"name":"anthropic","wire":"anthropic","baseUrl":"https://anthropic.test/v1","keyEnv":"ANTHROPIC_API_KEY"},
		{"name":"bare","wire":"openai","baseUrl":"https://bare.test/v1","keyEnv":"BARE_API_KEY"},
		{"name":"several","wire":"openai","wires":[{"name":"responses"}],"serves":["compact","input_tokens"],"baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY"},
		{"name":"gemini","wire":"gemini","baseUrl":"https://gemini.test/v1beta","keyEnv":"GEMINI_API_KEY"},
		{"name":"mock","wire":"mock"}],
	"models":[
		{"name":"only","upstream":"up-only","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"spare","upstream":"up-spare","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"third","upstream":"up-third","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"sage","upstream":"up-sage","provider":"openai-responses","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"poet","upstream":"up-poet","provider":"anthropic","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"bard","upstream":"up-bard","provider":"anthropic","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"elder","upstream":"up-elder","provider":"openai-responses","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"naked","upstream":"up-naked","provider":"bare","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"twin","upstream":"up-twin","provider":"gemini","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"plain","upstream":"up-plain","provider":"openai","input":"1","output":"1","drops":["temperature","images"],"source":"made up","date":"2026-11"},
		{"name":"narrow","upstream":"up-narrow","provider":"openai","input":"1","output":"1","context":10000,"maxOutput":8000,"source":"made up","date":"2026-11"},
		{"name":"guard","upstream":"up-guard","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"parrot","upstream":"up-parrot","provider":"mock","input":"0","output":"0","source":"made up","date":"2026-11"},
		{"name":"both","upstream":"up-both","provider":"several","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"either","upstream":"up-either","provider":"several","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"vectors","upstream":"up-vectors","kind":"embedding","provider":"openai","input":"1","source":"made up","date":"2026-11"}],
	"tiers":[
		{"name":"cheap","strategy":"ordered","targets":[{"model":"only"}]},
		{"name":"balanced","strategy":"ordered","targets":[{"model":"only"},{"model":"spare"}]},
		{"name":"frontier","strategy":"ordered","targets":[{"model":"only"},{"model":"spare"},{"model":"third"}]},
		{"name":"mixed","strategy":"ordered","targets":[{"model":"poet"},{"model":"only"}]},
		{"name":"plainer","strategy":"ordered","targets":[{"model":"plain"},{"model":"only"}]},
		{"name":"gemini-first","strategy":"ordered","targets":[{"model":"twin"},{"model":"only"}]},
		{"name":"fast","strategy":"fastest","targets":[{"model":"spare"},{"model":"only"}]},
		{"name":"thrifty","strategy":"cheapest","targets":[{"model":"only"},{"model":"spare"}]},
		{"name":"drawn","targets":[{"model":"only","weight":1},{"model":"spare","weight":1}]},
		{"name":"echoing","strategy":"ordered","targets":[{"model":"only"},{"model":"parrot"}]},
		{"name":"verses","strategy":"ordered","targets":[{"model":"poet"},{"model":"bard"}]},
		{"name":"wisdom","strategy":"ordered","targets":[{"model":"sage"},{"model":"elder"}]},
		{"name":"pair","strategy":"ordered","targets":[{"model":"both"},{"model":"either"}]},
		{"name":"across","strategy":"ordered","targets":[{"model":"both"},{"model":"only"},{"model":"either"}]},
		{"name":"ragged","strategy":"ordered","targets":[{"model":"only"},{"model":"naked"}]},
		{"name":"nowhere","strategy":"ordered","targets":[{"model":"naked"}]}],`

func catalogWith(routing string) string {
	return pricelists.Add(catalogHead + `"routing":` + routing + `}`)
}

var deploymentEnv = []abi.Header{
	{Name: "OPENAI_API_KEY", Value: openaiKey}, {Name: "GEMINI_API_KEY", Value: geminiKey}, {Name: "ANTHROPIC_API_KEY", Value: anthropicKey}, {Name: "POSTERN_MASTER_KEYS", Value: "m1:" + masterKey},
}

// plain never retries a target, and patient retries once. sensitive opens a circuit after two failures.
var (
	plain = deployment{"plain", catalogWith(
		`{"retries":0,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":3,"coolMs":30000,"headMs":8000,"firstByteMs":8000,"idleMs":800,"totalMs":15000,"requestMs":40000}`), deploymentEnv}
	patient = deployment{"patient", catalogWith(
		`{"retries":1,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":3,"coolMs":30000,"headMs":8000,"firstByteMs":8000,"idleMs":800,"totalMs":15000,"requestMs":40000}`), deploymentEnv}
	sensitive = deployment{"sensitive", catalogWith(
		`{"retries":2,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":2,"coolMs":30000,"headMs":8000,"firstByteMs":8000,"idleMs":800,"totalMs":15000,"requestMs":40000}`), deploymentEnv}
	paced     = deployment{"paced", catalogWith(`{"retries":0,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":3,"coolMs":30000,"idleMs":800,"totalMs":15000,"requestMs":40000,"mockPauseMs":20}`), deploymentEnv}
	closedOff = deployment{"without a control plane", catalogWith(`{"retries":0,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":3,"coolMs":30000,"idleMs":800,"totalMs":15000,"requestMs":40000}`),
		append([]abi.Header{{Name: "POSTERN_CONTROL", Value: "off"}}, deploymentEnv...)}
)

// keyRecord returns the record of the caller's key. KV and the key's meter send this record.
func keyRecord(change func(*doc.Record)) []byte {
	r := doc.Record{
		Version: 5, KeyID: "key_1", ProjectID: "prj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: "free",
	}
	if change != nil {
		change(&r)
	}
	return r.Encode()
}

func newer(r *doc.Record)    { r.Version = 6 }
func cached(r *doc.Record)   { r.CacheTTLSeconds = 3600 }
func testing5(r *doc.Record) { r.Environment = keys.Development }
func withPolicy(version uint64) func(*doc.Record) {
	return func(r *doc.Record) { r.Policy = version }
}

func both(changes ...func(*doc.Record)) func(*doc.Record) {
	return func(r *doc.Record) {
		for _, change := range changes {
			if change != nil {
				change(r)
			}
		}
	}
}

func requestHead(method, path, key string, more ...abi.Header) []abi.Header {
	headers := []abi.Header{
		{Name: ":id", Value: "req_1"}, {Name: ":method", Value: method}, {Name: ":path", Value: path}, {Name: ":query", Value: ""}, {Name: ":address", Value: "192.0.2.1"},
	}
	if key != "" {
		headers = append(headers, abi.Header{Name: "authorization", Value: "Bearer " + key})
	}
	if method == "POST" {
		headers = append(headers, abi.Header{Name: "content-type", Value: "application/json"})
	}
	return append(headers, more...)
}
