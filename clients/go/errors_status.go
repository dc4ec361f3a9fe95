package postern

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// BadRequestError is status 400: the request is invalid. Details lists up to 20 problems.
type BadRequestError struct{ *APIError }

// AuthenticationError is status 401: the key is missing, unknown, inactive or expired, or its project or a group above is archived.
type AuthenticationError struct{ *APIError }

// BudgetExceededError is status 402: a budget of the key, its project, a group or the deployment cannot cover the
// request. Nothing was sent to a provider.
type BudgetExceededError struct{ *APIError }

// PermissionDeniedError is status 403: the key does not allow the method, the project or the model.
type PermissionDeniedError struct{ *APIError }

// NotFoundError is status 404: the ID, the model or the tier is unknown.
type NotFoundError struct{ *APIError }

// ConflictError is status 409: the version is outdated, or a request with the same idempotency key is in progress or lost.
type ConflictError struct{ *APIError }

// RequestTooLargeError is status 413: the body is larger than the gateway allows.
type RequestTooLargeError struct{ *APIError }

// UnprocessableEntityError is status 422: the policy blocks the request, or the idempotency key was used with another body.
type UnprocessableEntityError struct{ *APIError }

// BlockedByPolicyError is status 422 with the code blocked_by_policy: the Governor blocked the request or its response.
// Findings says where and why.
type BlockedByPolicyError struct{ *UnprocessableEntityError }

// RateLimitError is status 429: one of the key's limits is exceeded.
type RateLimitError struct {
	*APIError
	RetryAfter *time.Duration // when to try again; nil if the gateway does not know
}

// InternalServerError is a status of 500 or above: the gateway, a provider or a proxy failed.
type InternalServerError struct{ *APIError }

// Unwrap returns the error as an *APIError.
func (e *BadRequestError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *AuthenticationError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *BudgetExceededError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *PermissionDeniedError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *NotFoundError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *ConflictError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *RequestTooLargeError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *UnprocessableEntityError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *UnprocessableEntityError.
func (e *BlockedByPolicyError) Unwrap() error { return e.UnprocessableEntityError }

// Unwrap returns the error as an *APIError.
func (e *RateLimitError) Unwrap() error { return e.APIError }

// Unwrap returns the error as an *APIError.
func (e *InternalServerError) Unwrap() error { return e.APIError }

const (
	codeBlocked   = "blocked_by_policy"
	codeForbidden = "insufficient_permissions"
)

// responseError returns the error for a response with an error status. A request that the policy blocks is a
// *BlockedByPolicyError if the Governor's settings are enabled.
func (c *call) responseError(r *Response, body []byte) error {
	e, ours := newAPIError(r, body)
	switch {
	case !ours:
		e.address, e.hint = c.client.base.String()+c.request.path, c.baseHint(r)
	case e.StatusCode == http.StatusForbidden && e.Code == codeForbidden:
		e.hint = c.keyHint()
	}
	return e.special(*c.settings.governor.Enabled, c.client.now())
}

// special returns the error as the type for its status.
func (e *APIError) special(governed bool, now time.Time) error {
	switch {
	case e.StatusCode == http.StatusBadRequest:
		return &BadRequestError{e}
	case e.StatusCode == http.StatusUnauthorized:
		return &AuthenticationError{e}
	case e.StatusCode == http.StatusPaymentRequired:
		return &BudgetExceededError{e}
	case e.StatusCode == http.StatusForbidden:
		return &PermissionDeniedError{e}
	case e.StatusCode == http.StatusNotFound:
		return &NotFoundError{e}
	case e.StatusCode == http.StatusConflict:
		return &ConflictError{e}
	case e.StatusCode == http.StatusRequestEntityTooLarge:
		return &RequestTooLargeError{e}
	case e.StatusCode == http.StatusUnprocessableEntity && governed && e.Code == codeBlocked:
		return &BlockedByPolicyError{&UnprocessableEntityError{e}}
	case e.StatusCode == http.StatusUnprocessableEntity:
		return &UnprocessableEntityError{e}
	case e.StatusCode == http.StatusTooManyRequests:
		return &RateLimitError{e, retryAfter(e.Header, now)}
	case e.StatusCode >= http.StatusInternalServerError:
		return &InternalServerError{e}
	}
	return e
}

// newAPIError reads {"error", "code", "requestId", "details", "findings", "resetsAt", "budget"}. A field of another
// type counts as absent. If the body is not from the gateway, such as a proxy's page, the second result is false. The error's
// message is then "HTTP" and the status.
func newAPIError(r *Response, body []byte) (*APIError, bool) {
	e := &APIError{
		StatusCode: r.StatusCode,
		Message:    fmt.Sprintf("HTTP %d", r.StatusCode),
		RequestID:  r.Meta.RequestID,
		Attempts:   r.Meta.Attempts,
		Header:     r.Header,
	}
	fault := faultOf(body)
	text := member[string](fault, "error")
	if text == "" {
		return e, false
	}
	e.Message, e.Code = text, member[string](fault, "code")
	e.Details, e.Findings = member[[]Detail](fault, "details"), member[[]Finding](fault, "findings")
	e.ResetsAt, e.Budget = member[time.Time](fault, "resetsAt"), member[*ExceededBudget](fault, "budget")
	if id := member[string](fault, "requestId"); id != "" {
		e.RequestID = id
	}
	return e, true
}

// faultOf returns the fields of an error. Errors under /v1 have the formats of OpenAI and Anthropic, with the
// gateway's request_id added: {"error": {"message", "code", "param"}, "request_id"}. Their message already includes
// the first problem or finding.
func faultOf(body []byte) map[string]json.RawMessage {
	var fault map[string]json.RawMessage
	_ = json.Unmarshal(body, &fault)
	nested := member[map[string]json.RawMessage](fault, "error")
	if nested == nil || member[string](fault, "request_id") == "" {
		return fault
	}
	flat := map[string]json.RawMessage{
		"error": nested["message"], "code": nested["code"], "findings": nested["findings"], "resetsAt": nested["resetsAt"],
		"budget": nested["budget"], "requestId": fault["request_id"],
	}
	if param := member[string](nested, "param"); param != "" {
		flat["details"], _ = json.Marshal([]Detail{{Field: param, Message: member[string](nested, "message")}})
	}
	return flat
}

// member returns a field of an object, or zero if it is absent or has another type.
func member[T any](object map[string]json.RawMessage, name string) T {
	var value, none T
	if json.Unmarshal(object[name], &value) != nil {
		return none
	}
	return value
}
