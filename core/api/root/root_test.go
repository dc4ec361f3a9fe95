package root_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/api/root"
)

var endpoints = []string{"POST /v1/chat/completions", "GET /api/health"}

// answer returns a response's headers as a map, and its body.
func answer(control bool, accept string) (headers map[string]string, body string) {
	list, data := root.Answer(&root.Overview{Endpoints: endpoints, Control: control, Docs: control}, accept)
	headers = map[string]string{}
	for _, h := range list {
		headers[h.Name] = h.Value
	}
	if len(headers) != len(list) {
		headers["duplicate"] = "yes"
	}
	return headers, string(data)
}

func TestJSON(t *testing.T) {
	for control, address := range map[bool]map[string]any{
		true:  {"dashboard": "/dashboard", "openapi": "/openapi.yaml", "docs": "/docs/"},
		false: {},
	} {
		headers, body := answer(control, "*/*")
		if want := (map[string]string{"content-type": "application/json", "vary": "Accept"}); !reflect.DeepEqual(headers, want) {
			t.Errorf("headers are %v, want %v", headers, want)
		}
		want := map[string]any{
			"name": "Postern", "version": root.Version, "health": "/api/health", "models": "/v1/models",
			"endpoints": []any{endpoints[0], endpoints[1]},
		}
		for name, value := range address {
			want[name] = value
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %s (%v), want %v", body, err, want)
		}
	}
}

var (
	styleElement = regexp.MustCompile(`(?s)<style>(.*)</style>`)
	active       = regexp.MustCompile(`(?i)<script|\s(?:on\w+|style|src)=|url\(|@import`)
	addresses    = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
)

func TestPageLoadsNothing(t *testing.T) {
	headers, page := answer(true, "text/html")
	styles := styleElement.FindAllStringSubmatch(page, -1)
	if len(styles) != 1 {
		t.Fatalf("got %d style elements, want 1: %s", len(styles), page)
	}
	hash := sha256.Sum256([]byte(styles[0][1]))
	want := map[string]string{
		"content-type": "text/html; charset=utf-8", "vary": "Accept", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
		"content-security-policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
			"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
	if !reflect.DeepEqual(headers, want) {
		t.Errorf("headers are %v, want %v", headers, want)
	}
	if found := active.FindString(page); found != "" {
		t.Errorf("the page contains %q: %s", found, page)
	}
}

func TestPageLinks(t *testing.T) {
	for control, want := range map[bool]string{
		true:  "data:, /dashboard /openapi.yaml /docs/",
		false: "data:,",
	} {
		_, page := answer(control, "text/html")
		var linked []string
		for _, match := range addresses.FindAllStringSubmatch(page, -1) {
			linked = append(linked, match[1])
		}
		if got := strings.Join(linked, " "); got != want {
			t.Errorf("addresses are %s, want %s", got, want)
		}
		for _, part := range []string{
			"<title>Postern</title>", "<h1>Postern <small>" + root.Version + "</small></h1>", "<code>GET /api/health</code> (needs an API key)",
			"<code>GET /v1/models</code> (needs an API key)", "<li><code>POST /v1/chat/completions</code>\n<li><code>GET /api/health</code>\n</ul>\n",
		} {
			if !strings.Contains(page, part) {
				t.Errorf("the page lacks %q: %s", part, page)
			}
		}
	}
}
