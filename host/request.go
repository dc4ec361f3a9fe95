package host

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
)

// sentPath returns the path as sent. URL.Path is decoded, and encoding it again may change it.
func sentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") { // absolute form, or a request made without a server
		return r.URL.EscapedPath()
	}
	return path
}

// pick returns the named header fields. Repeated fields are joined with commas (RFC 9110, section 5.3).
func pick(header http.Header, names []string) []abi.Header {
	var picked []abi.Header
	for _, name := range names {
		if values := header.Values(name); len(values) > 0 {
			picked = append(picked, abi.Header{Name: name, Value: text(strings.Join(values, ", "))})
		}
	}
	return picked
}

// text replaces bytes that are not UTF-8 with U+FFFD, as the Workers platform does.
func text(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	return string([]rune(raw))
}
