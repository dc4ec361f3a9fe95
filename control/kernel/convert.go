package kernel

import (
	"slices"
	"time"

	"github.com/postern-ai/postern/core/calendar"
)

// Timestamp returns a time in RFC 3339 format, in UTC and with milliseconds.
func Timestamp(ms uint64) string {
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Set assigns a field if the request contains it.
func Set[T any](present bool, field *T, value T) {
	if present {
		*field = value
	}
}

// TimestampOrNull does the same as Timestamp, but returns nil for 0.
func TimestampOrNull(ms uint64) *string {
	if ms == 0 {
		return nil
	}
	text := Timestamp(ms)
	return &text
}

// NowMs returns the time in Unix milliseconds.
func (cp *Plane) NowMs() uint64 { return uint64(cp.Now().UnixMilli()) }

// NullIfZero returns nil for 0.
func NullIfZero(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

// NullIfEmpty returns nil for an empty string.
func NullIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Translate maps a value in one list to its counterpart in another list with the same order. An unknown value maps to
// the zero value.
func Translate[From comparable, To any](value From, from []From, to []To) (counterpart To) {
	if i := slices.Index(from, value); i >= 0 {
		counterpart = to[i]
	}
	return counterpart
}

// DateText returns the date of a day, which is numbered from 1970-01-01, as text such as 2026-11-21.
func DateText(day uint64) string { return string(calendar.AppendDate(nil, day)) }
