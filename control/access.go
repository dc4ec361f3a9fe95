package control

import (
	"context"
	"errors"
	"log"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Access is whom to let in by Cloudflare Access: whoever Access lets through to this application, as an
// owner or as a viewer.
type Access struct {
	Team     string // the team's domain, such as acme.cloudflareaccess.com; empty: nobody
	Audience string // the application's AUD tag; empty: nobody
	Owners   string // addresses of owners, parted by commas; all others are viewers
}

const (
	// accessHeader has Access's word on who asks: a JWT, signed with a key of the team.
	// Source: developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json/
	accessHeader      = "Cf-Access-Jwt-Assertion"
	accessLeeway      = time.Minute
	maxAssertionBytes = 16 << 10
	maxEmailBytes     = 254 // RFC 5321, section 4.5.3.1.3
)

// claims are those of an assertion that count. A service token's has no email, and is nobody here.
type claims struct {
	jwt.RegisteredClaims
	Email string `json:"email"`
}

// domains are what a team's may be: dots and labels of letters, digits and hyphens.
var domains = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,4}$`)

// byAccess knows people by what Access says. Asked is false if Access is not set up or says nothing.
func (h *handler) byAccess(r *http.Request) (who identity, asked bool, err error) {
	access := h.Access()
	assertion := headerValue(r.Header, accessHeader)
	if access.Team == "" || access.Audience == "" || assertion == "" || h.Fetch == nil {
		return identity{}, false, nil
	}
	if !domains.MatchString(access.Team) {
		log.Print("control: Access is off: its team is not a domain in lower case")
		return identity{}, false, nil
	}
	if len(assertion) > maxAssertionBytes {
		return identity{}, true, errWrongKey
	}
	said, err := h.verified(r.Context(), access, assertion)
	if err != nil {
		return identity{}, true, err
	}
	return identity{said.Email, access.roleOf(said.Email), viaAccess, said.ExpiresAt.Time}, true, nil
}

// verified is an assertion's claims, if all of it is right.
func (h *handler) verified(ctx context.Context, access Access, assertion string) (*claims, error) {
	issuer := "https://" + access.Team
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithStrictDecoding(),
		jwt.WithIssuer(issuer), jwt.WithAudience(access.Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(accessLeeway), jwt.WithTimeFunc(h.Now),
	)
	said := &claims{}
	_, err := parser.ParseWithClaims(assertion, said, func(token *jwt.Token) (any, error) {
		id, _ := token.Header["kid"].(string)
		return h.accessKey(ctx, issuer, id)
	})
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return nil, refused
	case err != nil || !isEmail(said.Email):
		return nil, errWrongKey
	}
	return said, nil
}

// isEmail is for a name in lists and logs. Whether it is somebody's address is Access's word.
func isEmail(text string) bool {
	return len(text) <= maxEmailBytes && strings.Contains(text, "@") && isName(text)
}

// roleOf looks an address up among the owners. Case does not matter in ASCII; beyond that no two letters
// are taken for the same.
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
