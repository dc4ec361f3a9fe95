package control

import (
	"bytes"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

const (
	viewerToken = "viewers-token-of-this-test"
	sessions    = "/api/admin/session"
	someProject = `{"name":"Test"}`
)

// signIn signs in and returns the session cookie as a browser sends it.
func (b *bench) signIn(token string) string {
	b.Helper()
	got := b.do("POST", sessions, `{"token":"`+token+`"}`, "Authorization", "")
	if got.Code != 200 {
		b.Fatalf("sign-in: %d %s", got.Code, got.Body)
	}
	return b.cookie(got).Name + "=" + b.cookie(got).Value
}

func (b *bench) cookie(got reply) *http.Cookie {
	b.Helper()
	cookies := got.Result().Cookies()
	if len(cookies) != 1 {
		b.Fatalf("cookies: %v", got.Header())
	}
	return cookies[0]
}

// with sends a request with a cookie and without a token.
func (b *bench) with(cookie, method, path, body string, headers ...string) reply {
	b.Helper()
	return b.do(method, path, body, append([]string{"Authorization", "", "Cookie", cookie}, headers...)...)
}

func TestSignIn(t *testing.T) {
	for role, token := range map[string]string{"owner": token, "viewer": viewerToken} {
		b := newBench(t)
		b.viewer = viewerToken
		got := b.do("POST", sessions, `{"token":"`+token+`"}`, "Authorization", "")
		if got.Code != 200 || got.Body.String() != `{"role":"`+role+`","name":"`+role+`","via":"session","expiresAt":"2026-11-21T20:08:07.000Z"}` {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		c := b.cookie(got)
		want := "postern_session=" + c.Value + "; Path=/api/admin; Max-Age=43200; HttpOnly; Secure; SameSite=Strict"
		if got.Header().Get("Set-Cookie") != want || len(c.Value) > 300 {
			t.Errorf("Set-Cookie: %s", got.Header().Get("Set-Cookie"))
		}
		if strings.Contains(got.Header().Get("Set-Cookie"), token) {
			t.Error("the cookie contains the token")
		}
		again := b.with("a=1, 2; postern_session="+c.Value+"; b=c", "GET", sessions, "")
		if again.Code != 200 || again.Body.String() != got.Body.String() {
			t.Errorf("%d %s", again.Code, again.Body)
		}
	}
}

func TestBearerIdentity(t *testing.T) {
	b := newBench(t)
	b.viewer = viewerToken
	for role, token := range map[string]string{"owner": token, "viewer": viewerToken} {
		got := b.do("GET", sessions, "", "Authorization", "Bearer "+token)
		if want := `{"role":"` + role + `","name":"` + role + `","via":"bearer","expiresAt":null}`; got.Body.String() != want {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	b.refused(b.do("GET", sessions, "", "Authorization", ""), fault.MissingAdmin)
}

func TestInvalidSignIns(t *testing.T) {
	b := newBench(t)
	for _, body := range []string{`{}`, `{"token":""}`, `{"token":7}`, `{"token":null}`, `{"token":["` + token + `"]}`, `{"token":"` + strings.Repeat("x", 4097) + `"}`} {
		got := b.do("POST", sessions, body, "Authorization", "")
		b.refused(got, fault.InvalidRequest)
		if p := got.problems(); len(p) != 1 || p[0] != "token" {
			t.Errorf("%.40s: %s", body, got.Body)
		}
	}
	b.refused(b.do("POST", sessions, `{"token":"`+token+`","role":"owner"}`, "Authorization", ""), fault.InvalidRequest)
	b.refused(b.do("POST", sessions, `{"token":"`+token+`"}`, "Authorization", "", "Content-Type", "text/plain"), fault.UnsupportedType)
	b.refused(b.do("PUT", sessions, "", "Authorization", ""), fault.MethodNotAllowed)
	if len(b.memory.rows) != 0 {
		t.Error("a malformed sign-in was recorded")
	}
	got := b.do("POST", sessions, `{"token":"wrong"}`, "Authorization", "")
	b.refused(got, fault.WrongToken)
	if len(got.Result().Cookies()) != 0 {
		t.Error("a cookie for a wrong token")
	}
	b.token = ""
	b.refused(b.do("POST", sessions, `{"token":""}`, "Authorization", ""), fault.AdminOff)
}

// Without a configured viewer token, an empty token does not authenticate.
func TestNoViewerToken(t *testing.T) {
	b := newBench(t)
	h := b.handler.(*handler)
	if actor, ok := h.byToken(""); ok {
		t.Errorf("%+v", actor)
	}
	b.viewer = viewerToken
	cookie := b.signIn(viewerToken)
	b.viewer = ""
	b.refused(b.with(cookie, "GET", sessions, ""), fault.InvalidAdmin)
	text, _, _ := strings.Cut(strings.TrimPrefix(cookie, "postern_session="), ".")
	forged := "postern_session=" + text + "." + cookieEncoding.EncodeToString(signature("", b.salt(), viewer, text))
	b.refused(b.with(forged, "GET", sessions, ""), fault.InvalidAdmin)
}

func TestSignOut(t *testing.T) {
	b := newBench(t)
	cookie := b.signIn(token)
	got := b.with(cookie, "DELETE", sessions, "", "Origin", "http://example.com")
	if got.Code != 204 || got.Body.Len() != 0 || got.Header().Get("Set-Cookie") != "postern_session=; Path=/api/admin; Max-Age=0; HttpOnly; Secure; SameSite=Strict" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

func TestSessionExpiry(t *testing.T) {
	b := newBench(t)
	b.viewer = viewerToken
	ownersCookie, viewersCookie := b.signIn(token), b.signIn(viewerToken)
	start := b.now
	b.now = start.Add(12*time.Hour - time.Second)
	if got := b.with(ownersCookie, "GET", sessions, ""); got.Code != 200 {
		t.Error(got.Body)
	}
	b.now = start.Add(12 * time.Hour)
	b.refused(b.with(ownersCookie, "GET", sessions, ""), fault.InvalidAdmin)
	b.now = start
	b.token = "another-token-of-this-test"
	b.refused(b.with(ownersCookie, "GET", sessions, ""), fault.InvalidAdmin)
	if got := b.with(viewersCookie, "GET", sessions, ""); got.text("role") != "viewer" {
		t.Error(got.Body)
	}
	// The bearer token takes precedence over the cookie.
	b.refused(b.do("GET", sessions, "", "Cookie", viewersCookie), fault.InvalidAdmin)
}

// salt is the salt of session signatures; it is created if necessary.
func (b *bench) salt() []byte {
	salt, err := b.handler.(*handler).sessionSalt(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return salt
}

// A session is valid in every instance. If the salt cannot be read, the response is a 503.
func TestSalt(t *testing.T) {
	b := newBench(t)
	cookie := b.signIn(token)
	b.handler.(*handler).salt.set(nil) // another instance
	if got := b.with(cookie, "GET", sessions, ""); got.Code != 200 {
		t.Error(got.Body)
	}
	b.handler.(*handler).salt.set(nil)
	b.memory.fail = func(abi.Class, string, []byte) error { return errOut }
	b.refused(b.with(cookie, "GET", sessions, ""), fault.Unavailable)
}

// TestForgedCookies: cookies signed with known keys, or with a role's own key but invalid content.
func TestForgedCookies(t *testing.T) {
	b := newBench(t)
	b.viewer = viewerToken
	now := b.now.Unix()
	good := session{2, owner, "owner", now, now + sessionSeconds}
	make := func(s any, key string, as role) string {
		payload, _ := json.Marshal(s)
		text := cookieEncoding.EncodeToString(payload)
		return text + "." + cookieEncoding.EncodeToString(signature(key, b.salt(), as, text))
	}
	unsalted := cookieEncoding.EncodeToString(signature(token, nil, owner, strings.Split(make(good, token, owner), ".")[0]))
	whole := make(good, token, owner)
	text, sum, _ := strings.Cut(whole, ".")
	unsigned := func(payload string) string { return cookieEncoding.EncodeToString([]byte(payload)) }
	for name, value := range map[string]string{
		"empty":                               "",
		"a dot":                               ".",
		"no signature":                        text,
		"an empty signature":                  text + ".",
		"a short signature":                   text + "." + sum[:len(sum)-4],
		"two signatures":                      whole + "." + sum,
		"padding":                             whole + "=",
		"another encoding":                    text + "." + sum[:len(sum)-1] + string(sum[len(sum)-1]+1),
		"a changed character":                 "A" + whole[1:],
		"a line break":                        text + "\n." + sum,
		"signed with an empty token":          make(good, "", owner),
		"signed with another token":           make(good, "x", owner),
		"owner, signed by the viewer's key":   make(good, viewerToken, viewer),
		"owner, signed by the viewer token":   make(good, viewerToken, owner),
		"viewer, signed by the owner's key":   make(session{2, viewer, "viewer", now, now + sessionSeconds}, token, owner),
		"signed without the salt":             text + "." + unsalted,
		"signed directly with the token":      text + "." + cookieEncoding.EncodeToString(mac([]byte(token), text)),
		"another version":                     make(session{1, owner, "owner", now, now + sessionSeconds}, token, owner),
		"too long a lifetime":                 make(session{2, owner, "owner", now, now + sessionSeconds + 1}, token, owner),
		"expired":                             make(session{2, owner, "owner", now - sessionSeconds, now}, token, owner),
		"another role":                        make(session{2, "admin", "owner", now, now + sessionSeconds}, token, owner),
		"not a session":                       make([]int{1}, token, owner),
		"too long":                            make(session{2, owner, strings.Repeat("x", 600), now, now + sessionSeconds}, token, owner),
		"other claims with a valid signature": unsigned(`{"v":2,"role":"owner","name":"owner","iat":0,"exp":9999999999}`) + "." + sum,
		"alg none":                            unsigned(`{"alg":"none"}`) + ".",
	} {
		if got := b.with("postern_session="+value, "GET", sessions, ""); got.Code != 401 || got.text("code") != "invalid_api_key" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	if got := b.with("postern_session="+whole, "GET", sessions, ""); got.Code != 200 {
		t.Errorf("the right one: %s", got.Body) // otherwise the table would prove nothing
	}
	if got := b.with("postern_session=x; postern_session="+whole, "GET", sessions, ""); got.Code != 401 {
		t.Error("the second of two cookies was used")
	}
	if got := b.with("xpostern_session="+whole, "GET", sessions, ""); got.text("code") != "missing_api_key" {
		t.Error(got.Body)
	}
}

func TestViewersAreReadOnly(t *testing.T) {
	b := newBench(t)
	b.viewer = viewerToken
	cookie := b.signIn(viewerToken)
	b.forgetLog()
	for _, route := range routes {
		path := route.example()
		if route.method == "GET" || route.pattern == sessionPath || route.permission != 0 {
			continue
		}
		byCookie := b.with(cookie, route.method, path, "{}", "Origin", "http://example.com")
		b.refused(byCookie, fault.ViewerForbidden)
		byBearer := b.do(route.method, path, "{}", "Authorization", "Bearer "+viewerToken)
		b.refused(byBearer, fault.ViewerForbidden)
	}
	if len(b.memory.rows) != 0 || len(b.memory.sent) != 0 {
		t.Error("a viewer changed something")
	}
	for _, path := range []string{"/api/admin/projects", "/api/admin/audit", sessions} {
		if got := b.with(cookie, "GET", path, ""); got.Code != 200 {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	if got := b.with(cookie, "DELETE", sessions, "", "Sec-Fetch-Site", "same-origin"); got.Code != 204 {
		t.Error(got.Body)
	}
}

// forgetLog deletes all rows except those of projects and keys.
func (b *bench) forgetLog() {
	for key := range b.memory.rows {
		if strings.HasPrefix(key, "d/a/") || strings.HasPrefix(key, "d/s/") || key == "d/"+saltKey {
			delete(b.memory.rows, key)
		}
	}
}

// A failure to write the log prevents neither signing in nor signing out.
func TestSignInWithoutAuditLog(t *testing.T) {
	b := newBench(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b.salt()
	b.memory.failCommits()
	cookie := b.signIn(token)
	if got := b.with(cookie, "DELETE", sessions, "", "Origin", "http://example.com"); got.Code != 204 {
		t.Error(got.Body)
	}
	if n := strings.Count(lines.String(), "object failed"); n != 2 || strings.Contains(lines.String(), token) {
		t.Errorf("log: %s", lines.String())
	}
	b.memory.fail = everythingFails
	b.signIn(token)
}
