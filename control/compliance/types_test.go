package compliance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/postern-ai/postern/compliance/verify"
	"github.com/postern-ai/postern/control/compliance"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// The creation and triage of a violation are in the chain. The summary counts open violations.
func TestViolationsAreChained(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	id := e.Violate(e.path, ledger.Violation{Rule: "secret.github-token", Severity: "critical"})
	e.Violate(e.path, ledger.Violation{Rule: "personal.email", Category: "personal", Severity: "low", Excerpt: "om"})
	e.Must(200, "PATCH", e.path+"/violations/"+id, `{"state":"resolved","note":"rotated"}`)
	e.daily()
	text := strings.Join(e.export("type=violations"), "")
	for _, part := range []string{
		`"kind":"violations.change"`, `{"changes":[{"kind":"violation.created","violation":{"id":"` + id + `","state":"open","rule":"secret.github-token"`,
		`{"kind":"violation.changed","violation":{"id":"` + id + `","state":"resolved"`, `"note":"rotated"`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if code, output := e.verified([]string{text}, "-key", e.publicKey()); code != verify.Valid || !strings.Contains(output, "Entries 1 to 3") {
		t.Error(output)
	}
	open := e.Must(200, "GET", e.path+"/compliance/summary", "").Fields["violations"].(map[string]any)
	if open["open"] != json.Number("1") || open["bySeverity"].(map[string]any)["low"] != json.Number("1") || open["bySeverity"].(map[string]any)["critical"] != json.Number("0") {
		t.Errorf("%v", open)
	}
}

// An event records that violations were pruned.
func TestPrunedViolationsAreChained(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	id := e.Violate(e.path, ledger.Violation{Rule: "secret.github-token"})
	e.Now = e.Now.AddDate(0, 0, ledger.KeepViolationDays+2)
	e.daily()
	text := strings.Join(e.export("type=violations"), "")
	if !strings.Contains(text, `{"kind":"violation.pruned","violation":{"id":"`+id+`"}}`) {
		t.Error(text)
	}
	if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["complete"] != true {
		t.Error(got.Body)
	}
}

// bomSchema compiles the CycloneDX schema, which refers to two others.
func bomSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const folder, base = "../../node_modules/@cyclonedx/cyclonedx-library/res/schema/", "http://cyclonedx.org/schema/"
	compiler := jsonschema.NewCompiler()
	for _, name := range []string{"bom-1.7", "spdx", "jsf-0.82", "cryptography-defs"} {
		text, err := os.ReadFile(folder + name + ".SNAPSHOT.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{base + name + ".SNAPSHOT.schema.json", base + name + ".schema.json"} {
			if err := compiler.AddResource(at, document); err != nil {
				t.Fatal(err)
			}
		}
	}
	schema, err := compiler.Compile(base + "bom-1.7.SNAPSHOT.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// register makes registry entries in several states, one of them with all fields. It also records usage of a model
// that has no entry.
func (e *evidence) register() {
	e.Helper()
	id := e.Must(201, "POST", e.path+"/models-registry", `{"model":"gpt-4.1","owner":"Ana <ana@example.com>","purpose":"Answers \"support\" questions",
		"riskTier":"limited","dataClasses":["personal","internal"],"regions":["eu","us"],"retention":"30 days","links":["https://example.com/card"],
		"reviewDate":"2026-11-21T12:00:00Z"}`).Text("id")
	e.Must(200, "POST", e.path+"/models-registry/"+id+"/transitions", `{"to":"approved","reason":"Reviewed by legal"}`)
	e.Must(201, "POST", e.path+"/models-registry", `{"model":"gpt-4.1-mini"}`)
	e.Absorb(e.path, []controltest.Booked{{Day: controltest.Today, Hour: 1, Key: "key_a", Model: "gpt-4.1", Requests: 2, Pico: 100}, {Day: controltest.Today, Hour: 1, Key: "key_b", Model: "claude-sonnet-4-5", Requests: 1, Pico: 1}})
}

// The inventory in CycloneDX format satisfies the schema. This holds for an empty inventory and for entries with all
// fields.
func TestBillOfMaterials(t *testing.T) {
	e := newEvidence(t)
	schema := bomSchema(t)
	for _, components := range []int{0, 3} {
		got := e.Must(200, "GET", e.path+"/compliance/export?type=inventory&format=cyclonedx", "")
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%v in %s", err, got.Body)
		}
		if got.Header().Get("Content-Type") != compliance.BOMContentType || got.Text("specVersion") != "1.7" || strings.Count(got.Body.String(), `"machine-learning-model"`) != components {
			t.Error(got.Body)
		}
		document.(map[string]any)["components"] = "none"
		if schema.Validate(document) == nil {
			t.Fatal("the schema accepts anything")
		}
		if components == 0 {
			e.register()
		}
	}
	text := e.Do("GET", e.path+"/compliance/export?type=inventory&format=cyclonedx", "")
	for _, part := range []string{
		`{"name":"postern:state","value":"approved"}`, `{"name":"postern:owner","value":"Ana <ana@example.com>"}`, `{"name":"postern:riskTier","value":"limited"}`,
		`{"name":"postern:dataClasses","value":"personal, internal"}`, `{"name":"postern:approval","value":"owner: Reviewed by legal"}`,
		`"useCases":["Answers \"support\" questions"]`, `"supplier":{"name":"openai"}`, `{"name":"postern:state","value":"discovered"}`,
	} {
		if !strings.Contains(text.Body.String(), part) {
			t.Errorf("no %s in %s", part, text.Body)
		}
	}
}

// The summary compares the models in use with the registry and names overdue reviews. Registry changes are in the
// chain.
func TestRegistryCoverage(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.register()
	e.daily()
	registry := e.Must(200, "GET", e.path+"/compliance/summary", "").Fields["registry"].(map[string]any)
	want := map[string]any{
		"enforcement": "off", "states": map[string]any{"approved": json.Number("1"), "pending": json.Number("1"), "discovered": json.Number("1")},
		"unregistered": []any{"claude-sonnet-4-5"}, "overdueReviews": []any{"gpt-4.1"},
	}
	if !reflect.DeepEqual(registry, want) {
		t.Errorf("%v, want %v", registry, want)
	}
	pages := e.export("type=inventory&limit=1")
	if whole := strings.Join(pages, ""); len(pages) != 3 || strings.Count(whole, `{"record":"model","id":"mod_`) != 3 || strings.Count(whole, `"model":"gpt-4.1"`) != 1 {
		t.Errorf("%d pages: %s", len(pages), whole)
	}
	policies := e.export("type=policies")
	if whole := strings.Join(policies, ""); !strings.Contains(whole, `"kind":"registry.transition"`) || !strings.Contains(whole, "Reviewed by legal") {
		t.Error(whole)
	}
	if code, output := e.verified(policies, "-key", e.publicKey()); code != verify.Valid {
		t.Error(output)
	}
}

// Days on which the daily work did not run are closed later, in order and exactly once.
func TestMissedDaysAreClosed(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.use(0)
	e.daily()
	for day := range uint64(4) {
		e.Absorb(e.path, []controltest.Booked{{Day: controltest.Today + 1 + day, Hour: 3, Key: fmt.Sprint("key_later", day), Model: "m", Requests: 1 + day, Pico: 1}})
	}
	e.Now = e.Now.AddDate(0, 0, 3)
	e.daily()
	e.daily()
	text := strings.Join(e.export("type=usage"), "")
	last := 0
	for day := uint64(controltest.Today); day <= controltest.Today+4; day++ {
		part := `"payload":{"day":"` + kernel.DateText(day) + `"`
		if at := strings.Index(text, part); at <= last || strings.Count(text, part) != 1 {
			t.Errorf("%s: at %d in %s", part, at, text)
		} else {
			last = at
		}
	}
}

// TestExportOfEarlierProviderNames checks that requests have the current name of their provider, as in the list of
// requests.
func TestExportOfEarlierProviderNames(t *testing.T) {
	e := newEvidence(t)
	absorb := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Period: controltest.November, Epoch: 1, Recent: []ledger.Request{
		{AtMs: 1_795_248_000_000, ID: "req_1", Model: "m", Provider: "openai-responses", Status: 200, Cache: ledger.CacheMiss},
		{AtMs: 1_795_248_000_001, ID: "req_2", Model: "m", Provider: "openai", Status: 200, Cache: ledger.CacheMiss},
	}}
	e.Ask(abi.ClassLedger, e.id, absorb.Encode())
	count := func(name string) int {
		return strings.Count(strings.Join(e.export("type=access"), ""), `"provider":"`+name+`"`)
	}
	if present, earlier := count("openai"), count("openai-responses"); present != 2 || earlier != 0 {
		t.Errorf("%d with the present name, %d with the earlier", present, earlier)
	}
	e.Configure(func(c *kernel.Config) {
		c.Catalog = controltest.ParseCatalog(`{"providers":[{"name":"openai-responses","wire":"responses","baseUrl":"https://own.example","keyEnv":"OWN_API_KEY"}]}`)
	})
	if present, own := count("openai"), count("openai-responses"); present != 1 || own != 1 {
		t.Errorf("with an entry of the operator: %d openai, %d of its own", present, own)
	}
}
