package exchange

import (
	"crypto/sha256"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/base64"
	"github.com/postern-ai/postern/core/jsontext"
)

// Version is the version of Postern. docs/openapi.yaml names the same one; the conformance tests compare them.
const Version = "0.1.0"

// link is one address in the response to GET /.
type link struct {
	name, address string // name is the JSON member
	label         string // on the HTML page
	needsKey      bool   // the address is an endpoint that needs an API key: the page names it without linking it
	control       bool   // the control plane serves it
}

var links = []link{
	{name: "dashboard", address: "/dashboard", label: "Dashboard", control: true},
	{name: "openapi", address: openAPIPath, label: "OpenAPI description", control: true},
	{name: "docs", address: "https://github.com/postern-ai/postern#readme", label: "Documentation"},
	{name: "health", address: "/api/health", label: "Health", needsKey: true},
	{name: "models", address: "/v1/models", label: "Models", needsKey: true},
}

// respondRoot answers GET / with the product's name, its version and its addresses: as JSON, or as an HTML page to a
// client that prefers HTML. It needs no key and reads nothing.
func (x *exchange) respondRoot() {
	headers := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "vary", Value: "Accept"}}
	var body []byte
	if prefersHTML(x.header("accept")) {
		headers[0].Value = "text/html; charset=utf-8"
		headers = append(headers,
			abi.Header{Name: "content-security-policy", Value: rootPolicy()},
			abi.Header{Name: "referrer-policy", Value: "no-referrer"},
			abi.Header{Name: "x-content-type-options", Value: "nosniff"})
		body = x.rootPage()
	} else {
		body = x.rootJSON()
	}
	x.respond(200, headers, []abi.Part{{Data: body}})
	x.log(200, "")
	x.end()
}

// shows reports whether this deployment serves a link.
func (x *exchange) shows(l *link) bool { return !l.control || !x.config.ControlOff }

func (x *exchange) rootJSON() []byte {
	b := jsontext.Builder{B: make([]byte, 0, 1024)}
	b.Open('{')
	b.Member("name", `"Postern"`)
	b.Member("version", `"`+Version+`"`)
	for i := range links {
		if l := &links[i]; x.shows(l) {
			b.Key(l.name)
			b.String(l.address)
		}
	}
	b.Key("endpoints")
	b.Open('[')
	for i := range endpoints {
		if e := &endpoints[i]; e.listed() {
			b.String(e.method + " " + e.path)
		}
	}
	b.Close(']')
	b.Close('}')
	return b.B
}

// listed reports whether GET / lists the endpoint: all but itself, and GET /v1/models/{model}.
func (e *endpoint) listed() bool { return e.id != endpointRoot && e.id != endpointModel }

// Parts of the HTML page. It consists of constants of this package only, so nothing needs escaping.
const (
	rootStyle = "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}small{font-weight:400;opacity:.7}"
	rootHead  = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Postern</title>
<style>` + rootStyle + `</style>
<h1>Postern <small>` + Version + `</small></h1>
<p>An AI gateway: one API for every model.
<ul>
`
	rootEndpoints = `</ul>
<h2>Endpoints</h2>
<p>Send an API key as <code>X-API-Key: KEY</code> or <code>Authorization: Bearer KEY</code>.
<ul>
`
)

func (x *exchange) rootPage() []byte {
	b := append(make([]byte, 0, 2048), rootHead...)
	for i := range links {
		switch l := &links[i]; {
		case !x.shows(l):
		case l.needsKey:
			b = append(b, "<li>"+l.label+": <code>GET "+l.address+"</code> (needs an API key)\n"...)
		default:
			b = append(b, `<li><a href="`+l.address+`">`+l.label+"</a>\n"...)
		}
	}
	b = append(b, rootEndpoints...)
	for i := range endpoints {
		if e := &endpoints[i]; e.listed() {
			b = append(b, "<li><code>"+e.method+" "+e.path+"</code>\n"...)
		}
	}
	return append(b, "</ul>\n"...)
}

// rootPolicy is the page's Content-Security-Policy. It allows the page's style and no other resource or script. The
// icon in the page is an empty data: URL, so that browsers do not request /favicon.ico.
func rootPolicy() string {
	hash := sha256.Sum256([]byte(rootStyle))
	b := base64.Append([]byte("default-src 'none'; style-src 'sha256-"), hash[:])
	return string(append(b, "'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"...))
}
