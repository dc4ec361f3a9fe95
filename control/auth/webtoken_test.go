package auth_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"pgregory.net/rapid"

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/test/controltest"
)

// libraryAccepts returns the decision of a third-party library with the options that Access needs.
func libraryAccepts(text string, now time.Time, issuer string) bool {
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithStrictDecoding(), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(auth.AccessLeeway), jwt.WithTimeFunc(func() time.Time { return now }),
	)
	_, err := parser.ParseWithClaims(text, &jwt.RegisteredClaims{}, func(*jwt.Token) (any, error) { return &testKeys()[0].PublicKey, nil })
	return err == nil
}

func accepts(text string, now time.Time, issuer string) bool {
	return auth.Accepts(text, &testKeys()[0].PublicKey, now, issuer, audience)
}

// drawToken returns a signed token whose header or claims may be wrong. If odd is true, the library may be more
// lenient about the token.
func drawToken(t *rapid.T, now time.Time, issuer string) (text string, odd bool) {
	rarely := func(name string) bool { return rapid.IntRange(0, 19).Draw(t, name) == 13 }
	value := func(name string, right any, wrong ...any) any {
		if rarely(name + " is wrong") {
			return rapid.SampledFrom(wrong).Draw(t, name)
		}
		return right
	}
	date := func(name string, offsets ...int64) any {
		if rarely(name + " is odd") {
			odd = true
			return rapid.SampledFrom([]any{-1, 1e18, json.Number("1e400"), json.Number("-0.5"), "1790000000"}).Draw(t, name)
		}
		at := now.Unix() + rapid.SampledFrom(offsets).Draw(t, name)
		return value(name, at, float64(at)+0.75, nil, "soon", true, []int{1}, map[string]int{})
	}
	header := map[string]any{"alg": value("alg", "RS256", "RS512", "none", nil, 1), "kid": "one", "typ": value("typ", "JWT", nil)}
	if rarely("crit") {
		header["crit"], odd = []string{"exp"}, true
	}
	several := rapid.SampledFrom([]any{audience, []string{audience}, []string{"x", audience}}).Draw(t, "audiences")
	claims := map[string]any{
		"iss": value("iss", issuer, "", nil, issuer+"/"), "exp": date("exp", 3600, 1, 0, -1, -59, -60, -61, -3600),
		"aud": value("aud", several, []any{audience, nil}, []any{audience, 1}, "x", nil, "", []string{}),
	}
	if rapid.Bool().Draw(t, "has nbf") {
		claims["nbf"] = date("nbf", -3600, 0, 1, 59, 60, 61, 62, 3600)
	}
	key := testKeys()[0]
	if rarely("another key") {
		key = testKeys()[1]
	}
	return signed(key, header, claims), odd
}

// Tokens are accepted exactly when a third-party library accepts them. The program itself does not use that library,
// because the library would bring in every algorithm.
func TestWebTokensAgainstLibrary(t *testing.T) {
	now, issuer := time.Date(2026, 11, 23, 12, 0, 0, 500_000_000, time.UTC), "https://"+team
	outcomes := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		text, odd := drawToken(t, now, issuer)
		if rapid.IntRange(0, 5).Draw(t, "is changed") == 4 {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:at] + rapid.StringMatching(`[-_A-Za-z0-9.= \n]{0,2}`).Draw(t, "insert") + text[min(len(text), at+rapid.IntRange(0, 2).Draw(t, "remove")):]
		}
		ours, theirs := accepts(text, now, issuer), libraryAccepts(text, now, issuer)
		if ours && !theirs || theirs && !ours && !odd {
			t.Fatalf("accepted: %t, by the library: %t, %s", ours, theirs, text)
		}
		outcomes[ours]++
	})
	if outcomes[true] < 10 || outcomes[false] < 10 {
		t.Errorf("accepted %d, rejected %d: the comparison is one-sided", outcomes[true], outcomes[false])
	}
}

// Critical extensions are not ignored.
func TestCriticalExtensions(t *testing.T) {
	b, _ := accessBench(t)
	for crit, want := range map[string]int{`["b64"]`: 401, `[]`: 401, `"exp"`: 401, `{}`: 401} {
		header := map[string]any{"alg": "RS256", "kid": "one", "crit": json.RawMessage(crit)}
		if got := doWithAccess(b, signed(testKeys()[0], header, claimsNow(b)), "GET", controltest.Sessions, ""); got.Code != want {
			t.Errorf("%s: %d %s", crit, got.Code, got.Body)
		}
	}
}
