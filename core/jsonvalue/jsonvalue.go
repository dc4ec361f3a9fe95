// Package jsonvalue reads values from JSON that has passed jsontext.Check.
package jsonvalue

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// Get returns the value at a path in a value's Raw. gjson's own method also adjusts positions that nobody reads, and
// the compiler copies it into each of its callers. With 400 callers, that made the core 5% larger.
//
//go:noinline
func Get(raw, path string) gjson.Result { return gjson.Get(raw, path) }

// Text returns the content of the string at a path, still escaped. It returns "" for other types.
//
//go:noinline
func Text(raw, path string) jsontext.Escaped {
	if v := Get(raw, path); v.Type == gjson.String {
		return jsontext.Inside(v.Raw)
	}
	return ""
}

// String returns the string at a path. It returns "" for other types.
//
//go:noinline
func String(raw, path string) string { return Get(raw, path).Str }
