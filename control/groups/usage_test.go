package groups_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// spend serves a request and brings its usage to the groups.
func spend(b *controltest.Bench, project string, key controltest.Reply, id string) {
	b.Helper()
	value := key.Text("value")
	if len(chainOf(b, key)) > 0 {
		reserve(b, project, key, id, money.Dollar)
	} else {
		b.Reserve(project, value, id, money.Dollar)
	}
	b.Settle(value, id, money.Dollar)
	flush := keymeter.Flush{}
	p := b.Stored(project)
	store := kernel.Store{Objects: b.Memory}
	if _, err := store.DeliverFlushed(b.Context(), &p, b.Ask(abi.ClassKeyMeter, keys.Hash(value), flush.Encode())); err != nil {
		b.Fatal(err)
	}
	for range 2 {
		if err := store.ForwardUsage(b.Context(), &p); err != nil {
			b.Fatal(err)
		}
	}
}

// costs returns the dollars in a node's usage rows, by project.
func costs(b *controltest.Bench, node string) map[string]int64 {
	b.Helper()
	query := ledger.Query{EndDay: calendar.Day(uint64(b.Now.UnixMilli())) + 1, By: ledger.ByKey}
	reply, err := ledger.DecodeQueryReply(b.Ask(abi.ClassLedger, node, query.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	sums := map[string]int64{}
	for _, g := range reply.Groups {
		sums[g.KeyID] = g.Usage.CostPico / money.Dollar
	}
	return sums
}

func idOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// The usage of a project counts in the groups above it, even if their budgets stop nothing. If the project moves, its
// earlier usage stays where it is.
func TestUsageOfGroups(t *testing.T) {
	controltest.Quiet(t)
	b := bench(t)
	department := group(b, "")
	team := group(b, `,"parent":"`+department+`","budget":10,"enforce":"soft"`)
	other := group(b, `,"budget":10`)
	project, key := member(b, team)
	second, secondKey := member(b, department)
	first := idOf(project)
	spend(b, project, key, "req_1")
	spend(b, second, secondKey, "req_2")
	b.Must(200, "PATCH", groupsPath+"/"+team, `{"enforce":"hard"}`)
	spend(b, project, key, "req_3")
	b.Must(200, "PATCH", project, `{"group":"`+other+`"}`)
	spend(b, project, key, "req_4")
	for node, want := range map[string]map[string]int64{
		doc.Root: {first: 3, idOf(second): 1}, department: {first: 2, idOf(second): 1}, team: {first: 2}, other: {first: 1},
	} {
		if got := costs(b, node); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %v, want %v", node, got, want)
		}
	}
	if body := b.Must(200, "GET", groupsPath+"/"+team, "").Body.String(); !strings.Contains(body, `"spent":{"amount":2,`) {
		t.Errorf("the meter's report travels with the usage: %s", body)
	}
	p := b.Stored(project)
	want := []doc.Ancestor{{ID: doc.Root}, {ID: other, Counted: true}}
	if last := p.Paths[len(p.Paths)-1]; p.Path != 3 || last.Number != 3 || !reflect.DeepEqual(last.Nodes, want) {
		t.Errorf("%+v", p.Paths)
	}
}

// A project that nothing is above has no path, and neither the project nor its Ledger gets anything of a tree.
func TestNoPathWithoutGroups(t *testing.T) {
	b := bench(t)
	project, key := member(b, "null")
	b.Memory.Sent = nil
	spend(b, project, key, "req_1")
	if p, r := b.Stored(project), b.RecordOf(key); p.Path != 0 || len(p.Paths) > 0 || r.Path != 0 || p.Encode()[0] != 5 || r.Encode()[0] != 6 {
		t.Errorf("%+v %+v", p, r)
	}
	for _, s := range b.Memory.Sent {
		if s.Class == abi.ClassLedger && s.Name != idOf(project) {
			t.Errorf("a call to %s", s.Name)
		}
	}
	b.Must(200, "PATCH", rootPath, `{"budget":10}`)
	if p, r := b.Stored(project), b.RecordOf(key); p.Path != 1 || r.Path != 1 || !reflect.DeepEqual(p.Paths, []doc.Path{{Number: 1, Nodes: []doc.Ancestor{{ID: doc.Root, Counted: true}}}}) {
		t.Errorf("%+v %+v", p, r)
	}
}
