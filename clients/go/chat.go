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
	Attempts     int          `json:"attempts"`  // number of calls to providers; 0 on a cache hit
	LatencyMs    int          `json:"latencyMs"` // time that the gateway took for the request, in milliseconds
	Governor     *Governance  `json:"governor"`
}

func (DeltaEvent) event() {}
func (DoneEvent) event()  {}

// ChatStream is a completion that arrives in parts. Read it with Events, or all at once with Text, Usage or Final. If
// you do not read it to the end, close it. Only one goroutine may use it at a time. To stop it from another
// goroutine, cancel the context that you passed to Chat.
type ChatStream struct {
	call   hidden[*call]
	meta   Meta
	body   io.Closer
	source eventSource
	text   strings.Builder
	calls  toolCalls
	done   *DoneEvent
	err    error // the result of next after the end of the stream (errEnd if it is complete); nil before
	ranged bool  // Events was ranged over
}

// errEnd ends a complete stream. It is not io.EOF, because a hook or a connection may return io.EOF.
var errEnd = errors.New("end of the stream")

// eventSource returns a stream's events one by one. The error after the last one is errEnd if the stream is complete.
type eventSource interface{ next() (Event, error) }

// Chat starts a completion as a stream. It returns after the response's headers have arrived, and retries only until
// then. If it fails, the stream's methods return the error. The errors are those of Complete. If the stream fails
// after its headers have arrived, the error is a *StreamError.
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

// next returns the next event or an error. The error at the end is errEnd.
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

// Events yields the deltas and tool calls, then one DoneEvent. If the stream fails, Events yields the error last. If
// you leave the loop early, the stream is closed. Range over Events only once, and only if nothing else has read the
// stream to its end. Otherwise, Events yields only a *ConfigurationError.
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

// Text reads the stream to its end. It returns the entire text, including the text of events that you have already
// read.
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

// Meta returns the metadata from the response's headers. If the stream did not start, the metadata is zero.
func (s *ChatStream) Meta() Meta { return s.meta }

// Close ends the request if it is still in progress. It always returns nil. If you close a stream before its
// DoneEvent was read, Text, Usage and Final return an *APIAbortedError.
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
