package control

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/fault"
)

// refusal is an error that is sent to the client: a row of the core's fault table, so that both planes use
// the same errors. The response contains no internals.
type refusal struct {
	fault.Fault
	allow      string // the Allow header of a 405
	retryAfter string // seconds
	details    []fault.Detail
	cause      error // logged, but not sent
}

// Refusals without details.
var (
	errMissingKey    = &refusal{Fault: fault.MissingKey}
	errWrongKey      = &refusal{Fault: fault.InvalidKey}
	errWrongToken    = &refusal{Fault: fault.WrongToken}
	errForbidden     = &refusal{Fault: fault.Forbidden}
	errCrossOrigin   = &refusal{Fault: fault.CrossOrigin}
	errNotFound      = &refusal{Fault: fault.NotFound}
	errConflict      = &refusal{Fault: fault.Conflict}
	errNoMasterKey   = &refusal{Fault: fault.NoMasterKey}
	errTooLarge      = &refusal{Fault: fault.BodyTooLarge}
	errMediaType     = &refusal{Fault: fault.UnsupportedType}
	errInternal      = &refusal{Fault: fault.Internal}
	errNotConfigured = &refusal{Fault: fault.AdminOff}
)

// invalid is a 400 with all problems of a request.
func invalid(details ...fault.Detail) *refusal {
	return &refusal{Fault: fault.InvalidRequest, details: details}
}

func methodNotAllowed(allowed []string) *refusal {
	return &refusal{Fault: fault.MethodNotAllowed, allow: strings.Join(allowed, ", ")}
}

// rateLimited is a 429 with a Retry-After, rounded up to whole seconds.
func rateLimited(wait time.Duration) *refusal {
	seconds := max(1, (wait+time.Second-1)/time.Second)
	return &refusal{Fault: fault.RateLimited, retryAfter: strconv.Itoa(int(seconds))}
}

// unavailable is a 503 for a failed object. The outbox retries its deliveries before the client does.
func unavailable(cause error) *refusal {
	return &refusal{Fault: fault.Unavailable, retryAfter: "2", cause: cause}
}

// asRefusal returns the refusal in an error; any other error becomes a 500.
func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return &refusal{Fault: fault.Internal, cause: err}
}

// Error is the text for the log.
func (r *refusal) Error() string {
	if r.cause != nil {
		return r.Code + ": " + r.cause.Error()
	}
	return r.Code
}

func (r *refusal) headers(h http.Header) {
	if r.allow != "" {
		h.Set("Allow", r.allow)
	}
	if r.retryAfter != "" {
		h.Set("Retry-After", r.retryAfter)
	}
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
}
