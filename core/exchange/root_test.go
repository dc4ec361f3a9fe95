package exchange_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
)

// root sends GET / without a key.
func root(t *testing.T, accept string) *host {
	t.Helper()
	return request{method: "GET", path: "/", key: "-", headers: []abi.Header{{Name: "accept", Value: accept}}}.run(t)
}

func spacePadded(text string, length int) string { return text + strings.Repeat(" ", length-len(text)) }

// htmlByAccept reports for Accept headers whether they choose HTML.
var htmlByAccept = map[string]bool{
	"":                                   false,
	"*/*":                                false,
	"text/html":                          true,
	"TEXT/Html":                          true,
	" text/html ; charset=utf-8 ":        true,
	"text/*":                             true,
	"text/plain":                         false,
	"text/htmlx":                         false,
	"application/json":                   false,
	"application/*":                      false,
	"text/html, application/json":        false,
	"text/html;q=0.9, application/json":  false,
	"text/html, application/json;q=0.9":  true,
	"text/html, application/*;q=0.9":     true,
	"text/html;q=0.5, */*;q=0.4":         true,
	"text/html;q=0.5, */*":               false,
	"*/*, text/html;q=0.5":               false,
	"*/*;q=0.1, text/*;q=0.2":            true,
	"text/html;q=0.2, text/*, */*;q=0.1": true,
	"text/*, text/html;q=0.1, */*;q=0.5": false,
	"text/html;q=0.9":                    true,
	"text/html;q=0":                      false,
	"text/html, application/json;q=0":    true,
	// The highest q of equally specific ranges applies.
	"text/html;q=0.1, text/html;q=0.8, text/html;q=0.2, */*;q=0.5": true,
	// What browsers send.
	"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8":                                  true,
	"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8": true,
	// The grammar of q.
	"text/html;q=1.000, */*;q=0.999":               true,
	"text/html;q=0.002, */*;q=0.001":               true,
	"text/html;q=0.02, */*;q=0.01":                 true,
	"text/html;q=0.1, */*;q=0.09":                  true,
	"text/html;q=0.":                               false,
	"text/html;q=1.":                               true,
	"text/html;Q=0.2, */*;q=0.1":                   true,
	"text/html; level=1 ; q = 0.2 , */*;q=0.1":     true,
	"text/html;q=0.2;q=0, */*;q=0.1":               true,
	"text/html;q=1.001":                            false,
	"text/html;q=2":                                false,
	"text/html;q=0.0001":                           false,
	"text/html;q=0.5000":                           false,
	"text/html;q=-1":                               false,
	"text/html;q=":                                 false,
	"text/html;q":                                  false,
	"text/html;q=.5":                               false,
	"text/html;q=0./":                              false,
	"text/html;q=0.:":                              false,
	"text/html;q=00":                               false,
	"text/html;q=high, text/html;q=0.2":            true,
	"text/html;q=0.2, application/json;q=1.5":      true,
	",,;q=1, ;, text/html;;, =,/":                  true,
	"\"text/html,\", text/html":                    true,
	"*/html":                                       false,
	"*":                                            false,
	spacePadded("text/html", 4096):                 true,
	spacePadded("text/html", 4097):                 false,
	strings.Repeat(",", 4096):                      false,
	strings.Repeat("*/*,", 1020) + "text/html;q=1": false,
}

func TestRootContentTypeByAccept(t *testing.T) {
	for accept, html := range htmlByAccept {
		want := "application/json"
		if html {
			want = "text/html; charset=utf-8"
		}
		h := root(t, accept)
		equal(t, "content type for "+accept, h.header("content-type"), want)
		equal(t, "vary for "+accept, h.header("vary"), "Accept")
		equal(t, "status for "+accept, h.status(), 200)
	}
}

var (
	styleElement = regexp.MustCompile(`(?s)<style>(.*)</style>`)
	active       = regexp.MustCompile(`(?i)<script|\s(?:on\w+|style|src)=|url\(|@import`)
	addresses    = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
)

func TestRootPageLoadsNothing(t *testing.T) {
	h := root(t, "text/html")
	page := h.responseBody()
	styles := styleElement.FindAllStringSubmatch(page, -1)
	if len(styles) != 1 {
		t.Fatalf("got %d style elements, want 1: %s", len(styles), page)
	}
	hash := sha256.Sum256([]byte(styles[0][1]))
	equal(t, "content-security-policy", h.header("content-security-policy"), "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	equal(t, "x-content-type-options", h.header("x-content-type-options"), "nosniff")
	if found := active.FindString(page); found != "" {
		t.Errorf("the page contains %q: %s", found, page)
	}
	var linked []string
	for _, match := range addresses.FindAllStringSubmatch(page, -1) {
		linked = append(linked, match[1])
	}
	equal(t, "addresses", strings.Join(linked, " "), "data:, /dashboard /openapi.yaml https://github.com/postern-ai/postern#readme")
	contains(t, "page", page, "<title>Postern</title>", exchange.Version, "<code>GET /api/health</code> (needs an API key)",
		"<code>GET /v1/models</code> (needs an API key)", "<li><code>POST /v1/chat/completions</code>\n")
}

func TestRootListsNeitherItselfNorPatterns(t *testing.T) {
	for _, accept := range []string{"", "text/html"} {
		text := root(t, accept).responseBody()
		for _, path := range []string{"GET /\"", "GET /<", "/v1/models/"} {
			if strings.Contains(text, path) {
				t.Errorf("%s is listed: %s", path, text)
			}
		}
	}
}

func TestRootWithoutTheControlPlane(t *testing.T) {
	off := *configured(t, "")
	off.ControlOff = true
	for _, accept := range []string{"", "text/html"} {
		out := exchange.Step(&off, &abi.StepInput{Event: abi.Event{Kind: abi.EventRequest, Headers: []abi.Header{
			{Name: ":method", Value: "GET"}, {Name: ":path", Value: "/"}, {Name: "accept", Value: accept},
		}}})
		text := string(out.Actions[0].Body[0].Data)
		if strings.Contains(text, "/dashboard") || strings.Contains(text, "/openapi.yaml") {
			t.Errorf("got addresses of the control plane: %s", text)
		}
		contains(t, "response", text, "/api/health", "/v1/models", "https://")
	}
}
