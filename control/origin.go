package control

import (
	"net/http"
	"strings"
)

// isSameOrigin reports whether the browser says that a page of this origin sent the request. A browser
// attaches cookies and Access assertions to every request to this host, whichever page caused it. Pages
// cannot set the headers that are checked here.
// Source: developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin and …/Sec-Fetch-Site
func isSameOrigin(r *http.Request) bool {
	if origin := headerValue(r.Header, "Origin"); origin != "" {
		return origin == requestOrigin(r)
	}
	return headerValue(r.Header, "Sec-Fetch-Site") == "same-origin"
}

// isCrossOrigin reports whether the browser says that a page of another origin sent the request. Unlike
// !isSameOrigin, it accepts requests without these headers: browsers always send one of them with a POST.
func isCrossOrigin(r *http.Request) bool {
	declared := headerValue(r.Header, "Origin") + headerValue(r.Header, "Sec-Fetch-Site")
	return declared != "" && !isSameOrigin(r)
}

// requestOrigin is the origin that the request was sent to. A Worker gets the full URL, a server only its
// path.
func requestOrigin(r *http.Request) string {
	if r.URL.IsAbs() {
		return r.URL.Scheme + "://" + strings.ToLower(r.URL.Host)
	}
	if r.TLS != nil {
		return "https://" + strings.ToLower(r.Host)
	}
	return "http://" + strings.ToLower(r.Host)
}
