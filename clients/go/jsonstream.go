package postern

import (
	"context"
	"fmt"
	"iter"
)

// JSONStream is a ChatStream whose complete text is parsed at the end.
type JSONStream[T any] struct{ stream *ChatStream }

// ChatJSON starts a completion in mode json as a stream. Its events are the same as for Chat, and they arrive before
// the text is validated. Data and Final read the stream to its end. Then they parse and validate its text as
// CompleteJSON does, with the same schema and the same *OutputValidationError. All other errors are those of Chat.
func ChatJSON[T any](ctx context.Context, client *Client, params CompletionParams, opts ...CallOption) *JSONStream[T] {
	if err := client.check(ctx); err != nil {
		return &JSONStream[T]{&ChatStream{err: err}}
	}
	return &JSONStream[T]{client.AI.Chat(ctx, inJSONMode[T](params), opts...)}
}

// Events yields the stream's events once, like those of a ChatStream.
func (s *JSONStream[T]) Events() iter.Seq2[Event, error] { return s.stream.Events() }

// Text reads the stream to its end and returns its complete text without validating it.
func (s *JSONStream[T]) Text() (string, error) { return s.stream.Text() }

// Usage reads the stream to its end and returns its token counts and cost.
func (s *JSONStream[T]) Usage() (Usage, error) { return s.stream.Usage() }

// Data reads the stream to its end and returns its text as a T. It also works after you have read the events. If
// there are tool calls but no text, the result is zero.
func (s *JSONStream[T]) Data() (T, error) {
	final, err := s.Final()
	if err != nil {
		var none T
		return none, err
	}
	return final.Data, nil
}

// Final reads the stream to its end. It returns the completion with its Data.
func (s *JSONStream[T]) Final() (*JSONCompletion[T], error) {
	completion, err := s.stream.Final()
	if err != nil {
		return nil, err
	}
	return parsed[T](completion)
}

// Format writes the stream's request ID, for any verb.
func (s *JSONStream[T]) Format(state fmt.State, verb rune) {
	var stream *ChatStream
	if s != nil {
		stream = s.stream
	}
	stream.Format(state, verb)
}

// Meta returns the metadata from the response's headers. If the stream did not start, the metadata is zero.
func (s *JSONStream[T]) Meta() Meta { return s.stream.Meta() }

// Close ends the request if it is still in progress, like Close of a ChatStream. It always returns nil.
func (s *JSONStream[T]) Close() error { return s.stream.Close() }
