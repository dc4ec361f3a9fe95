package auth

import (
	"crypto/rsa"
	"time"
)

// Internals that the tests use.
const (
	AccessLeeway   = accessLeeway
	FreeFailures   = freeFailures
	MaxAccessKeys  = maxAccessKeys
	SaltKey        = saltKey
	SessionSeconds = sessionSeconds
)

// Session is the content of a cookie.
type Session = session

var (
	CookieEncoding  = cookieEncoding
	IsTeamDomain    = isTeamDomain
	MAC             = mac
	ParseAccessKeys = parseAccessKeys
	RequestOrigin   = requestOrigin
	Signature       = signature
)

// Accepts reports whether a web token is valid for an audience.
func Accepts(text string, key *rsa.PublicKey, now time.Time, issuer, audience string) bool {
	presented, err := parseWebToken(text)
	return err == nil && presented.verify(key) == nil && presented.claims.validAt(now, issuer, audience)
}
