package kernel

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/fault"
)

// Refusal is an error that is sent to the client. It is based on a row of the core's fault table, so the gateway and
// the control plane use the same errors. The response reveals no internals.
type Refusal struct {
	fault.Fault
	allow      string // the Allow header of a 405
	RetryAfter string // seconds
	details    []fault.Detail
	Cause      error // logged, but not sent
}

// Refusals that are always the same.
var (
	ErrMissingToken = Refuse(fault.MissingAdmin, "Authorization", "must be Bearer TOKEN")
	ErrInvalidToken = &Refusal{Fault: fault.InvalidAdmin}
	ErrWrongToken   = &Refusal{Fault: fault.WrongToken}
	ErrForbidden    = &Refusal{Fault: fault.ViewerForbidden}
	ErrCrossOrigin  = Refuse(fault.CrossOrigin, "Origin",
		"must be this gateway's own origin; programs send a bearer token instead of a session")
	ErrForeignHost = Refuse(fault.CrossOrigin, "Host",
		"must match POSTERN_PUBLIC_URL or the address that the server listens on; set POSTERN_PUBLIC_URL to the address that users open")
	ErrNotFound      = &Refusal{Fault: fault.NotFound}
	errNoEndpoint    = Refuse(fault.NotFound, "path", "is not an endpoint; GET /openapi.yaml lists all endpoints")
	ErrConflict      = &Refusal{Fault: fault.Conflict}
	ErrNoMasterKey   = &Refusal{Fault: fault.NoMasterKey}
	ErrInternal      = &Refusal{Fault: fault.Internal}
	ErrNotConfigured = &Refusal{Fault: fault.AdminOff}
)

// Invalid returns a 400 with all problems of a request.
func Invalid(details ...fault.Detail) *Refusal {
	return &Refusal{Fault: fault.InvalidRequest, details: details}
}

// Refuse returns a refusal with one detail.
func Refuse(f fault.Fault, field, message string) *Refusal {
	return &Refusal{Fault: f, details: []fault.Detail{{Field: field, Message: message}}}
}

// tooLarge returns a 413 for a body that exceeds maximum bytes.
func tooLarge(maximum int) *Refusal {
	return Refuse(fault.BodyTooLarge, "body", "must be at most "+strconv.Itoa(maximum)+" bytes")
}

// Missing returns a 404 for something that does not exist, such as a project or a key.
func Missing(field, id string) *Refusal { return Refuse(fault.NotFound, field, id+" does not exist") }

// IsMissing reports whether an error is a 404.
func IsMissing(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Fault == fault.NotFound
}

// Outdated returns a 409 for a version that is no longer current because of another change.
func Outdated(current, version uint64) *Refusal {
	return Refuse(fault.Conflict, "version", "is "+strconv.FormatUint(current, 10)+", got "+strconv.FormatUint(version, 10))
}

// MethodNotAllowed returns a 405 that lists the methods that the path allows.
func MethodNotAllowed(allowed []string, method, advice string) *Refusal {
	r := Refuse(fault.MethodNotAllowed, "method", "must be "+OneOf(allowed)+Got(method)+advice)
	r.allow = strings.Join(allowed, ", ")
	return r
}

// LockedOut returns a 429 for a wrong token. Its Retry-After is rounded up to whole seconds.
func LockedOut(wait time.Duration) *Refusal {
	seconds := strconv.Itoa(int(max(1, (wait+time.Second-1)/time.Second)))
	unit := " seconds"
	if seconds == "1" {
		unit = " second"
	}
	r := Refuse(fault.RateLimited, "token", "was wrong too often; try again in "+seconds+unit+". The right token is accepted at once")
	r.RetryAfter = seconds
	return r
}

// Unavailable returns a 503 for a failed call to an object or to Cloudflare Access. If the delivery of a committed
// change failed, the outbox repeats the delivery.
func Unavailable(cause error) *Refusal {
	return &Refusal{Fault: fault.Unavailable, RetryAfter: "2", Cause: cause}
}

// AsRefusal returns the refusal that an error contains. Any other error becomes a 500.
func AsRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return &Refusal{Fault: fault.Internal, Cause: err}
}

// Error returns the message for the log.
func (r *Refusal) Error() string {
	if r.Cause != nil {
		return r.Code() + ": " + r.Cause.Error()
	}
	return r.Code()
}

// Answer returns the response, without its headers.
func (r *Refusal) Answer(requestID string) Answer {
	return Answer{int(r.Status()), json.RawMessage(r.Append(nil, requestID, r.details))}
}

// Headers sets the refusal's headers.
func (r *Refusal) Headers(h http.Header) {
	if r.allow != "" {
		h.Set("Allow", r.allow)
	}
	if r.RetryAfter != "" {
		h.Set("Retry-After", r.RetryAfter)
	}
	if r.Permanent() {
		h.Set("X-Should-Retry", "false")
	}
	if r.Status() == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
}
