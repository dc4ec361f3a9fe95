package postern

import (
	"context"
	"net/http"
	"time"
)

// OutgoingRequest is passed to a request hook. It describes an attempt that is about to be sent.
type OutgoingRequest struct {
	Method  string
	Path    string      // after the base URL, without the query
	Attempt int         // from 1
	Header  http.Header // without the API key; changes by the hook apply only to this attempt
}

// IncomingResponse is passed to a response hook once the headers of a response have arrived.
type IncomingResponse struct {
	Method     string
	Path       string // after the base URL, without the query
	Attempt    int    // from 1
	StatusCode int
	Header     http.Header   // a copy
	RequestID  string        // as in the gateway's log; empty if the response has none
	Duration   time.Duration // time from sending the request until the response's headers arrived
}

// hooks are the caller's functions, or nil.
type hooks struct {
	request  func(context.Context, *OutgoingRequest) error
	response func(context.Context, *IncomingResponse) error
}

// WithRequestHook calls hook before each attempt, including attempts to start streams. The hook may change the
// attempt's headers, for example to add a traceparent. It must not change the API key or the headers of the
// connection itself. If the hook returns an error, the call ends with that unchanged error: nothing is sent, logged
// or repeated. Several goroutines may call hook at the same time. Its context is the attempt's, and the hook should
// return when the context ends. If you set several request hooks, only the last one is called.
func WithRequestHook(hook func(ctx context.Context, request *OutgoingRequest) error) Option {
	return clientOption(func(s *settings) { s.hooks.request = hook })
}

// WithResponseHook calls hook for each response, including responses with an error status. It calls hook after the
// headers have arrived and before the body is read. If an attempt gets no response, hook is not called. If hook
// returns an error, the call ends with that unchanged error, and the response is closed. Everything else is as for
// WithRequestHook.
func WithResponseHook(hook func(ctx context.Context, response *IncomingResponse) error) Option {
	return clientOption(func(s *settings) { s.hooks.response = hook })
}

// hookError ends a call with a hook's error. It has no method Unwrap, so the client does not interpret the hook's
// error.
type hookError struct{ cause error }

func (e *hookError) Error() string { return e.cause.Error() }

// header returns the headers of the attempt: the call's headers, with the changes of the request hook, and the key.
func (b *responseBody) header() (http.Header, error) {
	c := b.call
	if err := b.readKey(); err != nil {
		return nil, err
	}
	header := c.header.Clone() // a copy, because a hook and a cookie jar may change the headers
	if hook := c.client.hooks.request; hook != nil {
		r := &OutgoingRequest{Method: c.request.method, Path: c.request.path, Attempt: c.attempts, Header: header}
		err := b.guard("the request hook", func(ctx context.Context) error { return hook(ctx, r) })
		if err != nil {
			return nil, err
		}
		if err := checkHeader("WithRequestHook: Header", r.Header); err != nil {
			return nil, err
		}
		header = r.Header
	}
	return merged(header, http.Header{"X-Api-Key": {c.key}}), nil // a copy, because the hook may keep and change its own
}

func (b *responseBody) show(r *Response, took time.Duration) error {
	c, hook := b.call, b.call.client.hooks.response
	if hook == nil {
		return nil
	}
	seen := &IncomingResponse{
		Method: c.request.method, Path: c.request.path, Attempt: c.attempts,
		StatusCode: r.StatusCode, Header: r.Header.Clone(), RequestID: r.Meta.RequestID, Duration: took,
	}
	return b.guard("the response hook", func(ctx context.Context) error { return hook(ctx, seen) })
}

// guard runs a hook. If the call is aborted or the attempt times out, the call ends even if the hook continues. A
// hook that takes too long does not cause a retry, because the response may have arrived.
func (b *responseBody) guard(name string, hook func(context.Context) error) error {
	err := interruptible(b.ctx, hook)
	if ended := b.interrupted(name); ended != nil {
		err = ended
	}
	if err != nil {
		return &hookError{err}
	}
	return nil
}

// interruptible runs f, a function of the caller, and returns its error. If ctx is done, it returns early, because f
// might ignore ctx. f then keeps running. If f panics, interruptible panics too, in the caller's goroutine, so that
// the caller can recover.
func interruptible(ctx context.Context, f func(context.Context) error) error {
	type outcome struct {
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: context.Canceled} // unless f returns
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.err = f(ctx)
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
