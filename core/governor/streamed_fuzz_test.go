package governor_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/test/livestream"
)

// cutAtRandom cuts a text into pieces of up to 12 bytes. It cuts only between characters.
func cutAtRandom(text string, random *rand.Rand) (pieces []string) {
	for text != "" {
		n := 1 + random.IntN(12)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		n = min(n, len(text))
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

func placeholders(p *governor.Policy) *governor.Redactor {
	id, _ := governor.Lookup("personal.email")
	q := governor.NewPolicy()
	q.Set(governor.Input, id, governor.Redact)
	r := &governor.Redactor{Reversible: true}
	for _, value := range []string{"joe@example.com", "a \"b\"\\\n@é.example"} {
		r.Apply(nil, []byte(value), q, governor.Input, []governor.Finding{{Rule: id, Start: 0, End: len(value)}})
	}
	return r
}

// FuzzStream: the stream of a text has the same result as a single scan, with placeholders restored. Neither the cuts
// nor the form of the stream matter. Arguments stay JSON, and they do not depend on the cuts.
func FuzzStream(f *testing.F) {
	for i, e := range governor.Positives(f) {
		f.Add(string(e.Text)+" [EMAIL_1", uint64(i))
	}
	f.Add("[EMAIL_1][EMAIL_2] [EMAIL_[EMAIL_1]", uint64(1))
	f.Add(`{"a":["[EMAIL_2]",[EMAIL_1],4111111111111111,"\u0041\ud83d\ude00\\"]}x`, uint64(2))
	p := redacting()
	g := &live.Guard{Policy: p, Redactor: placeholders(p)}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) || text == "" {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		want := string(g.Redactor.Restore(nil, []byte(whole(p, []byte(text)))))
		if got := straight(t, g, answer(chat.DeltaText, cutAtRandom(text, random)...)); got != want {
			t.Fatalf("%q is sent as %q, want %q", text, got, want)
		}
		form := livestream.Forms[int(seed%7)]
		r, err := livestream.Run(form, g, answer(chat.DeltaText, cutAtRandom(text, random)...), 1+int(seed%50))
		if got := livestream.Text(&r.Sent, 0, chat.Text); err != nil || got != want {
			t.Fatalf("%s: %q is sent as %q, want %q (%v)", form.Name, text, got, want, err)
		}
		fuzzArguments(t, g, text, random)
	})
}

func fuzzArguments(t *testing.T, g *live.Guard, text string, random *rand.Rand) {
	if jsontext.Check([]byte(text)) != jsontext.OK {
		text = `{"a":"` + string(jsontext.Escape(text)) + `","b":[0]}`
	}
	want := straight(t, g, answer(chat.DeltaArgs, text))
	if got := straight(t, g, answer(chat.DeltaArgs, cutAtRandom(text, random)...)); got != want {
		t.Fatalf("arguments %q are sent as %q, in one piece as %q", text, got, want)
	}
	if problem := jsontext.Check([]byte(want)); problem != jsontext.OK && problem != jsontext.DuplicateKey {
		t.Fatalf("arguments %q are sent as %q, which %s", text, want, problem)
	}
	form := livestream.Forms[1+random.IntN(6)]
	r, err := livestream.Run(form, g, answer(chat.DeltaArgs, cutAtRandom(text, random)...), 1+random.IntN(50))
	if got := livestream.Text(&r.Sent, 0, chat.ToolCall); err != nil || got != want {
		t.Fatalf("%s: arguments %q are sent as %q, want %q (%v)", form.Name, text, got, want, err)
	}
}
