package postern

import (
	"context"
	"net/http"
	"time"
)

// OutgoingRequest is what a request hook gets: one attempt, before it is sent.
type OutgoingRequest struct {
	Method  string
	Path    string      // below the base URL, without the query
	Attempt int         // from 1
	Header  http.Header // without the API key; what the hook changes is sent with this attempt
}

// IncomingResponse is what a response hook gets, once the headers of a response have arrived.
type IncomingResponse struct {
	Method     string
	Path       string // below the base URL, without the query
	Attempt    int    // from 1
	StatusCode int
	Header     http.Header   // a copy
	RequestID  string        // as in the gateway's log; empty if the response has none
	Duration   time.Duration // from sending the request to the response's headers
}

// hooks are functions of the caller; nil is none.
type hooks struct {
	request  func(context.Context, *OutgoingRequest) error
	response func(context.Context, *IncomingResponse) error
}

// WithRequestHook calls hook before each attempt, also of streams. It may change the headers of the attempt, for example
// to add a traceparent, but neither the API key nor the headers of the connection. Its error ends the call, unchanged:
// nothing is sent, logged or repeated. hook is called by several goroutines at a time and should end with its context,
// which is that of the attempt. Of several request hooks, the last one counts.
func WithRequestHook(hook func(ctx context.Context, request *OutgoingRequest) error) Option {
	return clientOption(func(s *settings) { s.hooks.request = hook })
}

// WithResponseHook calls hook for each response, also with an error status, when its headers have arrived and before its
// body is read. Without a response it is not called. Its error ends the call, unchanged, and closes the response. Otherwise
// it is as WithRequestHook.
func WithResponseHook(hook func(ctx context.Context, response *IncomingResponse) error) Option {
	return clientOption(func(s *settings) { s.hooks.response = hook })
}

// hookError ends a call with the error of a hook, which is not the client's to judge: it does not unwrap.
type hookError struct{ cause error }

func (e *hookError) Error() string { return e.cause.Error() }

// header returns the headers of the attempt: those of the call, as the request hook has changed them, and the key.
func (b *responseBody) header() (http.Header, error) {
	c := b.call
	if err := b.readKey(); err != nil {
		return nil, err
	}
	header := c.header.Clone() // a hook and a cookie jar change it
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
	return merged(header, http.Header{"X-Api-Key": {c.key}}), nil // a copy: a hook may keep its own
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

// guard runs a hook. If the call is aborted or the attempt's time is over, that ends the call, whatever the hook does. A
// late hook does not repeat the call: its response may have arrived.
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

// interruptible runs f, a function of the caller, and returns its error. It returns earlier if ctx is done, since f might
// ignore it, and then runs on. A panic of f is one of the caller's goroutine, which may recover from it.
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
