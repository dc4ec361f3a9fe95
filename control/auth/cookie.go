package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/control/kernel"
)

const (
	cookieName = "postern_session"
	// sessionSeconds is the lifetime of a session. A stolen session stays valid until it expires, because signing out
	// only removes the cookie from the browser. Changing a role's token ends all of its sessions at once.
	sessionSeconds = 12 * 60 * 60
	maxCookieBytes = 512
	// sessionVersion is the version of the cookie's layout below.
	sessionVersion = 2
)

// session is the content of a cookie: base64url(JSON) "." base64url(HMAC-SHA256 of the part before the dot).
type session struct {
	Version  int         `json:"v"`
	Role     kernel.Role `json:"role"`
	Name     string      `json:"name"`
	IssuedS  int64       `json:"iat"` // Unix seconds
	ExpiresS int64       `json:"exp"`
}

// cookieEncoding is strict: each cookie has exactly one valid encoding.
var cookieEncoding = base64.RawURLEncoding.Strict()

func (auth *Authenticator) newSession(ctx context.Context, role kernel.Role) (cookie string, actor kernel.Identity, err error) {
	salt, err := auth.sessionSalt(ctx)
	if err != nil {
		return "", kernel.Identity{}, err
	}
	now := auth.Now().Unix()
	s := session{sessionVersion, role, string(role), now, now + sessionSeconds}
	payload, err := json.Marshal(s)
	if err != nil {
		return "", kernel.Identity{}, err
	}
	text := cookieEncoding.EncodeToString(payload)
	return text + "." + cookieEncoding.EncodeToString(signature(auth.tokenOf(role), salt, role, text)), s.identity(), nil
}

func (s session) identity() kernel.Identity {
	return kernel.Identity{Name: s.Name, Role: s.Role, Via: kernel.ViaSession, Expires: time.Unix(s.ExpiresS, 0)}
}

// bySession authenticates by cookie. It decodes the content only after a role's signature has been verified.
func (auth *Authenticator) bySession(ctx context.Context, cookie string) (actor kernel.Identity, ok bool, err error) {
	text, sum, _ := strings.Cut(cookie, ".")
	signed, err := cookieEncoding.DecodeString(sum)
	if err != nil || len(signed) != sha256.Size || len(cookie) > maxCookieBytes {
		return kernel.Identity{}, false, nil
	}
	salt, err := auth.sessionSalt(ctx)
	if err != nil {
		return kernel.Identity{}, false, err
	}
	for _, role := range []kernel.Role{kernel.Owner, kernel.Viewer} {
		token := auth.tokenOf(role)
		if token == "" || !hmac.Equal(signed, signature(token, salt, role, text)) {
			continue
		}
		if s, ok := decodeSession(text); ok && s.Role == role && s.validAt(auth.Now()) {
			return s.identity(), true, nil
		}
	}
	return kernel.Identity{}, false, nil
}

func decodeSession(text string) (s session, ok bool) {
	payload, err := cookieEncoding.DecodeString(text)
	return s, err == nil && json.Unmarshal(payload, &s) == nil && s.Version == sessionVersion
}

func (s session) validAt(now time.Time) bool {
	return s.ExpiresS-s.IssuedS == sessionSeconds && now.Unix() < s.ExpiresS
}

// signature returns an HMAC with a key derived from the role's token and the deployment's salt. Changing the token
// therefore ends all sessions of the role.
func signature(token string, salt []byte, role kernel.Role, text string) []byte {
	key := mac([]byte(token), "postern session 2 "+string(role)+" "+string(salt))
	return mac(key, text)
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// sessionCookie extracts the session cookie from a request. If the request has several session cookies, the first one
// counts. Another site on the same domain can cause this.
func sessionCookie(header http.Header) (value string, ok bool) {
	for part := range strings.SplitSeq(kernel.HeaderValue(header, "Cookie"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == cookieName {
			return value, true
		}
	}
	return "", false
}

// setCookie sets the session cookie in the browser. An empty value deletes it.
func setCookie(header http.Header, value string) {
	cookie := http.Cookie{
		Name: cookieName, Value: value, Path: "/api/admin", MaxAge: sessionSeconds,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	header.Add("Set-Cookie", cookie.String())
}
