package keys_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// record returns the record that KV should contain.
func record(b *controltest.Bench, version uint64, key, project string) doc.Record {
	return doc.Record{
		Version: version, KeyID: key, ProjectID: strings.TrimPrefix(project, "/api/admin/projects/"),
		Kind: keys.Gateway, Environment: keys.Production, Plan: "free", CacheTTLSeconds: 3600,
	}
}

func TestCreateKey(t *testing.T) {
	for _, kind := range kernel.KindWords {
		for _, environment := range kernel.EnvironmentWords {
			b := controltest.New(t)
			path := b.Project()
			got := b.Must(201, "POST", path+"/keys", fmt.Sprintf(`{"name":"<k>","kind":%q,"environment":%q}`, kind, environment))
			value := got.Text("value")
			k, e, ok := keys.Parse(value)
			if !ok || kernel.Translate(k, kernel.KindValues, kernel.KindWords) != kind || kernel.Translate(e, kernel.Environments, kernel.EnvironmentWords) != environment {
				t.Errorf("value %q", value)
			}
			may := map[string]string{"gateway": `"completions","embeddings","models","usage","validate"`, "project": `"models","usage","violations","triage","registry","registry.edit","compliance"`}[kind]
			want := fmt.Sprintf(`{"id":%q,"name":"<k>","kind":%q,"environment":%q,"prefix":%q,"last4":%q,"status":"active",`+
				`"createdAt":"2026-11-21T08:08:07.006Z","lastUsedAt":null,"models":[],"permissions":[%s],`+
				`"limits":{"requestsPerSecond":null,"requestsPerDay":null,"tokensPerMinute":null,"requestsPerPeriod":null,"tokensPerPeriod":null},"budget":null,"budgetPeriod":"month","enforce":"hard","expiresAt":null,"replacedBy":null,`+
				`"version":1,"value":%q}`,
				got.Text("id"), kind, environment, value[:8], value[len(value)-4:], may, value)
			if got.Body.String() != want {
				t.Errorf("got %s\nwant %s", got.Body, want)
			}
		}
	}
}

func TestCreateKeyDeliversToMeterThenKV(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	got := b.Must(201, "POST", path+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)
	hash := keys.Hash(got.Text("value"))
	record := record(b, 3, got.Text("id"), path) // key 1 + project 2
	put := keymeter.Put{Status: doc.Active, Record: record}
	want := []abi.Delivery{
		{Class: abi.ClassKeyMeter, Name: hash, Data: put.Encode()},
		{Class: abi.ClassKV, Name: "key/" + hash, Data: record.Encode()},
	}
	if out := b.Memory.Outbox(t); !reflect.DeepEqual(out, want) {
		t.Errorf("outbox:\n%q\n%q", out, want)
	}
	if want := []controltest.Sent{{Class: abi.ClassKeyMeter, Name: hash, Region: "", Command: put.Encode()}}; !reflect.DeepEqual(b.Memory.Sent, want) {
		t.Errorf("sent: %+v", b.Memory.Sent)
	}
	p := b.Stored(path)
	if p.KeyCount != 1 || p.Version != 2 {
		t.Errorf("project: %+v", p)
	}
}

func TestKeyValueIsShownOnceAndNotStored(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	keyPath, made := b.Key(path)
	value := made.Text("value")
	answers := []controltest.Reply{
		b.Must(200, "GET", path+"/keys", ""), b.Must(200, "POST", keyPath+"/deactivate", ""),
		b.Must(200, "POST", keyPath+"/reactivate", ""), b.Must(200, "GET", path, ""),
	}
	for _, got := range answers {
		if strings.Contains(got.Body.String(), value[8:]) || strings.Contains(got.Body.String(), `"value"`) {
			t.Errorf("a response shows the value: %s", got.Body)
		}
	}
	for key, row := range b.Memory.Rows {
		if strings.Contains(key+string(row), value[8:]) {
			t.Errorf("row %q contains the secret", key)
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	for body, want := range map[string][]string{
		`{}`: {"name"},
		`{"name":1,"kind":"admin","environment":"live","value":"sk_live_x"}`: {"name", "kind", "environment", "value"},
		`{"name":"k","kind":null,"environment":"Production"}`:                {"kind", "environment"},
	} {
		got := b.Do("POST", path+"/keys", body)
		b.Refused(got, fault.InvalidRequest)
		if fields := got.Problems(); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: %q, want %q", body, fields, want)
		}
	}
}

func TestDeactivateAndReactivate(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	keyPath, made := b.Key(path) // project version 2, key version 1
	hash := keys.Hash(made.Text("value"))
	steps := []struct {
		verb, status string
		put          doc.Status
		deliveries   int
	}{
		{"deactivate", "inactive", doc.Inactive, 1},
		{"deactivate", "inactive", doc.Inactive, 1}, // a repeated request gets the same response, and the change is delivered again
		{"reactivate", "active", doc.Active, 2},
		{"reactivate", "active", doc.Active, 2},
	}
	for i, step := range steps {
		b.Memory.Forget()
		got := b.Must(200, "POST", keyPath+"/"+step.verb, "")
		if got.Text("status") != step.status {
			t.Errorf("step %d: %s", i, got.Body)
		}
		record := record(b, uint64(3+2*(i+1)), made.Text("id"), path)
		put := keymeter.Put{Status: step.put, Record: record}
		out := b.Memory.Outbox(t)
		if len(out) != step.deliveries || out[0].Name != hash || string(out[0].Data) != string(put.Encode()) {
			t.Errorf("step %d: outbox %+v", i, out)
		}
		if len(b.Memory.Sent) != 2 || string(b.Memory.Sent[0].Command) != string(put.Encode()) {
			t.Errorf("step %d: sent %+v", i, b.Memory.Sent)
		}
	}
}

func TestDeleteKey(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	keyPath, made := b.Key(path)
	hash := keys.Hash(made.Text("value"))
	if got := b.Must(204, "DELETE", keyPath, ""); got.Body.Len() != 0 {
		t.Error(got.Body)
	}
	put := keymeter.Put{Status: doc.Removed, Record: record(b, 5, made.Text("id"), path)}
	want := []abi.Delivery{
		{Class: abi.ClassKeyMeter, Name: hash, Data: put.Encode()},
		{Class: abi.ClassKV, Name: "key/" + hash, Data: []byte{}},
	}
	if out := b.Memory.Outbox(t); !reflect.DeepEqual(out, want) {
		t.Errorf("outbox: %+v", out)
	}
	if got := b.Must(200, "GET", path+"/keys", ""); got.Body.String() != `{"keys":[],"next":null}` {
		t.Error(got.Body)
	}
	b.Refused(b.Do("DELETE", keyPath, ""), fault.NotFound)
	b.Refused(b.Do("POST", keyPath+"/reactivate", ""), fault.NotFound)
	b.Refused(b.Do("POST", keyPath+"/deactivate", ""), fault.NotFound)
}

func TestKeysBelongToOneProject(t *testing.T) {
	b := controltest.New(t)
	keyPath, _ := b.Key(b.Project())
	other := b.Project()
	b.Refused(b.Do("DELETE", other+keyPath[strings.Index(keyPath, "/keys/"):], ""), fault.NotFound)
	b.Refused(b.Do("DELETE", keyPath[:len(keyPath)-1], ""), fault.NotFound)
	b.Refused(b.Do("GET", other[:len(other)-1], ""), fault.NotFound)
}

// ledgerOf fakes a ledger that returns when keys were last used. It expects at most one page of keys per call.
func ledgerOf(t *testing.T, uses map[string]uint64) func([]byte) []byte {
	return func(command []byte) []byte {
		r := abi.Reader{Buf: command}
		op, n := r.Uint(), r.Count()
		if op != 5 || n > kernel.MaxListLimit {
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
	b := controltest.New(t)
	path := b.Project()
	uses := map[string]uint64{}
	used := map[string]bool{}
	for i := range 7 {
		b.Now = b.Now.Add(1e6)
		_, made := b.Key(path)
		if i%2 == 0 {
			uses[keys.Hash(made.Text("value"))] = 1_700_000_000_001
			used[made.Text("id")] = true
		}
	}
	b.Memory.Ledgers = ledgerOf(t, uses)
	seen := 0
	for query := "?limit=3"; query != ""; {
		got := b.Must(200, "GET", path+"/keys"+query, "")
		for _, k := range got.Fields["keys"].([]any) {
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
		if next := got.Text("next"); next != "" {
			query = "?limit=3&after=" + next
		}
	}
	if seen != 7 {
		t.Errorf("%d keys", seen)
	}
}

func TestLastUseOfOneKey(t *testing.T) {
	b := controltest.New(t)
	keyPath, made := b.Key(b.Project())
	b.Memory.Ledgers = ledgerOf(t, map[string]uint64{keys.Hash(made.Text("value")): 1_700_000_000_000})
	if got := b.Must(200, "POST", keyPath+"/deactivate", ""); got.Text("lastUsedAt") != "2023-11-14T22:13:20.000Z" {
		t.Error(got.Body)
	}
}
