package postern

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is implemented by every error of this package:
//
//	*ConfigurationError        a setting or an argument is invalid
//	*APIConnectionError        no usable response
//	  *APITimeoutError         an attempt took longer than its timeout
//	*APIAbortedError           the context was canceled or its deadline passed
//	*InvalidResponseError      a response is not what the API promises
//	*OutputValidationError     a completion does not match the type wanted
//	*StreamError               a stream failed after it started
//	*WebhookVerificationError  a webhook was not sent by the gateway, or not now
//	*APIError                  a response with an error status
//	  *BadRequestError         400
//	  *AuthenticationError     401
//	  *BudgetExceededError     402
//	  *PermissionDeniedError   403
//	  *NotFoundError           404
//	  *ConflictError           409
//	  *RequestTooLargeError    413
//	  *UnprocessableEntityError 422
//	    *BlockedByPolicyError
//	  *RateLimitError          429
//	  *InternalServerError     500 and above
//
// In this list, each error wraps the error that it is indented under. So errors.As also finds a *BudgetExceededError
// as an *APIError. No error contains a key or the content of a request. The error of a hook is returned unchanged.
type Error interface {
	error
	posternError()
}

// ConfigurationError reports an invalid option, environment variable or argument. No request was sent.
type ConfigurationError struct {
	Setting string // for example WithTimeout or POSTERN_TIMEOUT
	Problem string // for example "must be an integer between 0 and 10"
}

func misconfigured(setting, problem string) error { return &ConfigurationError{setting, problem} }

func (e *ConfigurationError) Error() string { return "postern: " + e.Setting + " " + e.Problem }
func (e *ConfigurationError) posternError() {}

// APIConnectionError reports that no usable response arrived, in any attempt. The gateway may have received the request.
type APIConnectionError struct {
	Cause error // of the last attempt

	call   string // method and path, such as "POST /api/ai/chat"
	origin string // the gateway's address, such as http://127.0.0.1:8787
	slow   string // name of the caller's function that took too long; empty if the gateway took too long
}

func (e *APIConnectionError) Error() string {
	return fmt.Sprintf("postern: %s: connection to %s failed (%v)", e.call, e.origin, e.Cause)
}
func (e *APIConnectionError) posternError() {}

// Unwrap returns the cause.
func (e *APIConnectionError) Unwrap() error { return e.Cause }

// APITimeoutError reports that the last attempt took longer than its timeout (see WithTimeout). It is not
// context.DeadlineExceeded, which means that the whole call took too long.
type APITimeoutError struct {
	*APIConnectionError
	Duration time.Duration // the timeout
}

func (e *APITimeoutError) Error() string {
	if e.slow != "" {
		return fmt.Sprintf("postern: %s: %s did not return within %v", e.call, e.slow, e.Duration)
	}
	return fmt.Sprintf("postern: %s: no response from %s within %v", e.call, e.origin, e.Duration)
}

// Timeout returns true, as the timeout errors of package net do.
func (e *APITimeoutError) Timeout() bool { return true }

// Unwrap returns the error as an *APIConnectionError.
func (e *APITimeoutError) Unwrap() error { return e.APIConnectionError }

// APIAbortedError reports that the call's context was canceled or that its deadline passed. errors.Is finds the
// context's error (context.Canceled or context.DeadlineExceeded) and the context's cause.
type APIAbortedError struct {
	Err   error // of the context
	Cause error // context.Cause of the context
}

func aborted(ctx context.Context) error {
	return &APIAbortedError{Err: ctx.Err(), Cause: context.Cause(ctx)}
}

func (e *APIAbortedError) Error() string { return "postern: call aborted: " + e.Cause.Error() }
func (e *APIAbortedError) posternError() {}

// Unwrap returns the context's error and its cause.
func (e *APIAbortedError) Unwrap() []error { return []error{e.Err, e.Cause} }

// InvalidResponseError reports a response without the documented form, for example a response from a proxy.
type InvalidResponseError struct {
	StatusCode int
	RequestID  string // empty if the response has none
	Problem    string
}

func (e *InvalidResponseError) Error() string {
	return fmt.Sprintf("postern: invalid response (status %d%s): %s", e.StatusCode, suffixed(", ", e.RequestID), e.Problem)
}
func (e *InvalidResponseError) posternError() {}

// StreamError reports that a stream failed after it started. Its cost is in the usage report.
type StreamError struct {
	Message   string
	Code      string    // for example provider_error or blocked_by_policy; incomplete_stream if the stream ended early
	RequestID string    // empty if unknown
	Findings  []Finding // for blocked_by_policy: the Governor's findings
	Text      string    `json:"-"` // the text before the error; not in logs, because it may be confidential
	Cause     error     // an *APIConnectionError or *APITimeoutError if the connection failed; otherwise nil
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("postern: stream failed: %s (%s%s)", e.Message, e.Code, suffixed(", ", e.RequestID))
}
func (e *StreamError) posternError() {}

// Unwrap returns the cause.
func (e *StreamError) Unwrap() error { return e.Cause }

// OutputValidationError reports that a completion's text is not JSON or does not match the expected type.
type OutputValidationError struct {
	Issues     []Issue
	Text       string      `json:"-"` // the model's output; not in logs, because it may be confidential
	Completion *Completion `json:"-"` // has the text, usage and cost
	Cause      error       `json:"-"` // the error of encoding/json or Validate
}

// Issue is one problem of a model's output.
type Issue struct {
	Path    string // path of the value, such as lines.price; empty for the whole output
	Message string
}

func (e *OutputValidationError) Error() string {
	messages := make([]string, len(e.Issues))
	for i, issue := range e.Issues {
		messages[i] = strings.TrimPrefix(issue.Path+": "+issue.Message, ": ")
	}
	return "postern: output does not match: " + strings.Join(messages, "; ")
}
func (e *OutputValidationError) posternError() {}

// Unwrap returns the cause.
func (e *OutputValidationError) Unwrap() error { return e.Cause }

// APIError is a response with an error status.
type APIError struct {
	StatusCode int
	Code       string      // for example budget_exceeded; empty if the response is not from the gateway
	Message    string      // the gateway's text, or "HTTP" and the status; Error adds the first problem
	RequestID  string      // as in the gateway's log; empty if unknown
	Details    []Detail    // the problems of the request
	Findings   []Finding   // for blocked_by_policy: the Governor's findings
	Attempts   *Attempts   // requests to providers; nil if none were sent
	ResetsAt   time.Time   // time at which the exceeded limit or budget resets; zero for other errors
	Header     http.Header // of the response
	// Budget is the budget, or the limit per budget period, that refused the request. Of several, this is the one that
	// resets last. Nil for other errors.
	Budget *ExceededBudget

	// The method Error also uses these fields.
	address string // the URL, if the response is not from the API
	hint    string // suggests what may be wrong with the base URL or the key
}

// ExceededBudget is the budget that refused a request.
type ExceededBudget struct {
	Level    string    `json:"level"`    // key, project, group or deployment (the whole gateway)
	ID       string    `json:"id"`       // of the key, the project or the group; root for the deployment
	Name     string    `json:"name"`     // of the group or the deployment; empty if it is hidden, and for keys and projects
	Unit     string    `json:"unit"`     // dollars, requests or tokens
	Period   string    `json:"period"`   // day, week, month or total (prepaid: the budget does not reset)
	ResetsAt time.Time `json:"resetsAt"` // zero if it does not reset
}

// Detail is one problem of a request.
type Detail struct {
	Field   string `json:"field"` // for example messages[2].role
	Message string `json:"message"`
}

func (e *APIError) posternError() {}
