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
	Header  http.Header // without the API key; the hook's changes apply to this attempt
}

// IncomingResponse is passed to a response hook once the headers of a response have arrived.
type IncomingResponse struct {
	Method     string
	Path       string // after the base URL, without the query
	Attempt    int    // from 1
	StatusCode int
	Header     http.Header   // a copy
	RequestID  string        // as in the gateway's log; empty if the response has none
	Duration   time.Duration // from sending the request until the response's headers arrived
}

// hooks are the caller's functions. A nil field means that there is no such hook.
type hooks struct {
	request  func(context.Context, *OutgoingRequest) error
	response func(context.Context, *IncomingResponse) error
}

// WithRequestHook calls hook before each attempt, including those of streams. It may change the attempt's headers,
// for example to add a traceparent, except the API key and the headers of the connection itself. If it returns an
// error, the call ends with that error unchanged: nothing is sent, logged or repeated. Several goroutines may call
// hook at the same time. It should return when its context, that of the attempt, ends. If there are several request
// hooks, only the last one is called.
func WithRequestHook(hook func(ctx context.Context, request *OutgoingRequest) error) Option {
	return clientOption(func(s *settings) { s.hooks.request = hook })
}

// WithResponseHook calls hook for each response, including those with an error status, after its headers have arrived
// and before its body is read. Without a response, hook is not called. If it returns an error, the call ends with
// that error unchanged, and the response is closed. Otherwise it works like WithRequestHook.
func WithResponseHook(hook func(ctx context.Context, response *IncomingResponse) error) Option {
	return clientOption(func(s *settings) { s.hooks.response = hook })
}

// hookError ends a call with a hook's error. It does not unwrap, so the client does not interpret that error.
type hookError struct{ cause error }

func (e *hookError) Error() string { return e.cause.Error() }

// header returns the headers of the attempt: those of the call, with the request hook's changes, and the key.
func (b *responseBody) header() (http.Header, error) {
	c := b.call
	if err := b.readKey(); err != nil {
		return nil, err
	}
	header := c.header.Clone() // because a hook and a cookie jar may change it
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
	return merged(header, http.Header{"X-Api-Key": {c.key}}), nil // a copy, because the hook may keep its own
}

// show calls the response hook.
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

// guard runs a hook. If the call is aborted or the attempt times out, the call ends, whatever the hook does. A hook
// that takes too long does not cause a retry, because the response may have arrived.
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

// interruptible runs f, a function of the caller, and returns its error. It returns early if ctx is done, because f
// might ignore ctx. f then keeps running. A panic in f becomes a panic in the caller's goroutine, which may recover
// from it.
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
