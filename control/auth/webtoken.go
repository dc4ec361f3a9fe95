package auth

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// webToken is a JSON Web Token (RFC 7519) in the compact form (RFC 7515, section 7.1): three parts of base64url,
// separated by dots. Only RS256 is accepted, so a token's header cannot choose another algorithm.
type webToken struct {
	keyID     string
	signed    string // header and claims in the form that the signature covers
	signature []byte
	claims    claims
}

// claims are the claims that the control plane reads. A service token has no email and is rejected.
type claims struct {
	Issuer    string    `json:"iss"`
	Audience  audiences `json:"aud"`
	Expires   *unixTime `json:"exp"`
	NotBefore *unixTime `json:"nbf"`
	Email     string    `json:"email"`
}

var errBadToken = errors.New("not a valid token")

// tokenEncoding is strict: each token has exactly one valid encoding.
var tokenEncoding = base64.RawURLEncoding.Strict()

// parseWebToken decodes a token without verifying anything but the algorithm.
func parseWebToken(text string) (t webToken, err error) {
	parts := strings.SplitN(text, ".", 4)
	if len(parts) != 3 {
		return t, errBadToken
	}
	// A verifier must understand every extension in crit (RFC 7515, section 4.1.11). This verifier supports none.
	var header struct {
		Alg, Kid string
		Crit     json.RawMessage
	}
	if err := decodePart(parts[0], &header); err != nil {
		return t, err
	}
	if header.Alg != "RS256" || header.Crit != nil {
		return t, errBadToken
	}
	if err := decodePart(parts[1], &t.claims); err != nil {
		return t, err
	}
	t.keyID, t.signed = header.Kid, text[:len(parts[0])+1+len(parts[1])]
	t.signature, err = tokenEncoding.DecodeString(parts[2])
	return t, err
}

func decodePart(text string, v any) error {
	data, err := tokenEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// verify checks the RS256 signature: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3).
func (t *webToken) verify(key *rsa.PublicKey) error {
	sum := sha256.Sum256([]byte(t.signed))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], t.signature)
}

// validAt reports whether the claims are valid for an issuer and an audience at a given time. The exp claim is
// required.
func (c *claims) validAt(now time.Time, issuer, audience string) bool {
	switch {
	case c.Issuer != issuer, !slices.Contains(c.Audience, audience):
		return false
	case c.Expires == nil, !now.Before(c.Expires.Add(accessLeeway)):
		return false
	}
	return c.NotBefore == nil || !now.Before(c.NotBefore.Add(-accessLeeway))
}

// unixTime is a NumericDate (RFC 7519, section 2): seconds since 1970. Fractions are dropped.
type unixTime struct{ time.Time }

const maxUnixSeconds = 1 << 40 // the year 36812; float64 is exact up to this value

// UnmarshalJSON rejects negative numbers and numbers beyond maxUnixSeconds.
func (t *unixTime) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	if seconds < 0 || seconds > maxUnixSeconds {
		return errBadToken
	}
	t.Time = time.Unix(int64(seconds), 0)
	return nil
}

// audiences is the aud claim: a string or a list of strings (RFC 7519, section 4.1.3).
type audiences []string

// UnmarshalJSON accepts a string and a list of strings.
func (a *audiences) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, entry := range list {
		text, ok := entry.(string)
		if !ok {
			return errBadToken
		}
		*a = append(*a, text)
	}
	return nil
}
