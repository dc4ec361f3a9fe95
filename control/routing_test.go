package control

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

// routedCatalog is a bench whose catalog has tiers and models that distinguish the strategies.
func routedCatalog(t *testing.T) *bench {
	b := newBench(t)
	b.handler.(*handler).Catalog = parseCatalog(`{"tiers":[
			{"name":"fast","strategy":"weighted","targets":[{"model":"a-costly","weight":1},{"model":"a-cheap","weight":3}]},
			{"name":"best","strategy":"ordered","targets":[{"model":"b-free","weight":0},{"model":"a-costly","weight":0}]}],
		"providers":[{"name":"alpha","wire":"openai","baseUrl":"https://alpha.example/v1","keyEnv":"ALPHA_KEY"},
			{"name":"beta","wire":"openai","baseUrl":"https://beta.example/v1","keyEnv":"BETA_KEY"}],
		"models":[
			{"name":"a-costly","provider":"alpha","upstream":"costly","input":"3","output":"15","source":"x","date":"2026-01-01"},
			{"name":"a-cheap","provider":"alpha","upstream":"cheap","aliases":["cheapo"],"input":"0.1","output":"0.4","source":"x","date":"2026-01-01"},
			{"name":"b-free","provider":"beta","upstream":"free","input":"0","output":"0","source":"x","date":"2026-01-01"},
			{"name":"b-embed","provider":"beta","kind":"embedding","upstream":"embed","input":"0.02","source":"x","date":"2026-01-01"}]}`)
	return b
}

func TestRouteOverrides(t *testing.T) {
	b := routedCatalog(t)
	path := b.project()
	const routes = `{"best":{"strategy":"cheapest","targets":[{"model":"alpha/costly","weight":1}]},` +
		`"fast":{"strategy":"weighted","targets":[{"model":"cheapo","weight":7},{"model":"b-free","weight":0}]}}`
	got := b.must(200, "PATCH", path, `{"routes":{"fast":{"targets":[{"model":"cheapo","weight":7},{"weight":0,"model":"b-free"}]},`+
		`"best":{"strategy":"cheapest","targets":[{"model":"alpha/costly"}]}}}`)
	if text := field(got, "routes"); text != routes {
		t.Errorf("got %s\nwant %s", text, routes)
	}
	b.must(200, "PATCH", path, `{"name":"other"}`)
	if text := field(b.must(200, "GET", path, ""), "routes"); text != routes {
		t.Errorf("lost: %s", text)
	}
	one := b.must(200, "PATCH", path, `{"routes":{"best":{"strategy":"fastest","targets":[{"model":"b-free","weight":1000000}]}}}`)
	if text := field(one, "routes"); text != `{"best":{"strategy":"fastest","targets":[{"model":"b-free","weight":1000000}]}}` {
		t.Errorf("not replaced: %s", text)
	}
	if text := field(b.must(200, "PATCH", path, `{"routes":{}}`), "routes"); text != "{}" {
		t.Errorf("not removed: %s", text)
	}
}

// field is one field of a response as raw JSON.
func field(r reply, name string) string {
	values, err := decodeObject(r.Body.Bytes())
	if err != nil {
		return err.Error()
	}
	return string(values[name])
}

func TestInvalidRoutes(t *testing.T) {
	b := routedCatalog(t)
	path := b.project()
	many := strings.Repeat(`{"model":"b-free"},`, 16) + `{"model":"b-free"}`
	for routes, want := range map[string][]string{
		`null`: {"routes"}, `[]`: {"routes"}, `"fast"`: {"routes"}, `5`: {"routes"},
		`{"fast":null}`: {"routes.fast"}, `{"fast":[]}`: {"routes.fast"}, `{"Fast":{"targets":[{"model":"b-free"}]}}`: {"routes.Fast"},
		`{"fast":{}}`: {"routes.fast.targets"}, `{"fast":{"targets":[]}}`: {"routes.fast.targets"}, `{"fast":{"targets":{}}}`: {"routes.fast.targets"},
		`{"fast":{"targets":[5]}}`: {"routes.fast.targets"}, `{"fast":{"targets":[` + many + `]}}`: {"routes.fast.targets"},
		`{"fast":{"strategy":"random","targets":[]}}`:                             {"routes.fast.strategy", "routes.fast.targets"},
		`{"fast":{"strategy":null,"targets":[{"model":"b-free"}]}}`:               {"routes.fast.strategy"},
		`{"fast":{"targets":[{}]}}`:                                               {"routes.fast.targets[0].model"},
		`{"fast":{"targets":[{"model":"b-free"},{"model":7}]}}`:                   {"routes.fast.targets[1].model"},
		`{"fast":{"targets":[{"model":"b-embed"}]}}`:                              {"routes.fast.targets[0].model"},
		`{"fast":{"targets":[{"model":"fast"}]}}`:                                 {"routes.fast.targets[0].model"},
		`{"fast":{"targets":[{"model":"b-free","weight":-1}]}}`:                   {"routes.fast.targets[0].weight"},
		`{"fast":{"targets":[{"model":"b-free","weight":1000001}]}}`:              {"routes.fast.targets[0].weight"},
		`{"fast":{"targets":[{"model":"b-free","weight":18446744073709551616}]}}`: {"routes.fast.targets[0].weight"},
		`{"fast":{"targets":[{"model":"b-free","weight":0.5}]}}`:                  {"routes.fast.targets[0].weight"},
		`{"fast":{"targets":[{"model":"b-free","weight":"1"}]}}`:                  {"routes.fast.targets[0].weight"},
		`{"fast":{"targets":[{"model":"b-free","wait":1}],"timeout":5}}`:          {"routes.fast.targets[0].wait", "routes.fast.timeout"},
	} {
		for _, call := range [][2]string{{"PATCH", path}, {"POST", "/api/admin/projects"}} {
			got := b.do(call[0], call[1], `{"name":"x","routes":`+routes+`}`)
			b.refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.problems(), want) {
				t.Errorf("%s: %q, want %q", routes, got.problems(), want)
			}
		}
	}
}

// A project's policy is delivered to its ledger and to KV under the revision's number; the previous one is
// removed from KV.
func TestPoliciesArePublished(t *testing.T) {
	b := routedCatalog(t)
	path := b.project()
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	_, made := b.key(path)
	for _, step := range []struct {
		body string
		kv   []uint64 // versions in KV afterwards
	}{
		{`{"models":["b-free","fast"]}`, []uint64{2}},
		{`{"name":"no change of the policy"}`, []uint64{2}},
		{`{"models":["b-free","fast"]}`, []uint64{2}}, // unchanged
		{`{"models":["b-free"]}`, []uint64{5}},
		{`{"models":[]}`, nil},
	} {
		b.must(200, "PATCH", path, step.body)
		b.memory.deliver(t)
		b.checkPolicies(id, made.text("value"), step.kv)
	}
}

func (b *bench) checkPolicies(id, value string, versions []uint64) {
	b.Helper()
	var want, have []string
	for _, v := range versions {
		want = append(want, doc.PolicyKey(id, v))
	}
	for name, data := range b.memory.kv {
		if !strings.HasPrefix(name, "policy/") {
			continue
		}
		have = append(have, name)
		if p, err := doc.DecodePolicy(data); err != nil || doc.PolicyKey(id, p.Version) != name {
			b.Errorf("%s: %v %+v", name, err, p)
		}
	}
	if !reflect.DeepEqual(have, want) {
		b.Errorf("KV has %q, want %q", have, want)
	}
	var last uint64
	if len(versions) > 0 {
		last = versions[len(versions)-1]
	}
	for i := len(b.memory.sent) - 1; i >= 0; i-- {
		if s := b.memory.sent[i]; s.class == abi.ClassKeyMeter {
			if _, record := b.meterView(s.name); record.Policy != last {
				b.Errorf("the key's record names policy %d, want %d", record.Policy, last)
			}
			break
		}
	}
}

func TestLedgerHasPolicy(t *testing.T) {
	b := routedCatalog(t)
	b.memory.reducers = true
	path := b.project()
	b.must(200, "PATCH", path, `{"models":["b-free"]}`)
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	p, err := doc.DecodePolicy(b.ask(abi.ClassLedger, id, ledger.Policy()))
	if err != nil || p.Version != 2 || !reflect.DeepEqual(p.Models, []string{"b-free"}) {
		t.Errorf("%v %+v", err, p)
	}
	b.must(200, "PATCH", path, `{"models":[]}`)
	// Requests with an older record must learn that there is no policy any more.
	if p, err := doc.DecodePolicy(b.ask(abi.ClassLedger, id, ledger.Policy())); err != nil || p.Version != 3 || !p.Empty() {
		t.Errorf("%v %+v", err, p)
	}
}
