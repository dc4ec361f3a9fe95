package auth_test

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

func TestSignIn(t *testing.T) {
	for role, token := range map[string]string{"owner": controltest.Token, "viewer": controltest.ViewerToken} {
		b := controltest.New(t)
		b.Viewer = controltest.ViewerToken
		got := b.Do("POST", controltest.Sessions, `{"token":"`+token+`"}`, "Authorization", "")
		if got.Code != 200 || got.Body.String() != `{"role":"`+role+`","name":"`+role+`","via":"session","expiresAt":"2026-11-21T20:08:07.000Z","docs":true}` {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		c := b.Cookie(got)
		want := "postern_session=" + c.Value + "; Path=/api/admin; Max-Age=43200; HttpOnly; Secure; SameSite=Strict"
		if got.Header().Get("Set-Cookie") != want || len(c.Value) > 300 {
			t.Errorf("Set-Cookie: %s", got.Header().Get("Set-Cookie"))
		}
		if strings.Contains(got.Header().Get("Set-Cookie"), token) {
			t.Error("the cookie contains the token")
		}
		again := b.With("a=1, 2; postern_session="+c.Value+"; b=c", "GET", controltest.Sessions, "")
		if again.Code != 200 || again.Body.String() != got.Body.String() {
			t.Errorf("%d %s", again.Code, again.Body)
		}
	}
}

func TestBearerIdentity(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	for role, token := range map[string]string{"owner": controltest.Token, "viewer": controltest.ViewerToken} {
		got := b.Do("GET", controltest.Sessions, "", "Authorization", "Bearer "+token)
		if want := `{"role":"` + role + `","name":"` + role + `","via":"bearer","expiresAt":null,"docs":true}`; got.Body.String() != want {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	b.Refused(b.Do("GET", controltest.Sessions, "", "Authorization", ""), fault.MissingAdmin)
}

func TestInvalidSignIns(t *testing.T) {
	b := controltest.New(t)
	for _, body := range []string{`{}`, `{"token":""}`, `{"token":7}`, `{"token":null}`, `{"token":["` + controltest.Token + `"]}`, `{"token":"` + strings.Repeat("x", 4097) + `"}`} {
		got := b.Do("POST", controltest.Sessions, body, "Authorization", "")
		b.Refused(got, fault.InvalidRequest)
		if p := got.Problems(); len(p) != 1 || p[0] != "token" {
			t.Errorf("%.40s: %s", body, got.Body)
		}
	}
	b.Refused(b.Do("POST", controltest.Sessions, `{"token":"`+controltest.Token+`","role":"owner"}`, "Authorization", ""), fault.InvalidRequest)
	b.Refused(b.Do("POST", controltest.Sessions, `{"token":"`+controltest.Token+`"}`, "Authorization", "", "Content-Type", "text/plain"), fault.UnsupportedType)
	b.Refused(b.Do("PUT", controltest.Sessions, "", "Authorization", ""), fault.MethodNotAllowed)
	if len(b.Memory.Rows) != 0 {
		t.Error("a malformed sign-in was recorded")
	}
	got := b.Do("POST", controltest.Sessions, `{"token":"wrong"}`, "Authorization", "")
	b.Refused(got, fault.WrongToken)
	if len(got.Result().Cookies()) != 0 {
		t.Error("a cookie for a wrong token")
	}
	b.Token = ""
	b.Refused(b.Do("POST", controltest.Sessions, `{"token":""}`, "Authorization", ""), fault.AdminOff)
}

// An empty token does not authenticate, even if no viewer token is configured.
func TestNoViewerToken(t *testing.T) {
	b := controltest.New(t)
	b.Refused(b.Do("POST", controltest.Sessions, `{"token":""}`, "Authorization", ""), fault.InvalidRequest)
	b.Viewer = controltest.ViewerToken
	cookie := b.SignIn(controltest.ViewerToken)
	b.Viewer = ""
	b.Refused(b.With(cookie, "GET", controltest.Sessions, ""), fault.InvalidAdmin)
	text, _, _ := strings.Cut(strings.TrimPrefix(cookie, "postern_session="), ".")
	forged := "postern_session=" + text + "." + auth.CookieEncoding.EncodeToString(auth.Signature("", salt(b), kernel.Viewer, text))
	b.Refused(b.With(forged, "GET", controltest.Sessions, ""), fault.InvalidAdmin)
}

func TestSignOut(t *testing.T) {
	b := controltest.New(t)
	cookie := b.SignIn(controltest.Token)
	got := b.With(cookie, "DELETE", controltest.Sessions, "", "Origin", "http://example.com")
	if got.Code != 204 || got.Body.Len() != 0 || got.Header().Get("Set-Cookie") != "postern_session=; Path=/api/admin; Max-Age=0; HttpOnly; Secure; SameSite=Strict" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

func TestSessionExpiry(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	ownersCookie, viewersCookie := b.SignIn(controltest.Token), b.SignIn(controltest.ViewerToken)
	start := b.Now
	b.Now = start.Add(12*time.Hour - time.Second)
	if got := b.With(ownersCookie, "GET", controltest.Sessions, ""); got.Code != 200 {
		t.Error(got.Body)
	}
	b.Now = start.Add(12 * time.Hour)
	b.Refused(b.With(ownersCookie, "GET", controltest.Sessions, ""), fault.InvalidAdmin)
	b.Now = start
	b.Token = "another-token-of-this-test"
	b.Refused(b.With(ownersCookie, "GET", controltest.Sessions, ""), fault.InvalidAdmin)
	if got := b.With(viewersCookie, "GET", controltest.Sessions, ""); got.Text("role") != "viewer" {
		t.Error(got.Body)
	}
	// The bearer token takes precedence over the cookie.
	b.Refused(b.Do("GET", controltest.Sessions, "", "Cookie", viewersCookie), fault.InvalidAdmin)
}

// salt returns the salt of session signatures and creates it if necessary.
func salt(b *controltest.Bench) []byte {
	b.Helper()
	if b.Memory.Rows["d/"+auth.SaltKey] == nil {
		b.Do("GET", controltest.Sessions, "", "Authorization", "", "Cookie", "postern_session=x."+strings.Repeat("A", 43))
	}
	return b.Document(auth.SaltKey).Value
}

// A session is valid in every instance. If the salt cannot be read, the response is a 503.
func TestSalt(t *testing.T) {
	b := controltest.New(t)
	cookie := b.SignIn(controltest.Token)
	b.Restart() // simulates another instance
	if got := b.With(cookie, "GET", controltest.Sessions, ""); got.Code != 200 {
		t.Error(got.Body)
	}
	b.Restart()
	b.Memory.Fail = func(abi.Class, string, []byte) error { return controltest.ErrOut }
	b.Refused(b.With(cookie, "GET", controltest.Sessions, ""), fault.Unavailable)
}

// TestForgedCookies tries cookies that are signed with known keys. It also tries cookies that are signed with a
// role's own key but have invalid content.
func TestForgedCookies(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	now := b.Now.Unix()
	good := auth.Session{2, kernel.Owner, "owner", now, now + auth.SessionSeconds}
	make := func(s any, key string, as kernel.Role) string {
		payload, _ := json.Marshal(s)
		text := auth.CookieEncoding.EncodeToString(payload)
		return text + "." + auth.CookieEncoding.EncodeToString(auth.Signature(key, salt(b), as, text))
	}
	unsalted := auth.CookieEncoding.EncodeToString(auth.Signature(controltest.Token, nil, kernel.Owner, strings.Split(make(good, controltest.Token, kernel.Owner), ".")[0]))
	whole := make(good, controltest.Token, kernel.Owner)
	text, sum, _ := strings.Cut(whole, ".")
	unsigned := func(payload string) string { return auth.CookieEncoding.EncodeToString([]byte(payload)) }
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
		"signed with an empty token":          make(good, "", kernel.Owner),
		"signed with another token":           make(good, "x", kernel.Owner),
		"owner, signed by the viewer's key":   make(good, controltest.ViewerToken, kernel.Viewer),
		"owner, signed by the viewer token":   make(good, controltest.ViewerToken, kernel.Owner),
		"viewer, signed by the owner's key":   make(auth.Session{2, kernel.Viewer, "viewer", now, now + auth.SessionSeconds}, controltest.Token, kernel.Owner),
		"signed without the salt":             text + "." + unsalted,
		"signed directly with the token":      text + "." + auth.CookieEncoding.EncodeToString(auth.MAC([]byte(controltest.Token), text)),
		"another version":                     make(auth.Session{1, kernel.Owner, "owner", now, now + auth.SessionSeconds}, controltest.Token, kernel.Owner),
		"too long a lifetime":                 make(auth.Session{2, kernel.Owner, "owner", now, now + auth.SessionSeconds + 1}, controltest.Token, kernel.Owner),
		"expired":                             make(auth.Session{2, kernel.Owner, "owner", now - auth.SessionSeconds, now}, controltest.Token, kernel.Owner),
		"another role":                        make(auth.Session{2, "admin", "owner", now, now + auth.SessionSeconds}, controltest.Token, kernel.Owner),
		"not a session":                       make([]int{1}, controltest.Token, kernel.Owner),
		"too long":                            make(auth.Session{2, kernel.Owner, strings.Repeat("x", 600), now, now + auth.SessionSeconds}, controltest.Token, kernel.Owner),
		"other claims with a valid signature": unsigned(`{"v":2,"role":"owner","name":"owner","iat":0,"exp":9999999999}`) + "." + sum,
		"alg none":                            unsigned(`{"alg":"none"}`) + ".",
	} {
		if got := b.With("postern_session="+value, "GET", controltest.Sessions, ""); got.Code != 401 || got.Text("code") != "invalid_api_key" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	if got := b.With("postern_session="+whole, "GET", controltest.Sessions, ""); got.Code != 200 {
		t.Errorf("the right one: %s", got.Body) // without this check, the table would prove nothing
	}
	if got := b.With("postern_session=x; postern_session="+whole, "GET", controltest.Sessions, ""); got.Code != 401 {
		t.Error("the second of two cookies was used")
	}
	if got := b.With("xpostern_session="+whole, "GET", controltest.Sessions, ""); got.Text("code") != "missing_api_key" {
		t.Error(got.Body)
	}
}

// A failure to write the log prevents neither signing in nor signing out.
func TestSignInWithoutAuditLog(t *testing.T) {
	b := controltest.New(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	salt(b)
	b.Memory.FailCommits()
	cookie := b.SignIn(controltest.Token)
	if got := b.With(cookie, "DELETE", controltest.Sessions, "", "Origin", "http://example.com"); got.Code != 204 {
		t.Error(got.Body)
	}
	if n := strings.Count(lines.String(), "object failed"); n != 2 || strings.Contains(lines.String(), controltest.Token) {
		t.Errorf("log: %s", lines.String())
	}
	b.Memory.Fail = controltest.EverythingFails
	b.SignIn(controltest.Token)
}
