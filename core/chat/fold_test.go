package chat_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

func init() { suite.FixSeed(nil) }

func text(t *rapid.T, name string) jsontext.Escaped {
	return jsontext.Escape(rapid.StringN(1, 40, 200).Draw(t, name))
}

// randomResponse returns a response as providers send it. No two consecutive parts have the same kind, except tool
// calls.
func randomResponse(t *rapid.T) chat.Response {
	r := chat.Response{ID: text(t, "id"), Model: text(t, "model"), Usage: chat.Usage{Input: 3, Output: rapid.Uint64().Draw(t, "output"), Reported: true}}
	for range rapid.IntRange(1, 3).Draw(t, "choices") {
		a := chat.Answer{Finish: chat.FinishStop}
		last := chat.PartKind(0)
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			p := chat.Part{Kind: rapid.SampledFrom([]chat.PartKind{chat.Text, chat.Refusal, chat.Thinking, chat.Redacted, chat.ToolCall}).Draw(t, "kind")}
			switch p.Kind {
			case last:
				continue
			case chat.Redacted:
				p.Data = text(t, "data")
			case chat.ToolCall:
				p.ID, p.Name, p.Args = text(t, "call"), text(t, "name"), `{"a":"`+string(text(t, "argument"))+`"}`
			case chat.Thinking:
				p.Text, p.Signature = text(t, "thought"), text(t, "signature")
			default:
				p.Text = text(t, "text")
			}
			last = p.Kind
			a.Parts = append(a.Parts, p)
		}
		r.Choices = append(r.Choices, a)
	}
	return r
}

// TestFoldUndoesUnfold: Fold restores a response that Unfold split into pieces of any size.
func TestFoldUndoesUnfold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := randomResponse(t)
		var w abi.Writer
		for _, d := range chat.Unfold(&want, rapid.IntRange(1, 50).Draw(t, "size")) {
			if jsontext.Check([]byte(`"`+string(d.Text)+`"`)) != jsontext.OK {
				t.Fatalf("a piece ends inside a character: %q", d.Text)
			}
			chat.AppendDelta(&w, &d)
		}
		deltas, err := chat.ReadDeltas(w.Buf)
		if got := chat.Fold(deltas); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
		}
	})
}

// TestInterleavedCalls: argument pieces of parallel calls may be interleaved.
func TestInterleavedCalls(t *testing.T) {
	r := chat.Fold([]chat.Delta{
		{Kind: chat.DeltaTool, Index: 0, ID: "a", Name: "f"}, {Kind: chat.DeltaTool, Index: 1, ID: "b", Name: "g"},
		{Kind: chat.DeltaArgs, Index: 1, Text: `{\"y\":`}, {Kind: chat.DeltaArgs, Index: 0, Text: `{\"x\":1`},
		{Kind: chat.DeltaArgs, Index: 1, Text: `2}`}, {Kind: chat.DeltaArgs, Index: 0, Text: `}`},
		{Kind: chat.DeltaFinish, Finish: chat.FinishTools},
	})
	want := []chat.Part{{Kind: chat.ToolCall, ID: "a", Name: "f", Args: `{"x":1}`}, {Kind: chat.ToolCall, ID: "b", Name: "g", Args: `{"y":2}`}}
	if !reflect.DeepEqual(r.Choices[0].Parts, want) {
		t.Errorf("%+v", r.Choices[0].Parts)
	}
}

func TestLogProbsAreJoined(t *testing.T) {
	r := chat.Fold([]chat.Delta{
		{Kind: chat.DeltaLogProbs, JSON: `{"content":[{"token":"a"}],"refusal":null}`}, {Kind: chat.DeltaText, Text: "a"},
		{Kind: chat.DeltaLogProbs, JSON: `{"content":[{"token":"b"}]}`}, {Kind: chat.DeltaText, Text: "b"},
	})
	if got := r.Choices[0].LogProbs; got != `{"content":[{"token":"a"},{"token":"b"}],"refusal":null}` {
		t.Error(got)
	}
}

// TestHostileDeltas: a provider's huge choice and call numbers do not make Fold allocate memory.
func TestHostileDeltas(t *testing.T) {
	r := chat.Fold([]chat.Delta{
		{Kind: chat.DeltaText, Choice: 1 << 40, Text: "x"}, {Kind: chat.DeltaArgs, Index: 1 << 50, Text: "x"}, {Kind: chat.DeltaFinish, Choice: 127},
	})
	if len(r.Choices) != 128 {
		t.Errorf("%d choices, want 128", len(r.Choices))
	}
}
