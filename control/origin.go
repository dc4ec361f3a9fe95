package control

import (
	"net/http"
	"strings"
)

// isSameOrigin tells whether a browser says that a page of this origin sent the request. Cookies and Access's
// assertion come with every request that a browser makes to this host, whichever page had it made; the headers
// looked at here are out of a page's reach.
// Source: developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin and …/Sec-Fetch-Site
func isSameOrigin(r *http.Request) bool {
	if origin := headerValue(r.Header, "Origin"); origin != "" {
		return origin == ownOrigin(r)
	}
	return headerValue(r.Header, "Sec-Fetch-Site") == "same-origin"
}

// isCrossOrigin tells whether a browser says that another page sent the request. Unlike !isSameOrigin it
// lets those through who say nothing, which browsers do not do with a POST.
func isCrossOrigin(r *http.Request) bool {
	said := headerValue(r.Header, "Origin") + headerValue(r.Header, "Sec-Fetch-Site")
	return said != "" && !isSameOrigin(r)
}

// ownOrigin is the origin that the request was sent to. A Worker is given the whole URL, a server only its path.
func ownOrigin(r *http.Request) string {
	if r.URL.IsAbs() {
		return r.URL.Scheme + "://" + strings.ToLower(r.URL.Host)
	}
	if r.TLS != nil {
		return "https://" + strings.ToLower(r.Host)
	}
	return "http://" + strings.ToLower(r.Host)
}
