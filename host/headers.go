package host

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
)

// pick appends the named header fields. Repeated fields are joined with commas (RFC 9110, section 5.3).
func pick(picked []abi.Header, header http.Header, names []fieldName) []abi.Header {
	for _, name := range names {
		if values := header[name.canonical]; len(values) > 0 {
			picked = append(picked, abi.Header{Name: name.lower, Value: text(strings.Join(values, ", "))})
		}
	}
	return picked
}

// fieldName is the name of a header field, once in the spelling of the core and once in the spelling of http.Header.
type fieldName struct{ lower, canonical string }

func fieldNames(lower []string) []fieldName {
	names := make([]fieldName, len(lower))
	for i, name := range lower {
		names[i] = fieldName{name, http.CanonicalHeaderKey(name)}
	}
	return names
}

// text replaces bytes that are not UTF-8 with U+FFFD, as the Workers platform does.
func text(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	return string([]rune(raw))
}
