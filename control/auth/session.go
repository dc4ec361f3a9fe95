package auth

import (
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
)

const sessionPath = "/api/admin/session"

// Routes returns the session endpoints.
func (auth *Authenticator) Routes() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodPost, Path: sessionPath, For: kernel.Anyone, Body: kernel.MaxBody, Audit: "session.create", Operation: "signIn", Serve: auth.signIn},
		{Method: http.MethodGet, Path: sessionPath, For: kernel.Operators, Operation: "session", Serve: auth.getSession},
		{Method: http.MethodDelete, Path: sessionPath, For: kernel.Operators, Audit: "session.delete", Operation: "signOut", Serve: auth.signOut},
	}
}

// maxTokenBytes is the maximum length of a token that is used to sign in.
const maxTokenBytes = 4096

type sessionView struct {
	Role      kernel.Role `json:"role"`
	Name      string      `json:"name"`
	Via       string      `json:"via"`
	ExpiresAt *string     `json:"expiresAt"` // RFC 3339, UTC, milliseconds; null: never
	Docs      bool        `json:"docs"`      // the deployment serves the documentation
}

func viewIdentity(r *http.Request, actor kernel.Identity) sessionView {
	v := sessionView{Role: actor.Role, Name: actor.Name, Via: actor.Via, Docs: kernel.ServesDocs(r)}
	if !actor.Expires.IsZero() {
		text := kernel.Timestamp(uint64(actor.Expires.UnixMilli()))
		v.ExpiresAt = &text
	}
	return v
}

// signIn serves POST /api/admin/session. A request from a page must have the gateway's origin, because another site
// could otherwise sign users in with a token of its choice. A program may omit the origin headers.
func (auth *Authenticator) signIn(c *kernel.Call) (kernel.Answer, error) {
	if auth.tokenOf(kernel.Owner) == "" {
		return kernel.Answer{}, kernel.ErrNotConfigured
	}
	if err := auth.checkDeclaredOrigin(c.Request); err != nil {
		return kernel.Answer{}, err
	}
	token, err := readToken(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	actor, ok := auth.byToken(token)
	if !ok {
		return kernel.Answer{}, auth.rejectToken(c.Request, kernel.ViaSession, kernel.ErrWrongToken)
	}
	return auth.startSession(c, actor.Role)
}

func readToken(c *kernel.Call) (string, error) {
	f, err := c.Fields()
	if err != nil {
		return "", err
	}
	token, given := f.Text("token", "")
	if given && (token == "" || len(token) > maxTokenBytes) {
		f.Problem("token", "must have 1 to 4096 bytes")
	}
	if !given && len(f.Problems) == 0 {
		f.Problem("token", "is required")
	}
	return token, f.Err()
}

// startSession responds with the session cookie.
func (auth *Authenticator) startSession(c *kernel.Call, role kernel.Role) (kernel.Answer, error) {
	c.Actor = kernel.Identity{Name: string(role), Role: role, Via: kernel.ViaSession}
	auth.auditSession(c)
	cookie, actor, err := auth.newSession(c, role)
	if err != nil {
		return kernel.Answer{}, err
	}
	setCookie(c.Header, cookie)
	return kernel.OK(viewIdentity(c.Request, actor)), nil
}

// getSession serves GET /api/admin/session.
func (auth *Authenticator) getSession(c *kernel.Call) (kernel.Answer, error) {
	return kernel.OK(viewIdentity(c.Request, c.Actor)), nil
}

// signOut serves DELETE /api/admin/session.
func (auth *Authenticator) signOut(c *kernel.Call) (kernel.Answer, error) {
	auth.auditSession(c)
	setCookie(c.Header, "")
	return kernel.NoContent(), nil
}

// auditSession writes an audit entry in a commit of its own. If the commit fails, signing in or out still succeeds.
func (auth *Authenticator) auditSession(c *kernel.Call) {
	entry, err := auth.AuditWrite(c, "", "", nil, nil)
	if err == nil {
		_, err = auth.Store.Commit(c, kernel.Change{Writes: []directory.Write{entry}})
	}
	if err != nil {
		kernel.LogFailure("", "audit_failed", c.Action+": "+err.Error())
	}
}
