package control_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/postern-ai/postern/test/controltest"
)

// ownForms are the fields that are missing from the dashboard's "General" form, because they have their own forms or
// are not settings.
var ownForms = []string{"alerts", "routes", "version"}

// laterOnly are the fields that PATCH accepts but POST does not.
var laterOnly = []string{"alerts", "version"}

func between(t *testing.T, file, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), from)
	part, _, ends := strings.Cut(rest, to)
	if !found || !ends {
		t.Fatalf("%s has no %q … %q", file, from, to)
	}
	return part
}

// fieldsOf returns the fields that a request can have.
func fieldsOf(b *controltest.Bench, method, path string) []string {
	b.Helper()
	_, list, _ := strings.Cut(b.Do(method, path, `{"nothing":1}`).Body.String(), "the fields are ")
	list, _, _ = strings.Cut(list, `"`)
	fields := regexp.MustCompile(`, | and `).Split(list, -1)
	if len(fields) < 8 {
		b.Fatalf("%s %s has the fields %q", method, path, fields)
	}
	return fields
}

// TestEverySettingIsEverywhere checks that every setting that PATCH accepts is in docs/openapi.yaml, in POST and in
// GET. The dashboard, the command line and the files of `postern apply` must know each setting, too.
func TestEverySettingIsEverywhere(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	settings, created := fieldsOf(b, "PATCH", path), fieldsOf(b, "POST", "/api/admin/projects")
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := yaml.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	var shown map[string]json.RawMessage
	if err := json.Unmarshal(b.Must(200, "GET", path, "").Body.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	schemas := described.Components.Schemas
	fresh, patch, project := schemas["NewProject"].Properties, schemas["ProjectChange"].Properties, schemas["Project"].Properties
	for name := range patch {
		if !slices.Contains(settings, name) {
			t.Errorf("%s is in the schema ProjectChange of docs/openapi.yaml; control/projects does not take it", name)
		}
	}
	form := between(t, "web/src/pages/settings.js", "const FIELDS = [", "]")
	shape := between(t, "../internal/apply/file.go", "projectShape = shape{", "governorShape = shape{")
	members := between(t, "../internal/admin/types.go", "type Project struct {", "\n}")
	for _, name := range settings {
		for place, has := range map[string]bool{
			"the schema ProjectChange of docs/openapi.yaml": patch[name] != nil,
			"the fields of POST in control/projects":        slices.Contains(created, name) || slices.Contains(laterOnly, name),
			"the schema NewProject of docs/openapi.yaml":    fresh[name] != nil || slices.Contains(laterOnly, name),
			"the schema Project of docs/openapi.yaml":       project[name] != nil,
			"the view of control/projects":                  shown[name] != nil,
			"FIELDS of control/web/src/pages/settings.js":   strings.Contains(form, "'"+name+"'") || slices.Contains(ownForms, name),
			"projectShape of internal/apply/file.go":        strings.Contains(shape, `"`+name+`": `) || name == "version",
			"Project of internal/admin/types.go":            strings.Contains(members, `json:"`+name+`"`) || strings.Contains(members, `json:"`+name+`,omitempty"`),
		} {
			if !has {
				t.Errorf("%s is not in %s", name, place)
			}
		}
	}
}
