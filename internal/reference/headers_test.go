package reference_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/header"
)

const root = "../.."

// listed returns the directions that headers.md lists for each header.
func listed() map[string][]header.Way {
	ways := map[string][]header.Way{}
	for _, h := range header.All() {
		ways[h.Name] = append(ways[h.Name], h.Way)
	}
	for _, h := range config.CallerHeaders {
		ways[h.Name] = append(ways[h.Name], header.Request, header.ToProvider)
	}
	return ways
}

// TestHeadersAreComplete checks that each row has all columns and that a header is not listed twice for the same
// direction.
func TestHeadersAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range header.All() {
		key := h.Name + " " + strconv.Itoa(int(h.Way))
		if seen[key] || h.Name != strings.ToLower(h.Name) || h.Values == "" || h.When == "" || !strings.HasSuffix(h.Meaning, ".") {
			t.Errorf("row %+v of core/header is incomplete, or listed twice", h)
		}
		seen[key] = true
	}
}

// TestHeadersOfTheCore checks the request headers that the core gets from the hosts and the response headers of
// providers.
func TestHeadersOfTheCore(t *testing.T) {
	ways := listed()
	for way, names := range map[header.Way][]string{header.Request: exchange.RequestHeaders, header.FromProvider: exchange.ResponseHeaders} {
		for _, name := range names {
			if !slices.Contains(ways[name], way) {
				t.Errorf("core/header lacks %s, way %d, which the core reads", name, way)
			}
		}
	}
}

// TestHeadersOfTheDescription checks that docs/openapi.yaml describes each response header. It may leave out general
// HTTP headers. The scenarios check that the description is true.
func TestHeadersOfTheDescription(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	ways, checked := listed(), 0
	walk(document, func(name string, sent bool) {
		checked++
		of := []header.Way{header.Request, header.AdminRequest}
		if sent {
			of = []header.Way{header.Response, header.AdminResponse}
		}
		if !slices.ContainsFunc(ways[strings.ToLower(name)], func(w header.Way) bool { return slices.Contains(of, w) }) {
			t.Errorf("core/header lacks %s (sent: %t), which docs/openapi.yaml describes", name, sent)
		}
	})
	if checked < 100 {
		t.Errorf("found only %d headers", checked)
	}
}

// walk calls found for each header in an OpenAPI document. sent is true for response headers and false for request
// headers.
func walk(node any, found func(name string, sent bool)) {
	switch node := node.(type) {
	case []any:
		for _, element := range node {
			walk(element, found)
		}
	case map[string]any:
		if name, ok := node["name"].(string); ok && node["in"] == "header" {
			found(name, false)
		}
		_, isResponse := node["description"]
		headers, _ := node["headers"].(map[string]any)
		for name := range headers {
			if isResponse {
				found(name, true)
			}
		}
		for _, member := range node {
			walk(member, found)
		}
	}
}

// TestHeadersOfThePrograms checks that the header names in the source of the core, the hosts and the control plane
// are listed.
func TestHeadersOfThePrograms(t *testing.T) {
	ways, checked := listed(), 0
	eachName(t, func(path, name string) {
		if checked++; len(ways[strings.ToLower(name)]) == 0 {
			t.Errorf("%s: core/header lacks %s", path, name)
		}
	})
	if checked < 100 {
		t.Errorf("found only %d names", checked)
	}
}

// TestNamesAreInOnePlace checks that the names of Postern's own headers are constants of core/header or of the wire.
func TestNamesAreInOnePlace(t *testing.T) {
	eachName(t, func(path, name string) {
		written := strings.Contains(path, "core/header/") || strings.HasSuffix(path, "_gen.go") || strings.HasSuffix(path, "/abi.ts") ||
			strings.HasSuffix(path, "worker/control/address.mjs") // this Worker does not contain the gateway's source
		if !written && strings.HasPrefix(strings.ToLower(name), "x-postern-") {
			t.Errorf("%s writes %s out; use the constant of core/header", path, name)
		}
	})
}
