// Package head parses parts of the head of a request or response: header values, the path and the query.
package head

import "strings"

// IsJSON reports whether a Content-Type is application/json. It ignores parameters.
func IsJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// Uint parses a decimal number of at most 15 digits, which is below 2^53.
func Uint(text string) (uint64, bool) {
	if text == "" || len(text) > 15 {
		return 0, false
	}
	var n uint64
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(text[i]-'0')
	}
	return n, true
}

// IsPrintable reports whether text consists of printable ASCII characters and spaces.
func IsPrintable(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// The maximum lengths of a program's name and version in Programs, in bytes. API keys are longer.
const (
	maxProgram = 32
	maxVersion = 24
)

// Programs returns the programs in a User-Agent header, such as "curl/8.5", joined by spaces. most is the maximum
// length of the result in bytes. All other words and comments are left out: the result is stored, and a caller may
// have put its key there.
func Programs(agent string, most int) (programs string) {
	for agent != "" {
		var word string
		word, agent, _ = strings.Cut(agent, " ")
		name, version, _ := strings.Cut(word, "/")
		if name == "" || version == "" || len(name) > maxProgram || len(version) > maxVersion || !IsWord(name) || !IsWord(version) {
			continue
		}
		if programs != "" {
			word = " " + word
		}
		if len(programs)+len(word) > most {
			break
		}
		programs += word
	}
	return programs
}

// IsWord reports whether a name can be an element of a comma-separated header without quoting. It must consist of
// letters, digits, "_", "." and "-".
func IsWord(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c != '_' && c != '.' && c != '-' && !(c|0x20 >= 'a' && c|0x20 <= 'z') && !(c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

// CacheControl parses the directives of a request's Cache-Control header that Postern knows. maxAge is the number of
// seconds plus 1. If there is no valid max-age, it is 0.
func CacheControl(text string) (noStore, noCache bool, maxAge uint64) {
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store":
			noStore = true
		case "no-cache":
			noCache = true
		case "max-age":
			if n, ok := Uint(strings.Trim(value, `" `)); ok {
				maxAge = n + 1
			}
		}
	}
	return noStore, noCache, maxAge
}
