// Package auth decides who may call which endpoint. It identifies operators by token, session or Cloudflare Access,
// and checks the permissions of project keys. It also contains the endpoints for signing in and out.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
)

// Authenticator decides who may call which endpoint. It caches what this instance knows about tokens and keys.
type Authenticator struct {
	*kernel.Plane
	accessKeys accessKeys
	lockouts   lockouts
	seenKeys   seenKeys
	salt       salt
}

// New returns an authenticator.
func New(p *kernel.Plane) *Authenticator { return &Authenticator{Plane: p} }

// Admit authenticates and authorizes a call, and sets its actor.
func (auth *Authenticator) Admit(c *kernel.Call, route *kernel.Route) (err error) {
	switch {
	case route.For == kernel.Anyone:
		return nil
	case route.Permission != 0:
		return auth.admitKey(c, route.Permission)
	}
	if c.Actor, err = auth.authenticate(c.Request); err != nil {
		return err
	}
	return auth.authorize(c.Actor, route, c.Request)
}

// authenticate identifies the sender or rejects the request. The first credential that is present decides: a bearer
// token, then a session cookie, then a Cloudflare Access assertion. An invalid or expired session falls through to
// Access. A wrong bearer token does not.
func (auth *Authenticator) authenticate(r *http.Request) (kernel.Identity, error) {
	if auth.tokenOf(kernel.Owner) == "" {
		return kernel.Identity{}, kernel.ErrNotConfigured
	}
	if presented, ok := bearer(r.Header); ok {
		return auth.byBearer(r, presented)
	}
	cookie, hasCookie := sessionCookie(r.Header)
	if hasCookie {
		if actor, ok, err := auth.bySession(r.Context(), cookie); ok || err != nil {
			return actor, err
		}
	}
	if actor, presented, err := auth.byAccess(r); presented {
		return actor, err
	}
	if hasCookie {
		return kernel.Identity{}, kernel.ErrInvalidToken
	}
	return kernel.Identity{}, kernel.ErrMissingToken
}

// authorize rejects requests that the actor's role does not allow. It also rejects a change if a page of another
// origin may have caused it.
func (auth *Authenticator) authorize(actor kernel.Identity, route *kernel.Route, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && actor.Via != kernel.ViaBearer {
		if err := auth.checkOrigin(r); err != nil {
			return err
		}
	}
	if route.For != kernel.Operators && actor.Role != kernel.Owner {
		return kernel.ErrForbidden
	}
	return nil
}

// byBearer authenticates by token. A wrong token counts against the network that sent it.
func (auth *Authenticator) byBearer(r *http.Request, presented string) (kernel.Identity, error) {
	actor, ok := auth.byToken(presented)
	if !ok {
		return kernel.Identity{}, auth.rejectToken(r, kernel.ViaBearer, kernel.ErrInvalidToken)
	}
	actor.Via = kernel.ViaBearer
	return actor, nil
}

// byToken compares a token with the tokens of all roles. It compares SHA-256 hashes in constant time, so timing
// reveals neither the characters nor the length of a token.
func (auth *Authenticator) byToken(presented string) (actor kernel.Identity, ok bool) {
	have := sha256.Sum256([]byte(presented))
	for _, role := range []kernel.Role{kernel.Viewer, kernel.Owner} {
		token := auth.tokenOf(role)
		want := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(want[:], have[:]) == 1 && token != "" {
			actor, ok = kernel.Identity{Name: string(role), Role: role}, true
		}
	}
	return actor, ok
}

// minTokenBytes is the minimum length of a role's token. Guesses are limited only by the speed of the control plane,
// so the token must be long. 16 random base64 characters have 96 bits.
const minTokenBytes = 16

// tokenOf returns a role's token, or an empty string if the token is too short or not configured.
func (auth *Authenticator) tokenOf(role kernel.Role) string {
	token, name := auth.ViewerToken(), "POSTERN_VIEWER_TOKEN"
	if role == kernel.Owner {
		token, name = auth.AdminToken(), "POSTERN_ADMIN_TOKEN"
	}
	if token == "" || len(token) >= minTokenBytes {
		return token
	}
	auth.WarnOnce(fmt.Sprintf("%s is ignored: it has %d bytes and needs at least %d", name, len(token), minTokenBytes))
	return ""
}

func bearer(header http.Header) (string, bool) {
	scheme, token, _ := strings.Cut(kernel.HeaderValue(header, "Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}
