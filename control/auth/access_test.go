package auth_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

const (
	team     = "acme.cloudflareaccess.com"
	audience = "32eafc7626e737a3a5a39d9a9d2a1c9a"
	person   = "ops@example.com"
)

var testKeys = sync.OnceValue(func() (keys [2]*rsa.PrivateKey) {
	for i := range keys {
		keys[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return keys
})

// claimsNow returns the claims of an assertion that Access would issue now.
func claimsNow(b *controltest.Bench) map[string]any {
	return map[string]any{
		"aud": []string{audience}, "email": person, "exp": b.Now.Add(time.Hour).Unix(), "iat": b.Now.Unix(), "nbf": b.Now.Unix(),
		"iss": "https://" + team, "type": "app", "identity_nonce": "6ei69kawdKzMIAPF", "sub": "7335d417-61da-459d-899c-0a01c76a2f94", "country": "DE",
	}
}

func part(v any) string {
	text, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(text)
}

// assertion returns a JWT signed with RS256.
func assertion(key *rsa.PrivateKey, id string, claims map[string]any) string {
	return signed(key, map[string]any{"alg": "RS256", "kid": id, "typ": "JWT"}, claims)
}

func signed(key *rsa.PrivateKey, header, claims map[string]any) string {
	text := part(header) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// keySet returns a key set as a team publishes it.
func keySet(keys map[string]*rsa.PrivateKey) []byte {
	var set []map[string]string
	for id, key := range keys {
		set = append(set, map[string]string{
			"kid": id, "kty": "RSA", "alg": "RS256", "use": "sig", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		})
	}
	text, _ := json.Marshal(map[string]any{"keys": set, "public_cert": map[string]string{"kid": "x", "cert": "-"}})
	return text
}

// accessBench returns a test fixture with Access configured. fetches counts the fetches of the key set.
func accessBench(t *testing.T) (b *controltest.Bench, fetches *int) {
	b, fetches = controltest.New(t), new(int)
	b.Access = kernel.Access{Team: team, Audience: audience, Owners: "boss@example.com, OPS@Example.com"}
	b.Certs = func(url string) ([]byte, error) {
		if *fetches++; url != "https://acme.cloudflareaccess.com/cdn-cgi/access/certs" {
			t.Errorf("fetched %s", url)
		}
		return keySet(map[string]*rsa.PrivateKey{"one": testKeys()[0]}), nil
	}
	return b, fetches
}

func doWithAccess(b *controltest.Bench, assertion, method, path, body string, headers ...string) controltest.Reply {
	b.Helper()
	return b.Do(method, path, body, append([]string{"Authorization", "", "Cf-Access-Jwt-Assertion", assertion}, headers...)...)
}

func TestAccessIdentity(t *testing.T) {
	b, fetches := accessBench(t)
	for email, role := range map[string]string{person: "owner", "Boss@example.com": "owner", "guest@example.com": "viewer", "boss@example.com.evil": "viewer"} {
		claims := claimsNow(b)
		claims["email"] = email
		got := doWithAccess(b, assertion(testKeys()[0], "one", claims), "GET", controltest.Sessions, "")
		if want := `{"role":"` + role + `","name":"` + email + `","via":"access","expiresAt":"2026-11-21T09:08:07.000Z","docs":true}`; got.Body.String() != want {
			t.Errorf("%d %s, want %s", got.Code, got.Body, want)
		}
	}
	if *fetches != 1 {
		t.Errorf("%d fetches", *fetches)
	}
}

// Browsers attach an assertion to every request, like a cookie.
func TestAccessNeedsTheSameOrigin(t *testing.T) {
	b, _ := accessBench(t)
	credential := assertion(testKeys()[0], "one", claimsNow(b))
	b.Refused(doWithAccess(b, credential, "POST", "/api/admin/projects", controltest.SomeProject), fault.CrossOrigin)
	b.Refused(doWithAccess(b, credential, "POST", "/api/admin/projects", controltest.SomeProject, "Origin", "http://evil.example"), fault.CrossOrigin)
	if got := doWithAccess(b, credential, "POST", "/api/admin/projects", controltest.SomeProject, "Origin", "http://example.com"); got.Code != 201 {
		t.Error(got.Body)
	}
	b.Access.Owners = ""
	got := doWithAccess(b, credential, "POST", "/api/admin/projects", controltest.SomeProject, "Origin", "http://example.com")
	b.Refused(got, fault.ViewerForbidden)
}

func TestInvalidAssertions(t *testing.T) {
	b, _ := accessBench(t)
	key, otherKey := testKeys()[0], testKeys()[1]
	changed := func(name string, value any) string {
		claims := maps.Clone(claimsNow(b))
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
		return assertion(key, "one", claims)
	}
	header := func(alg, kid any) string {
		return signed(key, map[string]any{"alg": alg, "kid": kid}, claimsNow(b))
	}
	good := assertion(key, "one", claimsNow(b))
	pieces := strings.Split(good, ".")
	unix := func(d time.Duration) int64 { return b.Now.Add(d).Unix() }
	for name, text := range map[string]string{
		"not a JWT":                     "x",
		"two parts":                     pieces[0] + "." + pieces[1],
		"four parts":                    good + ".x",
		"no signature":                  pieces[0] + "." + pieces[1] + ".",
		"alg none":                      part(map[string]any{"alg": "none", "kid": "one"}) + "." + pieces[1] + ".",
		"alg None with a signature":     header("None", "one"),
		"alg HS256 with the public key": hs256(key, claimsNow(b)),
		"alg RS384":                     byMethod(jwt.SigningMethodRS384, key, claimsNow(b)),
		"alg PS256":                     byMethod(jwt.SigningMethodPS256, key, claimsNow(b)),
		"alg in lower case":             header("rs256", "one"),
		"alg a number":                  header(256, "one"),
		"no alg":                        header(nil, "one"),
		"another key's signature":       assertion(otherKey, "one", claimsNow(b)),
		"an unknown kid":                assertion(otherKey, "two", claimsNow(b)),
		"no kid":                        header("RS256", nil),
		"kid a list":                    header("RS256", []string{"one"}),
		"replaced claims":               pieces[0] + "." + part(map[string]any{"email": person}) + "." + pieces[2],
		"a changed signature":           good[:len(good)-8] + "AAAAAAAA",
		"padding":                       good + "=",
		"unused bits set":               good[:len(good)-1] + string(good[len(good)-1]+1),
		"another audience":              changed("aud", []string{"another"}),
		"audience as a prefix":          changed("aud", []string{audience + "x"}),
		"no audience":                   changed("aud", nil),
		"an empty list of audiences":    changed("aud", []string{}),
		"audience a number":             changed("aud", 7),
		"another issuer":                changed("iss", "https://evil.cloudflareaccess.com"),
		"issuer without a scheme":       changed("iss", team),
		"issuer with a slash":           changed("iss", "https://"+team+"/"),
		"no issuer":                     changed("iss", nil),
		"expired":                       changed("exp", unix(-61*time.Second)),
		"without exp":                   changed("exp", nil),
		"exp as text":                   changed("exp", "soon"),
		"not valid yet":                 changed("nbf", unix(62*time.Second)),
		"no email (service token)":      changed("email", nil),
		"email empty":                   changed("email", ""),
		"email without an @":            changed("email", "ops"),
		"email with a line break":       changed("email", "ops@example.com\nowner"),
		"email too long":                changed("email", strings.Repeat("x", 250)+"@x.de"),
		"email a list":                  changed("email", []string{person}),
		"too long":                      changed("padding", strings.Repeat("x", 16<<10)),
	} {
		b.Refused(doWithAccess(b, text, "GET", controltest.Sessions, ""), fault.InvalidAdmin)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	for name, text := range map[string]string{
		"unchanged":                 good,
		"expired within the leeway": changed("exp", unix(-59*time.Second)),
		"valid within the leeway":   changed("nbf", unix(59*time.Second)),
		"without nbf":               changed("nbf", nil),
		"audience as a string":      changed("aud", audience),
		"one of several audiences":  changed("aud", []string{"another", audience}),
		"with custom claims":        changed("custom", map[string]any{"groups": []string{"a", "b"}}),
		"iat in the future":         changed("iat", unix(30*time.Second)),
	} {
		if got := doWithAccess(b, text, "GET", controltest.Sessions, ""); got.Code != 200 {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// byMethod signs with the right key but with an algorithm that Access does not use.
func byMethod(method jwt.SigningMethod, key *rsa.PrivateKey, claims map[string]any) string {
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	token.Header["kid"] = "one"
	text, _ := token.SignedString(key)
	return text
}

// hs256 signs with HS256, using a public key as if it were a shared secret.
func hs256(key *rsa.PrivateKey, claims map[string]any) string {
	text := part(map[string]any{"alg": "HS256", "kid": "one", "typ": "JWT"}) + "." + part(claims)
	public, _ := x509.MarshalPKIXPublicKey(&key.PublicKey)
	m := hmac.New(sha256.New, public)
	m.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// The first credential present decides: a token, then a session, then Access.
func TestCredentialPrecedence(t *testing.T) {
	b, _ := accessBench(t)
	b.Viewer = controltest.ViewerToken
	credential, cookie := assertion(testKeys()[0], "one", claimsNow(b)), b.SignIn(controltest.ViewerToken)
	if got := doWithAccess(b, credential, "GET", controltest.Sessions, "", "Authorization", "Bearer "+controltest.Token, "Cookie", cookie); got.Text("via") != "bearer" {
		t.Error(got.Body)
	}
	if got := doWithAccess(b, credential, "GET", controltest.Sessions, "", "Cookie", cookie); got.Text("via") != "session" {
		t.Error(got.Body)
	}
	if got := doWithAccess(b, credential, "GET", controltest.Sessions, "", "Cookie", "postern_session=expired"); got.Text("via") != "access" {
		t.Error(got.Body)
	}
	got := doWithAccess(b, credential, "GET", controltest.Sessions, "", "Authorization", "Bearer wrong", "Cookie", cookie)
	b.Refused(got, fault.InvalidAdmin)
}

func TestAccessTeamMayBeURL(t *testing.T) {
	for _, name := range []string{"https://" + team, "https://" + team + "/"} {
		b, _ := accessBench(t)
		b.Access.Team = name
		if got := doWithAccess(b, assertion(testKeys()[0], "one", claimsNow(b)), "GET", controltest.Sessions, ""); got.Code != 200 {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

func TestAccessIsOff(t *testing.T) {
	controltest.Quiet(t)
	for _, access := range []kernel.Access{
		{}, {Team: team}, {Audience: audience}, {Team: "http://" + team, Audience: audience, Owners: ""}, {Team: "https://" + team + "/x", Audience: audience, Owners: ""}, {Team: "acme", Audience: audience, Owners: ""}, {Team: "ACME.cloudflareaccess.com", Audience: audience, Owners: ""},
		{Team: "acme.example/x", Audience: audience, Owners: ""}, {Team: "acme.example:8443", Audience: audience, Owners: ""}, {Team: "user@acme.example", Audience: audience, Owners: ""}, {Team: "-a.example", Audience: audience, Owners: ""},
		{Team: "a..example", Audience: audience, Owners: ""}, {Team: team + "\n", Audience: audience, Owners: ""}, {Team: strings.Repeat("a", 64) + ".example", Audience: audience, Owners: ""}, {Team: "127.0.0.1#.example", Audience: audience, Owners: ""},
	} {
		b, fetches := accessBench(t)
		b.Access = access
		got := doWithAccess(b, assertion(testKeys()[0], "one", claimsNow(b)), "GET", controltest.Sessions, "")
		b.Refused(got, fault.MissingAdmin)
		if *fetches != 0 {
			t.Errorf("%+v: fetched", access)
		}
	}
}

func TestAccessKeysAreCachedForAnHour(t *testing.T) {
	b, fetches := accessBench(t)
	for i, step := range []struct {
		after   time.Duration
		fetches int
	}{{0, 1}, {30 * time.Minute, 1}, {29 * time.Minute, 1}, {time.Minute, 2}, {59 * time.Minute, 2}, {time.Hour, 3}} {
		b.Now = b.Now.Add(step.after)
		got := doWithAccess(b, assertion(testKeys()[0], "one", claimsNow(b)), "GET", controltest.Sessions, "")
		if got.Code != 200 || *fetches != step.fetches {
			t.Errorf("step %d: %d, %d fetches", i, got.Code, *fetches)
		}
	}
}

// After a key rotation, the new key is fetched when it is first seen. Unknown key IDs cause at most one fetch
// per minute.
func TestAccessKeyRotation(t *testing.T) {
	b, fetches := accessBench(t)
	published := map[string]*rsa.PrivateKey{"one": testKeys()[0]}
	b.Certs = func(string) ([]byte, error) { *fetches++; return keySet(published), nil }
	get := func(key int, id string) controltest.Reply {
		return doWithAccess(b, assertion(testKeys()[key], id, claimsNow(b)), "GET", controltest.Sessions, "")
	}
	expect := func(step string, got controltest.Reply, status, n int) {
		t.Helper()
		if got.Code != status || *fetches != n {
			t.Errorf("%s: %d %s, %d fetches", step, got.Code, got.Body, *fetches)
		}
	}
	expect("the first key", get(0, "one"), 200, 1)
	b.Now = b.Now.Add(59 * time.Second)
	published["two"] = testKeys()[1]
	expect("the new key, too early", get(1, "two"), 401, 1)
	b.Now = b.Now.Add(time.Second)
	expect("the new key", get(1, "two"), 200, 2)
	for i := range 100 {
		expect("unknown ID", get(1, "id"+strconv.Itoa(i)), 401, 2)
	}
	b.Now = b.Now.Add(time.Minute)
	expect("unknown ID, a minute later", get(1, "three"), 401, 3)
	expect("another unknown ID", get(1, "four"), 401, 3)
	delete(published, "one")
	b.Now = b.Now.Add(time.Hour)
	expect("the old key", get(0, "one"), 401, 4)
	expect("the new key again", get(1, "two"), 200, 4)
	b.Access.Team = "other.cloudflareaccess.com"
	expect("another team's keys", get(1, "two"), 401, 5) // the assertion names the old team as its issuer
}

// While the team's keys are unavailable, the response to an assertion is a 503 instead of a 401, and the number of
// fetches is limited.
func TestUnavailableAccessKeys(t *testing.T) {
	controltest.Quiet(t)
	weak, _ := rsa.GenerateKey(rand.Reader, 1024)
	for name, answer := range map[string]string{
		"nothing": "", "not JSON": "<html>", "no keys": `{}`, "an empty set": `{"keys":[]}`, "another shape": `{"keys":{"one":"x"}}`, "null": "null",
		"a short key": string(keySet(map[string]*rsa.PrivateKey{"one": weak})), "too long": strings.Repeat(" ", kernel.MaxFetchBytes) + "{}",
		"elliptic":       `{"keys":[{"kid":"one","kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}]}`,
		"for encryption": strings.ReplaceAll(string(keySet(map[string]*rsa.PrivateKey{"one": testKeys()[0]})), `"sig"`, `"enc"`),
		"for RS512":      strings.ReplaceAll(string(keySet(map[string]*rsa.PrivateKey{"one": testKeys()[0]})), "RS256", "RS512"),
		"exponent 1":     strings.ReplaceAll(string(keySet(map[string]*rsa.PrivateKey{"one": testKeys()[0]})), "AQAB", "AQ"),
		"exponent huge":  strings.ReplaceAll(string(keySet(map[string]*rsa.PrivateKey{"one": testKeys()[0]})), "AQAB", "AQAAAAAAAQAB"), // 2^64 + 65537
		"bad numbers":    `{"keys":[{"kid":"one","kty":"RSA","n":"!","e":"AQAB"},{"kid":"one","kty":"RSA","n":"AQAB","e":"!"}]}`,
	} {
		b, fetches := accessBench(t)
		b.Certs = func(string) ([]byte, error) { *fetches++; return []byte(answer), nil }
		for range 10 {
			got := doWithAccess(b, assertion(testKeys()[0], "one", claimsNow(b)), "GET", controltest.Sessions, "")
			b.Refused(got, fault.Unavailable)
		}
		if *fetches != 4 {
			t.Errorf("%s: %d fetches", name, *fetches)
		}
	}
	b, fetches := accessBench(t)
	good := b.Certs
	b.Certs = func(string) ([]byte, error) { *fetches++; return nil, errors.New("unreachable") }
	credential := assertion(testKeys()[0], "one", claimsNow(b))
	for range 10 {
		b.Refused(doWithAccess(b, credential, "GET", controltest.Sessions, ""), fault.Unavailable)
	}
	b.Certs = good
	b.Now = b.Now.Add(10 * time.Second)
	if got := doWithAccess(b, credential, "GET", controltest.Sessions, ""); got.Code != 200 || *fetches != 5 {
		t.Errorf("%s, %d fetches", got.Body, *fetches)
	}
}

// While keys are being fetched, other requests fetch nothing. They get a 503 instead of a 401.
func TestConcurrentFetch(t *testing.T) {
	controltest.Quiet(t)
	b, fetches := accessBench(t)
	doWithAccess(b, assertion(testKeys()[0], "one", claimsNow(b)), "GET", controltest.Sessions, "")
	b.Now = b.Now.Add(2 * time.Minute)
	credential := assertion(testKeys()[1], "two", claimsNow(b))
	b.Certs = func(string) ([]byte, error) {
		*fetches++
		b.Refused(doWithAccess(b, credential, "GET", controltest.Sessions, ""), fault.Unavailable)
		return keySet(map[string]*rsa.PrivateKey{"two": testKeys()[1]}), nil
	}
	if got := doWithAccess(b, credential, "GET", controltest.Sessions, ""); got.Code != 200 || *fetches != 2 {
		t.Errorf("%s, %d fetches", got.Body, *fetches)
	}
}

// Only the first keys of a long set are parsed, which limits the work.
func TestLongKeySet(t *testing.T) {
	var set []map[string]string
	for i := range 40 {
		n := new(big.Int).Add(testKeys()[0].N, big.NewInt(int64(2*i)))
		set = append(set, map[string]string{"kid": strconv.Itoa(i), "kty": "RSA", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(n.Bytes())})
	}
	text, _ := json.Marshal(map[string]any{"keys": set})
	if keys, err := auth.ParseAccessKeys(text); err != nil || len(keys) != auth.MaxAccessKeys {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}
