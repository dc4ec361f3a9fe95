// Package admin is a client for the admin API of a deployment, which docs/openapi.yaml describes. It works with every
// deployment: `postern serve`, `make dev` and Cloudflare.
package admin

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options configure a client.
type Options struct {
	// URL is the deployment's address, such as https://postern.example.com, without a path.
	URL string
	// Token is the admin token. Errors never contain it.
	Token string
	// Insecure allows sending the token over plain HTTP to other machines.
	Insecure bool
	// Timeout of one attempt. 0 means 30 s.
	Timeout time.Duration
	// HTTP replaces the default client; optional.
	HTTP *http.Client
	// Sleep replaces the wait before a retry in tests; optional.
	Sleep func(ctx context.Context, d time.Duration) error
	// UserAgent of the requests; optional.
	UserAgent string
}

// Client calls the admin API. It is safe for concurrent use.
type Client struct {
	options Options
	base    *url.URL
}

const (
	defaultTimeout = 30 * time.Second
	maxAttempts    = 4
	firstWait      = 250 * time.Millisecond
	maxWait        = 10 * time.Second
	maxReplyBytes  = 64 << 20
)

// New checks the address and the token. No request is sent.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" || strings.Trim(base.Path, "/") != "" ||
		base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the address must be a URL in the form https://host, without user, path or query, got %q", redacted(o.URL))
	}
	base.Path = ""
	if base.Scheme == "http" && !o.Insecure && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("the admin token would cross the network unencrypted to %s; use https, or --insecure if the network is private", base.Host)
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the admin token must be printable ASCII characters without spaces")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	own := *o.HTTP
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // never send the token elsewhere
	o.HTTP = &own
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return &Client{o, base}, nil
}

// redacted returns an address without its user name and password. It is for the error that rejects such an address.
func redacted(text string) string {
	if _, after, found := strings.Cut(text, "@"); found {
		return "…@" + after
	}
	return text
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Error is an error response from the API.
type Error struct {
	Method, Path string
	Status       int
	Code         string // such as not_found; empty if the response did not come from the API
	Message      string
	Details      []Detail
	RequestID    string // empty if the response had none
}

// Detail describes an invalid field of a request.
type Detail struct{ Field, Message string }

func (e *Error) Error() string {
	text := e.Message
	for _, d := range e.Details {
		text += "; " + strings.TrimSpace(d.Field+" "+d.Message)
	}
	text = fmt.Sprintf("%s (%d, %s %s", text, e.Status, e.Method, e.Path)
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// Is reports whether an error is a response with the given status.
func Is(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Reply is a response that is not decoded.
type Reply struct {
	Body   []byte
	Header http.Header
}

// Do sends one call and decodes the response into out, which may be nil. A *Reply receives the response as it is,
// whatever its format. body may be nil, json.RawMessage or anything
// that encoding/json encodes. After a network failure, a 429 or a 5xx, Do retries calls that are safe to repeat: GET,
// PUT, DELETE, and calls with a context from WithRetry.
func (c *Client) Do(ctx context.Context, method, path string, body, out any) error {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return err
		}
	}
	retry := method == http.MethodGet || method == http.MethodPut || method == http.MethodDelete || ctx.Value(retryKey{}) != nil
	var err error
	for attempt := range maxAttempts {
		var wait time.Duration
		wait, err = c.attempt(ctx, method, path, encoded, out)
		if attempt > 0 && method == http.MethodDelete && Is(err, http.StatusNotFound) {
			return nil // an earlier attempt deleted it
		}
		if err == nil || !retry && !neverArrived(err) || wait < 0 || ctx.Err() != nil {
			return err
		}
		if attempt == maxAttempts-1 {
			break
		}
		if wait == 0 {
			wait = firstWait<<attempt + rand.N(firstWait)
		}
		if wait > maxWait || c.options.Sleep(ctx, wait) != nil {
			break
		}
	}
	return err
}

type retryKey struct{}

// WithRetry returns a context. Calls with this context count as safe to repeat.
func WithRetry(ctx context.Context) context.Context { return context.WithValue(ctx, retryKey{}, true) }

type idempotencyKey struct{}

// WithIdempotencyKey returns a context. Calls with this context send the key, so that the API makes a repeated change
// only once. They count as safe to repeat.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return WithRetry(context.WithValue(ctx, idempotencyKey{}, key))
}

// neverArrived reports whether a call has certainly not reached the API, because there was no connection.
func neverArrived(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// attempt sends a call once. wait is the pause before a retry. 0 means the default. A negative value means that a
// retry is useless.
func (c *Client) attempt(ctx context.Context, method, path string, body []byte, out any) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	c.setHeaders(request, body != nil, out)
	response, err := c.options.HTTP.Do(request)
	var untrusted x509.UnknownAuthorityError
	if errors.As(err, &untrusted) {
		return -1, fmt.Errorf("cannot trust %s: %w; if the certificate is your own, name it or its CA's with --ca-file or POSTERN_CA_FILE", c.base, unwrapURL(err))
	}
	if err != nil {
		return 0, fmt.Errorf("cannot reach %s: %w", c.base, unwrapURL(err))
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReplyBytes+1))
	switch {
	case err != nil:
		return 0, fmt.Errorf("the response of %s ended early: %w", c.base, err)
	case len(reply) > maxReplyBytes:
		return -1, fmt.Errorf("the response of %s is larger than %d bytes", c.base, maxReplyBytes)
	case response.StatusCode >= 200 && response.StatusCode < 300:
		return -1, c.decode(response, method, path, reply, out)
	}
	return retryAfter(response), failure(response, method, path, reply)
}

func (c *Client) setHeaders(request *http.Request, hasBody bool, out any) {
	request.Header.Set("Authorization", "Bearer "+c.options.Token)
	request.Header.Set("Accept", "application/json")
	if _, ok := out.(*Reply); ok {
		request.Header.Set("Accept", "*/*")
	}
	if hasBody {
		request.Header.Set("Content-Type", "application/json")
	}
	if key, ok := request.Context().Value(idempotencyKey{}).(string); ok {
		request.Header.Set("Idempotency-Key", key)
	}
	if c.options.UserAgent != "" {
		request.Header.Set("User-Agent", c.options.UserAgent)
	}
}

// unwrapURL removes the method and the URL from an error, because its message already contains them.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (c *Client) decode(response *http.Response, method, path string, reply []byte, out any) error {
	if out == nil || response.StatusCode == http.StatusNoContent {
		return nil
	}
	if raw, ok := out.(*Reply); ok {
		*raw = Reply{reply, response.Header}
		return nil
	}
	if raw, ok := out.(*json.RawMessage); ok && json.Valid(reply) {
		*raw = reply
		return nil
	}
	if err := json.Unmarshal(reply, out); err != nil {
		return fmt.Errorf("%s %s: the response of %s is not the JSON of the admin API; check the address", method, path, c.base)
	}
	return nil
}

// retryAfter returns the pause that a failed response asks for.
func retryAfter(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < 500 {
		return -1
	}
	seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// failure reads an error response. The response may come from a proxy.
func failure(response *http.Response, method, path string, reply []byte) *Error {
	e := &Error{Method: method, Path: path, Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	var parsed struct {
		Error, Code, RequestID string
		Details                []Detail
	}
	if json.Unmarshal(reply, &parsed) == nil && parsed.Error != "" {
		e.Message, e.Code, e.Details = parsed.Error, parsed.Code, parsed.Details
		if e.RequestID == "" {
			e.RequestID = parsed.RequestID
		}
		return e
	}
	e.Message = http.StatusText(response.StatusCode)
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		e.Message = "the address redirects to " + strconv.QuoteToASCII(redacted(response.Header.Get("Location"))) + "; use that address"
	} else if e.Message == "" {
		e.Message = "unexpected response"
	}
	return e
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// notTheAPI returns the error for a response with an unexpected shape.
func (c *Client) notTheAPI(path string) error {
	return fmt.Errorf("GET %s: the response of %s is not the JSON of the admin API; check the address", path, c.base)
}

// Answered reports whether it is certain what a call did. That is so if it succeeded, if the API refused it, or if it
// never reached the API. After any other error, including a 5xx, the change may have been made.
func Answered(err error) bool {
	var e *Error
	return err == nil || errors.As(err, &e) && e.Status < http.StatusInternalServerError || neverArrived(err)
}
