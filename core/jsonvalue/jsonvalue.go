// Package jsonvalue reads values of JSON that has passed jsontext.Check.
package jsonvalue

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// Get returns the value at a path of a value's Raw. The compiler copies gjson's own method, which also adjusts positions that
// nobody reads, into each of its callers: 400 of them made the core 5% larger.
//
//go:noinline
func Get(raw, path string) gjson.Result { return gjson.Get(raw, path) }

// Text returns the content of the string at a path, still escaped; empty for other types.
//
//go:noinline
func Text(raw, path string) jsontext.Escaped {
	if v := Get(raw, path); v.Type == gjson.String {
		return jsontext.Inside(v.Raw)
	}
	return ""
}

// String returns the string at a path; empty for other types.
//
//go:noinline
func String(raw, path string) string { return Get(raw, path).Str }
