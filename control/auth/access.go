package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postern-ai/postern/control/kernel"
)

const (
	// accessHeader carries the assertion: a JWT signed with one of the team's keys.
	// Source:
	// developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json/
	accessHeader      = "Cf-Access-Jwt-Assertion"
	accessLeeway      = time.Minute
	maxAssertionBytes = 16 << 10
	maxEmailBytes     = 254 // RFC 5321, section 4.5.3.1.3
	maxDomainLabels   = 5
)

// isTeamDomain accepts a lowercase domain name: two to five labels, separated by dots.
func isTeamDomain(name string) bool {
	labels := strings.SplitN(name, ".", maxDomainLabels+1)
	return len(labels) >= 2 && len(labels) <= maxDomainLabels && !slices.ContainsFunc(labels, isNoLabel)
}

// isNoLabel reports whether label is an invalid domain label. A valid label consists of letters and digits, with
// hyphens allowed between them (RFC 1123, section 2.1).
func isNoLabel(label string) bool {
	return len(label) > 63 || label != strings.Trim(label, "-") || !kernel.ConsistsOf(label, kernel.Lowercase+kernel.Digits+"-")
}

// byAccess authenticates a request by its Cloudflare Access assertion. presented is false if Access is off or the
// request has no assertion.
func (auth *Authenticator) byAccess(r *http.Request) (actor kernel.Identity, presented bool, err error) {
	access := auth.Access()
	access.Team = strings.TrimSuffix(strings.TrimPrefix(access.Team, "https://"), "/") // a pasted URL
	if access.Team == "" || access.Audience == "" || auth.Fetch == nil {
		return kernel.Identity{}, false, nil
	}
	if !isTeamDomain(access.Team) {
		auth.WarnOnce(fmt.Sprintf("Cloudflare Access is off: POSTERN_ACCESS_TEAM must be a lowercase domain such as acme.cloudflareaccess.com, got %q", access.Team))
		return kernel.Identity{}, false, nil
	}
	text := kernel.HeaderValue(r.Header, accessHeader)
	if text == "" {
		return kernel.Identity{}, false, nil
	}
	if len(text) > maxAssertionBytes {
		return kernel.Identity{}, true, kernel.ErrInvalidToken
	}
	verified, err := auth.verifyAssertion(r.Context(), access, text)
	if err != nil {
		return kernel.Identity{}, true, err
	}
	return kernel.Identity{Name: verified.Email, Role: roleOf(access, verified.Email), Via: kernel.ViaAccess, Expires: verified.Expires.Time}, true, nil
}

// verifyAssertion returns the claims of a valid assertion. If the assertion is invalid, the error is a 401. If the
// team's keys cannot be fetched, the error is a 503.
func (auth *Authenticator) verifyAssertion(ctx context.Context, access kernel.Access, text string) (*claims, error) {
	presented, err := parseWebToken(text)
	if err != nil {
		return nil, kernel.ErrInvalidToken
	}
	issuer := "https://" + access.Team
	key, err := auth.accessKey(ctx, issuer, presented.keyID)
	if err != nil {
		return nil, err
	}
	verified := &presented.claims
	if presented.verify(key) != nil || !verified.validAt(auth.Now(), issuer, access.Audience) || !isEmail(verified.Email) {
		return nil, kernel.ErrInvalidToken
	}
	return verified, nil
}

// isEmail reports whether text looks like an email address and is safe to show in lists and logs. Access has already
// verified that the address is the user's.
func isEmail(text string) bool {
	return len(text) <= maxEmailBytes && strings.Contains(text, "@") && kernel.IsName(text)
}

// roleOf returns the role of the user with the given email address. The role is owner if the address is one of the
// owners' addresses. Otherwise, it is viewer. The comparison ignores the case of ASCII letters only, because full
// case folding would match distinct addresses.
func roleOf(a kernel.Access, email string) kernel.Role {
	for entry := range strings.SplitSeq(a.Owners, ",") {
		if lowerASCII(strings.TrimSpace(entry)) == lowerASCII(email) {
			return kernel.Owner
		}
	}
	return kernel.Viewer
}

func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}
