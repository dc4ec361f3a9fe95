package root

import (
	"crypto/sha256"

	"github.com/postern-ai/postern/core/base64"
)

// Parts of the HTML page. Nothing needs escaping: all text is constants of this package and paths of endpoints.
const (
	pageStyle = "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}small{font-weight:400;opacity:.7}"
	pageHead  = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Postern</title>
<style>` + pageStyle + `</style>
<h1>Postern <small>` + Version + `</small></h1>
<p>An AI gateway: one API for every model.
<ul>
`
	pageEndpoints = `</ul>
<h2>Endpoints</h2>
<p>Send an API key as <code>X-API-Key: KEY</code> or <code>Authorization: Bearer KEY</code>.
<ul>
`
)

func (o *Overview) page() []byte {
	b := append(make([]byte, 0, 2048), pageHead...)
	for i := range links {
		switch l := &links[i]; {
		case !o.shows(l):
		case l.needsKey:
			b = append(b, "<li>"+l.label+": <code>GET "+l.address+"</code> (needs an API key)\n"...)
		default:
			b = append(b, `<li><a href="`+l.address+`">`+l.label+"</a>\n"...)
		}
	}
	b = append(b, pageEndpoints...)
	for _, endpoint := range o.Endpoints {
		b = append(b, "<li><code>"+endpoint+"</code>\n"...)
	}
	return append(b, "</ul>\n"...)
}

// pagePolicy returns the page's Content-Security-Policy. It allows the page's style, but no other resources and no
// scripts. The page's icon is an empty data: URL so that browsers do not request /favicon.ico.
func pagePolicy() string {
	hash := sha256.Sum256([]byte(pageStyle))
	b := base64.Append([]byte("default-src 'none'; style-src 'sha256-"), hash[:])
	return string(append(b, "'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"...))
}
