package exchange_test

import (
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

func TestRootContentTypeByAccept(t *testing.T) {
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/html": "text/html; charset=utf-8", "text/html;q=0.9, application/json": "application/json",
	} {
		h := root(t, accept)
		equal(t, "content type for "+accept, h.header("content-type"), want)
		equal(t, "vary for "+accept, h.header("vary"), "Accept")
		equal(t, "status for "+accept, h.status(), 200)
	}
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
	off.ControlOff, off.DocsOff = true, true
	for _, accept := range []string{"", "text/html"} {
		out := exchange.Step(&off, &abi.StepInput{Event: abi.Event{Kind: abi.EventRequest, Headers: []abi.Header{
			{Name: ":method", Value: "GET"}, {Name: ":path", Value: "/"}, {Name: "accept", Value: accept},
		}}})
		text := string(out.Actions[0].Body[0].Data)
		if strings.Contains(text, "/dashboard") || strings.Contains(text, "/openapi.yaml") || strings.Contains(text, "/docs") {
			t.Errorf("got addresses of the control plane: %s", text)
		}
		contains(t, "response", text, "/api/health", "/v1/models")
	}
}
