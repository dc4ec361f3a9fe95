package projects_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// noPolicy returns the policy that is delivered to the ledger of a project without a policy.
func noPolicy(version uint64) []byte {
	p := doc.Policy{Version: version}
	return p.Encode()
}

func TestCreateProject(t *testing.T) {
	b := controltest.New(t)
	got := b.Must(201, "POST", "/api/admin/projects",
		`{"name":"Über <b>&","budget":12.345,"plan":"team","region":"weur","cacheTtlSeconds":60}`)
	id := got.Text("id")
	want := `{"id":"` + id + `","name":"Über <b>&","plan":"team","region":"weur","budget":12.345,` +
		`"budgetPeriod":"month","limits":{"requestsPerPeriod":null,"tokensPerPeriod":null},"enforce":"hard","cache":"colo","cacheTtlSeconds":60,"unbounded":false,"recordProviderErrors":false,"contact":"","models":[],"routes":{},` +
		`"governor":{"enabled":false,"strictMode":false},"group":null,"alerts":null,"status":"active",` +
		`"createdAt":"2026-11-21T08:08:07.006Z","version":1}`
	if got.Body.String() != want {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
	if again := b.Must(200, "GET", "/api/admin/projects/"+id, ""); again.Body.String() != want {
		t.Errorf("read back: %s", again.Body)
	}
	put := ledger.Put{Version: 1, BudgetPico: 12_345_000_000_000, Period: controltest.November, Policy: noPolicy(1)}
	command := abi.Delivery{Class: abi.ClassLedger, Name: id, Region: "weur", Data: put.Encode()}
	if out := b.Memory.Outbox(t); !reflect.DeepEqual(out, []abi.Delivery{command}) {
		t.Errorf("outbox: %+v", out)
	}
	if want := []controltest.Sent{{Class: abi.ClassLedger, Name: id, Region: "weur", Command: put.Encode()}}; !reflect.DeepEqual(b.Memory.Sent, want) {
		t.Errorf("sent: %+v", b.Memory.Sent)
	}
}

func TestCreateProjectDefaults(t *testing.T) {
	b := controltest.New(t)
	got := b.Must(201, "POST", "/api/admin/projects", `{"name":"x"}`)
	if !strings.Contains(got.Body.String(), `"plan":"free","region":null,"budget":5,"budgetPeriod":"month","limits":{"requestsPerPeriod":null,"tokensPerPeriod":null},"enforce":"hard","cache":"colo","cacheTtlSeconds":3600,"unbounded":false,"recordProviderErrors":false,"contact":"","models":[],`) {
		t.Error(got.Body)
	}
	got = b.Must(201, "POST", "/api/admin/projects", `{"name":"x","plan":"team","region":null}`)
	if !strings.Contains(got.Body.String(), `"plan":"team","region":null,"budget":100,`) {
		t.Error(got.Body)
	}
}

func TestBudgets(t *testing.T) {
	for digits, want := range map[string]money.Pico{
		"0": 0, "0.000000000001": 1, "1e3": 1000 * money.Dollar, "1.5E-1": 15 * money.Cent, "9000000": 9_000_000 * money.Dollar,
		"9000000.000000000001": -1, "1e400": -1, "1e99": -1, "1e-400": -1, "0e5": 0, "0.0000000000001": -1, "-1": -1, "-0.5": -1,
		`"5"`: -1, "null": -1, "[5]": -1, "true": -1, "{}": -1,
		"1" + strings.Repeat("0", 70): -1, "0." + strings.Repeat("0", 70) + "1": -1, "99999999999999999999": -1,
	} {
		b := controltest.New(t)
		got := b.Do("POST", "/api/admin/projects", `{"name":"x","budget":`+digits+`}`)
		if want < 0 {
			b.Refused(got, fault.InvalidRequest)
			continue
		}
		if got.Code != 201 || fmt.Sprint(got.Fields["budget"]) != string(money.Append(nil, want, money.Dollar)) {
			t.Errorf("%s: %d %s", digits, got.Code, got.Body)
		}
	}
}

func TestInvalidProjectsListAllProblems(t *testing.T) {
	b := controltest.New(t)
	for body, want := range map[string][]string{
		`{}`: {"name"},
		`{"name":"","budget":-1,"plan":"gold","region":"mars","cacheTtlSeconds":1.5,"z":1,"a":2}`: {
			"name", "plan", "budget", "region", "cacheTtlSeconds", "a", "z"},
		`{"name":null,"budget":"1","plan":7,"region":[],"cacheTtlSeconds":-1,"unbounded":1}`: {
			"name", "plan", "budget", "region", "cacheTtlSeconds", "unbounded"},
		`{"name":"x","unbounded":"true"}`:                  {"unbounded"},
		`{"name":"x","unbounded":null}`:                    {"unbounded"},
		`{"name":"x","contact":5}`:                         {"contact"},
		`{"name":"x","contact":" a"}`:                      {"contact"},
		`{"name":"x","contact":"ü"}`:                       {"contact"},
		`{"name":"x","contact":"a\nx-b: c"}`:               {"contact"},
		`{"Name":"x"}`:                                     {"name", "Name"},
		`{"name":"x","cacheTtlSeconds":2592001}`:           {"cacheTtlSeconds"},
		`{"name":"x","region":""}`:                         {"region"},
		`{"name":"x","` + strings.Repeat("a", 65) + `":1}`: {""},
	} {
		got := b.Do("POST", "/api/admin/projects", body)
		b.Refused(got, fault.InvalidRequest)
		if fields := got.Problems(); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: %q, want %q", body, fields, want)
		}
	}
	if len(b.Memory.Rows) != 0 || len(b.Memory.Sent) != 0 {
		t.Error("a rejected request wrote something")
	}
}

func TestUnknownFieldsEchoIsLimited(t *testing.T) {
	var body strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&body, `,"f%d":0`, i)
	}
	b := controltest.New(t)
	got := b.Do("POST", "/api/admin/projects", `{"name":"x"`+body.String()+`}`)
	if len(got.Problems()) != kernel.MaxUnknown {
		t.Errorf("%d %d", got.Code, len(got.Problems()))
	}
}

func TestListProjects(t *testing.T) {
	b := controltest.New(t)
	if got := b.Must(200, "GET", "/api/admin/projects", ""); got.Body.String() != `{"projects":[],"next":null}` {
		t.Error(got.Body)
	}
	var made []string
	for i := range 5 {
		b.Now = b.Now.Add(1e6)
		made = append(made, b.Must(201, "POST", "/api/admin/projects", fmt.Sprintf(`{"name":"p%d"}`, i)).Text("id"))
	}
	var seen []string
	query := "?limit=2"
	for pages := 1; ; pages++ {
		got := b.Must(200, "GET", "/api/admin/projects"+query, "")
		for _, p := range got.Fields["projects"].([]any) {
			seen = append(seen, p.(map[string]any)["id"].(string))
		}
		if got.Fields["next"] == nil {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		query = "?limit=2&after=" + got.Text("next")
	}
	if !reflect.DeepEqual(seen, made) {
		t.Errorf("got %q, want %q", seen, made)
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=x", "?limit=-1", "?after=p/x", "?after=proj_", "?after=proj_%00"} {
		b.Refused(b.Do("GET", "/api/admin/projects"+query, ""), fault.InvalidRequest)
	}
	if got := b.Do("GET", "/api/admin/projects?limit=9999999999999999999&after=%ff", "").Problems(); len(got) != 2 {
		t.Errorf("problems: %q", got)
	}
}

func TestPatchProject(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	got := b.Must(200, "PATCH", path, `{"name":"New","budget":7}`)
	for _, part := range []string{`"name":"New"`, `"budget":7,`, `"plan":"free"`, `"cacheTtlSeconds":3600`, `"version":2`} {
		if !strings.Contains(got.Body.String(), part) {
			t.Errorf("%s lacks %s", got.Body, part)
		}
	}
	put := ledger.Put{Version: 2, BudgetPico: 7 * money.Dollar, Period: controltest.November, Policy: noPolicy(2)}
	id := got.Text("id")
	if want := []controltest.Sent{{Class: abi.ClassLedger, Name: id, Region: "", Command: put.Encode()}}; !reflect.DeepEqual(b.Memory.Sent, want) {
		t.Errorf("sent: %+v", b.Memory.Sent)
	}
	if got := b.Do("PATCH", path, `{"region":"weur","id":"proj_x","name":5}`); !reflect.DeepEqual(got.Problems(), []string{"name", "region", "id"}) {
		t.Error(got.Body)
	}
	b.Must(200, "PATCH", path, `{}`)
}

func TestPlanChangeReachesAllKeys(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	_, first := b.Key(path)
	second, other := b.Key(path)
	b.Must(200, "POST", second+"/deactivate", "")
	b.Memory.Forget()

	b.Must(200, "PATCH", path, `{"plan":"team","cacheTtlSeconds":0}`)
	// The outbox contains only the ledger's delivery, because the Directory's alarm adds the deliveries to the keys
	// later. Both meters also get the change directly.
	if out := b.Memory.Outbox(t); len(out) != 1 || out[0].Class != abi.ClassLedger || len(b.Memory.Sent) != 3 {
		t.Fatalf("%d deliveries, %d sent", len(out), len(b.Memory.Sent))
	}
	direct := b.Memory.Sent[1:]
	b.Memory.Forget()
	republish(b)
	// The project's version is 5, because five commits were made: its creation, two keys, a deactivation and this
	// change. The second key has version 2.
	out := b.Memory.Outbox(t)
	if len(out) != 4 {
		t.Fatalf("%d deliveries", len(out))
	}
	statuses := map[string]struct {
		status  doc.Status
		version uint64
	}{first.Text("id"): {doc.Active, 6}, other.Text("id"): {doc.Inactive, 7}}
	for i := 0; i < len(out); i += 2 {
		record, err := doc.DecodeRecord(out[i+1].Data)
		if err != nil || out[i+1].Class != abi.ClassKV || out[i+1].Name != doc.RecordKey(out[i].Name) {
			t.Fatalf("%v %+v", err, out[i+1])
		}
		want := statuses[record.KeyID]
		if record.Plan != "team" || record.CacheTTLSeconds != 0 || record.Version != want.version {
			t.Errorf("record: %+v", record)
		}
		put := keymeter.Put{Status: want.status, Record: record}
		if out[i].Class != abi.ClassKeyMeter || string(out[i].Data) != string(put.Encode()) {
			t.Errorf("put: %+v", out[i])
		}
		same := func(s controltest.Sent) bool {
			return s.Name == out[i].Name && string(s.Command) == string(out[i].Data)
		}
		if !slices.ContainsFunc(direct, same) {
			t.Errorf("%s got another delivery before the response", out[i].Name)
		}
	}
}

// TestProviderErrorsReachAllKeys checks that every key's record says whether providers' messages are recorded, and
// that the change is audited.
func TestProviderErrorsReachAllKeys(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	made := b.Must(201, "POST", path+"/keys", `{"name":"k"}`)
	for _, on := range []bool{true, false} {
		field := fmt.Sprintf(`"recordProviderErrors":%v`, on)
		if got := b.Must(200, "PATCH", path, "{"+field+"}"); !strings.Contains(got.Body.String(), field+",") {
			t.Error(got.Body)
		}
		if b.RecordOf(made).RecordProviderErrors != on {
			t.Errorf("the record of the key has %v", !on)
		}
		log, _ := b.Entries("?action=project")
		if !slices.ContainsFunc(log, func(e map[string]any) bool {
			before, _ := e["before"].(map[string]any)
			return before["recordProviderErrors"] == !on && e["after"].(map[string]any)["recordProviderErrors"] == on
		}) {
			t.Errorf("audit: %v", log)
		}
	}
	if got := b.Must(201, "POST", "/api/admin/projects", `{"name":"x","recordProviderErrors":true}`); !strings.Contains(got.Body.String(), `"recordProviderErrors":true,`) {
		t.Error(got.Body)
	}
}

// The record of every key, whether old or new, says whether responses are limited.
func TestUnboundedReachesAllKeys(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	made := b.Must(201, "POST", path+"/keys", `{"name":"old"}`)
	before := b.RecordOf(made)
	got := b.Must(200, "PATCH", path, `{"unbounded":true}`)
	if !strings.Contains(got.Body.String(), `"unbounded":true,`) {
		t.Error(got.Body)
	}
	after := b.RecordOf(made)
	if before.Version == 0 || before.Unbounded || !after.Unbounded || after.Version <= before.Version {
		t.Errorf("before %+v, after %+v", before, after)
	}
	log, _ := b.Entries("?action=project")
	i := slices.IndexFunc(log, func(e map[string]any) bool { return e["action"] == "project.update" })
	if i < 0 || log[i]["before"].(map[string]any)["unbounded"] != false || log[i]["after"].(map[string]any)["unbounded"] != true {
		t.Errorf("audit: %v", log)
	}
	b.Must(200, "PATCH", path, `{"budget":1}`)
	other := b.Must(201, "POST", path+"/keys", `{"name":"new"}`)
	if !b.RecordOf(made).Unbounded || !b.RecordOf(other).Unbounded {
		t.Error("another change, or a new key, limits responses again")
	}
	b.Must(200, "PATCH", path, `{"unbounded":false}`)
	if b.RecordOf(made).Unbounded || b.RecordOf(other).Unbounded {
		t.Error("responses are still not limited")
	}
	if got := b.Must(201, "POST", "/api/admin/projects", `{"name":"x","unbounded":true}`); !strings.Contains(got.Body.String(), `"unbounded":true,`) {
		t.Error(got.Body)
	}
}

// republish triggers the Directory's alarm until there is no work left. It leaves the deliveries in the outbox.
func republish(b *controltest.Bench) {
	b.Helper()
	for rang := true; rang; {
		var err error
		if rang, err = b.Memory.Directory().Ring(b.Memory.Directory().AlarmMs); err != nil {
			b.Fatal(err)
		}
	}
}

// A name must have visible characters, but none that reorder the text around it. The maximum length of a search text
// is at least that of a name.
func TestNames(t *testing.T) {
	b := controltest.New(t)
	for name, status := range map[string]int{
		"名前": 201, "👩\u200d💻 team": 201, "مشروع": 201, "e\u0301": 201, strings.Repeat("名", 120): 201,
		" ": 400, "\u3000\u00a0": 400, "\u200b\ufeff": 400, "safe\u202etxt.exe": 400, "a\u2066b": 400, "a\u2028b": 400, strings.Repeat("名", 121): 400,
	} {
		body, _ := json.Marshal(map[string]string{"name": name})
		if got := b.Do("POST", "/api/admin/projects", string(body)); got.Code != status {
			t.Errorf("%q: %d %s", name, got.Code, got.Body)
		}
	}
	got := b.Must(200, "GET", "/api/admin/projects?q="+url.QueryEscape(strings.Repeat("名", 120)), "")
	if n := len(got.Fields["projects"].([]any)); n != 1 {
		t.Errorf("%d found", n)
	}
	b.Refused(b.Do("GET", "/api/admin/projects?q="+strings.Repeat("a", 201), ""), fault.InvalidRequest)
}
