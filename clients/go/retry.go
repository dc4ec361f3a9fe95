package postern

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"time"
)

const (
	firstPause = 500 * time.Millisecond
	maxPause   = 8 * time.Second
	maxWait    = time.Minute // longest wait that a response may ask for
)

// isRetryable reports whether another attempt may succeed after err. repeatable is false for a change that must not be
// made twice: it is repeated only if the response proves that nothing was changed.
func isRetryable(err error, repeatable bool) bool {
	var response *APIError
	if !errors.As(err, &response) {
		var connection *APIConnectionError
		return repeatable && errors.As(err, &connection)
	}
	advice := strings.ToLower(response.Header.Get("x-should-retry"))
	switch status := response.StatusCode; {
	case advice == "false":
		return false
	case !repeatable:
		return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && advice == "true"
	case advice == "true":
		return true
	default:
		return status == http.StatusRequestTimeout || status == http.StatusConflict ||
			status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	}
}

// pause returns the time to wait before the attempt after number n, which is 0 for the first, and false if the response
// asks for a wait that is too long. random is in [0, 1).
func pause(err error, n int, now time.Time, random float64) (time.Duration, bool) {
	var response *APIError
	if errors.As(err, &response) {
		if wait := retryAfter(response.Header, now); wait != nil {
			return *wait, *wait <= maxWait
		}
	}
	backoff := min(maxPause, firstPause<<n)
	return time.Duration(float64(backoff) * (0.75 + random/4)), true
}

// retryAfter returns the wait that a response asks for: retry-after-ms, or else retry-after in seconds or as an HTTP date.
// It is nil without a positive one.
func retryAfter(h http.Header, now time.Time) *time.Duration {
	return first(wait(h.Get("retry-after-ms"), time.Millisecond, now), wait(h.Get("retry-after"), time.Second, now))
}

// wait reads a positive number of units, or the time until an HTTP date.
func wait(text string, unit time.Duration, now time.Time) *time.Duration {
	var d time.Duration
	if n := decimal(text); n != nil {
		d = time.Duration(min(*n*float64(unit), math.MaxInt64/2))
	} else if date, err := http.ParseTime(text); err == nil && unit == time.Second {
		d = date.Sub(now)
	}
	if d <= 0 {
		return nil
	}
	return &d
}
