package control

import (
	"log"
	"net/http"

	"github.com/postern-ai/postern/core/directory"
)

// maxTokenBytes is how long a token may be that somebody signs in with.
const maxTokenBytes = 4096

// sessionView is who somebody is.
type sessionView struct {
	Role      role    `json:"role"`
	Name      string  `json:"name"`
	Via       string  `json:"via"`
	ExpiresAt *string `json:"expiresAt"` // RFC 3339, UTC, milliseconds; null: never
}

func (who identity) view() sessionView {
	v := sessionView{Role: who.Role, Name: who.Name, Via: who.Via}
	if !who.expires.IsZero() {
		text := timestamp(uint64(who.expires.UnixMilli()))
		v.ExpiresAt = &text
	}
	return v
}

// signIn is POST /api/admin/session. A program need not say where it comes from; a page must be of this
// origin, or another could sign somebody in as somebody else.
func (h *handler) signIn(c *call) (answer, error) {
	if h.tokenOf(owner) == "" {
		return answer{}, errNotConfigured
	}
	if isCrossOrigin(c.request) {
		return answer{}, errCrossOrigin
	}
	token, err := readToken(c.request)
	if err != nil {
		return answer{}, err
	}
	who, ok := h.byToken(token)
	if !ok {
		return answer{}, h.failed(c.request, viaSession, errWrongToken)
	}
	return h.startSession(c, who.Role)
}

func readToken(r *http.Request) (string, error) {
	f, err := readFields(r)
	if err != nil {
		return "", err
	}
	token, given := f.text("token", "")
	if given && (token == "" || len(token) > maxTokenBytes) {
		f.wrong("token", "must be 1 to 4096 bytes")
	}
	if !given && len(f.problems) == 0 {
		f.wrong("token", "is required")
	}
	return token, f.refused()
}

// startSession answers with the cookie.
func (h *handler) startSession(c *call, role role) (answer, error) {
	c.who = identity{Name: string(role), Role: role, Via: viaSession}
	h.record(c, "session.create")
	cookie, who, err := h.newSession(c, role)
	if err != nil {
		return answer{}, err
	}
	setCookie(c.header, cookie)
	return answer{http.StatusOK, who.view()}, nil
}

// getSession is GET /api/admin/session.
func (h *handler) getSession(c *call) (answer, error) {
	return answer{http.StatusOK, c.who.view()}, nil
}

// signOut is DELETE /api/admin/session.
func (h *handler) signOut(c *call) (answer, error) {
	h.record(c, "session.delete")
	setCookie(c.header, "")
	return answer{status: http.StatusNoContent}, nil
}

// record writes an audit entry by a commit of its own. Nobody is kept from coming or leaving because it fails.
func (h *handler) record(c *call, action string) {
	entry, err := h.audited(c, action, "", "", nil, nil)
	if err == nil {
		_, err = h.store.commit(c, change{writes: []directory.Write{entry}})
	}
	if err != nil {
		log.Printf("control: audit %s: %q", action, err.Error())
	}
}
