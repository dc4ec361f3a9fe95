package postern

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
)

type request struct {
	method     string
	path       string // after the base URL, with IDs encoded
	query      url.Values
	body       []byte // JSON; nil for none
	header     http.Header
	completion bool // the call may have an idempotency key
	governed   bool // the call may have the Governor's header
	change     bool // must not be made twice
	keyed      bool // the call may have its own idempotency key, which makes it repeatable
}

// callSettings are the options of a call. After the client's settings have been merged in, all fields of shared are
// set.
type callSettings struct {
	shared
	idempotencyKey *string
	response       *Response
}

type call struct {
	ctx      context.Context
	client   *Client
	request  request
	settings callSettings
	header   http.Header // without the key
	key      string      // of the last attempt
	attempts int         // so far
}

func (c *Client) newCall(ctx context.Context, r request, opts []CallOption) (*call, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	var s callSettings
	for _, o := range opts {
		if o != nil {
			o.applyToCall(&s)
		}
	}
	s.shared = s.over(c.defaults())
	if err := s.check(); err != nil {
		return nil, err
	}
	header, err := c.header(r, s)
	if err != nil {
		return nil, err
	}
	r.query = merged(c.defaults().query, r.query, s.query)
	r.change = r.change && !(r.keyed && s.idempotencyKey != nil)
	return &call{ctx: ctx, client: c, request: r, settings: s, header: header}, nil
}

// check returns an error if the client was not made by New, or if the context is nil.
func (c *Client) check(ctx context.Context) error {
	if c == nil || c.internals == nil {
		return misconfigured("client", "is empty: use New")
	}
	if ctx == nil {
		return misconfigured("ctx", "must not be nil: use context.Background()")
	}
	return nil
}

// header returns the headers of a call's requests, without the key.
func (c *Client) header(r request, s callSettings) (http.Header, error) {
	h := http.Header{}
	h.Set("accept", "application/json")
	h.Set("user-agent", "postern-go/"+version+" ("+runtime.Version()+")")
	if r.body != nil {
		h.Set("content-type", "application/json")
	}
	if g := s.governor.header(); r.governed && g != "" {
		h.Set("x-postern-govern", g)
	}
	key, err := s.idempotency()
	if r.completion && key != "" || r.keyed && s.idempotencyKey != nil {
		h.Set("idempotency-key", key)
	}
	return merged(h, c.defaults().header, r.header, s.header), err
}

func (s callSettings) idempotency() (string, error) {
	switch key := s.idempotencyKey; {
	case key != nil && (*key == "" || len(*key) > 255 || !isPrintable(*key)):
		return "", misconfigured("WithIdempotencyKey", "must be 1 to 255 printable ASCII characters")
	case key != nil:
		return *key, nil
	case *s.shared.idempotency:
		return "postern-" + newUUID(), nil
	}
	return "", nil
}

// header returns the value of x-postern-govern, or "" if there is nothing to send.
func (g Governor) header() string {
	var parts []string
	if *g.Enabled && *g.StrictMode {
		parts = append(parts, "strict")
	}
	if *g.Enabled && g.AutoApproveThreshold != nil {
		parts = append(parts, fmt.Sprintf("threshold=%d", *g.AutoApproveThreshold))
	}
	return strings.Join(parts, ", ")
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // if the system has no random numbers, the program crashes
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// transportHeaders are the headers of the connection itself. A second length or framing would let one request hide
// another (RFC 9110, section 7.6.1).
const transportHeaders = " connection content-length expect host keep-alive te trailer transfer-encoding upgrade "

// checkHeader returns an error for a header that carries credentials or cannot be sent. setting is the name of the
// header's setting, for the error.
func checkHeader(setting string, h http.Header) error {
	for name, values := range h {
		lower := strings.ToLower(name)
		if lower == "authorization" || lower == "x-api-key" {
			return misconfigured(setting, "must not contain "+lower+": set the API key of the client")
		}
		if strings.Contains(transportHeaders, " "+lower+" ") {
			return misconfigured(setting, "must not contain "+lower+", which the transport sets")
		}
		if !isToken(name) || !isHeaderValue(strings.Join(values, "")) { // the value may be secret
			return misconfigured(setting, fmt.Sprintf("must be valid: %q is not", lower))
		}
	}
	return nil
}

// isToken reports whether text can be the name of a header (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func isHeaderValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func pathOf(prefix, id, suffix string) (string, error) {
	// Servers and proxies resolve dot segments, even encoded ones.
	if id == "" || id == "." || id == ".." {
		return "", misconfigured("id", "must not be empty, . or ..")
	}
	return prefix + url.PathEscape(id) + suffix, nil
}
