package postern

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Get calls an endpoint that has no method in this package, and parses its JSON into out, a pointer. If out is nil,
// the response is ignored. path begins with one slash and is sent unchanged after the base URL. It must not contain a
// query; use WithQuery. A response with status 204 counts as null. A response that is not JSON or does not fit out is
// an *InvalidResponseError. Retries, logs and all other errors are the same as for other reads.
func (c *Client) Get(ctx context.Context, path string, out any, opts ...CallOption) error {
	return c.endpoint(ctx, request{method: http.MethodGet, path: path}, out, opts)
}

// Post sends body as JSON and otherwise works like Get. If body is nil, no body is sent. A json.RawMessage is sent
// unchanged. After a lost connection or a server error, the call is not repeated, because the gateway may have made
// the change. If the endpoint supports idempotency keys, use WithIdempotencyKey. The call is then repeated.
func (c *Client) Post(ctx context.Context, path string, body, out any, opts ...CallOption) error {
	r := request{method: http.MethodPost, path: path, governed: true, change: true, keyed: true}
	if body != nil {
		var err error
		if r, err = withBody(r, body); err != nil {
			return err
		}
	}
	return c.endpoint(ctx, r, out, opts)
}

func (c *Client) endpoint(ctx context.Context, r request, out any, opts []CallOption) error {
	if problem := pathProblem(r.path); problem != "" {
		return misconfigured("path", problem)
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return misconfigured("out", "must be a pointer that is not nil")
	}
	_, err := fetchText(ctx, c, r, opts, func(response *Response, text []byte) error {
		if response.StatusCode == http.StatusNoContent {
			text = null
		}
		if !json.Valid(text) {
			return invalid(response, "the body is not JSON")
		}
		if out != nil && json.Unmarshal(text, out) != nil {
			return invalid(response, "the JSON does not fit "+reflect.TypeOf(out).String())
		}
		return nil
	})
	return err
}

func pathProblem(path string) string {
	decoded, err := url.PathUnescape(path)
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//"):
		return "must begin with one slash"
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`?#\`, r) }):
		return "must be of ASCII characters without spaces, ?, # and \\: percent-encode them, and use WithQuery for a query"
	case err != nil:
		return "has a malformed percent-encoding"
	case slices.ContainsFunc(strings.FieldsFunc(decoded, isSlash), isDots): // servers and proxies resolve even encoded dot segments
		return "must not have . and .. as segments"
	}
	return ""
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

func isDots(segment string) bool { return segment == "." || segment == ".." }
