package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
)

// checkOrigin accepts a request only if the browser says that a page of this gateway's origin sent it. A browser
// attaches cookies and Access assertions to every request to this host, even if a page of another site caused the
// request. Pages cannot set the headers that are checked here. The Host header by itself proves nothing: anybody can
// point a domain name to this gateway's address. Source: developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin
// and …/Sec-Fetch-Site
func (auth *Authenticator) checkOrigin(r *http.Request) error {
	sent, public, own := requestOrigin(r), "", true
	if auth.Addresses != nil {
		a := auth.Addresses()
		public = publicOrigin(a)
		_, host, _ := strings.Cut(public, "://")
		own = binds(a, r) || public != "" && host == strings.ToLower(r.Host)
	}
	origin := kernel.HeaderValue(r.Header, "Origin")
	same := origin == sent || origin == "" && kernel.HeaderValue(r.Header, "Sec-Fetch-Site") == "same-origin"
	switch {
	case origin != "" && origin == public, same && own:
		return nil
	case same:
		return kernel.ErrForeignHost
	}
	return kernel.ErrCrossOrigin
}

// checkDeclaredOrigin does the same as checkOrigin for requests that programs may send as well. It accepts a request
// that has neither an Origin nor a Sec-Fetch-Site header. Browsers always send one of them with a POST.
func (auth *Authenticator) checkDeclaredOrigin(r *http.Request) error {
	if kernel.HeaderValue(r.Header, "Origin")+kernel.HeaderValue(r.Header, "Sec-Fetch-Site") == "" {
		return nil
	}
	return auth.checkOrigin(r)
}

// requestOrigin returns the origin that the request was sent to. A Worker receives the full URL, but a server
// receives only the path.
func requestOrigin(r *http.Request) string {
	if r.URL.IsAbs() {
		return r.URL.Scheme + "://" + strings.ToLower(r.URL.Host)
	}
	if r.TLS != nil {
		return "https://" + strings.ToLower(r.Host)
	}
	return "http://" + strings.ToLower(r.Host)
}

// publicOrigin returns the configured address in the form that browsers use for an origin. It is empty if no address
// is configured.
func publicOrigin(a kernel.Addresses) string {
	origin := strings.ToLower(strings.TrimSuffix(a.Public, "/"))
	if strings.HasPrefix(origin, "https:") {
		return strings.TrimSuffix(origin, ":443")
	}
	return strings.TrimSuffix(origin, ":80")
}

// binds reports whether a request's Host names the listener. If the listener is on all interfaces, any IP address
// counts, because a container's host may publish the listener under other addresses and ports. This is safe: an
// attacker can redirect a name to another machine, but not an IP address.
func binds(a kernel.Addresses, r *http.Request) bool {
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
