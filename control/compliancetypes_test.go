package control

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/postern-ai/postern/compliance/verify"
	"github.com/postern-ai/postern/core/ledger"
)

// A violation's creation and triage are in the chain; the summary counts the open ones.
func TestViolationsAreChained(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	id := e.violate(e.path, ledger.Violation{Rule: "secret.github-token", Severity: "critical"})
	e.violate(e.path, ledger.Violation{Rule: "personal.email", Category: "personal", Severity: "low", Excerpt: "om"})
	e.must(200, "PATCH", e.path+"/violations/"+id, `{"state":"resolved","note":"rotated"}`)
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
	open := e.must(200, "GET", e.path+"/compliance/summary", "").fields["violations"].(map[string]any)
	if open["open"] != json.Number("1") || open["bySeverity"].(map[string]any)["low"] != json.Number("1") || open["bySeverity"].(map[string]any)["critical"] != json.Number("0") {
		t.Errorf("%v", open)
	}
}

// Pruned violations leave an event.
func TestPrunedViolationsAreChained(t *testing.T) {
	quiet(t)
	e := newEvidence(t)
	id := e.violate(e.path, ledger.Violation{Rule: "secret.github-token"})
	e.now = e.now.AddDate(0, 0, ledger.KeepViolationDays+2)
	e.daily()
	text := strings.Join(e.export("type=violations"), "")
	if !strings.Contains(text, `{"kind":"violation.pruned","violation":{"id":"`+id+`"}}`) {
		t.Error(text)
	}
	if got := e.must(200, "GET", e.path+"/compliance/verify", ""); got.fields["complete"] != true {
		t.Error(got.Body)
	}
}

// bomSchema compiles the CycloneDX schema, which refers to two others.
func bomSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const folder, base = "../node_modules/@cyclonedx/cyclonedx-library/res/schema/", "http://cyclonedx.org/schema/"
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

// The inventory as CycloneDX satisfies its schema.
func TestBillOfMaterials(t *testing.T) {
	e := newEvidence(t)
	e.absorb(e.path, []booked{{today, 1, "key_a", "gpt-4.1", 2, 100}, {today, 1, "key_b", "claude-sonnet-4-5", 1, 1}})
	schema := bomSchema(t)
	for range 2 {
		got := e.must(200, "GET", e.path+"/compliance/export?type=inventory&format=cyclonedx", "")
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%v in %s", err, got.Body)
		}
		if got.Header().Get("Content-Type") != bomContentType || got.text("specVersion") != "1.7" {
			t.Error(got.Body)
		}
		document.(map[string]any)["components"] = "none"
		if schema.Validate(document) == nil {
			t.Fatal("the schema accepts anything")
		}
	}
}
