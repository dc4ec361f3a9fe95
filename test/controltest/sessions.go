package controltest

import (
	"net/http"
	"strings"
)

// Constants for requests by people.
const (
	ViewerToken = "viewers-token-of-this-test"
	Sessions    = "/api/admin/session"
	SomeProject = `{"name":"Test"}`
)

// SignIn signs in and returns the session cookie as a browser sends it.
func (b *Bench) SignIn(token string) string {
	b.Helper()
	got := b.Do("POST", Sessions, `{"token":"`+token+`"}`, "Authorization", "")
	if got.Code != 200 {
		b.Fatalf("sign-in: %d %s", got.Code, got.Body)
	}
	return b.Cookie(got).Name + "=" + b.Cookie(got).Value
}

// Cookie returns the session cookie of a response.
func (b *Bench) Cookie(got Reply) *http.Cookie {
	b.Helper()
	cookies := got.Result().Cookies()
	if len(cookies) != 1 {
		b.Fatalf("cookies: %v", got.Header())
	}
	return cookies[0]
}

// With sends a request with a cookie and without a token.
func (b *Bench) With(cookie, method, path, body string, headers ...string) Reply {
	b.Helper()
	return b.Do(method, path, body, append([]string{"Authorization", "", "Cookie", cookie}, headers...)...)
}

// Try signs in from an address.
func (b *Bench) Try(address, token string) Reply {
	b.Helper()
	return b.Do("POST", Sessions, `{"token":"`+token+`"}`, "Authorization", "", "X-Postern-Address", address)
}

// Documents counts the documents in the Directory under a prefix.
func (b *Bench) Documents(prefix string) (n int) {
	for key := range b.Memory.Rows {
		if strings.HasPrefix(key, "d/"+prefix) {
			n++
		}
	}
	return n
}

// ForgetLog deletes the audit log, the failed sign-ins and the salt.
func (b *Bench) ForgetLog() {
	for key := range b.Memory.Rows {
		if strings.HasPrefix(key, "d/a/") || strings.HasPrefix(key, "d/s/") || key == "d/c/salt" {
			delete(b.Memory.Rows, key)
		}
	}
}
