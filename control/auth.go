package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"log"
	"net/http"
	"strings"
	"time"
)

// role is what somebody may do.
type role string

const (
	owner  role = "owner"  // everything
	viewer role = "viewer" // look
)

// How somebody proved who they are.
const (
	viaBearer  = "bearer"
	viaSession = "session"
	viaAccess  = "access"
)

// identity is who asks.
type identity struct {
	Name    string // a role's, for those who have its token; otherwise a person's address
	Role    role
	Via     string
	expires time.Time // of the proof; zero: it does not
}

// authenticate finds out who asks, or refuses. The first proof that is there counts: a bearer token, which
// has to be right, then a session, then what Cloudflare Access says. A session that has ended leaves the
// word to Access.
func (h *handler) authenticate(r *http.Request) (identity, error) {
	if h.tokenOf(owner) == "" {
		return identity{}, errNotConfigured
	}
	if presented, ok := bearer(r.Header); ok {
		return h.byBearer(r, presented)
	}
	cookie, hasCookie := sessionCookie(r.Header)
	if hasCookie {
		if who, ok, err := h.bySession(r.Context(), cookie); ok || err != nil {
			return who, err
		}
	}
	if who, asked, err := h.byAccess(r); asked {
		return who, err
	}
	if hasCookie {
		return identity{}, errWrongKey
	}
	return identity{}, errMissingKey
}

// mayAsk refuses what is beyond a role, and what a page of another origin could have asked in somebody's name.
func (who identity) mayAsk(route *route, r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if who.Via != viaBearer && !isSameOrigin(r) {
		return errCrossOrigin
	}
	if who.Role != owner && route.pattern != sessionPath {
		return errForbidden
	}
	return nil
}

// byBearer knows people by a token. One that is wrong counts against the network that it comes from.
func (h *handler) byBearer(r *http.Request, presented string) (identity, error) {
	who, ok := h.byToken(presented)
	if !ok {
		return identity{}, h.failed(r, viaBearer, errWrongKey)
	}
	who.Via = viaBearer
	return who, nil
}

// byToken compares with the tokens of all roles, whichever fits. Both sides are hashed and the hashes
// compared in constant time, so neither a token's text nor its length can be found out by timing.
func (h *handler) byToken(presented string) (who identity, ok bool) {
	have := sha256.Sum256([]byte(presented))
	for _, role := range []role{viewer, owner} {
		token := h.tokenOf(role)
		want := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(want[:], have[:]) == 1 && token != "" {
			who, ok = identity{Name: string(role), Role: role}, true
		}
	}
	return who, ok
}

// minTokenBytes is how long a role's token must be. It can be guessed at as fast as the control plane answers:
// 16 random characters of base64 are 96 bits.
const minTokenBytes = 16

// tokenOf is a role's token, or empty if it has none. One that is too short is none.
func (h *handler) tokenOf(role role) string {
	token, name := h.ViewerToken(), "viewers'"
	if role == owner {
		token, name = h.AdminToken(), "owners'"
	}
	if token == "" || len(token) >= minTokenBytes {
		return token
	}
	h.tooShort.Do(func() {
		log.Printf("control: the %s token is not used: it has %d bytes and needs at least %d", name, len(token), minTokenBytes)
	})
	return ""
}

// bearer takes the token out of the Authorization header.
func bearer(header http.Header) (string, bool) {
	scheme, token, _ := strings.Cut(headerValue(header, "Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// headerValue is a header as it was sent. A host may have split its value at commas, so the parts are put
// together again.
func headerValue(header http.Header, name string) string {
	return strings.Join(header.Values(name), ",")
}
