package control_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/test/controltest"
)

// operation is an operation in docs/openapi.yaml.
type operation struct {
	ID   string `yaml:"operationId"`
	Body any    `yaml:"requestBody"`
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// place returns the method and path of an endpoint without the names of parameters.
func place(method, path string) string {
	return strings.ToUpper(method) + " " + parameter.ReplaceAllString(path, "{}")
}

// operations returns the operations in docs/openapi.yaml, keyed by place.
func operations(t *testing.T) map[string]operation {
	t.Helper()
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]struct{ Get, Post, Put, Patch, Delete *operation }
	}
	if err := yaml.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	found := map[string]operation{}
	for path, methods := range described.Paths {
		for method, o := range map[string]*operation{"get": methods.Get, "post": methods.Post, "put": methods.Put, "patch": methods.Patch, "delete": methods.Delete} {
			if o != nil {
				found[place(method, path)] = *o
			}
		}
	}
	return found
}

// missing returns descriptions of the parts that a route lacks.
func missing(r *kernel.Route) (parts []string) {
	changes := r.Method != http.MethodGet
	for part, lacks := range map[string]bool{
		"an audience: set For or Permission":                             r.For == 0 && r.Permission == 0,
		"one audience: only one of For and Permission":                   r.For != 0 && r.Permission != 0,
		"an endpoint: set Serve":                                         r.Serve == nil,
		"an operation: set Operation":                                    r.Operation == "",
		"an audit action, as it changes something: set Audit":            changes && r.Audit == "",
		"a method that changes something, as it has an audit action":     !changes && r.Audit != "",
		"the audience owners, as it changes something: set For":          changes && r.For == kernel.Operators && r.Audit != "session.delete",
		"a caller who is authenticated: only signing in needs no caller": r.For == kernel.Anyone && r.Audit != "session.create",
	} {
		if lacks {
			parts = append(parts, part)
		}
	}
	return parts
}

// Every route in the table is complete, can be reached, and agrees with its operation in docs/openapi.yaml.
func TestEveryRowIsComplete(t *testing.T) {
	b := controltest.New(t)
	described, seen := operations(t), map[string]bool{}
	rows := *control.Table(b.Service)
	for i := range rows {
		r := &rows[i]
		at := place(r.Method, r.Path)
		for _, part := range missing(r) {
			t.Errorf("%s %s lacks %s", r.Method, r.Path, part)
		}
		if seen[at] {
			t.Errorf("%s %s is in the table twice", r.Method, r.Path)
		}
		seen[at] = true
		reached, _, err := kernel.Match(rows, httptest.NewRequest(r.Method, controltest.Example(r.Path), nil))
		if err != nil || reached != r {
			t.Errorf("%s %s cannot be reached: kernel.Match does not know a parameter in its path", r.Method, r.Path)
		}
		o, ok := described[at]
		switch {
		case !ok:
			t.Errorf("%s %s is not in docs/openapi.yaml", r.Method, r.Path)
		case o.ID != r.Operation:
			t.Errorf("%s %s is operation %s, in docs/openapi.yaml %s", r.Method, r.Path, r.Operation, o.ID)
		case (o.Body != nil) != (r.Body > 0):
			t.Errorf("%s %s reads a body of up to %d bytes; docs/openapi.yaml describes one: %t", r.Method, r.Path, r.Body, o.Body != nil)
		}
	}
	if len(rows) < 40 {
		t.Errorf("only %d rows", len(rows))
	}
}

// Every operation of the admin API has a route.
func TestEveryOperationHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range *control.Table(controltest.New(t).Service) {
		rows[place(r.Method, r.Path)] = true
	}
	for at := range operations(t) {
		if _, path, _ := strings.Cut(at, " "); strings.HasPrefix(path, "/api/admin/") && !rows[at] {
			t.Errorf("%s of docs/openapi.yaml has no row in a resource's Routes", at)
		}
	}
}

// Every audit action can be found with the filter of the audit log.
func TestEveryAuditActionHasAKind(t *testing.T) {
	b := controltest.New(t)
	for _, r := range *control.Table(b.Service) {
		kind, _, _ := strings.Cut(r.Audit, ".")
		if kind == "" || kind == kernel.Unaudited {
			continue
		}
		if got := b.Do("GET", controltest.AuditLog+"?action="+kind, ""); got.Code != 200 {
			t.Errorf("%s: add %q to actionKinds of control/auditlog: %s", r.Audit, kind, got.Body)
		}
	}
}
