package control

import (
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

const (
	projectPrefix   = "proj_"
	keyPrefix       = "key_"
	violationPrefix = "vio_"
	entryPrefix     = "mod_" // of the model registry
	idRandomBytes   = 10
	maxIDLength     = 64
)

// newID returns a new ID: the time, so that lists are in the order of creation, then 80 random bits.
func newID(prefix string, now time.Time, rand io.Reader) (string, error) {
	var random [idRandomBytes]byte
	if _, err := io.ReadFull(rand, random[:]); err != nil {
		return "", err
	}
	return prefix + abi.Fixed(uint64(now.UnixMilli())) + hex.EncodeToString(random[:]), nil
}

// isID reports whether text has the form of an ID with a prefix. All letters and digits are accepted, more
// than newID uses, in case other tools create IDs.
func isID(text, prefix string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || rest == "" || len(text) > maxIDLength {
		return false
	}
	for i := range len(rest) {
		if !isLetterOrDigit(rest[i]) {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	lower := c | 0x20
	return lower >= 'a' && lower <= 'z' || isDigit(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isRequestID accepts the form of the gateway's request IDs: req_ and 32 lowercase hex digits.
func isRequestID(text string) bool {
	hexDigits, ok := strings.CutPrefix(text, "req_")
	return ok && len(hexDigits) == 32 && consistsOf(hexDigits, digits+"abcdef")
}

// requestID is the request ID that the gateway assigned, or a new one if the header is missing or malformed.
func requestID(r *http.Request, rand io.Reader) string {
	if id := r.Header.Get("X-Request-Id"); isRequestID(id) {
		return id
	}
	var random [16]byte
	// Without randomness the ID is all zeros. That is no reason to reject the request.
	_, _ = io.ReadFull(rand, random[:])
	return "req_" + hex.EncodeToString(random[:])
}
