package projects_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

func TestRouteOverrides(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	path := b.Project()
	const routes = `{"best":{"strategy":"cheapest","targets":[{"model":"alpha/costly","weight":1}]},` +
		`"fast":{"strategy":"weighted","targets":[{"model":"cheapo","weight":7},{"model":"b-free","weight":0}]}}`
	got := b.Must(200, "PATCH", path, `{"routes":{"fast":{"targets":[{"model":"cheapo","weight":7},{"weight":0,"model":"b-free"}]},`+
		`"best":{"strategy":"cheapest","targets":[{"model":"alpha/costly"}]}}}`)
	if text := controltest.Field(got, "routes"); text != routes {
		t.Errorf("got %s\nwant %s", text, routes)
	}
	b.Must(200, "PATCH", path, `{"name":"other"}`)
	if text := controltest.Field(b.Must(200, "GET", path, ""), "routes"); text != routes {
		t.Errorf("lost: %s", text)
	}
	one := b.Must(200, "PATCH", path, `{"routes":{"best":{"strategy":"fastest","targets":[{"model":"b-free","weight":1000000}]}}}`)
	if text := controltest.Field(one, "routes"); text != `{"best":{"strategy":"fastest","targets":[{"model":"b-free","weight":1000000}]}}` {
		t.Errorf("not replaced: %s", text)
	}
	if text := controltest.Field(b.Must(200, "PATCH", path, `{"routes":{}}`), "routes"); text != "{}" {
		t.Errorf("not removed: %s", text)
	}
}

func TestInvalidRoutes(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	path := b.Project()
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
			got := b.Do(call[0], call[1], `{"name":"x","routes":`+routes+`}`)
			b.Refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.Problems(), want) {
				t.Errorf("%s: %q, want %q", routes, got.Problems(), want)
			}
		}
	}
}

// A project's policy is delivered to its ledger, and to KV under its revision number. The previous policy is removed
// from KV.
func TestPoliciesArePublished(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	path := b.Project()
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	_, made := b.Key(path)
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
		b.Must(200, "PATCH", path, step.body)
		b.Memory.Deliver(t)
		b.CheckPolicies(id, made.Text("value"), step.kv)
	}
}

func TestLedgerHasPolicy(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	b.Memory.Reducers = true
	path := b.Project()
	b.Must(200, "PATCH", path, `{"models":["b-free"]}`)
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	p, err := doc.DecodePolicy(b.Ask(abi.ClassLedger, id, ledger.Policy()))
	if err != nil || p.Version != 2 || !reflect.DeepEqual(p.Models, []string{"b-free"}) {
		t.Errorf("%v %+v", err, p)
	}
	b.Must(200, "PATCH", path, `{"models":[]}`)
	// Requests that still use an older record must learn that the policy no longer exists.
	if p, err := doc.DecodePolicy(b.Ask(abi.ClassLedger, id, ledger.Policy())); err != nil || p.Version != 3 || !p.Empty() {
		t.Errorf("%v %+v", err, p)
	}
}
