package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// role is a level of access to the API. See also projectKey.
type role string

const (
	owner  role = "owner"  // may do everything
	viewer role = "viewer" // may only read
)

// Ways to authenticate, as the API and the audit log name them.
const (
	viaBearer  = "bearer"
	viaSession = "session"
	viaAccess  = "access"
)

// identity is an authenticated person or program.
type identity struct {
	Name    string // the role, if authenticated by its token; otherwise the email address
	Role    role
	Via     string
	expires time.Time // when the proof expires; zero: never
}

// authenticate identifies the sender or rejects the request. The first proof that is present decides: a
// bearer token, then a session cookie, then the assertion of Cloudflare Access. An invalid or expired session
// falls through to Access; a wrong bearer token does not.
func (h *handler) authenticate(r *http.Request) (identity, error) {
	if h.tokenOf(owner) == "" {
		return identity{}, errNotConfigured
	}
	if presented, ok := bearer(r.Header); ok {
		return h.byBearer(r, presented)
	}
	cookie, hasCookie := sessionCookie(r.Header)
	if hasCookie {
		if actor, ok, err := h.bySession(r.Context(), cookie); ok || err != nil {
			return actor, err
		}
	}
	if actor, presented, err := h.byAccess(r); presented {
		return actor, err
	}
	if hasCookie {
		return identity{}, errInvalidToken
	}
	return identity{}, errMissingToken
}

// authorize rejects requests that exceed the role, and changes that a page of another origin may have made
// the browser send.
func (h *handler) authorize(actor identity, route *route, r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if actor.Via != viaBearer {
		if err := h.checkOrigin(r); err != nil {
			return err
		}
	}
	if actor.Role != owner && route.pattern != sessionPath {
		return errForbidden
	}
	return nil
}

// byBearer authenticates by token. A wrong token counts against its network.
func (h *handler) byBearer(r *http.Request, presented string) (identity, error) {
	actor, ok := h.byToken(presented)
	if !ok {
		return identity{}, h.rejectToken(r, viaBearer, errInvalidToken)
	}
	actor.Via = viaBearer
	return actor, nil
}

// byToken compares a token with those of all roles. It compares SHA-256 hashes in constant time, so timing
// reveals neither the text nor the length of a token.
func (h *handler) byToken(presented string) (actor identity, ok bool) {
	have := sha256.Sum256([]byte(presented))
	for _, role := range []role{viewer, owner} {
		token := h.tokenOf(role)
		want := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(want[:], have[:]) == 1 && token != "" {
			actor, ok = identity{Name: string(role), Role: role}, true
		}
	}
	return actor, ok
}

// minTokenBytes is the minimum length of a role's token. Only the speed of the control plane limits guessing;
// 16 random characters of base64 are 96 bits.
const minTokenBytes = 16

// tokenOf is a role's token, or empty if it is not configured or too short.
func (h *handler) tokenOf(role role) string {
	token, name := h.ViewerToken(), "POSTERN_VIEWER_TOKEN"
	if role == owner {
		token, name = h.AdminToken(), "POSTERN_ADMIN_TOKEN"
	}
	if token == "" || len(token) >= minTokenBytes {
		return token
	}
	h.warnOnce(fmt.Sprintf("%s is ignored: it has %d bytes and needs at least %d", name, len(token), minTokenBytes))
	return ""
}

// bearer extracts the token from the Authorization header.
func bearer(header http.Header) (string, bool) {
	scheme, token, _ := strings.Cut(headerValue(header, "Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// headerValue is a header as it was sent. A host may have split its value at commas, so the parts are joined
// again.
func headerValue(header http.Header, name string) string {
	return strings.Join(header.Values(name), ",")
}
