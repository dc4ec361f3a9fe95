// Package livestream sends a response through the stream checks as an exchange does, for tests. It does so in every
// wire form: translated into each dialect that callers use, or passed through in each dialect that providers use.
package livestream

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	fromanthropic "github.com/postern-ai/postern/core/provider/anthropic"
	fromopenai "github.com/postern-ai/postern/core/provider/openai"
	fromresponses "github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

// Form is a wire form of a stream.
type Form struct {
	Name    string
	Dialect chat.Dialect
	Through bool // events are passed through
}

// Forms are all wire forms.
var Forms = []Form{
	{"native", chat.Native, false},
	{"OpenAI", chat.OpenAI, false},
	{"Responses", chat.Responses, false},
	{"Anthropic", chat.Anthropic, false},
	{"OpenAI through", chat.OpenAI, true},
	{"Responses through", chat.Responses, true},
	{"Anthropic through", chat.Anthropic, true},
}

// Result is a response as it came out of the checks.
type Result struct {
	Sent     chat.Response // as the caller's client reads it
	Stored   chat.Response // for the cache
	Bytes    []byte        // what the caller got
	Steps    []int         // passed through: the length of Bytes after each event
	Stream   *live.Stream  // at the end
	MaxState int           // the size of the largest state between two steps, in bytes

	whole *live.Stream // the same as Stream, but never decoded from its state; equal events must give equal results
}

// encoders and decoders of the dialects.
type family struct {
	stream func([]byte, *api.State, *chat.Delta, *api.Meta) []byte
	end    func([]byte, *api.State, *chat.Response, *api.Meta) []byte
	read   func(*wire.State, string, gjson.Result, []chat.Delta) ([]chat.Delta, bool)
}

var families = map[chat.Dialect]family{
	chat.Native:    {native.Stream, native.End, nil},
	chat.OpenAI:    {openai.Stream, openai.End, fromopenai.Stream},
	chat.Responses: {responses.Stream, responses.End, fromresponses.Stream},
	chat.Anthropic: {anthropic.Stream, anthropic.End, fromanthropic.Stream},
}

var meta = api.Meta{RequestID: "req_1", Model: "test-model", Provider: "test", CreatedMs: 1795313530000}

// Encode returns the stream of a provider that responds with deltas.
func Encode(d chat.Dialect, deltas []chat.Delta) []byte {
	return encode(d, &api.State{}, deltas, chat.Fold(deltas))
}

func encode(d chat.Dialect, s *api.State, deltas []chat.Delta, whole chat.Response) (out []byte) {
	f := families[d]
	for i := range deltas {
		out = f.stream(out, s, &deltas[i], &meta)
	}
	return f.end(out, s, &whole, &meta)
}

// Run sends a response through the checks. Between two steps, only the state of the checks is kept. A passed-through
// stream arrives in chunks of size bytes. If size is 0, it arrives in one chunk.
func Run(form Form, g *live.Guard, deltas []chat.Delta, size int) (Result, error) {
	if form.Through {
		return Through(form.Dialect, g, Encode(form.Dialect, deltas), size)
	}
	r := Result{Stream: &live.Stream{}}
	var send, store []chat.Delta
	for i := range deltas {
		out, kept := r.Stream.Deltas(g, deltas[i:i+1])
		send, store = append(send, out...), append(store, kept...)
		r.Steps = append(r.Steps, size)
		if err := r.carry(); err != nil || r.ended() {
			break
		}
	}
	if !r.ended() {
		_, out, kept := r.Stream.End(g, 0)
		send, store = append(send, out...), append(store, kept...)
	}
	r.Stored = chat.Fold(store)
	whole := chat.Fold(send)
	r.Bytes = encode(form.Dialect, &api.State{}, send, whole)
	var err error
	if form.Dialect == chat.Native {
		r.Sent, err = readNative(r.Bytes)
	} else {
		r.Sent, err = Read(form.Dialect, r.Bytes)
	}
	return r, err
}

// ended reports whether nothing else may be sent.
func (r *Result) ended() bool { return r.Stream.Blocked() || r.Stream.Failed() }

// carry replaces the stream with one that was decoded from its state.
func (r *Result) carry() error {
	var w abi.Writer
	r.Stream.Fields(abi.WriteTo(&w))
	r.MaxState = max(r.MaxState, len(w.Buf))
	reader := abi.Reader{Buf: w.Buf}
	r.Stream = &live.Stream{}
	r.Stream.Fields(abi.ReadFrom(&reader))
	return reader.End()
}

// Through passes a provider's stream through the checks, in chunks of size bytes, or in one chunk if size is 0.
func Through(d chat.Dialect, g *live.Guard, stream []byte, size int) (Result, error) {
	r := Result{Stream: &live.Stream{}, whole: &live.Stream{}}
	parser, state := sse.Parser{}, wire.State{}
	var store []chat.Delta
	for at := 0; at < len(stream) && !r.ended(); {
		end := len(stream)
		if size > 0 {
			end = min(at+size, end)
		}
		events, ok := parser.Feed(stream[at:end], end == len(stream))
		if !ok {
			return r, errors.New("the provider's stream is malformed")
		}
		at = end
		for i := range events {
			if err := r.event(d, g, &events[i], &state, &store); err != nil {
				return r, err
			}
			if r.ended() {
				break
			}
		}
	}
	if !r.ended() {
		events, _, kept := r.Stream.End(g, d)
		store = append(store, kept...)
		for i := range events {
			r.Bytes = appendEvent(r.Bytes, &events[i])
		}
	}
	r.Stored = chat.Fold(store)
	var err error
	r.Sent, err = Read(d, r.Bytes)
	return r, err
}

// event processes one event.
func (r *Result) event(d chat.Dialect, g *live.Guard, e *sse.Event, state *wire.State, store *[]chat.Delta) error {
	if string(e.Data) == "[DONE]" {
		return nil
	}
	if p := jsontext.Check(e.Data); p != jsontext.OK {
		return fmt.Errorf("the provider's event %s %s", e.Data, p)
	}
	deltas, ok := families[d].read(state, e.Name, gjson.ParseBytes(e.Data), nil)
	if !ok {
		return fmt.Errorf("the provider's event %s is not read", e.Data)
	}
	wantEvents, wantKept := r.whole.Event(g, d, e, slices.Clone(deltas))
	events, kept := r.Stream.Event(g, d, e, deltas)
	if !reflect.DeepEqual(events, wantEvents) || !reflect.DeepEqual(kept, wantKept) {
		return fmt.Errorf("the event %s gives %s and %+v, and in the step of the event before %s and %+v", e.Data, events, kept, wantEvents, wantKept)
	}
	*store = append(*store, kept...)
	for i := range events {
		r.Bytes = appendEvent(r.Bytes, &events[i])
	}
	r.Steps = append(r.Steps, len(r.Bytes))
	return r.carry()
}

func appendEvent(out []byte, e *sse.Event) []byte {
	if e.Name != "" {
		out = append(append(append(out, "event: "...), e.Name...), '\n')
	}
	return append(append(append(out, "data: "...), e.Data...), "\n\n"...)
}

// Read returns the response that a client reads from a stream.
func Read(d chat.Dialect, stream []byte) (chat.Response, error) {
	parser, state := sse.Parser{}, wire.State{}
	events, _ := parser.Feed(stream, true)
	var deltas []chat.Delta
	for _, e := range events {
		if string(e.Data) == "[DONE]" {
			continue
		}
		if p := jsontext.Check(e.Data); p != jsontext.OK {
			return chat.Response{}, fmt.Errorf("the caller's event %s %s", e.Data, p)
		}
		var ok bool
		if deltas, ok = families[d].read(&state, e.Name, gjson.ParseBytes(e.Data), deltas); !ok {
			return chat.Response{}, fmt.Errorf("the caller's event %s is not read", e.Data)
		}
	}
	return chat.Fold(deltas), nil
}

// readNative reads a stream in our own dialect.
func readNative(stream []byte) (chat.Response, error) {
	parser := sse.Parser{}
	events, _ := parser.Feed(stream, true)
	var deltas []chat.Delta
	for _, e := range events {
		if string(e.Data) == "[DONE]" {
			continue
		}
		if p := jsontext.Check(e.Data); p != jsontext.OK {
			return chat.Response{}, fmt.Errorf("the caller's event %s %s", e.Data, p)
		}
		root := gjson.ParseBytes(e.Data)
		if root.Get("type").Str == "delta" {
			deltas = append(deltas, chat.Delta{Kind: chat.DeltaText, Text: wire.Text(root.Get("text"))})
		}
	}
	return chat.Fold(deltas), nil
}

// Text returns the decoded text of one kind in a response's choice.
func Text(r *chat.Response, choice int, kind chat.PartKind) string {
	if choice >= len(r.Choices) {
		return ""
	}
	all := ""
	for _, p := range r.Choices[choice].Parts {
		switch {
		case p.Kind != kind:
		case kind == chat.ToolCall:
			all += p.Args
		default:
			all += p.Text.Plain()
		}
	}
	return all
}
