package postern

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const maxBodyBytes = 64 << 20

// errAttemptTimeout is the cause of an attempt's canceled context. It distinguishes the attempt's timeout from the
// deadline of the call's context.
var errAttemptTimeout = errors.New("timeout")

// run makes attempts until use accepts a response or no retry is left. use receives only responses with a 2xx status,
// and closes their bodies.
func (c *call) run(use func(*Response, *responseBody) error) error {
	for {
		err := c.attempt(use)
		var hook *hookError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &hook):
			return hook.cause
		case !c.pause(err):
			c.client.log.failed(c, err)
			return err
		}
	}
}

func (c *call) attempt(use func(*Response, *responseBody) error) error {
	if c.ctx.Err() != nil {
		return aborted(c.ctx)
	}
	c.attempts++
	r, body, err := c.open()
	if err != nil {
		return err
	}
	if r.StatusCode >= 200 && r.StatusCode < 300 {
		if err := use(r, body); err != nil {
			return c.namePage(err, r)
		}
		c.client.log.warnings(c, r.Meta)
		return nil
	}
	defer body.Close()
	text, err := body.all(r)
	if err != nil {
		return err
	}
	return c.responseError(r, text)
}

// open sends the request. It returns the response after the headers have arrived and the response hook has seen them.
func (c *call) open() (*Response, *responseBody, error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	body := &responseBody{call: c, ctx: ctx, cancel: cancel}
	body.timer = time.AfterFunc(*c.settings.timeout, func() { cancel(errAttemptTimeout) })
	opened := false
	defer func() { // even if a hook panics
		if !opened {
			body.Close()
		}
	}()
	header, err := body.header()
	if err != nil {
		return nil, nil, err
	}
	request, err := c.httpRequest(ctx, header)
	if err != nil {
		return nil, nil, misconfigured("request", "cannot be sent: "+err.Error())
	}
	c.client.log.request(c)
	start := time.Now()
	response, err := c.client.http.Do(request)
	if err != nil {
		return nil, nil, body.failure(err)
	}
	body.ReadCloser = response.Body
	r, took := newResponse(response), time.Since(start)
	c.client.log.response(c, r, took)
	if c.settings.response != nil {
		*c.settings.response = *r
	}
	if err := body.show(r, took); err != nil {
		return nil, nil, err
	}
	opened = true
	return r, body, nil
}

func (c *call) httpRequest(ctx context.Context, header http.Header) (*http.Request, error) {
	address := c.client.base.String() + c.request.path
	if len(c.request.query) > 0 {
		address += "?" + c.request.query.Encode()
	}
	var body io.Reader
	if c.request.body != nil {
		body = bytes.NewReader(c.request.body)
	}
	request, err := http.NewRequestWithContext(ctx, c.request.method, address, body)
	if err != nil {
		return nil, err
	}
	request.Header = header
	return request, nil
}

// responseBody is a response body whose reads are subject to the attempt's timeout. It returns errors of this
// package.
type responseBody struct {
	io.ReadCloser // nil before the response
	call          *call
	ctx           context.Context // of the attempt
	cancel        context.CancelCauseFunc
	timer         *time.Timer
	idle          time.Duration // if positive, the timeout of each read; if zero, the attempt's timeout applies
}

// timeEachRead replaces the attempt's timeout with a timeout for each read. The time between reads does not count,
// because it depends on the caller.
func (b *responseBody) timeEachRead(timeout time.Duration) {
	b.timer.Stop()
	b.idle = timeout
}

// timeAll replaces the timeout with a timeout for the rest of the body.
func (b *responseBody) timeAll(timeout time.Duration) {
	b.idle = 0
	b.timer.Reset(timeout)
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.idle > 0 {
		b.timer.Reset(b.idle)
		defer b.timer.Stop()
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.failure(err)
	}
	return n, err
}

func (b *responseBody) all(r *Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(b, maxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBodyBytes {
		return nil, invalid(r, "the body is larger than 64 MiB")
	}
	b.call.client.log.responseBody(b.call, text)
	if into := b.call.settings.response; into != nil {
		into.Body = text
	}
	return text, nil
}

// Close closes the body. If the body was not read to its end, Close also closes the connection.
func (b *responseBody) Close() (err error) {
	if b.ReadCloser != nil {
		err = b.ReadCloser.Close()
	}
	b.timer.Stop()
	b.cancel(nil)
	return err
}

// interrupted returns an error if the call was aborted or the attempt timed out. Otherwise, it returns nil. slow
// names the function that the attempt is waiting for. It is empty if the attempt is waiting for the gateway.
func (b *responseBody) interrupted(slow string) error {
	switch {
	case b.call.ctx.Err() != nil:
		return aborted(b.call.ctx)
	case context.Cause(b.ctx) == errAttemptTimeout:
		connection := b.call.connectionError(errAttemptTimeout)
		connection.slow = slow
		return &APITimeoutError{connection, *b.call.settings.timeout}
	}
	return nil
}

// failure classifies an error from the HTTP client.
func (b *responseBody) failure(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the URL contains IDs, so leave it out
	}
	if ended := b.interrupted(""); ended != nil {
		return ended
	}
	connection := b.call.connectionError(err)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() { // timeout of the dialer or of the given HTTP client
		return &APITimeoutError{connection, *b.call.settings.timeout}
	}
	return connection
}

// connectionError returns an error that names the gateway's address. It contains neither the base URL's path nor the
// query.
func (c *call) connectionError(cause error) *APIConnectionError {
	return &APIConnectionError{Cause: cause, call: c.request.method + " " + c.request.path, origin: c.client.base.Scheme + "://" + c.client.base.Host}
}

func invalid(r *Response, problem string) error {
	return &InvalidResponseError{StatusCode: r.StatusCode, RequestID: r.Meta.RequestID, Problem: problem}
}

type failureFields struct {
	status    int // 0 without a response
	code      string
	requestID string
}

// Codes of failures that the caller causes. They are not logged.
const (
	codeAborted   = "aborted"
	codeArguments = "arguments"
)

func failureOf(err error) failureFields {
	var (
		api     *APIError
		stream  *StreamError
		invalid *InvalidResponseError
		timeout *APITimeoutError
		aborted *APIAbortedError
		wrong   *ConfigurationError
	)
	switch {
	case errors.As(err, &api):
		return failureFields{api.StatusCode, api.Code, api.RequestID}
	case errors.As(err, &stream):
		return failureFields{http.StatusOK, stream.Code, stream.RequestID}
	case errors.As(err, &invalid):
		return failureFields{invalid.StatusCode, "invalid_response", invalid.RequestID}
	case errors.As(err, &timeout):
		return failureFields{code: "timeout"}
	case errors.As(err, &aborted):
		return failureFields{code: codeAborted}
	case errors.As(err, &wrong):
		return failureFields{code: codeArguments}
	}
	return failureFields{code: "connection"}
}
