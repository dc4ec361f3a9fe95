package live_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
)

// carry is the stream after its state was written and read.
func carry(t testing.TB, s *live.Stream) *live.Stream {
	t.Helper()
	var w abi.Writer
	s.Fields(abi.WriteTo(&w))
	r := abi.Reader{Buf: w.Buf}
	next := &live.Stream{}
	next.Fields(abi.ReadFrom(&r))
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return next
}

func TestEmailIsRedacted(t *testing.T) {
	p := governor.NewPolicy()
	id, _ := governor.Lookup("personal.email")
	p.Set(governor.Output, id, governor.Redact)
	g := &live.Guard{Policy: p}
	s := &live.Stream{}
	var sent string
	for _, piece := range []string{"write ", "to jo", "e@exam", "ple.com", " today"} {
		s = carry(t, s)
		send, store := s.Deltas(g, []chat.Delta{{Kind: chat.DeltaText, Text: jsontext.Escaped(piece)}})
		if !slices.Equal(send, store) {
			t.Error("sent and stored text differ without placeholders")
		}
		for i := range send {
			sent += send[i].Text.Plain()
		}
	}
	_, send, _ := s.End(g, 0)
	for i := range send {
		sent += send[i].Text.Plain()
	}
	if want := "write to [EMAIL] today"; sent != want {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
