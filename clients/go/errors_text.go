package postern

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Error returns the gateway's message with the first problem or finding, followed by the status, code and request ID
// in parentheses: "postern: Invalid request: temperature: must be … (400, invalid_request, req_…)". For a response
// from another server, the message contains the URL without the query.
func (e *APIError) Error() string {
	if e.address != "" {
		return fmt.Sprintf("postern: %s from %s%s%s", e.Message, e.address, e.hint, known(e.RequestID))
	}
	return fmt.Sprintf("postern: %s%s%s%s", e.Message, e.problem(), e.hint, known(strconv.Itoa(e.StatusCode), e.Code, e.RequestID))
}

// problem returns a colon and the first problem of the request. If there is none, it returns the first finding. It
// also says how many more there are.
func (e *APIError) problem() string {
	var problems, findings []string
	for _, d := range e.Details {
		if d.Message != "" && d.Message != e.Message {
			problems = append(problems, joined(d.Field, ": ", d.Message))
		}
	}
	for _, f := range e.Findings {
		if f.Rule != "" {
			findings = append(findings, f.text())
		}
	}
	if len(problems) == 0 {
		problems = findings
	}
	if len(problems) == 0 || strings.Contains(e.Message, problems[0]) {
		return ""
	}
	return ": " + problems[0] + more(len(problems))
}

// text returns a description of the finding: "messages[0].content contains personal.email (medium)".
func (f Finding) text() string {
	return joined(f.Path, " contains ", f.Rule) + known(string(f.Severity))
}

func known(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// more says how many of n items follow the first.
func more(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}

func joined(a, separator, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + separator + b
}

func suffixed(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// namePage adds the address to an error about an HTML page with a success status, such as a sign-in page.
func (c *call) namePage(err error, r *Response) error {
	var wrong *InvalidResponseError
	if errors.As(err, &wrong) && isPage(r) {
		wrong.Problem = "an HTML page from " + c.client.base.String() + c.request.path + c.baseHint(r)
	}
	return err
}

func isPage(r *Response) bool { return strings.HasPrefix(r.Header.Get("content-type"), "text/html") }

// baseHint returns a question about the base URL. It does so only for a 404 or an HTML page, and only if the base URL
// ends in one of the gateway's paths. Otherwise, it returns "".
func (c *call) baseHint(r *Response) string {
	if r.StatusCode != http.StatusNotFound && !isPage(r) {
		return ""
	}
	for _, end := range []string{"/api", "/dashboard"} {
		if strings.HasSuffix(c.client.base.Path, end) {
			return ": is the base URL the gateway's address, without " + end + "?"
		}
	}
	return ""
}

// keyHint says which kind of key the call needs. If the client has a key of that kind, it returns "".
func (c *call) keyHint() string {
	path, key := c.request.path, c.key
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
