package postern

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Error returns the gateway's text with the first problem or finding, and in parentheses the status, code and request ID:
// "postern: Invalid request: temperature: must be … (400, invalid_request, req_…)".
func (e *APIError) Error() string {
	return fmt.Sprintf("postern: %s%s%s (%d%s%s)",
		e.Message, e.problem(), e.hint, e.StatusCode, suffixed(", ", e.Code), suffixed(", ", e.RequestID))
}

// problem returns the first problem of the request, or else the first finding, after a colon. It says how many follow.
func (e *APIError) problem() string {
	if len(e.Details) > 0 {
		d := e.Details[0]
		return suffixed(": ", joined(d.Field, ": ", d.Message)) + more(len(e.Details))
	}
	if len(e.Findings) > 0 {
		f := e.Findings[0]
		severity := ""
		if f.Severity != "" {
			severity = " (" + string(f.Severity) + ")"
		}
		return suffixed(": ", joined(f.Path, " contains ", f.Rule+severity)) + more(len(e.Findings))
	}
	return ""
}

// more says how many follow the first of n.
func more(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}

// joined returns two texts with a separator, or the one that is not empty.
func joined(a, separator, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + separator + b
}

// suffixed returns text after a separator, or "" for an empty text.
func suffixed(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// addressHint says where a response came from that is not the gateway's, and what is wrong with the base URL, if its path
// shows that.
func (c *call) addressHint(status int, header http.Header, body []byte) string {
	path := strings.TrimRight(c.client.base.Path, "/")
	wrong := strings.HasSuffix(path, "/v1") || strings.HasSuffix(path, "/api") || strings.HasSuffix(path, "/dashboard")
	hint := " from " + c.client.base.String() + c.request.path
	if wrong && (status == http.StatusNotFound || isHTML(header, body)) {
		hint += ": is the base URL the gateway's address, without /v1?"
	}
	return hint
}

func isHTML(header http.Header, body []byte) bool {
	return strings.HasPrefix(header.Get("content-type"), "text/html") || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// keyHint says which kind of key a call needs, if the client's is of the other.
func (c *call) keyHint() string {
	path, key := c.request.path, c.client.key
	switch {
	case strings.HasPrefix(key, "pk_") && startsWithAny(path, "/api/ai/", "/api/governor/"):
		return "; this call needs a gateway key (sk_…)"
	case strings.HasPrefix(key, "sk_") && startsWithAny(path, "/api/violations", "/api/models-registry", "/api/compliance/"):
		return "; this call needs a project key (pk_…)"
	}
	return ""
}

func startsWithAny(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// origin returns the scheme, host and port of an address.
func origin(address *url.URL) string { return address.Scheme + "://" + address.Host }
