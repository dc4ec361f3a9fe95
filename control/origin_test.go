package control

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"

	"github.com/postern-ai/postern/core/fault"
)

// origins are the headers of a POST. acts: it may act by cookie; signsIn: it may sign in.
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
			b := newBench(t)
			cookie := b.signIn(token)
			b.forgetLog()
			got := b.with(cookie, "POST", o.url+"/api/admin/projects", someProject, o.headers...)
			if o.acts && got.Code != 201 {
				t.Errorf("acting: %d %s", got.Code, got.Body)
			}
			if !o.acts {
				b.refused(got, fault.CrossOrigin)
				if len(b.memory.rows) != 0 {
					t.Error("the rejected request changed something")
				}
			}
			signIn := b.do("POST", o.url+sessions, `{"token":"`+token+`"}`, append(o.headers, "Authorization", "")...)
			if o.signsIn && signIn.Code != 200 {
				t.Errorf("signing in: %d %s", signIn.Code, signIn.Body)
			}
			if !o.signsIn {
				b.refused(signIn, fault.CrossOrigin)
			}
			// Reading, and requests with a bearer token, need no proof of origin.
			if got := b.with(cookie, "GET", o.url+"/api/admin/projects", "", o.headers...); got.Code != 200 {
				t.Errorf("reading: %d %s", got.Code, got.Body)
			}
			if got := b.do("POST", o.url+"/api/admin/projects", someProject, o.headers...); got.Code != 201 {
				t.Errorf("with a token: %d %s", got.Code, got.Body)
			}
		})
	}
}

// Signing out is a change, too.
func TestCrossOriginSignOut(t *testing.T) {
	b := newBench(t)
	got := b.with(b.signIn(token), "DELETE", sessions, "", "Origin", "http://evil.example")
	b.refused(got, fault.CrossOrigin)
	if got.Header().Get("Set-Cookie") != "" {
		t.Error("signed out")
	}
}

func TestRequestOriginOfServer(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "Gateway.example:8443"
	if got := requestOrigin(r); got != "http://gateway.example:8443" {
		t.Error(got)
	}
	r.TLS = &tls.ConnectionState{}
	if got := requestOrigin(r); got != "https://gateway.example:8443" {
		t.Error(got)
	}
}
