package live_test

import (
	"os"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
	"github.com/postern-ai/postern/test/livestream"
)

// longAnswer returns the deltas of a response: 4 KB of prose in 200 pieces.
func longAnswer(b *testing.B) []chat.Delta {
	b.Helper()
	prose, err := os.ReadFile("../../../docs/project/decisions/core-and-hosts.md")
	if err != nil {
		b.Fatal(err)
	}
	deltas := []chat.Delta{{Kind: chat.DeltaStart, ID: "chatcmpl-1", Model: "gpt"}}
	for i := range 200 {
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaText, Text: jsontext.Escape(string(prose[2000+20*i : 2020+20*i]))})
	}
	return append(deltas, chat.Delta{Kind: chat.DeltaFinish, Finish: chat.FinishStop}, chat.Delta{Kind: chat.DeltaEnd})
}

// events returns the events of an OpenAI stream with the response of longAnswer.
func events(b *testing.B) []sse.Event {
	parser := sse.Parser{}
	all, _ := parser.Feed(livestream.Encode(chat.OpenAI, longAnswer(b)), true)
	return all
}

// steps does what the steps of an exchange do, but without the checks: it validates and decodes each event.
func steps(events []sse.Event, each func(e *sse.Event, deltas []chat.Delta)) {
	state := wire.State{}
	for i := range events {
		if string(events[i].Data) == "[DONE]" || jsontext.Check(events[i].Data) != jsontext.OK {
			continue
		}
		deltas, _ := openai.Stream(&state, "", gjson.ParseBytes(events[i].Data), nil)
		each(&events[i], deltas)
	}
}

func BenchmarkPlain(b *testing.B) {
	all := events(b)
	b.ReportAllocs()
	for b.Loop() {
		steps(all, func(*sse.Event, []chat.Delta) {})
	}
}

// BenchmarkThrough is like BenchmarkPlain. It also checks the passed-through events and carries the state from step
// to step.
func BenchmarkThrough(b *testing.B) {
	all := events(b)
	b.ReportAllocs()
	for b.Loop() {
		var s live.Stream
		g := &live.Guard{Policy: governor.NewPolicy()}
		var w abi.Writer
		steps(all, func(e *sse.Event, deltas []chat.Delta) {
			s.Event(g, chat.OpenAI, e, deltas)
			w.Buf = w.Buf[:0]
			s.Fields(abi.WriteTo(&w))
			s = live.Stream{}
			r := abi.Reader{Buf: append([]byte(nil), w.Buf...)}
			s.Fields(abi.ReadFrom(&r))
		})
	}
}

// BenchmarkTranslated is like BenchmarkThrough for a translated stream. It checks deltas.
func BenchmarkTranslated(b *testing.B) {
	all := events(b)
	b.ReportAllocs()
	for b.Loop() {
		var s live.Stream
		g := &live.Guard{Policy: governor.NewPolicy()}
		var w abi.Writer
		steps(all, func(_ *sse.Event, deltas []chat.Delta) {
			s.Deltas(g, deltas)
			w.Buf = w.Buf[:0]
			s.Fields(abi.WriteTo(&w))
			s = live.Stream{}
			r := abi.Reader{Buf: append([]byte(nil), w.Buf...)}
			s.Fields(abi.ReadFrom(&r))
		})
	}
}
