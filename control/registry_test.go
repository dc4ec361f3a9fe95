package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// registryBench is a bench with reducers and a project.
type registryBench struct {
	*bench
	project  string // its path
	registry string // the path of its registry, for operators
}

func newRegistryBench(t *testing.T) *registryBench {
	b := &registryBench{bench: newBench(t)}
	b.memory.reducers = true
	b.project = b.bench.project()
	b.registry = b.project + registryPath
	return b
}

func (b *registryBench) projectID() string {
	return strings.TrimPrefix(b.project, "/api/admin/projects/")
}

// add registers a model and moves it along a path of states. It returns the entry's path.
func (b *registryBench) add(model string, states ...string) string {
	b.Helper()
	path := b.registry + "/" + b.must(201, "POST", b.registry, `{"model":"`+model+`"}`).text("id")
	for _, s := range states {
		b.move(path, s)
	}
	return path
}

func (b *registryBench) move(path, to string) reply {
	b.Helper()
	keys := ""
	if to == "restricted" {
		_, made := b.key(b.project)
		keys = `,"keys":["` + made.text("id") + `"]`
	}
	return b.must(200, "POST", path+"/transitions", `{"to":"`+to+`","reason":"because"`+keys+`}`)
}

// policy is the project's policy in the Directory, and checks that KV and the ledger were given the same.
func (b *registryBench) policy() doc.Policy {
	b.Helper()
	p, err := b.handler.(*handler).store.project(b.Context(), b.projectID())
	if err != nil {
		b.Fatal(err)
	}
	b.memory.deliver(b.T)
	if p.Policy.Version != 0 && string(b.memory.kv[doc.PolicyKey(p.ID, p.Policy.Version)]) != string(p.Policy.Encode()) {
		b.Errorf("KV has another policy of version %d", p.Policy.Version)
	}
	return p.Policy
}

// entries are the models of a list as "model=state".
func (b *registryBench) entries(query string) (list []string, got reply) {
	b.Helper()
	got = b.must(200, "GET", b.registry+query, "")
	for _, e := range got.fields["models"].([]any) {
		entry := e.(map[string]any)
		list = append(list, fmt.Sprint(entry["model"], "=", entry["state"]))
	}
	return list, got
}

func TestRegisterModel(t *testing.T) {
	b := newRegistryBench(t)
	body := `{"model":"openai/gpt-4.1","owner":"Search team","purpose":"Answers\nin the shop","riskTier":"limited","dataClasses":["customer data"],"regions":["eu"],
		"retention":"30 days","links":["https://example.com/card"],"reviewDate":"2027-01-31","successor":"openai/gpt-5.4"}`
	got := b.must(201, "POST", b.registry, body)
	want := map[string]string{
		"model": `"gpt-4.1"`, "state": `"pending"`, "owner": `"Search team"`, "purpose": `"Answers\nin the shop"`, "riskTier": `"limited"`,
		"dataClasses": `["customer data"]`, "regions": `["eu"]`, "retention": `"30 days"`, "links": `["https://example.com/card"]`,
		"reviewDate": `"2027-01-31T00:00:00.000Z"`, "successor": `"gpt-5.4"`, "keys": `[]`, "deprecatedAt": `null`, "sunsetAt": `null`, "approvals": `[]`,
		"version": `1`, "reviewOverdue": `false`, "delivery": `"delivered"`, "createdAt": `"2026-11-21T08:08:07.006Z"`, "updatedAt": `"2026-11-21T08:08:07.006Z"`,
		"history": `[{"at":"2026-11-21T08:08:07.006Z","by":"owner","from":"discovered","reason":null,"to":"pending"}]`,
	}
	for field, value := range want {
		if text, _ := json.Marshal(got.fields[field]); string(text) != value {
			t.Errorf("%s is %s, want %s", field, text, value)
		}
	}
	if len(got.fields) != len(want)+1 || !isID(got.text("id"), entryPrefix) {
		t.Errorf("fields: %s", got.Body)
	}
	one := b.must(200, "GET", b.registry+"/"+got.text("id"), "")
	delete(got.fields, "delivery")
	for field, value := range got.fields {
		if fmt.Sprint(one.fields[field]) != fmt.Sprint(value) {
			t.Errorf("GET: %s is %v, was %v", field, one.fields[field], value)
		}
	}
	p := b.policy()
	if len(p.Registry) != 1 || p.Registry[0].Model != "gpt-4.1" || p.Registry[0].State != doc.RegistryPending || p.Version != 2 {
		t.Errorf("policy: %+v", p)
	}
	// Every name of the model is the same entry.
	for _, name := range []string{"gpt-4.1", "openai/gpt-4.1"} {
		again := b.do("POST", b.registry, `{"model":"`+name+`"}`)
		b.refused(again, fault.Conflict)
		if !strings.Contains(again.Body.String(), got.text("id")) {
			t.Error(again.Body)
		}
	}
}

// Only the fields that a PATCH contains change, and null empties them. The policy and its version stay as they are if
// the gateway is not concerned.
func TestPatchEntry(t *testing.T) {
	b := newRegistryBench(t)
	path := b.add("gpt-4.1")
	version := b.policy().Version
	b.must(200, "PATCH", path, `{"owner":"a","purpose":"b","riskTier":"high","dataClasses":["c"],"retention":"d","reviewDate":"2026-11-22T00:00:00+01:00","version":1}`)
	got := b.must(200, "PATCH", path, `{"purpose":null,"riskTier":null,"dataClasses":[]}`)
	for field, want := range map[string]string{
		"owner": "a", "purpose": "<nil>", "riskTier": "<nil>", "dataClasses": "[]", "retention": "d", "reviewDate": "2026-11-21T23:00:00.000Z", "version": "3", "state": "pending",
	} {
		if text := fmt.Sprint(got.fields[field]); text != want {
			t.Errorf("%s is %s, want %s", field, text, want)
		}
	}
	if p := b.policy(); p.Version != version {
		t.Errorf("policy version %d, was %d", p.Version, version)
	}
	if got := b.must(200, "GET", b.project, ""); fmt.Sprint(got.fields["version"]) != "2" {
		t.Errorf("the project's version: %s", got.Body)
	}
	b.refused(b.do("PATCH", path, `{"owner":"x","version":2}`), fault.Conflict)
	b.refused(b.do("PATCH", b.registry+"/mod_"+someID, `{"owner":"x"}`), fault.NotFound)
	b.refused(b.do("GET", b.registry+"/mod_"+someID, ""), fault.NotFound)
	b.refused(b.do("POST", b.registry+"/mod_"+someID+"/transitions", `{"to":"pending"}`), fault.NotFound)
	b.now = b.now.Add(24 * time.Hour)
	if got := b.must(200, "GET", path, ""); fmt.Sprint(got.fields["reviewOverdue"]) != "true" {
		t.Error(got.Body)
	}
}

func TestRegistryValidation(t *testing.T) {
	b := newRegistryBench(t)
	_, gateway := b.key(b.project)
	project := b.must(201, "POST", b.project+"/keys", `{"name":"p","kind":"project"}`).text("id")
	other := b.bench.project()
	_, foreign := b.key(other)
	path := b.add("gpt-4.1")
	long, list := strings.Repeat("x", 1001), strings.Repeat(`"x",`, 32)+`"x"`
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", b.registry, `{}`, "model"},
		{"POST", b.registry, `{"model":1}`, "model"},
		{"POST", b.registry, `{"model":"nobody"}`, "model"},
		{"POST", b.registry, `{"model":"balanced"}`, "model"},
		{"POST", b.registry, `{"model":"gpt-5.4","state":"approved"}`, "state"},
		{"POST", b.registry, `{"model":"gpt-5.4","keys":[]}`, "keys"},
		{"POST", b.registry, `{"model":"gpt-5.4","approvals":[]}`, "approvals"},
		{"POST", b.registry, `{"model":"gpt-5.4","extra":1}`, "extra"},
		{"POST", b.registry, `{"model":"gpt-5.4","successor":"gpt-5.4"}`, "successor"},
		{"POST", b.registry, `{"model":"gpt-5.4","successor":"text-embedding-3-small"}`, "successor"},
		{"PATCH", path, `{"model":"gpt-5.4"}`, "model"},
		{"PATCH", path, `{"state":"approved"}`, "state"},
		{"PATCH", path, `{"owner":"` + strings.Repeat("é", 121) + `"}`, "owner"},
		{"PATCH", path, `{"owner":"\u202e"}`, "owner"},
		{"PATCH", path, `{"purpose":"` + long + `"}`, "purpose"},
		{"PATCH", path, `{"purpose":"\u0000"}`, "purpose"},
		{"PATCH", path, `{"retention":7}`, "retention"},
		{"PATCH", path, `{"riskTier":"none"}`, "riskTier"},
		{"PATCH", path, `{"dataClasses":"x"}`, "dataClasses"},
		{"PATCH", path, `{"dataClasses":[1]}`, "dataClasses"},
		{"PATCH", path, `{"dataClasses":[` + list + `]}`, "dataClasses"},
		{"PATCH", path, `{"regions":[""]}`, "regions"},
		{"PATCH", path, `{"regions":["` + strings.Repeat("x", 65) + `"]}`, "regions"},
		{"PATCH", path, `{"links":["http://example.com"]}`, "links"},
		{"PATCH", path, `{"links":["https://a:b@example.com"]}`, "links"},
		{"PATCH", path, `{"links":["https://"]}`, "links"},
		{"PATCH", path, `{"links":["javascript:alert(1)"]}`, "links"},
		{"PATCH", path, `{"links":["https://example.com/` + strings.Repeat("x", 256) + `"]}`, "links"},
		{"PATCH", path, `{"reviewDate":"tomorrow"}`, "reviewDate"},
		{"PATCH", path, `{"reviewDate":"2027-02-30"}`, "reviewDate"},
		{"PATCH", path, `{"reviewDate":1}`, "reviewDate"},
		{"PATCH", path, `{"sunsetAt":"2027-01-31"}`, "sunsetAt"},
		{"PATCH", path, `{"successor":"nobody"}`, "successor"},
		{"PATCH", path, `{"successor":"balanced"}`, "successor"},
		{"PATCH", path, `{"version":0}`, "version"},
		{"POST", path + "/transitions", `{}`, "to"},
		{"POST", path + "/transitions", `{"to":"discovered","reason":"r"}`, "to"},
		{"POST", path + "/transitions", `{"to":"unregistered","reason":"r"}`, "to"},
		{"POST", path + "/transitions", `{"to":"approved"}`, "reason"},
		{"POST", path + "/transitions", `{"to":"approved","reason":" "}`, "reason"},
		{"POST", path + "/transitions", `{"to":"blocked"}`, "reason"},
		{"POST", path + "/transitions", `{"to":"approved","reason":"` + long[:501] + `"}`, "reason"},
		{"POST", path + "/transitions", `{"to":"approved","reason":"r","keys":["` + gateway.text("id") + `"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"approved","reason":"r","sunsetAt":"2027-01-31"}`, "sunsetAt"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r"}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":[]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["sk_x"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["key_` + someID + `"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["` + project + `"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["` + foreign.text("id") + `"]}`, "keys"},
		{"PUT", b.registry + "/enforcement", `{}`, "enforcement"},
		{"PUT", b.registry + "/enforcement", `{"enforcement":"on"}`, "enforcement"},
		{"GET", b.registry + "?state=gone", "", "state"},
		{"GET", b.registry + "?after=x", "", "after"},
		{"GET", b.registry + "?status=approved", "", "status"},
	} {
		got := b.do(c.method, c.path, c.body)
		b.refused(got, fault.InvalidRequest)
		if !slices.Equal(got.problems(), []string{c.field}) {
			t.Errorf("%s %s: %s", c.path, c.body, got.Body)
		}
	}
	if got := b.must(200, "GET", path, ""); fmt.Sprint(got.fields["version"]) != "1" {
		t.Errorf("a refused request changed the entry: %s", got.Body)
	}
	// The bounds themselves are accepted.
	b.must(200, "PATCH", path, `{"owner":"`+strings.Repeat("é", 120)+`","purpose":"`+long[1:]+`","dataClasses":[`+list[4:]+`],"regions":["`+strings.Repeat("x", 64)+`"],"reviewDate":"9998-12-31"}`)
	b.must(200, "POST", path+"/transitions", `{"to":"restricted","reason":"`+long[:500]+`","keys":["`+gateway.text("id")+`"]}`)
	b.move(path, "deprecated")
	past := b.do("PATCH", path, `{"sunsetAt":"2026-11-20"}`)
	b.refused(past, fault.InvalidRequest)
	if got := b.must(200, "PATCH", path, `{"sunsetAt":"2026-12-24T18:00:00+02:00"}`); got.text("sunsetAt") != "2026-12-24T16:00:00.000Z" {
		t.Error(got.Body)
	}
}

// The routes for project keys: reading and editing are different permissions, and the actor is the key.
func TestRegistryWithProjectKeys(t *testing.T) {
	b := newRegistryBench(t)
	newKey := func(fields string) (id, value string) {
		made := b.must(201, "POST", b.project+"/keys", `{"name":"k",`+fields+`}`)
		return made.text("id"), made.text("value")
	}
	id, editor := newKey(`"kind":"project"`)
	_, reader := newKey(`"kind":"project","permissions":["registry"]`)
	_, gateway := newKey(`"kind":"gateway"`)
	with := func(value, method, path, body string) reply {
		return b.do(method, path, body, "Authorization", "", "X-API-Key", value)
	}
	made := with(editor, "POST", "/api/models-registry", `{"model":"gpt-4.1"}`)
	if made.Code != 201 {
		t.Fatal(made.Body)
	}
	path := "/api/models-registry/" + made.text("id")
	approved := with(editor, "POST", path+"/transitions", `{"to":"approved","reason":"reviewed","version":1}`)
	if approved.Code != 200 || !strings.Contains(approved.Body.String(), `"approvals":[{"by":"`+id+`"`) {
		t.Error(approved.Body)
	}
	if got := with(editor, "PATCH", path, `{"owner":"me"}`); got.Code != 200 {
		t.Error(got.Body)
	}
	for _, value := range []string{editor, reader} {
		if got := with(value, "GET", path, ""); got.Code != 200 || got.text("owner") != "me" {
			t.Error(got.Body)
		}
		if got := with(value, "GET", "/api/models-registry?state=approved", ""); got.Code != 200 {
			t.Error(got.Body)
		}
	}
	for _, value := range []string{reader, gateway} {
		b.refused(with(value, "POST", "/api/models-registry", `{"model":"gpt-5.4"}`), fault.Forbidden)
		b.refused(with(value, "PATCH", path, `{"owner":"x"}`), fault.Forbidden)
		b.refused(with(value, "POST", path+"/transitions", `{"to":"blocked","reason":"x"}`), fault.Forbidden)
	}
	b.refused(with(gateway, "GET", path, ""), fault.Forbidden)
	b.refused(with(editor, "PUT", "/api/models-registry/enforcement", `{"enforcement":"off"}`), fault.NotFound)
	// Another project's key sees another registry.
	b.project = b.bench.project()
	_, stranger := newKey(`"kind":"project"`)
	b.refused(with(stranger, "GET", path, ""), fault.NotFound)
	b.refused(with(stranger, "PATCH", path, `{"owner":"x"}`), fault.NotFound)
}

// Every change is in the audit log with its model and reason, and no entry without its change.
func TestRegistryAudit(t *testing.T) {
	b := newRegistryBench(t)
	later := func() { b.now = b.now.Add(time.Minute) }
	path := b.add("gpt-4.1")
	later()
	b.move(path, "approved")
	later()
	b.must(200, "PATCH", path, `{"owner":"me"}`)
	later()
	b.must(200, "PUT", b.registry+"/enforcement", `{"enforcement":"warn"}`)
	b.refused(b.do("POST", path+"/transitions", `{"to":"retired"}`), fault.Conflict)
	got := b.must(200, "GET", "/api/admin/audit?action=registry", "")
	var lines []string
	for _, e := range got.fields["entries"].([]any) {
		entry := e.(map[string]any)
		before, _ := json.Marshal(entry["before"])
		after, _ := json.Marshal(entry["after"])
		lines = append(lines, fmt.Sprintf("%s %s %s", entry["action"], before, after))
	}
	want := []string{
		`registry.enforcement {"enforcement":"off"} {"enforcement":"warn"}`,
		`registry.update {"model":"gpt-4.1","owner":null,"updatedAt":"2026-11-21T08:09:07.006Z","version":2} ` +
			`{"model":"gpt-4.1","owner":"me","updatedAt":"2026-11-21T08:10:07.006Z","version":3}`,
		`registry.transition {"model":"gpt-4.1","state":"pending","updatedAt":"2026-11-21T08:08:07.006Z","version":1} ` +
			`{"model":"gpt-4.1","reason":"because","state":"approved","updatedAt":"2026-11-21T08:09:07.006Z","version":2}`,
	}
	if len(lines) != 4 || !slices.Equal(lines[:3], want) || !strings.HasPrefix(lines[3], "registry.create null ") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	b.memory.failCommits()
	quiet(t)
	b.refused(b.do("PATCH", path, `{"owner":"you"}`), fault.Unavailable)
	b.memory.fail = nil
	if got := b.must(200, "GET", path, ""); got.text("owner") != "me" {
		t.Error(got.Body)
	}
}

// A malformed document is an error, not an entry without content.
func TestMalformedEntry(t *testing.T) {
	for _, text := range []string{`{`, `{"state":"gone"}`, `{"state":7}`, `{"createdAt":"x"}`} {
		if e, err := decodeEntry(directory.Document{Value: []byte(text)}); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
}
