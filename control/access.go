package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Access configures authentication by Cloudflare Access. Everyone admitted to the Access application is an
// owner or a viewer here.
type Access struct {
	Team     string // team domain, such as acme.cloudflareaccess.com; empty: Access is off
	Audience string // AUD tag of the Access application; empty: Access is off
	Owners   string // email addresses of owners, separated by commas; everyone else is a viewer
}

const (
	// accessHeader carries the assertion: a JWT signed with one of the team's keys.
	// Source:
	// developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json/
	accessHeader      = "Cf-Access-Jwt-Assertion"
	accessLeeway      = time.Minute
	maxAssertionBytes = 16 << 10
	maxEmailBytes     = 254 // RFC 5321, section 4.5.3.1.3
)

// claims are the claims that are read from an assertion. A service token has no email and is rejected.
type claims struct {
	jwt.RegisteredClaims
	Email string `json:"email"`
}

// teamDomains matches a lowercase domain name: labels of letters, digits and hyphens, separated by dots.
var teamDomains = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,4}$`)

// byAccess authenticates by the assertion of Cloudflare Access. presented is false if Access is off or the
// request has no assertion.
func (h *handler) byAccess(r *http.Request) (actor identity, presented bool, err error) {
	access := h.Access()
	access.Team = strings.TrimSuffix(strings.TrimPrefix(access.Team, "https://"), "/") // a pasted URL
	if access.Team == "" || access.Audience == "" || h.Fetch == nil {
		return identity{}, false, nil
	}
	if !teamDomains.MatchString(access.Team) {
		h.warnOnce(fmt.Sprintf("Cloudflare Access is off: POSTERN_ACCESS_TEAM must be a lowercase domain such as acme.cloudflareaccess.com, got %q", access.Team))
		return identity{}, false, nil
	}
	assertion := headerValue(r.Header, accessHeader)
	if assertion == "" {
		return identity{}, false, nil
	}
	if len(assertion) > maxAssertionBytes {
		return identity{}, true, errInvalidToken
	}
	verified, err := h.verifyAssertion(r.Context(), access, assertion)
	if err != nil {
		return identity{}, true, err
	}
	return identity{verified.Email, access.roleOf(verified.Email), viaAccess, verified.ExpiresAt.Time}, true, nil
}

// verifyAssertion returns the claims of a valid assertion. The error is a 401, or a 503 if the team's keys
// cannot be fetched.
func (h *handler) verifyAssertion(ctx context.Context, access Access, assertion string) (*claims, error) {
	issuer := "https://" + access.Team
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithStrictDecoding(),
		jwt.WithIssuer(issuer), jwt.WithAudience(access.Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(accessLeeway), jwt.WithTimeFunc(h.Now),
	)
	verified := &claims{}
	_, err := parser.ParseWithClaims(assertion, verified, func(token *jwt.Token) (any, error) {
		id, _ := token.Header["kid"].(string)
		return h.accessKey(ctx, issuer, id)
	})
	var rejection *refusal
	switch {
	case errors.As(err, &rejection):
		return nil, rejection
	case err != nil || !isEmail(verified.Email):
		return nil, errInvalidToken
	}
	return verified, nil
}

// isEmail reports whether text looks like an email address and is safe to show in lists and logs. Access has
// verified the address itself.
func isEmail(text string) bool {
	return len(text) <= maxEmailBytes && strings.Contains(text, "@") && isName(text)
}

// roleOf looks up an address among the owners. Only ASCII letters are compared without regard to case: full
// case folding would match distinct addresses.
func (a Access) roleOf(email string) role {
	for entry := range strings.SplitSeq(a.Owners, ",") {
		if lowerASCII(strings.TrimSpace(entry)) == lowerASCII(email) {
			return owner
		}
	}
	return viewer
}

func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}
