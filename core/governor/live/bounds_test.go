package live_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
	"github.com/postern-ai/postern/test/livestream"
)

func size(s *live.Stream) int {
	var w abi.Writer
	s.Fields(abi.WriteTo(&w))
	return len(w.Buf)
}

// TestLittleIsHeldBack: in ordinary text, at most the last word is held back. The state stays small.
func TestLittleIsHeldBack(t *testing.T) {
	prose, err := os.ReadFile("../../../docs/project/decisions/core-and-hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	p := policy(t, nil)
	g := &live.Guard{Policy: p, Redactor: redactor(t, "me@example.org")}
	s := &live.Stream{}
	text := string(prose) + "This is the end of it. "
	words := strings.SplitAfter(text, " ")
	got, sent, most := 0, 0, 0
	for _, word := range words {
		got += len(word)
		send, _ := s.Deltas(g, []chat.Delta{piece(chat.DeltaText, 0, 0, word)})
		for i := range send {
			sent += len(send[i].Text.Plain())
		}
		if held := got - sent; held > most {
			most = held
		}
		if n := size(s); n > 400 {
			t.Fatalf("the state has %d bytes", n)
		}
	}
	// A word is decided once a space follows. An exception is a name whose value may follow, such as "key is".
	if most > 64 {
		t.Errorf("%d bytes were held back", most)
	}
	if got-sent > 2 {
		t.Errorf("%d bytes are held back at the end", got-sent)
	}
}

// TestLongKeys: only the beginning of a long private key is held back. The text after the key is sent. Both are true
// wherever the key is cut.
func TestLongKeys(t *testing.T) {
	head, line := "-----BEGIN PRIVATE KEY-----\n", strings.Repeat("aB3d", 16)+"\n"
	key := head + strings.Repeat(line, 160)
	for name, c := range map[string]struct{ text, want string }{
		"with an end":       {"Here: '" + key + "-----END PRIVATE KEY-----' joe@example.com", "Here: '[PRIVATE_KEY]' [EMAIL]"},
		"stops":             {"Here: " + key + "é joe@example.com", "Here: [PRIVATE_KEY]é [EMAIL]"},
		"the text ends":     {"Here: " + key, "Here: [PRIVATE_KEY]"},
		"longer than a key": {"Here: " + head + strings.Repeat(line, 300), ""},
	} {
		g := emails(t)
		if c.want == "" {
			found := governor.Scan([]byte(c.text), g.Policy.Rules(governor.Output), nil)
			c.want = string(new(governor.Redactor).Apply(nil, []byte(c.text), g.Policy, governor.Output, found))
		}
		for _, size := range []int{1, 97, 4000} {
			for _, form := range livestream.Forms {
				if size == 1 && form.Dialect != chat.Native {
					continue
				}
				r := run(t, form, g, textAnswer(chat.DeltaText, chunks(c.text, size)...))
				wantText(t, form, name, &r.Sent, 0, chat.Text, c.want)
				if r.MaxState > 2*4096+500 || r.Stream.Tally.Total != strings.Count(c.want, "[") {
					t.Errorf("%s: %s: a state of %d bytes, %d findings", form.Name, name, r.MaxState, r.Stream.Tally.Total)
				}
			}
		}
	}
}

// chunks cuts text between characters. A piece has size bytes, or a few more if its last character is not ASCII.
func chunks(text string, size int) (pieces []string) {
	var piece strings.Builder
	for _, r := range text {
		if piece.WriteRune(r); piece.Len() >= size {
			pieces = append(pieces, piece.String())
			piece.Reset()
		}
	}
	return append(pieces, piece.String())
}

// TestLongKeyInArguments: a long key does not make the arguments invalid JSON.
func TestLongKeyInArguments(t *testing.T) {
	g := emails(t)
	text := `{"key":"-----BEGIN PRIVATE KEY-----` + strings.Repeat(`\n`+strings.Repeat("aB3d", 16), 160) + `\n-----END PRIVATE KEY-----\n","to":"joe@example.com"}`
	for _, form := range livestream.Forms[1:] {
		r := run(t, form, g, textAnswer(chat.DeltaArgs, chunks(text, 50)...))
		wantText(t, form, "sent", &r.Sent, 0, chat.ToolCall, `{"key":"[PRIVATE_KEY]\n","to":"[EMAIL]"}`)
	}
}

// TestFlaggedLongKey: if a long key is only flagged, it is sent unchanged and counted once.
func TestFlaggedLongKey(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"secret.private-key": governor.Flag})}
	text := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("aB3d", 16)+"\n", 160) + "-----END PRIVATE KEY-----\nok"
	for _, form := range livestream.Forms {
		r := run(t, form, g, textAnswer(chat.DeltaText, chunks(text, 50)...))
		wantText(t, form, "sent", &r.Sent, 0, chat.Text, text)
		if r.Stream.Tally.Total != 1 {
			t.Errorf("%s: %d findings", form.Name, r.Stream.Tally.Total)
		}
	}
}

// TestTooMuch: if a stream has too many open texts or too much undecided text, it fails and sends nothing more.
func TestTooMuch(t *testing.T) {
	g := &live.Guard{Policy: policy(t, nil)}
	s := &live.Stream{}
	for i := range uint64(live.MaxChannels + 1) {
		if s.Failed() {
			t.Fatalf("failed at %d texts", i)
		}
		s.Deltas(g, []chat.Delta{piece(chat.DeltaText, i, 0, "word")})
	}
	if send, _ := s.Deltas(g, []chat.Delta{piece(chat.DeltaText, 0, 0, "a b c")}); !s.Failed() || len(send) > 0 {
		t.Errorf("failed: %t; sent %v", s.Failed(), send)
	}
	s = &live.Stream{}
	token := "token=eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("aB3d", 2000)
	for i := range uint64(4) {
		s.Deltas(g, []chat.Delta{piece(chat.DeltaText, i, 0, token)})
	}
	if !s.Failed() {
		t.Errorf("a state of %d bytes does not fail", size(s))
	}
}

// TestManyTexts: the state stays small for 128 choices at the same time and for 500 calls one after another.
func TestManyTexts(t *testing.T) {
	g := emails(t)
	s := &live.Stream{}
	sent := ""
	take := func(in ...chat.Delta) {
		send, _ := s.Deltas(g, in)
		for i := range send {
			sent += send[i].Text.Plain()
		}
	}
	for _, text := range []string{"Write to joe@", "example.com", " now, "} {
		for i := range uint64(128) {
			take(piece(chat.DeltaText, i, 0, text))
		}
	}
	if n := size(s); s.Failed() || n > 10_000 || strings.Contains(sent, "joe") || strings.Count(sent, "[EMAIL]") != 128 {
		t.Errorf("failed %t, a state of %d bytes, sent %s", s.Failed(), n, sent)
	}
	for i := range uint64(500) {
		take(tool(0, i), piece(chat.DeltaArgs, 0, i, `{"to":"joe@`), piece(chat.DeltaArgs, 0, i, `example.com"}`))
	}
	if n := size(s); s.Failed() || n > 10_000 || strings.Contains(sent, "joe") || strings.Count(sent, `{"to":"[EMAIL]"}`) != 500 {
		t.Errorf("failed %t, a state of %d bytes, sent %s", s.Failed(), n, sent)
	}
}

// TestLengthOfAnswers: if a response has more characters than the settings permit, it is blocked or flagged once.
func TestLengthOfAnswers(t *testing.T) {
	for _, action := range []governor.Action{governor.Block, governor.Flag} {
		settings := governor.NewSettings()
		settings.MaxOutput = 20
		settings.Actions = []governor.RuleActions{{Rule: "length.output", Output: action}}
		g := &live.Guard{Policy: settings.Policy()}
		for _, form := range livestream.Forms {
			r := run(t, form, g, textAnswer(chat.DeltaText, "über 10 chars ", "and 10 more ", "and more ", "and more"))
			if r.Stream.Blocked() != (action == governor.Block) || len(r.Stream.Reports) != 1 || r.Stream.Reports[0].Count != 1 {
				t.Errorf("%s, %s: blocked %t, reports %+v", form.Name, action, r.Stream.Blocked(), r.Stream.Reports)
			}
			r = run(t, form, g, textAnswer(chat.DeltaText, "über 10 chars", " and 6"))
			if r.Stream.Blocked() || len(r.Stream.Reports) != 0 {
				t.Errorf("%s, %s: a short answer: reports %+v", form.Name, action, r.Stream.Reports)
			}
		}
	}
}

// TestLogProbs: log probabilities are sent only if their text is sent unchanged.
func TestLogProbs(t *testing.T) {
	g := emails(t)
	s := &live.Stream{}
	logs := chat.Delta{Kind: chat.DeltaLogProbs, JSON: `{"content":[{"token":"joe"}]}`}
	if send, store := s.Deltas(g, []chat.Delta{piece(chat.DeltaText, 0, 0, "joe"), logs}); len(send) != 0 || len(store) != 0 {
		t.Errorf("sent %v, stored %v while the text is held back", send, store)
	}
	if send, _ := s.Deltas(g, []chat.Delta{logs}); len(send) != 0 {
		t.Errorf("sent %v while the text is held back", send)
	}
	s = &live.Stream{}
	if send, store := s.Deltas(g, []chat.Delta{piece(chat.DeltaText, 0, 0, "joe, "), logs}); len(send) != 2 || len(store) != 2 {
		t.Errorf("sent %v, stored %v", send, store)
	}
}

// TestReports: a report describes the first finding of a rule. It does not contain the finding's text.
func TestReports(t *testing.T) {
	g := emails(t)
	g.Key = func() []byte { return []byte("key") }
	r := run(t, livestream.Forms[4], g, textAnswer(chat.DeltaText, "to joe@", "example.com, ann@example.com"))
	if len(r.Stream.Reports) != 1 {
		t.Fatalf("reports %+v", r.Stream.Reports)
	}
	got := r.Stream.Reports[0]
	if got.Path != "choices[0].message.content" || got.Start != 3 || got.End != 18 || got.Count != 2 || len(got.Digest) != 32 || got.Excerpt != "om" {
		t.Errorf("report %+v", got)
	}
}

// FuzzEvent: every event results in valid JSON. No event makes the checks fail.
func FuzzEvent(f *testing.F) {
	p := policy(f, map[string]governor.Action{"personal.email": governor.Redact})
	g := &live.Guard{Policy: p, Redactor: redactor(f, "me@\"example.org")}
	for _, form := range livestream.Forms[4:] {
		stream := livestream.Encode(form.Dialect, append([]chat.Delta{
			start(), piece(chat.DeltaThinking, 0, 0, "joe@"), piece(chat.DeltaText, 0, 0, "to [EMAIL_1] joe@"), tool(0, 0),
			piece(chat.DeltaArgs, 0, 0, `{"a":"joe@example.com`),
		}, end(chat.FinishStop)...))
		parser := sse.Parser{}
		events, _ := parser.Feed(stream, true)
		for _, e := range events {
			f.Add(string(e.Data), `{"choices":[{"delta":{"content":"x"}}]}`)
		}
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for dialect, read := range map[chat.Dialect]func(*wire.State, string, gjson.Result, []chat.Delta) ([]chat.Delta, bool){
			chat.OpenAI: openai.Stream, chat.Responses: responses.Stream, chat.Anthropic: anthropic.Stream,
		} {
			s, state := &live.Stream{}, wire.State{Started: true}
			for _, data := range []string{first, second, first} {
				if jsontext.Check([]byte(data)) != jsontext.OK {
					continue
				}
				deltas, _ := read(&state, "", gjson.Parse(data), nil)
				out, _ := s.Event(g, dialect, &sse.Event{Data: []byte(data)}, deltas)
				checkEvents(t, out)
			}
			out, _, _ := s.End(g, dialect)
			checkEvents(t, out)
		}
	})
}

func checkEvents(t *testing.T, events []sse.Event) {
	for _, e := range events {
		if problem := jsontext.Check(e.Data); problem != jsontext.OK && problem != jsontext.DuplicateKey {
			t.Fatalf("event %s %s", e.Data, problem)
		}
	}
}
