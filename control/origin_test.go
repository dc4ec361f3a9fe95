package control

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
)

// Each is a POST's headers, and whether it may act by a cookie, and whether it may sign in.
var origins = []struct {
	name, url     string
	headers       []string
	acts, signsIn bool
}{
	{"nothing said", "", nil, false, true},
	{"own origin", "", []string{"Origin", "http://example.com"}, true, true},
	{"own origin, said twice", "", []string{"Origin", "http://example.com", "Sec-Fetch-Site", "same-origin"}, true, true},
	{"another origin", "", []string{"Origin", "http://evil.example"}, false, false},
	{"another origin, but the browser says same", "", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "same-origin"}, false, false},
	{"another scheme", "", []string{"Origin", "https://example.com"}, false, false},
	{"another port", "", []string{"Origin", "http://example.com:8080"}, false, false},
	{"a longer host", "", []string{"Origin", "http://example.com.evil.example"}, false, false},
	{"a site's other host", "", []string{"Origin", "http://a.example.com", "Sec-Fetch-Site", "same-site"}, false, false},
	{"user information", "", []string{"Origin", "http://example.com@evil.example"}, false, false},
	{"an opaque origin", "", []string{"Origin", "null"}, false, false},
	{"with a path", "", []string{"Origin", "http://example.com/"}, false, false},
	{"two origins", "", []string{"Origin", "http://example.com,http://evil.example"}, false, false},
	{"same-origin", "", []string{"Sec-Fetch-Site", "same-origin"}, true, true},
	{"same-site", "", []string{"Sec-Fetch-Site", "same-site"}, false, false},
	{"cross-site", "", []string{"Sec-Fetch-Site", "cross-site"}, false, false},
	{"none", "", []string{"Sec-Fetch-Site", "none"}, false, false},
	{"both", "", []string{"Sec-Fetch-Site", "same-origin,cross-site"}, false, false},
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
				b.refused(got, 403, "cross_origin", "Cross-origin request rejected")
				if len(b.memory.rows) != 0 {
					t.Error("it acted")
				}
			}
			signIn := b.do("POST", o.url+sessions, `{"token":"`+token+`"}`, append(o.headers, "Authorization", "")...)
			if o.signsIn && signIn.Code != 200 {
				t.Errorf("signing in: %d %s", signIn.Code, signIn.Body)
			}
			if !o.signsIn {
				b.refused(signIn, 403, "cross_origin", "Cross-origin request rejected")
			}
			// Who looks, and who has the token at hand, needs no proof.
			if got := b.with(cookie, "GET", o.url+"/api/admin/projects", "", o.headers...); got.Code != 200 {
				t.Errorf("looking: %d %s", got.Code, got.Body)
			}
			if got := b.do("POST", o.url+"/api/admin/projects", someProject, o.headers...); got.Code != 201 {
				t.Errorf("by token: %d %s", got.Code, got.Body)
			}
		})
	}
}

// Signing out is a change, too.
func TestACrossOriginSignOut(t *testing.T) {
	b := newBench(t)
	got := b.with(b.signIn(token), "DELETE", sessions, "", "Origin", "http://evil.example")
	b.refused(got, 403, "cross_origin", "Cross-origin request rejected")
	if got.Header().Get("Set-Cookie") != "" {
		t.Error("signed out")
	}
}

func TestOwnOriginOfAServer(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "Gateway.example:8443"
	if got := ownOrigin(r); got != "http://gateway.example:8443" {
		t.Error(got)
	}
	r.TLS = &tls.ConnectionState{}
	if got := ownOrigin(r); got != "https://gateway.example:8443" {
		t.Error(got)
	}
}
