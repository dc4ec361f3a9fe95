package postern

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// drainTimeout limits the time between the end of a stream and the end of its response. A connection is reused only
// if its response was read to the end.
const (
	drainTimeout  = 100 * time.Millisecond
	maxDrainBytes = 4096
)

// Codes of stream errors that the client creates. All other codes come from the gateway.
const (
	codeIncomplete   = "incomplete_stream"
	codeLost         = "connection_lost"
	codeIdle         = "idle_timeout"
	codeInvalidEvent = "invalid_event"
	codeTooLarge     = "event_too_large"
	codeStream       = "stream_error" // an error event without a code
)

type eventStream struct {
	body   *responseBody
	reader *eventReader
	done   bool // the done event was read, so the stream is complete and later failures do not matter
}

func newEventStream(body *responseBody) *eventStream {
	return &eventStream{body: body, reader: newEventReader(body)}
}

func (s *eventStream) next() (Event, error) {
	if s.done {
		s.drain()
		return nil, errEnd
	}
	for {
		data, err := s.reader.next()
		if err == nil && string(data) == "[DONE]" {
			err = io.EOF
		}
		if err != nil {
			return nil, streamFailure(err)
		}
		event, err := newEvent(data)
		if event == nil && err == nil {
			continue
		}
		_, s.done = event.(DoneEvent)
		return event, err
	}
}

// drain reads the rest of the response so that the connection can be reused.
func (s *eventStream) drain() {
	s.body.timeAll(s.body.call.client.drain)
	_, _ = io.Copy(io.Discard, io.LimitReader(s.body, maxDrainBytes))
}

// streamFailure returns the error for a body that ended before the done event.
func streamFailure(err error) error {
	var (
		aborted *APIAbortedError
		timeout *APITimeoutError
	)
	switch {
	case errors.As(err, &aborted):
		return err
	case err == io.EOF:
		return &StreamError{Code: codeIncomplete, Message: "the stream ended early"}
	case err == errEventTooLarge:
		return &StreamError{Code: codeTooLarge, Message: err.Error()}
	case errors.As(err, &timeout):
		return &StreamError{Code: codeIdle, Message: "no data within the timeout", Cause: err}
	}
	return &StreamError{Code: codeLost, Message: "the connection was lost", Cause: err}
}

// newEvent parses an event. If the event is a delta without text, or of a type that this version does not know, both
// results are nil.
func newEvent(data []byte) (Event, error) {
	var header struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(data, &header)
	if err != nil || data[0] != '{' {
		return nil, invalidEvent()
	}
	var event Event
	switch header.Type {
	case "delta":
		var e DeltaEvent
		if err = json.Unmarshal(data, &e); e.Text != "" {
			event = e
		}
	case "toolCall", "toolCallDelta":
		return newToolEvent(data)
	case "done":
		var e DoneEvent
		err = json.Unmarshal(data, &e)
		event = e
	case "error":
		return nil, errorEvent(data)
	}
	if err != nil {
		return nil, invalidEvent()
	}
	return event, nil
}

func invalidEvent() error {
	return &StreamError{Code: codeInvalidEvent, Message: "an event is not the expected JSON object"}
}

func errorEvent(data []byte) error {
	e := struct {
		Error     string    `json:"error"`
		Code      string    `json:"code"`
		RequestID string    `json:"requestId"`
		Findings  []Finding `json:"findings"`
	}{Error: "the stream failed", Code: codeStream}
	if json.Unmarshal(data, &e) != nil {
		return invalidEvent()
	}
	return &StreamError{Message: e.Error, Code: e.Code, RequestID: e.RequestID, Findings: e.Findings}
}

// wholeCompletion returns the events for a non-streaming completion.
type wholeCompletion struct{ events []Event }

func newWholeCompletion(c *Completion) *wholeCompletion {
	var events []Event
	if c.Text != "" {
		events = append(events, DeltaEvent{c.Text})
	}
	for i, call := range c.ToolCalls {
		events = append(events, ToolCallEvent{i, call.ID, call.Name}, ToolCallDeltaEvent{i, string(call.Arguments)})
	}
	return &wholeCompletion{append(events, DoneEvent{
		FinishReason: c.FinishReason, Provider: c.Provider, Model: c.Model, CacheHit: c.CacheHit, Usage: c.Usage,
		Attempts: c.Attempts, LatencyMs: c.LatencyMs, Governor: c.Governor,
	})}
}

func (s *wholeCompletion) next() (Event, error) {
	if len(s.events) == 0 {
		return nil, errEnd
	}
	event := s.events[0]
	s.events = s.events[1:]
	return event, nil
}
