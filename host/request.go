package host

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

func sentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") { // absolute form, or a request made without a server
		return r.URL.EscapedPath()
	}
	return path
}

func requestID() string {
	var random [abi.RequestIDBytes]byte
	_, _ = rand.Read(random[:])
	return abi.RequestIDPrefix + hex.EncodeToString(random[:])
}

// requestFields returns the fields of the event that begins an exchange: the named header fields, the request line,
// the request ID and the client's address.
func requestFields(r *http.Request, names []fieldName, id, address string) []abi.Header {
	fields := append(make([]abi.Header, 0, 16),
		abi.Header{Name: abi.PseudoID, Value: id}, abi.Header{Name: abi.PseudoMethod, Value: r.Method},
		abi.Header{Name: abi.PseudoPath, Value: text(sentPath(r))}, abi.Header{Name: abi.PseudoQuery, Value: text(r.URL.RawQuery)},
		abi.Header{Name: abi.PseudoAddress, Value: address})
	return pick(fields, r.Header, names)
}
