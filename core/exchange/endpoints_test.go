package exchange

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/doc"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// require reports each missing part of a row by name.
func require(t *testing.T, parts map[string]bool) {
	t.Helper()
	for part, there := range parts {
		if !there {
			t.Errorf("its row in core/exchange/endpoints.go lacks %s", part)
		}
	}
}

// TestEndpointsAreComplete: a row has all parts that its other parts need.
func TestEndpointsAreComplete(t *testing.T) {
	for i := range endpoints[1:] {
		e := &endpoints[i+1]
		t.Run(e.operation, func(t *testing.T) {
			require(t, map[string]bool{
				"method": e.method != "", "path": strings.HasPrefix(e.path, "/"), "operation": e.operation != "", "scenario": e.scenario != "",
				"dialect": e.dialect != 0, "serve": e.serve != nil, "admit": e.keyless || e.admit != nil, "parse": e.body == noBody || e.parse != nil,
				"policy": e.body == noBody || e.policy != ignoresPolicy, "api": e.calls.family == nil || e.api != 0,
				"needs": e.keyless || e.needs != 0 || e.body == noBody,
			})
			c := &e.calls
			if c.family == nil {
				if !reflect.ValueOf(*c).IsZero() || e.texts.judged || e.texts.checked {
					t.Error("its row says how requests are sent to providers, without their family")
				}
				return
			}
			// An endpoint that stores or streams responses also needs functions to build requests, read responses and
			// mock them.
			answers := e.repeats || e.streams
			require(t, map[string]bool{
				"repeats":              e.repeats || reflect.ValueOf(e.admit).Pointer() != reflect.ValueOf((*exchange).admitCompletion).Pointer(),
				"a purpose of its own": c.purpose != ForChat || c.outputs, "texts.response": !e.texts.checked || e.texts.folded || e.texts.response != 0,
				"calls.noun": c.noun != "", "calls.build": !answers || c.build != nil, "calls.read": !answers || c.read != nil, "calls.mock": !answers || c.mock != nil,
			})
		})
	}
}

// TestEndpointsAreKnownElsewhere: each endpoint appears in the API description and in a scenario, and its permission
// appears in the dashboard.
func TestEndpointsAreKnownElsewhere(t *testing.T) {
	description, dashboard := read(t, "docs/openapi.yaml"), read(t, "control/web/src/values.js")
	for i := range endpoints[1:] {
		e := &endpoints[i+1]
		t.Run(e.operation, func(t *testing.T) {
			operation := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(e.path) + `:\n    ` + strings.ToLower(e.method) + `:\n      operationId: ` + e.operation + `$`)
			if !operation.MatchString(description) {
				t.Errorf("docs/openapi.yaml has no %s of %s with operationId %s", e.method, e.path, e.operation)
			}
			if name := doc.PermissionName(e.needs); e.needs != 0 && !strings.Contains(dashboard, "['"+name+"', ") {
				t.Errorf("control/web/src/values.js has no permission %q", name)
			}
			file := "testdata/conformance/" + e.scenario + ".txt"
			before, _, _ := strings.Cut(e.path, "{")
			sent := regexp.MustCompile(`(?m)^send ` + e.method + ` ` + regexp.QuoteMeta(before) + `[^ ]*( |$)`)
			if !sent.MatchString(read(t, file)) {
				t.Errorf("%s has no scenario that sends %s %s", file, e.method, e.path)
			}
		})
	}
}

// TestDescribedPathsHaveARow: the core serves all paths under /v1/ in the API description.
func TestDescribedPathsHaveARow(t *testing.T) {
	served := map[string]bool{}
	for i := range endpoints {
		served[endpoints[i].path] = true
	}
	described := regexp.MustCompile(`(?m)^  (/v1/.*):$`).FindAllStringSubmatch(read(t, "docs/openapi.yaml"), -1)
	for _, path := range described {
		if !served[path[1]] {
			t.Errorf("docs/openapi.yaml has %s, which has no row in endpoints.go", path[1])
		}
	}
	if len(described) < 5 {
		t.Errorf("found only %d paths in docs/openapi.yaml", len(described))
	}
}

// TestEndpointsAreDistinct: no two rows serve the same request, or share a name or a stored response.
func TestEndpointsAreDistinct(t *testing.T) {
	type stored struct {
		dialect any
		variant uint64
	}
	seen := map[any]string{}
	claim := func(what any, e *endpoint) {
		if other, taken := seen[what]; taken && other != e.path {
			t.Errorf("%s and %s share %v", other, e.path, what)
		}
		seen[what] = e.path
	}
	for i := range endpoints[1:] {
		e := &endpoints[i+1]
		claim("the path "+e.method+" "+e.path, e)
		claim("the operation "+e.operation, e)
		claim("the name "+e.label()+" "+e.method, e)
		if e.repeats && e.path != "/api/ai/chat" { // has the same bodies and responses as /api/ai/complete
			claim(stored{e.dialect, e.calls.variant}, e)
		}
		if e.calls.variant&strictVariant != 0 {
			t.Errorf("%s uses the bit of strict requests", e.path)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ pattern, path, variable string }{
		{"/v1/models", "/v1/models", ""},
		{"/v1/models/{model}", "/v1/models/@cf/meta/llama", "@cf/meta/llama"},
		{"/v1/batches/{id}/cancel", "/v1/batches/b1/cancel", "b1"},
		{"/v1beta/models/{model}:generateContent", "/v1beta/models/gemini-3-flash:generateContent", "gemini-3-flash"},
	} {
		if variable, ok := match(c.pattern, c.path); !ok || variable != c.variable {
			t.Errorf("match(%q, %q) = %q, %v", c.pattern, c.path, variable, ok)
		}
	}
	for pattern, path := range map[string]string{
		"/v1/models/{model}": "/v1/models/", "/v1/models": "/v1/models/", "/v1/batches/{id}/cancel": "/v1/batches/a/b/cancel", "": "",
		"/v1beta/models/{model}:generateContent": "/v1beta/models/x:streamGenerateContent",
	} {
		if variable, ok := match(pattern, path); ok {
			t.Errorf("match(%q, %q) = %q", pattern, path, variable)
		}
	}
}
