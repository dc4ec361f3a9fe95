package postern

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

var retryNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func statusError(status int, fields ...string) error {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
	}
	e, _ := newAPIError(&Response{StatusCode: status, Header: h}, nil)
	return e.special(true, retryNow)
}

func TestRetryDecision(t *testing.T) {
	lost := &APIConnectionError{Cause: errors.New("reset")}
	for _, c := range []struct {
		name           string
		err            error
		always, change bool
	}{
		{"400", statusError(400), false, false},
		{"402", statusError(402), false, false},
		{"408", statusError(408), true, false},
		{"409", statusError(409), true, false},
		{"429", statusError(429), true, true},
		{"500", statusError(500), true, false},
		{"503", statusError(503), true, false},
		{"503 with advice", statusError(503, "x-should-retry", "true"), true, true},
		{"500 with advice", statusError(500, "x-should-retry", "true"), true, false},
		{"400 with advice", statusError(400, "x-should-retry", "true"), true, false},
		{"429 with advice against", statusError(429, "x-should-retry", "false"), false, false},
		{"301", statusError(301), false, false},
		{"connection", lost, true, false},
		{"timeout", &APITimeoutError{lost, time.Second}, true, false},
		{"invalid response", &InvalidResponseError{}, false, false},
		{"aborted", &APIAbortedError{Err: errors.New(""), Cause: errors.New("")}, false, false},
	} {
		if got := isRetryable(c.err, true); got != c.always {
			t.Errorf("%s: repeated %v, want %v", c.name, got, c.always)
		}
		if got := isRetryable(c.err, false); got != c.change {
			t.Errorf("%s: a change is repeated %v, want %v", c.name, got, c.change)
		}
	}
}

func TestPause(t *testing.T) {
	date := retryNow.Add(7 * time.Second).Format(http.TimeFormat)
	for _, c := range []struct {
		name   string
		err    error
		n      int
		random float64
		want   time.Duration
		again  bool
	}{
		{"least", statusError(500), 0, 0, 375 * time.Millisecond, true},
		{"most", statusError(500), 0, 1, 500 * time.Millisecond, true},
		{"doubles", statusError(500), 3, 1, 4 * time.Second, true},
		{"is limited", statusError(500), 9, 1, 8 * time.Second, true},
		{"connection", &APIConnectionError{}, 0, 1, 500 * time.Millisecond, true},
		{"milliseconds", statusError(429, "retry-after-ms", "12.5", "retry-after", "3"), 0, 1, 12500 * time.Microsecond, true},
		{"seconds", statusError(429, "retry-after", "1.5"), 0, 1, 1500 * time.Millisecond, true},
		{"date", statusError(429, "retry-after", date), 0, 1, 7 * time.Second, true},
		{"a minute", statusError(429, "retry-after", "60"), 0, 1, time.Minute, true},
		{"over a minute", statusError(429, "retry-after-ms", "60001"), 0, 1, 60001 * time.Millisecond, false},
		{"far over a minute", statusError(429, "retry-after", "99999999999999999999"), 0, 1, 0, false},
		{"zero", statusError(429, "retry-after", "0"), 0, 1, 500 * time.Millisecond, true},
		{"negative", statusError(429, "retry-after", "-1"), 0, 1, 500 * time.Millisecond, true},
		{"not a number", statusError(429, "retry-after-ms", "1e3"), 0, 1, 500 * time.Millisecond, true},
		{"a date in milliseconds", statusError(429, "retry-after-ms", date), 0, 1, 500 * time.Millisecond, true},
		{"a date that has passed", statusError(429, "retry-after", "Sun, 22 Nov 2026 11:00:00 GMT"), 0, 1, 500 * time.Millisecond, true},
	} {
		got, again := backoff(c.n, c.random), true
		if asked := askedWait(c.err, retryNow); asked != nil {
			got, again = *asked, *asked <= maxWait
		}
		if again != c.again || c.again && got != c.want {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, got, again, c.want, c.again)
		}
	}
}
