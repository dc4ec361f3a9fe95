package auth_test

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// origins are the headers of a POST. If acts is set, a session cookie may authenticate the request. If signsIn is
// set, the request may sign in.
var origins = []struct {
	name, url     string
	headers       []string
	acts, signsIn bool
}{
	{"no headers", "", nil, false, true},
	{"same origin", "", []string{"Origin", "http://example.com"}, true, true},
	{"same origin in both headers", "", []string{"Origin", "http://example.com", "Sec-Fetch-Site", "same-origin"}, true, true},
	{"another origin", "", []string{"Origin", "http://evil.example"}, false, false},
	{"another origin, but Sec-Fetch-Site same-origin", "", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "same-origin"}, false, false},
	{"another scheme", "", []string{"Origin", "https://example.com"}, false, false},
	{"another port", "", []string{"Origin", "http://example.com:8080"}, false, false},
	{"a longer host", "", []string{"Origin", "http://example.com.evil.example"}, false, false},
	{"another host of the site", "", []string{"Origin", "http://a.example.com", "Sec-Fetch-Site", "same-site"}, false, false},
	{"user information", "", []string{"Origin", "http://example.com@evil.example"}, false, false},
	{"an opaque origin", "", []string{"Origin", "null"}, false, false},
	{"an origin with a path", "", []string{"Origin", "http://example.com/"}, false, false},
	{"two origins", "", []string{"Origin", "http://example.com,http://evil.example"}, false, false},
	{"same-origin", "", []string{"Sec-Fetch-Site", "same-origin"}, true, true},
	{"same-site", "", []string{"Sec-Fetch-Site", "same-site"}, false, false},
	{"cross-site", "", []string{"Sec-Fetch-Site", "cross-site"}, false, false},
	{"none", "", []string{"Sec-Fetch-Site", "none"}, false, false},
	{"two values", "", []string{"Sec-Fetch-Site", "same-origin,cross-site"}, false, false},
	{"a whole URL", "https://gateway.example:8443", []string{"Origin", "https://gateway.example:8443"}, true, true},
	{"a whole URL, its host in capitals", "https://Gateway.Example", []string{"Origin", "https://gateway.example"}, true, true},
	{"a whole URL, another scheme", "https://gateway.example", []string{"Origin", "http://gateway.example"}, false, false},
	{"a whole URL, another host", "https://gateway.example", []string{"Origin", "https://evil.example", "Host", "evil.example"}, false, false},
}

func TestOrigins(t *testing.T) {
	for _, o := range origins {
		t.Run(o.name, func(t *testing.T) {
			b := controltest.New(t)
			cookie := b.SignIn(controltest.Token)
			b.ForgetLog()
			got := b.With(cookie, "POST", o.url+"/api/admin/projects", controltest.SomeProject, o.headers...)
			if o.acts && got.Code != 201 {
				t.Errorf("acting: %d %s", got.Code, got.Body)
			}
			if !o.acts {
				b.Refused(got, fault.CrossOrigin)
				if len(b.Memory.Rows) != 0 {
					t.Error("the rejected request changed something")
				}
			}
			signIn := b.Do("POST", o.url+controltest.Sessions, `{"token":"`+controltest.Token+`"}`, append(o.headers, "Authorization", "")...)
			if o.signsIn && signIn.Code != 200 {
				t.Errorf("signing in: %d %s", signIn.Code, signIn.Body)
			}
			if !o.signsIn {
				b.Refused(signIn, fault.CrossOrigin)
			}
			// Reads and requests with a bearer token need no proof of origin.
			if got := b.With(cookie, "GET", o.url+"/api/admin/projects", "", o.headers...); got.Code != 200 {
				t.Errorf("reading: %d %s", got.Code, got.Body)
			}
			if got := b.Do("POST", o.url+"/api/admin/projects", controltest.SomeProject, o.headers...); got.Code != 201 {
				t.Errorf("with a token: %d %s", got.Code, got.Body)
			}
		})
	}
}

// addressed are requests to a server, with the server's addresses, the Host and the headers. Each case says whether a
// session cookie is accepted.
var addressed = []struct {
	name, public, bound, host string
	headers                   []string
	acts                      bool
}{
	{"bound", "", "127.0.0.1:8787", "127.0.0.1:8787", []string{"Origin", "http://127.0.0.1:8787"}, true},
	{"bound, without Origin", "", "127.0.0.1:8787", "127.0.0.1:8787", []string{"Sec-Fetch-Site", "same-origin"}, true},
	{"localhost", "", "127.0.0.1:8787", "localhost:8787", []string{"Origin", "http://localhost:8787"}, true},
	{"localhost over IPv6", "", "[::1]:8787", "LOCALHOST:8787", []string{"Origin", "http://localhost:8787"}, true},
	{"bound over IPv6", "", "[::1]:8787", "[::1]:8787", []string{"Origin", "http://[::1]:8787"}, true},
	{"the default port", "", "192.0.2.7:80", "192.0.2.7", []string{"Origin", "http://192.0.2.7"}, true},
	{"a name that leads here", "", "127.0.0.1:8787", "evil.example:8787", []string{"Origin", "http://evil.example:8787"}, false},
	{"a name that leads here, without Origin", "", "127.0.0.1:8787", "evil.example:8787", []string{"Sec-Fetch-Site", "same-origin"}, false},
	{"a name that leads here, and a public address", "https://gate.example", "127.0.0.1:8787", "evil.example:8787", []string{"Origin", "http://evil.example:8787"}, false},
	{"another name of this machine", "", "127.0.0.1:8787", "localhost.evil.example:8787", []string{"Origin", "http://localhost.evil.example:8787"}, false},
	{"another port", "", "127.0.0.1:8787", "127.0.0.1:8788", []string{"Origin", "http://127.0.0.1:8788"}, false},
	{"another address", "", "127.0.0.1:8787", "192.0.2.7:8787", []string{"Origin", "http://192.0.2.7:8787"}, false},
	{"localhost of another machine", "", "192.0.2.7:8787", "localhost:8787", []string{"Origin", "http://localhost:8787"}, false},
	{"a page of this machine", "", "127.0.0.1:8787", "127.0.0.1:8787", []string{"Origin", "http://127.0.0.1:3000"}, false},
	{"all interfaces, an address", "", "0.0.0.0:8787", "192.0.2.7:9000", []string{"Origin", "http://192.0.2.7:9000"}, true},
	{"all interfaces, localhost", "", "[::]:8787", "localhost:9000", []string{"Origin", "http://localhost:9000"}, true},
	{"all interfaces, a name", "", "[::]:8787", "evil.example", []string{"Origin", "http://evil.example"}, false},
	{"all interfaces, another address", "", "0.0.0.0:8787", "192.0.2.7:8787", []string{"Origin", "http://192.0.2.8:8787"}, false},
	{"a socket", "", "", "gate.example", []string{"Origin", "http://gate.example"}, false},
	{"public, with its host", "https://Gate.example/", "", "gate.example", []string{"Origin", "https://gate.example"}, true},
	{"public, its port as a default", "https://gate.example:443", "", "gate.example", []string{"Origin", "https://gate.example"}, true},
	{"public, behind a proxy that renames", "https://gate.example", "10.0.0.2:8787", "backend", []string{"Origin", "https://gate.example"}, true},
	{"public, without Origin", "https://gate.example", "", "gate.example", []string{"Sec-Fetch-Site", "same-origin"}, true},
	{"public, another scheme", "https://gate.example", "", "backend", []string{"Origin", "http://gate.example"}, false},
	{"public, a part of its name", "https://gate.example", "", "example", []string{"Origin", "https://example"}, false},
	{"public, and also bound", "https://gate.example", "127.0.0.1:8787", "127.0.0.1:8787", []string{"Origin", "http://127.0.0.1:8787"}, true},
	{"no address at all", "", "", "", []string{"Origin", "http://"}, false},
}

// TestAddresses checks that sessions work only at the configured address or at the listener's address. The same holds
// for sign-ins from a page.
func TestAddresses(t *testing.T) {
	for _, o := range addressed {
		t.Run(o.name, func(t *testing.T) {
			b := controltest.New(t)
			a := kernel.Addresses{Public: o.public}
			if o.bound != "" {
				a.Bound = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(o.bound))
			}
			b.Configure(func(c *kernel.Config) { c.Addresses = func() kernel.Addresses { return a } })
			cookie := b.SignIn(controltest.Token)
			headers := append([]string{"Host", o.host}, o.headers...)
			acted := b.With(cookie, "POST", "/api/admin/projects", controltest.SomeProject, headers...)
			signedIn := b.Do("POST", controltest.Sessions, `{"token":"`+controltest.Token+`"}`, append(headers, "Authorization", "")...)
			if o.acts && (acted.Code != 201 || signedIn.Code != 200) {
				t.Errorf("%d %s, %d %s", acted.Code, acted.Body, signedIn.Code, signedIn.Body)
			}
			if !o.acts {
				b.Refused(acted, fault.CrossOrigin)
				b.Refused(signedIn, fault.CrossOrigin)
			}
			if got := b.Do("POST", "/api/admin/projects", controltest.SomeProject, headers...); got.Code != 201 {
				t.Errorf("with a token: %d %s", got.Code, got.Body)
			}
		})
	}
}

// Signing out is a change, too.
func TestCrossOriginSignOut(t *testing.T) {
	b := controltest.New(t)
	got := b.With(b.SignIn(controltest.Token), "DELETE", controltest.Sessions, "", "Origin", "http://evil.example")
	b.Refused(got, fault.CrossOrigin)
	if got.Header().Get("Set-Cookie") != "" {
		t.Error("signed out")
	}
}

func TestRequestOriginOfServer(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "Gateway.example:8443"
	if got := auth.RequestOrigin(r); got != "http://gateway.example:8443" {
		t.Error(got)
	}
	r.TLS = &tls.ConnectionState{}
	if got := auth.RequestOrigin(r); got != "https://gateway.example:8443" {
		t.Error(got)
	}
}
