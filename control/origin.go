package control

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// Addresses are where browsers reach the control plane.
type Addresses struct {
	Public string   // the configured address, such as https://gateway.example; optional
	Bound  net.Addr // of the listener; nil: not listening
}

// checkOrigin rejects a request unless the browser says that a page of this gateway's origin sent it. A browser attaches
// cookies and Access assertions to every request to this host, whichever page caused it. Pages cannot set the headers
// that are checked here. The request's own Host proves nothing: it is whatever name a page has pointed to this gateway's
// address.
// Source: developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin and …/Sec-Fetch-Site
func (h *handler) checkOrigin(r *http.Request) error {
	sent, public, own := requestOrigin(r), "", true
	if h.Addresses != nil {
		a := h.Addresses()
		public = a.publicOrigin()
		_, host, _ := strings.Cut(public, "://")
		own = a.binds(r) || public != "" && host == strings.ToLower(r.Host)
	}
	origin := headerValue(r.Header, "Origin")
	same := origin == sent || origin == "" && headerValue(r.Header, "Sec-Fetch-Site") == "same-origin"
	switch {
	case origin != "" && origin == public, same && own:
		return nil
	case same:
		return errForeignHost
	}
	return errCrossOrigin
}

// checkDeclaredOrigin is checkOrigin for a request that programs may send as well: without the headers, it passes.
// Browsers always send one of them with a POST.
func (h *handler) checkDeclaredOrigin(r *http.Request) error {
	if headerValue(r.Header, "Origin")+headerValue(r.Header, "Sec-Fetch-Site") == "" {
		return nil
	}
	return h.checkOrigin(r)
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

// publicOrigin is the configured address as browsers write an origin, or empty.
func (a Addresses) publicOrigin() string {
	origin := strings.ToLower(strings.TrimSuffix(a.Public, "/"))
	if strings.HasPrefix(origin, "https:") {
		return strings.TrimSuffix(origin, ":443")
	}
	return strings.TrimSuffix(origin, ":80")
}

// binds reports whether a request's Host names the listener. A listener on all interfaces may be published under other
// addresses and ports, by a container's host for example, so it takes every IP address: no page can point one to
// another machine, as it can a name.
func (a Addresses) binds(r *http.Request) bool {
	bound, ok := a.Bound.(*net.TCPAddr)
	if !ok {
		return false
	}
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		name, port = r.Host, "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	address, err := netip.ParseAddr(strings.Trim(name, "[]"))
	isLocal := strings.EqualFold(name, "localhost")
	if bound.IP.IsUnspecified() {
		return err == nil || isLocal
	}
	return port == strconv.Itoa(bound.Port) && (address == bound.AddrPort().Addr().Unmap() || isLocal && bound.IP.IsLoopback())
}
