package classify_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/classify"
	"github.com/postern-ai/postern/core/jsontext"
)

func conversation(texts ...jsontext.Escaped) (messages []chat.Message) {
	for _, text := range texts {
		messages = append(messages, chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: text}}})
	}
	return messages
}

// TestTextKeepsTheEnd: a long conversation loses its start. The cut is never inside a character or an escape.
func TestTextKeepsTheEnd(t *testing.T) {
	const most = 32_000
	for name, unit := range map[string]string{
		"ASCII": "a", "two bytes": "é", "four bytes": "😀", "escape": `\\n`, "quote": `\\"`, "unicode escape": `\\u00e9`, "pair": `\\ud83d\\ude00`,
	} {
		unit = strings.ReplaceAll(unit, `\\`, `\`)
		for shift := range 13 {
			long := jsontext.Escaped(strings.Repeat(unit, most/len(unit)+20) + strings.Repeat("x", shift))
			got := classify.Text(conversation("first", long))
			whole := "first" + `\n` + string(long) + `\n`
			switch {
			case len(got) > most || len(got) < most-12:
				t.Errorf("%s: %d bytes", name, len(got))
			case !strings.HasSuffix(whole, string(got)):
				t.Errorf("%s: no end of the text", name)
			case jsontext.Check([]byte(`"`+string(got)+`"`)) != jsontext.OK || strings.HasPrefix(string(got), `\ude00`):
				t.Errorf("%s, shifted by %d: begins inside of a character: %q", name, shift, got[:12])
			}
		}
	}
	if got := classify.Text(conversation("a", "b")); got != `a\nb\n` {
		t.Errorf("%q", got)
	}
}

func TestScores(t *testing.T) {
	for _, c := range []struct {
		kind governor.ClassifierKind
		text string
		want uint64
		ok   bool
	}{
		{governor.ChatClassifier, `{"risk": 70}`, 70, true}, {governor.ChatClassifier, ` {"risk": 0.4, "x": 1} `, 0, true},
		{governor.ChatClassifier, `{"risk": 101}`, 0, false}, {governor.ChatClassifier, `{"risk": -1}`, 0, false},
		{governor.ChatClassifier, `{"risk": "70"}`, 0, false}, {governor.ChatClassifier, `risk: 70`, 0, false}, {governor.ChatClassifier, ``, 0, false},
		{governor.LlamaGuardClassifier, "safe", 0, true}, {governor.LlamaGuardClassifier, "\n\nunsafe\nS1,S2", 100, true},
		{governor.LlamaGuardClassifier, "unsafely", 0, false}, {governor.LlamaGuardClassifier, "", 0, false},
	} {
		r := chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: jsontext.Escape(c.text)}}}}}
		if got, ok := classify.Score(c.kind, &r); got != c.want || ok != c.ok {
			t.Errorf("%q: %d %v, want %d %v", c.text, got, ok, c.want, c.ok)
		}
	}
	if _, ok := classify.Score(governor.ChatClassifier, &chat.Response{}); ok {
		t.Error("a response without choices has a score")
	}
	for text, want := range map[string]int{
		`{"results":[{"flagged":false,"category_scores":{"hate":0.031,"violence":0.226}}]}`: 23,
		`{"results":[{"flagged":true,"category_scores":{"hate":0.5}}]}`:                     100,
		`{"results":[{"flagged":false,"category_scores":{"hate":2}}]}`:                      -1,
		`{"results":[{"flagged":false,"category_scores":{"hate":"x"}}]}`:                    -1,
		`{"results":[]}`: -1, `{}`: -1,
	} {
		got, ok := classify.ModerationScore(gjson.Parse(text))
		if ok != (want >= 0) || ok && int(got) != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
}
