package kernel

import (
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// Prefixes and lengths of IDs.
const (
	ProjectPrefix   = "proj_"
	KeyPrefix       = "key_"
	GroupPrefix     = doc.GroupPrefix
	ViolationPrefix = "vio_"
	EntryPrefix     = "mod_" // of the model registry
	idRandomBytes   = 10
	maxIDLength     = 64
)

// NewID returns a new ID. It begins with the time, so lists are in order of creation, and ends with 80 random bits.
func NewID(prefix string, now time.Time, rand io.Reader) (string, error) {
	var random [idRandomBytes]byte
	if _, err := io.ReadFull(rand, random[:]); err != nil {
		return "", err
	}
	return prefix + abi.Fixed(uint64(now.UnixMilli())) + hex.EncodeToString(random[:]), nil
}

// IsID reports whether text has the form of an ID with the given prefix. It accepts all letters and digits, although
// NewID uses fewer, in case other tools create IDs.
func IsID(text, prefix string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || rest == "" || len(text) > maxIDLength {
		return false
	}
	for i := range len(rest) {
		if !IsLetterOrDigit(rest[i]) {
			return false
		}
	}
	return true
}

// IsLetterOrDigit reports whether c is an ASCII letter or digit.
func IsLetterOrDigit(c byte) bool {
	lower := c | 0x20
	return lower >= 'a' && lower <= 'z' || isDigit(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsGroupID reports whether text has the form of a group's ID or is the ID of the root.
func IsGroupID(text string) bool { return text == doc.Root || IsID(text, GroupPrefix) }

// IsSHA256 reports whether text has the form of a SHA-256 hash: 64 lowercase hexadecimal digits.
func IsSHA256(text string) bool { return len(text) == 64 && ConsistsOf(text, Digits+"abcdef") }

// IsRequestID reports whether text has the form of the gateway's request IDs: req_ and 32 lowercase hex digits.
func IsRequestID(text string) bool {
	hexDigits, ok := strings.CutPrefix(text, "req_")
	return ok && len(hexDigits) == 32 && ConsistsOf(hexDigits, Digits+"abcdef")
}

// RequestID returns the request ID that the gateway assigned, or a new one if the header is missing or malformed.
func RequestID(r *http.Request, rand io.Reader) string {
	if id := r.Header.Get("X-Request-Id"); IsRequestID(id) {
		return id
	}
	var random [16]byte
	// If no randomness is available, the ID consists of zeros. A missing ID is no reason to reject the request.
	_, _ = io.ReadFull(rand, random[:])
	return "req_" + hex.EncodeToString(random[:])
}

// Character sets for ConsistsOf.
const (
	Lowercase = "abcdefghijklmnopqrstuvwxyz"
	Uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Digits    = "0123456789"
)

// ConsistsOf reports whether a text has at least one character and all its characters are in the given set.
func ConsistsOf(text, set string) bool { return text != "" && strings.Trim(text, set) == "" }

// IsHeaderText reports whether text can be part of a header value.
func IsHeaderText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
