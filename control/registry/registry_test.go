package registry_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/registry"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// registryBench is a bench with reducers and a project.
type registryBench struct {
	*controltest.Bench
	project  string // the project's path
	registry string // the path of the project's registry, for operators
}

func newRegistryBench(t *testing.T) *registryBench {
	b := &registryBench{Bench: controltest.New(t)}
	b.Memory.Reducers = true
	b.project = b.Bench.Project()
	b.registry = b.project + registry.Path
	return b
}

func (b *registryBench) projectID() string {
	return strings.TrimPrefix(b.project, "/api/admin/projects/")
}

// add registers a model and moves it through the given states. It returns the entry's path.
func (b *registryBench) add(model string, states ...string) string {
	b.Helper()
	path := b.registry + "/" + b.Must(201, "POST", b.registry, `{"model":"`+model+`"}`).Text("id")
	for _, s := range states {
		b.move(path, s)
	}
	return path
}

func (b *registryBench) move(path, to string) controltest.Reply {
	b.Helper()
	keys := ""
	if to == "restricted" {
		_, made := b.Key(b.project)
		keys = `,"keys":["` + made.Text("id") + `"]`
	}
	return b.Must(200, "POST", path+"/transitions", `{"to":"`+to+`","reason":"because"`+keys+`}`)
}

// policy returns the project's policy from the Directory and checks that KV has the same policy.
func (b *registryBench) policy() doc.Policy {
	b.Helper()
	p := b.Stored(b.projectID())
	b.Memory.Deliver(b.T)
	if p.Policy.Version != 0 && string(b.Memory.Kv[doc.PolicyKey(p.ID, p.Policy.Version)]) != string(p.Policy.Encode()) {
		b.Errorf("KV has another policy of version %d", p.Policy.Version)
	}
	return p.Policy
}

// entries returns the models in a list as "model=state".
func (b *registryBench) entries(query string) (list []string, got controltest.Reply) {
	b.Helper()
	got = b.Must(200, "GET", b.registry+query, "")
	for _, e := range got.Fields["models"].([]any) {
		entry := e.(map[string]any)
		list = append(list, fmt.Sprint(entry["model"], "=", entry["state"]))
	}
	return list, got
}

func TestRegisterModel(t *testing.T) {
	b := newRegistryBench(t)
	body := `{"model":"openai/gpt-4.1","owner":"Search team","purpose":"Answers\nin the shop","riskTier":"limited","dataClasses":["customer data"],"regions":["eu"],
		"retention":"30 days","links":["https://example.com/card"],"reviewDate":"2027-01-31","successor":"openai/gpt-5.4"}`
	got := b.Must(201, "POST", b.registry, body)
	want := map[string]string{
		"model": `"gpt-4.1"`, "state": `"pending"`, "owner": `"Search team"`, "purpose": `"Answers\nin the shop"`, "riskTier": `"limited"`,
		"dataClasses": `["customer data"]`, "regions": `["eu"]`, "retention": `"30 days"`, "links": `["https://example.com/card"]`,
		"reviewDate": `"2027-01-31T00:00:00.000Z"`, "successor": `"gpt-5.4"`, "keys": `[]`, "deprecatedAt": `null`, "sunsetAt": `null`, "approvals": `[]`,
		"version": `1`, "reviewOverdue": `false`, "delivery": `"delivered"`, "createdAt": `"2026-11-21T08:08:07.006Z"`, "updatedAt": `"2026-11-21T08:08:07.006Z"`,
		"history": `[{"at":"2026-11-21T08:08:07.006Z","by":"owner","from":"discovered","reason":null,"to":"pending"}]`,
	}
	for field, value := range want {
		if text, _ := json.Marshal(got.Fields[field]); string(text) != value {
			t.Errorf("%s is %s, want %s", field, text, value)
		}
	}
	if len(got.Fields) != len(want)+1 || !kernel.IsID(got.Text("id"), kernel.EntryPrefix) {
		t.Errorf("fields: %s", got.Body)
	}
	one := b.Must(200, "GET", b.registry+"/"+got.Text("id"), "")
	delete(got.Fields, "delivery")
	for field, value := range got.Fields {
		if fmt.Sprint(one.Fields[field]) != fmt.Sprint(value) {
			t.Errorf("GET: %s is %v, was %v", field, one.Fields[field], value)
		}
	}
	p := b.policy()
	if len(p.Registry) != 1 || p.Registry[0].Model != "gpt-4.1" || p.Registry[0].State != doc.RegistryPending || p.Version != 2 {
		t.Errorf("policy: %+v", p)
	}
	// All names of a model lead to the same entry.
	for _, name := range []string{"gpt-4.1", "openai/gpt-4.1"} {
		again := b.Do("POST", b.registry, `{"model":"`+name+`"}`)
		b.Refused(again, fault.Conflict)
		if !strings.Contains(again.Body.String(), got.Text("id")) {
			t.Error(again.Body)
		}
	}
}

// Only the fields in a PATCH change, and null empties a field. If a change does not concern the gateway, the policy
// and its version stay the same.
func TestPatchEntry(t *testing.T) {
	b := newRegistryBench(t)
	path := b.add("gpt-4.1")
	version := b.policy().Version
	b.Must(200, "PATCH", path, `{"owner":"a","purpose":"b","riskTier":"high","dataClasses":["c"],"retention":"d","reviewDate":"2026-11-22T00:00:00+01:00","version":1}`)
	got := b.Must(200, "PATCH", path, `{"purpose":null,"riskTier":null,"dataClasses":[]}`)
	for field, want := range map[string]string{
		"owner": "a", "purpose": "<nil>", "riskTier": "<nil>", "dataClasses": "[]", "retention": "d", "reviewDate": "2026-11-21T23:00:00.000Z", "version": "3", "state": "pending",
	} {
		if text := fmt.Sprint(got.Fields[field]); text != want {
			t.Errorf("%s is %s, want %s", field, text, want)
		}
	}
	if p := b.policy(); p.Version != version {
		t.Errorf("policy version %d, was %d", p.Version, version)
	}
	if got := b.Must(200, "GET", b.project, ""); fmt.Sprint(got.Fields["version"]) != "2" {
		t.Errorf("the project's version: %s", got.Body)
	}
	b.Refused(b.Do("PATCH", path, `{"owner":"x","version":2}`), fault.Conflict)
	b.Refused(b.Do("PATCH", b.registry+"/mod_"+controltest.SomeID, `{"owner":"x"}`), fault.NotFound)
	b.Refused(b.Do("GET", b.registry+"/mod_"+controltest.SomeID, ""), fault.NotFound)
	b.Refused(b.Do("POST", b.registry+"/mod_"+controltest.SomeID+"/transitions", `{"to":"pending"}`), fault.NotFound)
	b.Now = b.Now.Add(24 * time.Hour)
	if got := b.Must(200, "GET", path, ""); fmt.Sprint(got.Fields["reviewOverdue"]) != "true" {
		t.Error(got.Body)
	}
}

func TestRegistryValidation(t *testing.T) {
	b := newRegistryBench(t)
	_, gateway := b.Key(b.project)
	project := b.Must(201, "POST", b.project+"/keys", `{"name":"p","kind":"project"}`).Text("id")
	other := b.Bench.Project()
	_, foreign := b.Key(other)
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
		{"POST", path + "/transitions", `{"to":"approved","reason":"r","keys":["` + gateway.Text("id") + `"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"approved","reason":"r","sunsetAt":"2027-01-31"}`, "sunsetAt"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r"}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":[]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["sk_x"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["key_` + controltest.SomeID + `"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["` + project + `"]}`, "keys"},
		{"POST", path + "/transitions", `{"to":"restricted","reason":"r","keys":["` + foreign.Text("id") + `"]}`, "keys"},
		{"PUT", b.registry + "/enforcement", `{}`, "enforcement"},
		{"PUT", b.registry + "/enforcement", `{"enforcement":"on"}`, "enforcement"},
		{"GET", b.registry + "?state=gone", "", "state"},
		{"GET", b.registry + "?after=x", "", "after"},
		{"GET", b.registry + "?status=approved", "", "status"},
	} {
		got := b.Do(c.method, c.path, c.body)
		b.Refused(got, fault.InvalidRequest)
		if !slices.Equal(got.Problems(), []string{c.field}) {
			t.Errorf("%s %s: %s", c.path, c.body, got.Body)
		}
	}
	if got := b.Must(200, "GET", path, ""); fmt.Sprint(got.Fields["version"]) != "1" {
		t.Errorf("a refused request changed the entry: %s", got.Body)
	}
	// Values at the limits are accepted.
	b.Must(200, "PATCH", path, `{"owner":"`+strings.Repeat("é", 120)+`","purpose":"`+long[1:]+`","dataClasses":[`+list[4:]+`],"regions":["`+strings.Repeat("x", 64)+`"],"reviewDate":"9998-12-31"}`)
	b.Must(200, "POST", path+"/transitions", `{"to":"restricted","reason":"`+long[:500]+`","keys":["`+gateway.Text("id")+`"]}`)
	b.move(path, "deprecated")
	past := b.Do("PATCH", path, `{"sunsetAt":"2026-11-20"}`)
	b.Refused(past, fault.InvalidRequest)
	if got := b.Must(200, "PATCH", path, `{"sunsetAt":"2026-12-24T18:00:00+02:00"}`); got.Text("sunsetAt") != "2026-12-24T16:00:00.000Z" {
		t.Error(got.Body)
	}
}

// On the routes for project keys, reading and editing need different permissions. The actor in the audit log is the
// key.
func TestRegistryWithProjectKeys(t *testing.T) {
	b := newRegistryBench(t)
	newKey := func(fields string) (id, value string) {
		made := b.Must(201, "POST", b.project+"/keys", `{"name":"k",`+fields+`}`)
		return made.Text("id"), made.Text("value")
	}
	id, editor := newKey(`"kind":"project"`)
	_, reader := newKey(`"kind":"project","permissions":["registry"]`)
	_, gateway := newKey(`"kind":"gateway"`)
	with := func(value, method, path, body string) controltest.Reply {
		return b.Do(method, path, body, "Authorization", "", "X-API-Key", value)
	}
	made := with(editor, "POST", "/api/models-registry", `{"model":"gpt-4.1"}`)
	if made.Code != 201 {
		t.Fatal(made.Body)
	}
	path := "/api/models-registry/" + made.Text("id")
	approved := with(editor, "POST", path+"/transitions", `{"to":"approved","reason":"reviewed","version":1}`)
	if approved.Code != 200 || !strings.Contains(approved.Body.String(), `"approvals":[{"by":"`+id+`"`) {
		t.Error(approved.Body)
	}
	if got := with(editor, "PATCH", path, `{"owner":"me"}`); got.Code != 200 {
		t.Error(got.Body)
	}
	for _, value := range []string{editor, reader} {
		if got := with(value, "GET", path, ""); got.Code != 200 || got.Text("owner") != "me" {
			t.Error(got.Body)
		}
		if got := with(value, "GET", "/api/models-registry?state=approved", ""); got.Code != 200 {
			t.Error(got.Body)
		}
	}
	for _, value := range []string{reader, gateway} {
		b.Refused(with(value, "POST", "/api/models-registry", `{"model":"gpt-5.4"}`), fault.Forbidden)
		b.Refused(with(value, "PATCH", path, `{"owner":"x"}`), fault.Forbidden)
		b.Refused(with(value, "POST", path+"/transitions", `{"to":"blocked","reason":"x"}`), fault.Forbidden)
	}
	b.Refused(with(gateway, "GET", path, ""), fault.Forbidden)
	b.Refused(with(editor, "PUT", "/api/models-registry/enforcement", `{"enforcement":"off"}`), fault.NotFound)
	// A key of another project sees that project's registry.
	b.project = b.Bench.Project()
	_, stranger := newKey(`"kind":"project"`)
	b.Refused(with(stranger, "GET", path, ""), fault.NotFound)
	b.Refused(with(stranger, "PATCH", path, `{"owner":"x"}`), fault.NotFound)
}

// Every change is in the audit log with its model and reason. A refused or failed change is not in the log.
func TestRegistryAudit(t *testing.T) {
	b := newRegistryBench(t)
	later := func() { b.Now = b.Now.Add(time.Minute) }
	path := b.add("gpt-4.1")
	later()
	b.move(path, "approved")
	later()
	b.Must(200, "PATCH", path, `{"owner":"me"}`)
	later()
	b.Must(200, "PUT", b.registry+"/enforcement", `{"enforcement":"warn"}`)
	b.Refused(b.Do("POST", path+"/transitions", `{"to":"retired"}`), fault.Conflict)
	got := b.Must(200, "GET", "/api/admin/audit?action=registry", "")
	var lines []string
	for _, e := range got.Fields["entries"].([]any) {
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
	b.Memory.FailCommits()
	controltest.Quiet(t)
	b.Refused(b.Do("PATCH", path, `{"owner":"you"}`), fault.Unavailable)
	b.Memory.Fail = nil
	if got := b.Must(200, "GET", path, ""); got.Text("owner") != "me" {
		t.Error(got.Body)
	}
}
