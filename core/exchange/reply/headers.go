// Package reply encodes the headers that the gateway adds to responses, and responses that are stored for replay.
package reply

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
)

// Timing is the time spent in each part of a request, in milliseconds.
type Timing struct {
	Total, Admit, Upstream uint64
	Called                 bool // the key's meter was called; if not, Admit is not shown
	Fetched                bool // a provider was called; if not, Upstream is not shown
}

// String returns the value of the Server-Timing header (W3C Server Timing).
func (t *Timing) String() string {
	b := appendField(nil, "total;dur=", t.Total)
	if t.Called {
		b = appendField(b, ", admit;dur=", t.Admit)
	}
	if t.Fetched {
		b = appendField(b, ", upstream;dur=", t.Upstream)
	}
	return string(b)
}

// Names joins comma-separated lists of names. Some lists may be empty.
func Names(lists ...string) string {
	var all []string
	for _, names := range lists {
		if names != "" {
			all = append(all, names)
		}
	}
	return strings.Join(all, ",")
}

// Limits returns headers that report the key's rate limits. RateLimit and RateLimit-Policy cover all windows (IETF
// draft "RateLimit header fields for HTTP"). X-RateLimit-*-Requests is for the request window with the fewest
// requests left. X-RateLimit-*-Tokens is for the token window, if there is one.
func Limits(windows []keymeter.Window) []abi.Header {
	if len(windows) == 0 {
		return nil
	}
	least := keymeter.Window{}
	var headers []abi.Header
	var limits, policies []byte
	for i, w := range windows {
		switch {
		case w.Tokens:
			headers = append(headers, windowHeaders(w, "tokens")...)
		case least.Limit == 0 || w.Remaining < least.Remaining:
			least = w
		}
		if i > 0 {
			limits, policies = append(limits, ", "...), append(policies, ", "...)
		}
		name := `"day"`
		switch {
		case w.Tokens:
			name = `"tokens"`
		case w.WindowMs == calendar.SecondMs:
			name = `"second"`
		}
		limits = appendField(appendField(append(limits, name...), ";r=", w.Remaining), ";t=", Seconds(w.ResetMs))
		policies = appendField(appendField(append(policies, name...), ";q=", w.Limit), ";w=", w.WindowMs/1000)
	}
	if least.Limit > 0 {
		headers = append(headers, windowHeaders(least, "requests")...)
	}
	return append(headers, abi.Header{Name: "ratelimit", Value: string(limits)}, abi.Header{Name: "ratelimit-policy", Value: string(policies)})
}

func windowHeaders(w keymeter.Window, unit string) []abi.Header {
	return []abi.Header{
		{Name: "x-ratelimit-limit-" + unit, Value: strconv.FormatUint(w.Limit, 10)},
		{Name: "x-ratelimit-remaining-" + unit, Value: strconv.FormatUint(w.Remaining, 10)},
		{Name: "x-ratelimit-reset-" + unit, Value: strconv.FormatUint(Seconds(w.ResetMs), 10)},
	}
}

func appendField(b []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(b, name...), v, 10)
}

// Seconds converts milliseconds to seconds, rounded up.
func Seconds(ms uint64) uint64 { return (ms + 999) / 1000 }
