package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// authenticate checks the admin token of a request. Both sides are hashed and the hashes compared in
// constant time, so neither the token's text nor its length can be found out by timing.
func (h *handler) authenticate(r *http.Request) error {
	token := h.AdminToken()
	if token == "" {
		return errNotConfigured
	}
	presented, ok := bearer(r.Header)
	if !ok {
		return errMissingKey
	}
	want, have := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(presented))
	if subtle.ConstantTimeCompare(want[:], have[:]) != 1 {
		return errWrongKey
	}
	return nil
}

// bearer takes the token out of the Authorization header. A host may have split the header's value at
// commas, so the parts are put together again first.
func bearer(header http.Header) (string, bool) {
	scheme, token, _ := strings.Cut(strings.Join(header.Values("Authorization"), ","), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}
