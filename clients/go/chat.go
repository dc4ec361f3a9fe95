package postern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"strings"
)

// Event is an event of a ChatStream: a DeltaEvent, ToolCallEvent, ToolCallDeltaEvent or DoneEvent.
type Event interface{ event() }

// DeltaEvent is the next part of the text.
type DeltaEvent struct {
	Text string `json:"text"`
}

// DoneEvent is the last event of a stream.
type DoneEvent struct {
	FinishReason FinishReason `json:"finishReason"`
	Provider     string       `json:"provider"`
	Model        string       `json:"model"`
	CacheHit     bool         `json:"cacheHit"`
	Usage        Usage        `json:"usage"`
	Attempts     int          `json:"attempts"`  // provider calls; 0 on a cache hit
	LatencyMs    int          `json:"latencyMs"` // time that the gateway took, in milliseconds
	Governor     *Governance  `json:"governor"`
}

func (DeltaEvent) event() {}
func (DoneEvent) event()  {}

// ChatStream is a completion that arrives in parts. Read it with Events, or all at once with Text, Usage or Final.
// Close it if you do not read it to the end. Several goroutines must not use it at the same time. To stop it from
// another goroutine, cancel the context that it was started with.
type ChatStream struct {
	call   hidden[*call]
	meta   Meta
	body   io.Closer
	source eventSource
	text   strings.Builder
	calls  toolCalls
	done   *DoneEvent
	err    error // the result of next once the stream has ended (errEnd if it is complete); nil until then
	ranged bool  // Events was ranged over
}

// errEnd ends a complete stream. Unlike io.EOF, it cannot be the error of a hook or a connection.
var errEnd = errors.New("end of the stream")

// eventSource returns a stream's events, and then errEnd or an error.
type eventSource interface{ next() (Event, error) }

// Chat starts a completion as a stream. It returns once the response's headers have arrived, and retries only until
// then. If it fails, the stream's methods return the error. The errors are those of Complete, and a *StreamError if
// the stream fails later.
func (s AIService) Chat(ctx context.Context, params CompletionParams, opts ...CallOption) *ChatStream {
	stream := &ChatStream{calls: toolCalls{}}
	r, err := params.completion("/api/ai/chat")
	var c *call
	if err == nil {
		c, err = s.client.newCall(ctx, r, opts)
	}
	if err == nil {
		stream.call = hide(c)
		c.header.Set("accept", "text/event-stream")
		err = c.run(stream.open)
	}
	stream.err = err
	return stream
}

// open takes over a response.
func (s *ChatStream) open(r *Response, body *responseBody) error {
	s.meta, s.body = r.Meta, body
	kind, _, _ := mime.ParseMediaType(r.Header.Get("content-type"))
	if kind == "text/event-stream" {
		body.timeEachRead(*s.call().settings.timeout)
		s.source = newEventStream(body)
		return nil
	}
	defer body.Close()
	text, err := body.all(r)
	if err != nil {
		return err
	}
	var whole completionBody
	if err := decode(r, text, &whole); err != nil {
		return err
	}
	s.source = newWholeCompletion(whole.whole(r.Meta))
	return nil
}

// next returns the next event, errEnd at the end, or an error.
func (s *ChatStream) next() (Event, error) {
	if s.err != nil {
		return nil, s.err
	}
	event, err := s.source.next()
	switch e := event.(type) {
	case DeltaEvent:
		s.text.WriteString(e.Text)
	case DoneEvent:
		s.done = &e
	default:
		s.calls.add(e)
	}
	if err == errEnd {
		s.call().client.log.responseBody(s.call(), []byte(s.text.String()))
	}
	if err != nil {
		s.end(s.failure(err))
	}
	return event, s.err
}

// failure completes an error from the source and logs it.
func (s *ChatStream) failure(err error) error {
	if err == errEnd {
		return err
	}
	var failed *StreamError
	if errors.As(err, &failed) {
		failed.Text = s.text.String()
		if failed.RequestID == "" {
			failed.RequestID = s.meta.RequestID
		}
	}
	s.call().client.log.failed(s.call(), err)
	return err
}

func (s *ChatStream) end(err error) {
	s.err = err
	s.body.Close()
}

// Events yields the stream's events once: deltas and tool calls, then one DoneEvent. An error comes last. Leaving the
// loop early closes the stream. If the stream was read before, Events yields only a *ConfigurationError.
//
//	for event, err := range stream.Events() {
//		if err != nil {
//			return err
//		}
//		switch e := event.(type) {
//		case postern.DeltaEvent:
//			fmt.Print(e.Text)
//		case postern.DoneEvent:
//			fmt.Println(e.Usage.CostCents)
//		}
//	}
func (s *ChatStream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s.ranged || s.err == errEnd {
			yield(nil, misconfigured("stream", "was read before: Final has the whole completion"))
			return
		}
		s.ranged = true
		defer s.Close()
		for {
			event, err := s.next()
			if err == errEnd || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Text reads the stream to its end and returns its entire text, including the text of events that were read before.
func (s *ChatStream) Text() (string, error) {
	for {
		switch _, err := s.next(); err {
		case nil:
		case errEnd:
			return s.text.String(), nil
		default:
			return "", err
		}
	}
}

// Usage reads the stream to its end and returns its token counts and cost.
func (s *ChatStream) Usage() (Usage, error) {
	c, err := s.Final()
	if err != nil {
		return Usage{}, err
	}
	return c.Usage, nil
}

// Final reads the stream to its end and returns it as a completion.
func (s *ChatStream) Final() (*Completion, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	d := s.done
	return &Completion{
		Text: text, ToolCalls: s.calls.all(), FinishReason: d.FinishReason, Provider: d.Provider, Model: d.Model, CacheHit: d.CacheHit,
		Usage: d.Usage, Attempts: d.Attempts, LatencyMs: d.LatencyMs, Governor: d.Governor, Meta: s.meta,
	}, nil
}

// Format writes the stream's request ID, for any verb.
func (s *ChatStream) Format(state fmt.State, _ rune) {
	requestID := ""
	if s != nil {
		requestID = s.meta.RequestID
	}
	_, _ = io.WriteString(state, "postern.ChatStream("+requestID+")")
}

// Meta returns the metadata from the response's headers. It is zero if the stream did not start.
func (s *ChatStream) Meta() Meta { return s.meta }

// Close ends the request if it is still in progress. It always returns nil. If the DoneEvent has not been read yet,
// Text, Usage and Final return an *APIAbortedError from now on.
func (s *ChatStream) Close() error {
	switch {
	case s.err != nil:
	case s.done != nil:
		s.end(errEnd)
	default:
		s.end(&APIAbortedError{Err: context.Canceled, Cause: errStreamClosed})
	}
	return nil
}

var errStreamClosed = errors.New("the stream was closed before its end")
