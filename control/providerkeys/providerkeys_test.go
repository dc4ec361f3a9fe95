package providerkeys_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

const providerKey = "sk-of-the-project-1234"

func TestProviderKeys(t *testing.T) {
	b := controltest.New(t)
	var key []byte
	b.Masters, key = controltest.Master("k1", 1)
	path := b.Project()
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	empty := b.Must(200, "GET", path+"/provider-keys", "")
	if text := empty.Body.String(); !strings.HasPrefix(text, `{"enabled":true,"providerKeys":[],"providers":["openai",`) || strings.Contains(text, `"mock"`) {
		t.Errorf("empty: %s", text)
	}
	const entry = `{"provider":"openai","last4":"1234","setAt":"2026-11-21T08:08:07.006Z","masterKeyId":"k1","usable":true}`
	if got := b.Must(200, "PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`"}`); got.Body.String() != entry {
		t.Errorf("got %s\nwant %s", got.Body, entry)
	}
	if got := b.Must(200, "GET", path+"/provider-keys", ""); controltest.Field(got, "providerKeys") != "["+entry+"]" {
		t.Error(got.Body)
	}
	p := policyOf(b, id)
	k := p.ProviderKey("openai")
	if k == nil || len(k.Sealed) != 12+len(providerKey)+16 {
		t.Fatalf("%+v", p)
	}
	if got, err := controltest.UnsealNatively(key, doc.SealedFor(id, "openai"), k.Sealed); err != nil || string(got) != providerKey {
		t.Errorf("%q, %v", got, err)
	}
	for _, elsewhere := range []string{doc.SealedFor("proj_other", "openai"), doc.SealedFor(id, "anthropic"), ""} {
		if _, err := controltest.UnsealNatively(key, elsewhere, k.Sealed); err == nil {
			t.Errorf("the key opens with the additional data %q", elsewhere)
		}
	}
	b.Must(204, "DELETE", path+"/provider-keys/openai", "")
	b.Refused(b.Do("DELETE", path+"/provider-keys/openai", ""), fault.NotFound)
	if got := b.Must(200, "GET", path+"/provider-keys", ""); controltest.Field(got, "providerKeys") != "[]" {
		t.Error(got.Body)
	}
}

// policyOf returns the project's policy after checking that the ledger and KV have the same one.
func policyOf(b *controltest.Bench, id string) *doc.Policy {
	b.Helper()
	b.Memory.Deliver(b.T)
	p := b.Stored(id)
	put := ledger.Put{Version: p.Version, BudgetPico: p.BudgetPico, Period: controltest.November, Policy: p.Policy.Encode()}
	if last := b.Memory.Sent[len(b.Memory.Sent)-1]; last.Class != abi.ClassLedger || !bytes.Equal(last.Command, put.Encode()) {
		b.Errorf("the ledger got %x, want %x", last.Command, put.Encode())
	}
	if data := b.Memory.Kv[doc.PolicyKey(id, p.Policy.Version)]; !bytes.Equal(data, p.Policy.Encode()) {
		b.Errorf("KV has %x", data)
	}
	return &p.Policy
}

// Sealing the same key twice gives different results. Setting a key keeps the keys of other providers.
func TestSeveralProviderKeys(t *testing.T) {
	b := controltest.New(t)
	b.Masters, _ = controltest.Master("k1", 1)
	path := b.Project()
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	for _, provider := range []string{"openai", "anthropic", "openai"} {
		b.Must(200, "PUT", path+"/provider-keys/"+provider, `{"key":"`+providerKey+`"}`)
	}
	p := policyOf(b, id)
	if len(p.ProviderKeys) != 2 || p.ProviderKeys[0].Provider != "anthropic" || bytes.Equal(p.ProviderKeys[0].Sealed, p.ProviderKeys[1].Sealed) {
		t.Errorf("%+v", p)
	}
	b.Must(200, "PATCH", path, `{"models":["gpt-4.1"]}`)
	if got := controltest.Field(b.Must(200, "GET", path+"/provider-keys", ""), "providerKeys"); strings.Count(got, `"provider"`) != 2 {
		t.Errorf("a PATCH lost keys: %s", got)
	}
	b.Must(204, "DELETE", path+"/provider-keys/anthropic", "")
	if p := policyOf(b, id); len(p.ProviderKeys) != 1 || p.ProviderKey("openai") == nil || len(p.Models) != 1 {
		t.Errorf("%+v", p)
	}
}

// The first master key seals, and the ones after it can still unseal. If a master key is no longer configured, the
// keys that it sealed are shown as unusable.
func TestRotationOfMasterKeys(t *testing.T) {
	b := controltest.New(t)
	first, _ := controltest.Master("k1", 1)
	second, key2 := controltest.Master("k2", 2)
	b.Masters = first
	path := b.Project()
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	b.Must(200, "PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`"}`)
	for _, step := range []struct {
		masters string
		usable  bool
	}{{second + "," + first, true}, {second, false}, {"", false}, {first, true}} {
		b.Masters = step.masters
		got := b.Must(200, "GET", path+"/provider-keys", "")
		want := fmt.Sprintf(`"masterKeyId":"k1","usable":%t}]`, step.usable)
		if !strings.HasSuffix(controltest.Field(got, "providerKeys"), want) || controltest.Field(got, "enabled") != fmt.Sprint(step.masters != "") {
			t.Errorf("%q: %s", step.masters, got.Body)
		}
	}
	b.Masters = second + ", " + first
	b.Must(200, "PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`"}`)
	k := policyOf(b, id).ProviderKey("openai")
	if got, err := controltest.UnsealNatively(key2, doc.SealedFor(id, "openai"), k.Sealed); k.KeyID != "k2" || err != nil || string(got) != providerKey {
		t.Errorf("%+v %q %v", k, got, err)
	}
}

func TestWithoutMasterKey(t *testing.T) {
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b := controltest.New(t)
	path := b.Project()
	good, _ := controltest.Master("k1", 1)
	for _, masters := range []string{"", "k1", "k1:short", good + "," + "k2", ":" + good[3:]} {
		b.Masters = masters
		b.Refused(b.Do("PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`"}`), fault.NoMasterKey)
		if got := b.Must(200, "GET", path+"/provider-keys", ""); controltest.Field(got, "enabled") != "false" {
			t.Errorf("%q: %s", masters, got.Body)
		}
	}
	if strings.Contains(lines.String(), good[3:]) || strings.Contains(lines.String(), providerKey) {
		t.Error("the log contains a secret")
	}
}

func TestInvalidProviderKeys(t *testing.T) {
	b := controltest.New(t)
	b.Masters, _ = controltest.Master("k1", 1)
	path := b.Project()
	for _, body := range []string{
		`{}`, `{"key":null}`, `{"key":5}`, `{"key":""}`, `{"key":"1234567"}`, `{"key":"` + strings.Repeat("k", 513) + `"}`, `{"key":"with a space"}`,
		`{"key":"with\nnewline"}`, `{"key":"sk-ünicode"}`, `{"key":["sk-123456789"]}`, `{"key":"nul\u0000nul\u0000"}`,
	} {
		got := b.Do("PUT", path+"/provider-keys/openai", body)
		b.Refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.Problems(), []string{"key"}) {
			t.Errorf("%s: %q", body, got.Problems())
		}
	}
	if got := b.Do("PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`","extra":1}`); !reflect.DeepEqual(got.Problems(), []string{"extra"}) {
		t.Error(got.Body)
	}
	for _, provider := range []string{"nobody", "mock", "OpenAI", "openai%2f", "open ai", "..", strings.Repeat("a", 65)} {
		b.Refused(b.Do("PUT", path+"/provider-keys/"+strings.ReplaceAll(provider, " ", "%20"), `{"key":"`+providerKey+`"}`), fault.NotFound)
	}
	b.Refused(b.Do("PUT", "/api/admin/projects/proj_nobody/provider-keys/openai", `{"key":"`+providerKey+`"}`), fault.NotFound)
	b.Must(200, "PUT", path+"/provider-keys/openai", `{"key":"`+strings.Repeat("~", 512)+`"}`)
}

// A provider key never appears in a response, audit entry, row, delivery or log line.
func TestProviderKeysAreNotDisclosed(t *testing.T) {
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b := controltest.New(t)
	b.Masters, _ = controltest.Master("k1", 1)
	path := b.Project()
	b.Must(200, "PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`"}`)
	b.Configure(func(c *kernel.Config) {
		c.Seal = func(context.Context, []byte, string, []byte) ([]byte, error) { return nil, errors.New("no crypto") }
	})
	b.Refused(b.Do("PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+`"}`), fault.Internal)
	b.Refused(b.Do("PUT", path+"/provider-keys/openai", `{"key":"`+providerKey+` x"}`), fault.InvalidRequest)
	for _, at := range []string{path, path + "/provider-keys", "/api/admin/audit", path + "/routes"} {
		got := b.Must(200, "GET", at, "")
		if strings.Contains(got.Body.String(), providerKey) {
			t.Errorf("%s shows the secret", at)
		}
		if at == "/api/admin/audit" && !strings.Contains(got.Body.String(), `"action":"provider_key.set"`) {
			t.Errorf("not in the audit log: %s", got.Body)
		}
	}
	for name, row := range b.Memory.Rows {
		if bytes.Contains(row, []byte(providerKey)) {
			t.Errorf("row %q contains the secret", name)
		}
	}
	for _, s := range b.Memory.Sent {
		if bytes.Contains(s.Command, []byte(providerKey)) {
			t.Errorf("%s got the key", s.Name)
		}
	}
	if strings.Contains(lines.String(), providerKey) || !strings.Contains(lines.String(), "no crypto") {
		t.Errorf("log: %s", lines.String())
	}
}

// TestEarlierProviderName checks that the earlier name openai-responses means openai. If the operator has an entry
// with that name, it means the entry.
func TestEarlierProviderName(t *testing.T) {
	b := controltest.New(t)
	var master []byte
	b.Masters, master = controltest.Master("k1", 1)
	path := b.Project()
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	put := func(name, want string) {
		t.Helper()
		if got := b.Must(200, "PUT", path+"/provider-keys/"+name, `{"key":"`+providerKey+`"}`); got.Text("provider") != want {
			t.Errorf("%s: %s", name, got.Body)
		}
		if k := policyOf(b, id).ProviderKey(want); k == nil {
			t.Errorf("no key for %s", want)
		} else if _, err := controltest.UnsealNatively(master, doc.SealedFor(id, want), k.Sealed); err != nil {
			t.Errorf("the key does not open for %s: %v", want, err)
		}
	}
	put("openai-responses", "openai")
	put("openai", "openai")
	if p := policyOf(b, id); len(p.ProviderKeys) != 1 {
		t.Errorf("%+v", p.ProviderKeys)
	}
	b.Must(204, "DELETE", path+"/provider-keys/openai-responses", "")
	b.Refused(b.Do("DELETE", path+"/provider-keys/openai-responses", ""), fault.NotFound)
	put("openai", "openai")

	without := b.Config.Catalog
	b.Configure(func(c *kernel.Config) {
		c.Catalog = controltest.ParseCatalog(`{"providers":[{"name":"openai-responses","wire":"responses","baseUrl":"https://own.example","keyEnv":"OWN_API_KEY"}]}`)
	})
	b.Refused(b.Do("DELETE", path+"/provider-keys/openai-responses", ""), fault.NotFound)
	put("openai-responses", "openai-responses")
	// After the entry has left the catalog, the name still refers to the entry's key until that key is deleted.
	b.Configure(func(c *kernel.Config) { c.Catalog = without })
	for _, left := range []string{"openai", ""} {
		b.Must(204, "DELETE", path+"/provider-keys/openai-responses", "")
		got := ""
		stored := b.Stored(id)
		for _, k := range stored.Policy.ProviderKeys {
			got += k.Provider
		}
		if got != left {
			t.Errorf("left %q, want %q", got, left)
		}
	}
}
