package governor_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/test/livestream"
)

// redacting returns a policy that redacts every finding in responses.
func redacting() *governor.Policy {
	p := governor.NewPolicy()
	for i := range governor.Table() {
		p.Set(governor.Output, governor.ID(i), governor.Redact)
	}
	return p
}

// whole scans all of a text at once and returns the redacted text.
func whole(p *governor.Policy, text []byte) string {
	found := governor.Scan(text, p.Rules(governor.Output), nil)
	return string(new(governor.Redactor).Apply(nil, text, p, governor.Output, found))
}

// answer returns the deltas of a response. Its text or its arguments arrive in pieces.
func answer(kind chat.DeltaKind, pieces ...string) []chat.Delta {
	deltas := []chat.Delta{{Kind: chat.DeltaStart, ID: "id", Model: "model"}}
	if kind == chat.DeltaArgs {
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaTool, ID: "call_1", Name: "send"})
	}
	for _, piece := range pieces {
		deltas = append(deltas, chat.Delta{Kind: kind, Text: jsontext.Escape(piece)})
	}
	finish := chat.FinishStop
	if kind == chat.DeltaArgs {
		finish = chat.FinishTools
	}
	return append(deltas, chat.Delta{Kind: chat.DeltaFinish, Finish: finish}, chat.Delta{Kind: chat.DeltaUsage}, chat.Delta{Kind: chat.DeltaEnd})
}

// straight runs deltas through the checks and joins the text that is sent. It carries the state from delta to delta.
func straight(t testing.TB, g *live.Guard, deltas []chat.Delta) string {
	s := &live.Stream{}
	var sent strings.Builder
	collect := func(all []chat.Delta) {
		for i := range all {
			if all[i].Content() {
				sent.WriteString(string(all[i].Text))
			}
		}
	}
	for i := range deltas {
		out, _ := s.Deltas(g, deltas[i:i+1])
		collect(out)
		var w abi.Writer
		s.Fields(abi.WriteTo(&w))
		r := abi.Reader{Buf: w.Buf}
		s = &live.Stream{}
		if s.Fields(abi.ReadFrom(&r)); r.End() != nil {
			t.Fatal("malformed state")
		}
	}
	_, out, _ := s.End(g, 0)
	collect(out)
	return jsontext.Escaped(sent.String()).Plain()
}

// TestEverySplitOfAStream streams every positive in two pieces, for every position of the cut. The result is the same
// as after a single scan.
func TestEverySplitOfAStream(t *testing.T) {
	p := redacting()
	g := &live.Guard{Policy: p}
	for _, e := range governor.Positives(t) {
		want := whole(p, e.Text)
		text := string(e.Text)
		if strings.Contains(want, text) {
			t.Fatalf("%s: not found at all", e.Line)
		}
		step := 1 + len(text)/300
		for cut := 0; cut <= len(text); cut += step {
			if cut < len(text) && !utf8.RuneStart(text[cut]) {
				continue
			}
			if got := straight(t, g, answer(chat.DeltaText, text[:cut], text[cut:])); got != want {
				t.Fatalf("%s\ncut at %d gives %q\nwant %q", e.Line, cut, got, want)
			}
		}
	}
}

func characters(text string) (pieces []string) {
	for _, r := range text {
		pieces = append(pieces, string(r))
	}
	return pieces
}

// TestEveryWireForm streams every positive, character by character, in every wire form. The positive is a text or is
// in arguments.
func TestEveryWireForm(t *testing.T) {
	p := redacting()
	g := &live.Guard{Policy: p}
	for i, e := range governor.Positives(t) {
		if len(e.Text) > 700 && i%8 > 0 {
			continue
		}
		for n, form := range livestream.Forms {
			if (i+n)%3 != 0 {
				continue // each example is sent in two or three of the forms
			}
			checkText(t, form, g, e)
			if form.Dialect != chat.Native {
				checkArguments(t, form, g, e)
			}
		}
	}
}

func checkText(t *testing.T, form livestream.Form, g *live.Guard, e governor.Positive) {
	t.Helper()
	want := whole(g.Policy, e.Text)
	r, err := livestream.Run(form, g, answer(chat.DeltaText, characters(string(e.Text))...), 7)
	if err != nil {
		t.Fatalf("%s %s: %v", form.Name, e.Line, err)
	}
	if got := livestream.Text(&r.Sent, 0, chat.Text); got != want {
		t.Fatalf("%s %s\nsent %q\nwant %q", form.Name, e.Line, got, want)
	}
	if got := livestream.Text(&r.Stored, 0, chat.Text); got != want {
		t.Fatalf("%s %s\nstored %q\nwant %q", form.Name, e.Line, got, want)
	}
	for _, f := range governor.Scan(e.Text, g.Policy.Rules(governor.Output), nil) {
		if secret := []byte(jsontext.Escape(string(e.Text[f.Start:f.End]))); f.End-f.Start > 8 && bytes.Contains(r.Bytes, secret) {
			t.Fatalf("%s %s\nthe stream has the finding: %s", form.Name, e.Line, r.Bytes)
		}
	}
}

func checkArguments(t *testing.T, form livestream.Form, g *live.Guard, e governor.Positive) {
	t.Helper()
	inside := `{"text":"` + string(jsontext.Escape(string(e.Text))) + `"}`
	r, err := livestream.Run(form, g, answer(chat.DeltaArgs, characters(inside)...), 11)
	if err != nil {
		t.Fatalf("%s %s: %v", form.Name, e.Line, err)
	}
	got := livestream.Text(&r.Sent, 0, chat.ToolCall)
	if jsontext.Check([]byte(got)) != jsontext.OK {
		t.Fatalf("%s %s\narguments %s are not JSON", form.Name, e.Line, got)
	}
	for _, f := range governor.Scan(e.Text, g.Policy.Rules(governor.Output), nil) {
		if secret := string(e.Text[f.Start:f.End]); f.Rule == e.Rule && len(secret) > 8 && strings.Contains(got, string(jsontext.Escape(secret))) {
			t.Fatalf("%s %s\narguments have the finding: %s", form.Name, e.Line, got)
		}
	}
}
