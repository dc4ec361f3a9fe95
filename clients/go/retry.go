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
	maxWait    = time.Minute // if a response asks for a longer wait, there is no retry
	spreadStep = 100 * time.Millisecond
	maxSpread  = 10 * time.Second
)

// isRetryable reports whether another attempt may succeed after err. If repeatable is false, the call makes a change
// that must not be made twice. Such a call is retried only if the response proves that nothing was changed.
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

// pause waits before the next attempt after err. If there is no next attempt, it returns false.
func (c *call) pause(err error) bool {
	n := c.attempts - 1
	if n >= *c.settings.retries || !isRetryable(err, !c.request.change) {
		return false
	}
	wait := askedWait(err, c.client.now())
	switch {
	case wait == nil:
		c.wait(err, backoff(n, c.client.random()))
		return true
	case *wait > maxWait:
		return false
	}
	waiting := c.client.pausing.Add(1) - 1
	defer c.client.pausing.Add(-1)
	if waiting > 0 {
		*wait += spread(waiting, c.client.random())
	}
	c.wait(err, *wait)
	return true
}

// wait logs the pause and waits. If the call is aborted, it returns early.
func (c *call) wait(err error, d time.Duration) {
	c.client.log.retry(c, err, d)
	c.client.sleep(c.ctx, d)
}

// askedWait returns the wait that the response of err asks for, or nil.
func askedWait(err error, now time.Time) *time.Duration {
	var response *APIError
	if !errors.As(err, &response) {
		return nil
	}
	return retryAfter(response.Header, now)
}

// backoff returns how long to wait after attempt n, where n is 0 for the first attempt. random is in [0, 1).
func backoff(n int, random float64) time.Duration {
	return time.Duration(float64(min(maxPause, firstPause<<n)) * (0.75 + random/4))
}

// spread returns extra time for a wait that the gateway asked for, so that waiting calls resume one after another.
// waiting is the number of calls that are already in such a wait. The more there are, the longer the extra time.
// random is in [0, 1).
func spread(waiting int64, random float64) time.Duration {
	return time.Duration(float64(min(maxSpread, spreadStep*time.Duration(waiting))) * (0.75 + random/4))
}

// retryAfter returns the wait that a response asks for. It reads retry-after-ms or, if that is missing, retry-after
// in seconds or as an HTTP date. If there is no positive wait, it returns nil.
func retryAfter(h http.Header, now time.Time) *time.Duration {
	return first(wait(h.Get("retry-after-ms"), time.Millisecond, now), wait(h.Get("retry-after"), time.Second, now))
}

// wait reads a number of units or an HTTP date, and returns the time to wait. If there is no positive wait, it
// returns nil.
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
