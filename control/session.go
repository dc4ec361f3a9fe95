package control

import (
	"net/http"

	"github.com/postern-ai/postern/core/directory"
)

// maxTokenBytes is the maximum length of a token that is used to sign in.
const maxTokenBytes = 4096

// sessionView is an authenticated identity in the API.
type sessionView struct {
	Role      role    `json:"role"`
	Name      string  `json:"name"`
	Via       string  `json:"via"`
	ExpiresAt *string `json:"expiresAt"` // RFC 3339, UTC, milliseconds; null: never
}

func (actor identity) view() sessionView {
	v := sessionView{Role: actor.Role, Name: actor.Name, Via: actor.Via}
	if !actor.expires.IsZero() {
		text := timestamp(uint64(actor.expires.UnixMilli()))
		v.ExpiresAt = &text
	}
	return v
}

// signIn is POST /api/admin/session. A program may omit the origin headers, but a page must be of this
// origin. Otherwise another site could sign users in with a token of its choice.
func (h *handler) signIn(c *call) (answer, error) {
	if h.tokenOf(owner) == "" {
		return answer{}, errNotConfigured
	}
	if err := h.checkDeclaredOrigin(c.request); err != nil {
		return answer{}, err
	}
	token, err := readToken(c.request)
	if err != nil {
		return answer{}, err
	}
	actor, ok := h.byToken(token)
	if !ok {
		return answer{}, h.rejectToken(c.request, viaSession, errWrongToken)
	}
	return h.startSession(c, actor.Role)
}

func readToken(r *http.Request) (string, error) {
	f, err := readFields(r)
	if err != nil {
		return "", err
	}
	token, given := f.text("token", "")
	if given && (token == "" || len(token) > maxTokenBytes) {
		f.problem("token", "must have 1 to 4096 bytes")
	}
	if !given && len(f.problems) == 0 {
		f.problem("token", "is required")
	}
	return token, f.err()
}

// startSession responds with the session cookie.
func (h *handler) startSession(c *call, role role) (answer, error) {
	c.actor = identity{Name: string(role), Role: role, Via: viaSession}
	h.auditSession(c, "session.create")
	cookie, actor, err := h.newSession(c, role)
	if err != nil {
		return answer{}, err
	}
	setCookie(c.header, cookie)
	return answer{http.StatusOK, actor.view()}, nil
}

// getSession is GET /api/admin/session.
func (h *handler) getSession(c *call) (answer, error) {
	return answer{http.StatusOK, c.actor.view()}, nil
}

// signOut is DELETE /api/admin/session.
func (h *handler) signOut(c *call) (answer, error) {
	h.auditSession(c, "session.delete")
	setCookie(c.header, "")
	return answer{status: http.StatusNoContent}, nil
}

// auditSession writes an audit entry in a separate commit. Its failure does not prevent signing in or out.
func (h *handler) auditSession(c *call, action string) {
	entry, err := h.auditWrite(c, action, "", "", nil, nil)
	if err == nil {
		_, err = h.store.commit(c, change{writes: []directory.Write{entry}})
	}
	if err != nil {
		LogFailure("", "audit_failed", action+": "+err.Error())
	}
}
