// Package root writes the response to GET /: the product's name and version, and the addresses of the deployment, as
// JSON or HTML.
package root

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/control"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/jsontext"
)

// Version is the version of Postern. docs/openapi.yaml has the same version, and the conformance tests compare them.
const Version = "0.1.0"

// Overview contains the data that a deployment shows at GET /.
type Overview struct {
	Endpoints []string // method and path, such as GET /v1/models
	Control   bool     // this deployment has the control plane
	Docs      bool     // this deployment serves the documentation
}

type link struct {
	name, address string // name is the JSON field
	label         string // on the HTML page
	needsKey      bool   // an endpoint that needs an API key; the page shows the address without a link
	control       bool   // the control plane serves it
	docs          bool   // shown only if the documentation is served
}

var links = []link{
	{name: "dashboard", address: control.DashboardPath, label: "Dashboard", control: true},
	{name: "openapi", address: control.OpenAPIPath, label: "OpenAPI description", control: true},
	{name: "docs", address: control.DocsPath + "/", label: "Documentation", docs: true},
	{name: "health", address: "/api/health", label: "Health", needsKey: true},
	{name: "models", address: "/v1/models", label: "Models", needsKey: true},
}

func (o *Overview) shows(l *link) bool { return (!l.control || o.Control) && (!l.docs || o.Docs) }

// Answer returns the response to a request with the given Accept header. If the client prefers HTML, the response is
// an HTML page. Otherwise, it is JSON.
func Answer(o *Overview, accept string) (headers []abi.Header, body []byte) {
	headers = []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "vary", Value: "Accept"}}
	if !head.PrefersHTML(accept) {
		return headers, o.json()
	}
	headers[0].Value = "text/html; charset=utf-8"
	headers = append(headers,
		abi.Header{Name: "content-security-policy", Value: pagePolicy()},
		abi.Header{Name: "referrer-policy", Value: "no-referrer"},
		abi.Header{Name: "x-content-type-options", Value: "nosniff"})
	return headers, o.page()
}

func (o *Overview) json() []byte {
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	b.Member("name", `"Postern"`)
	b.Member("version", `"`+Version+`"`)
	for i := range links {
		if l := &links[i]; o.shows(l) {
			b.Key(l.name)
			b.String(l.address)
		}
	}
	b.Key("endpoints")
	b.Open('[')
	for _, endpoint := range o.Endpoints {
		b.String(endpoint)
	}
	b.Close(']')
	b.Close('}')
	return b.B
}
