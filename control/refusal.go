package control

import (
	"encoding/json"
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

// Refusals that are the same each time.
var (
	errMissingToken = refuse(fault.MissingAdmin, "Authorization", "must be Bearer TOKEN")
	errInvalidToken = &refusal{Fault: fault.InvalidAdmin}
	errWrongToken   = &refusal{Fault: fault.WrongToken}
	errForbidden    = &refusal{Fault: fault.ViewerForbidden}
	errCrossOrigin  = refuse(fault.CrossOrigin, "Origin",
		"must be this gateway's own origin; programs send a bearer token instead of a session")
	errForeignHost = refuse(fault.CrossOrigin, "Host",
		"must be that of POSTERN_PUBLIC_URL or of the address that the server listens on; set POSTERN_PUBLIC_URL to the address that users see")
	errNotFound      = &refusal{Fault: fault.NotFound}
	errNoEndpoint    = refuse(fault.NotFound, "path", "is not an endpoint; GET /openapi.yaml lists all endpoints")
	errConflict      = &refusal{Fault: fault.Conflict}
	errNoMasterKey   = &refusal{Fault: fault.NoMasterKey}
	errInternal      = &refusal{Fault: fault.Internal}
	errNotConfigured = &refusal{Fault: fault.AdminOff}
)

// invalid is a 400 with all problems of a request.
func invalid(details ...fault.Detail) *refusal {
	return &refusal{Fault: fault.InvalidRequest, details: details}
}

// refuse is a row of the fault table with one detail.
func refuse(f fault.Fault, field, message string) *refusal {
	return &refusal{Fault: f, details: []fault.Detail{{Field: field, Message: message}}}
}

// tooLarge is a 413 for a body of more than maximum bytes.
func tooLarge(maximum int) *refusal {
	return refuse(fault.BodyTooLarge, "body", "must be at most "+strconv.Itoa(maximum)+" bytes")
}

// missing is a 404 for a project or key that does not exist.
func missing(field, id string) *refusal { return refuse(fault.NotFound, field, id+" does not exist") }

// outdated is a 409 for a version that another change has replaced.
func outdated(current, version uint64) *refusal {
	return refuse(fault.Conflict, "version", "is "+strconv.FormatUint(current, 10)+", got "+strconv.FormatUint(version, 10))
}

func methodNotAllowed(allowed []string, method, advice string) *refusal {
	r := refuse(fault.MethodNotAllowed, "method", "must be "+oneOf(allowed)+got(method)+advice)
	r.allow = strings.Join(allowed, ", ")
	return r
}

// lockedOut is a 429 for a wrong token, with a Retry-After that is rounded up to whole seconds.
func lockedOut(wait time.Duration) *refusal {
	seconds := strconv.Itoa(int(max(1, (wait+time.Second-1)/time.Second)))
	unit := " seconds"
	if seconds == "1" {
		unit = " second"
	}
	r := refuse(fault.RateLimited, "token", "was wrong too often; try again in "+seconds+unit+". The right token is accepted at once")
	r.retryAfter = seconds
	return r
}

// unavailable is a 503 for a failed call to an object or to Cloudflare Access. If a delivery of a committed
// change failed, the outbox repeats it before the client retries.
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

// answer is the response, without its headers.
func (r *refusal) answer(requestID string) answer {
	return answer{int(r.Status), json.RawMessage(r.Append(nil, requestID, r.details))}
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
