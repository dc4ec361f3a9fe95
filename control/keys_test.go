package control

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// record is the record expected in KV.
func (b *bench) record(version uint64, key, project string) doc.Record {
	return doc.Record{
		Version: version, KeyID: key, ProjectID: strings.TrimPrefix(project, "/api/admin/projects/"),
		Kind: keys.Gateway, Environment: keys.Production, Plan: "free", CacheTTLSeconds: 3600,
	}
}

func TestCreateKey(t *testing.T) {
	for _, kind := range kindWords {
		for _, environment := range environmentWords {
			b := newBench(t)
			path := b.project()
			got := b.must(201, "POST", path+"/keys", fmt.Sprintf(`{"name":"<k>","kind":%q,"environment":%q}`, kind, environment))
			value := got.text("value")
			k, e, ok := keys.Parse(value)
			if !ok || translate(k, kindValues, kindWords) != kind || translate(e, environments, environmentWords) != environment {
				t.Errorf("value %q", value)
			}
			may := map[string]string{"gateway": `"completions","embeddings","models","usage","validate"`, "project": `"models","usage","violations","triage","registry","registry.edit","compliance"`}[kind]
			want := fmt.Sprintf(`{"id":%q,"name":"<k>","kind":%q,"environment":%q,"prefix":%q,"last4":%q,"status":"active",`+
				`"createdAt":"2026-11-21T08:08:07.006Z","lastUsedAt":null,"models":[],"permissions":[%s],`+
				`"limits":{"requestsPerSecond":null,"requestsPerDay":null,"tokensPerMinute":null},"expiresAt":null,"replacedBy":null,`+
				`"version":1,"value":%q}`,
				got.text("id"), kind, environment, value[:8], value[len(value)-4:], may, value)
			if got.Body.String() != want {
				t.Errorf("got %s\nwant %s", got.Body, want)
			}
		}
	}
}

func TestCreateKeyDeliversToMeterThenKV(t *testing.T) {
	b := newBench(t)
	path := b.project()
	got := b.must(201, "POST", path+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)
	hash := keys.Hash(got.text("value"))
	record := b.record(3, got.text("id"), path) // key 1 + project 2
	put := keymeter.Put{Status: doc.Active, Record: record}
	want := []abi.Delivery{
		{Class: abi.ClassKeyMeter, Name: hash, Data: put.Encode()},
		{Class: abi.ClassKV, Name: "key/" + hash, Data: record.Encode()},
	}
	if out := b.memory.outbox(t); !reflect.DeepEqual(out, want) {
		t.Errorf("outbox:\n%q\n%q", out, want)
	}
	if want := []sent{{abi.ClassKeyMeter, hash, "", put.Encode()}}; !reflect.DeepEqual(b.memory.sent, want) {
		t.Errorf("sent: %+v", b.memory.sent)
	}
	p, _ := b.handler.(*handler).store.project(t.Context(), strings.TrimPrefix(path, "/api/admin/projects/"))
	if p.KeyCount != 1 || p.Version != 2 {
		t.Errorf("project: %+v", p)
	}
}

func TestKeyValueIsShownOnceAndNotStored(t *testing.T) {
	b := newBench(t)
	path := b.project()
	keyPath, made := b.key(path)
	value := made.text("value")
	answers := []reply{
		b.must(200, "GET", path+"/keys", ""), b.must(200, "POST", keyPath+"/deactivate", ""),
		b.must(200, "POST", keyPath+"/reactivate", ""), b.must(200, "GET", path, ""),
	}
	for _, got := range answers {
		if strings.Contains(got.Body.String(), value[8:]) || strings.Contains(got.Body.String(), `"value"`) {
			t.Errorf("a response shows the value: %s", got.Body)
		}
	}
	for key, row := range b.memory.rows {
		if strings.Contains(key+string(row), value[8:]) {
			t.Errorf("row %q contains the secret", key)
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	b := newBench(t)
	path := b.project()
	for body, want := range map[string][]string{
		`{}`: {"name"},
		`{"name":1,"kind":"admin","environment":"live","value":"sk_live_x"}`: {"name", "kind", "environment", "value"},
		`{"name":"k","kind":null,"environment":"Production"}`:                {"kind", "environment"},
	} {
		got := b.do("POST", path+"/keys", body)
		b.refused(got, fault.InvalidRequest)
		if fields := got.problems(); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: %q, want %q", body, fields, want)
		}
	}
}

func TestDeactivateAndReactivate(t *testing.T) {
	b := newBench(t)
	path := b.project()
	keyPath, made := b.key(path) // project version 2, key version 1
	hash := keys.Hash(made.text("value"))
	steps := []struct {
		verb, status string
		put          doc.Status
		deliveries   int
	}{
		{"deactivate", "inactive", doc.Inactive, 1},
		{"deactivate", "inactive", doc.Inactive, 1}, // repeated: same response, delivered again
		{"reactivate", "active", doc.Active, 2},
		{"reactivate", "active", doc.Active, 2},
	}
	for i, step := range steps {
		b.memory.forget()
		got := b.must(200, "POST", keyPath+"/"+step.verb, "")
		if got.text("status") != step.status {
			t.Errorf("step %d: %s", i, got.Body)
		}
		record := b.record(uint64(3+2*(i+1)), made.text("id"), path)
		put := keymeter.Put{Status: step.put, Record: record}
		out := b.memory.outbox(t)
		if len(out) != step.deliveries || out[0].Name != hash || string(out[0].Data) != string(put.Encode()) {
			t.Errorf("step %d: outbox %+v", i, out)
		}
		if len(b.memory.sent) != 2 || string(b.memory.sent[0].command) != string(put.Encode()) {
			t.Errorf("step %d: sent %+v", i, b.memory.sent)
		}
	}
}

func TestDeleteKey(t *testing.T) {
	b := newBench(t)
	path := b.project()
	keyPath, made := b.key(path)
	hash := keys.Hash(made.text("value"))
	if got := b.must(204, "DELETE", keyPath, ""); got.Body.Len() != 0 {
		t.Error(got.Body)
	}
	put := keymeter.Put{Status: doc.Removed, Record: b.record(5, made.text("id"), path)}
	want := []abi.Delivery{
		{Class: abi.ClassKeyMeter, Name: hash, Data: put.Encode()},
		{Class: abi.ClassKV, Name: "key/" + hash, Data: []byte{}},
	}
	if out := b.memory.outbox(t); !reflect.DeepEqual(out, want) {
		t.Errorf("outbox: %+v", out)
	}
	if got := b.must(200, "GET", path+"/keys", ""); got.Body.String() != `{"keys":[],"next":null}` {
		t.Error(got.Body)
	}
	b.refused(b.do("DELETE", keyPath, ""), fault.NotFound)
	b.refused(b.do("POST", keyPath+"/reactivate", ""), fault.NotFound)
	b.refused(b.do("POST", keyPath+"/deactivate", ""), fault.NotFound)
}

func TestKeysBelongToOneProject(t *testing.T) {
	b := newBench(t)
	keyPath, _ := b.key(b.project())
	other := b.project()
	b.refused(b.do("DELETE", other+keyPath[strings.Index(keyPath, "/keys/"):], ""), fault.NotFound)
	b.refused(b.do("DELETE", keyPath[:len(keyPath)-1], ""), fault.NotFound)
	b.refused(b.do("GET", other[:len(other)-1], ""), fault.NotFound)
}

// ledgerOf is a ledger that returns the last uses of keys, of at most one page per call.
func ledgerOf(t *testing.T, uses map[string]uint64) func([]byte) []byte {
	return func(command []byte) []byte {
		r := abi.Reader{Buf: command}
		op, n := r.Uint(), r.Count()
		if op != 5 || n > maxListLimit {
			t.Errorf("op %d for %d keys", op, n)
		}
		var found []ledger.KeyUse
		for ; n > 0; n-- {
			if hash := r.String(); uses[hash] != 0 {
				found = append(found, ledger.KeyUse{Key: hash, LastUsedMs: uses[hash]})
			}
		}
		var w abi.Writer
		w.Uint(uint64(len(found)))
		for _, use := range found {
			w.String(use.Key)
			w.Uint(use.LastUsedMs)
		}
		return w.Buf
	}
}

func TestListKeysWithLastUse(t *testing.T) {
	b := newBench(t)
	path := b.project()
	uses := map[string]uint64{}
	used := map[string]bool{}
	for i := range 7 {
		b.now = b.now.Add(1e6)
		_, made := b.key(path)
		if i%2 == 0 {
			uses[keys.Hash(made.text("value"))] = 1_700_000_000_001
			used[made.text("id")] = true
		}
	}
	b.memory.ledgers = ledgerOf(t, uses)
	seen := 0
	for query := "?limit=3"; query != ""; {
		got := b.must(200, "GET", path+"/keys"+query, "")
		for _, k := range got.fields["keys"].([]any) {
			seen++
			fields := k.(map[string]any)
			want := any(nil)
			if used[fields["id"].(string)] {
				want = "2023-11-14T22:13:20.001Z"
			}
			if fields["lastUsedAt"] != want {
				t.Errorf("%v, want %v", fields["lastUsedAt"], want)
			}
		}
		query = ""
		if next := got.text("next"); next != "" {
			query = "?limit=3&after=" + next
		}
	}
	if seen != 7 {
		t.Errorf("%d keys", seen)
	}
}

func TestLastUseOfOneKey(t *testing.T) {
	b := newBench(t)
	keyPath, made := b.key(b.project())
	b.memory.ledgers = ledgerOf(t, map[string]uint64{keys.Hash(made.text("value")): 1_700_000_000_000})
	if got := b.must(200, "POST", keyPath+"/deactivate", ""); got.text("lastUsedAt") != "2023-11-14T22:13:20.000Z" {
		t.Error(got.Body)
	}
}
