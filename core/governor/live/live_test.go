package live_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/test/livestream"
)

// policy returns the default policy, but with the given actions for responses.
func policy(t testing.TB, actions map[string]governor.Action) *governor.Policy {
	t.Helper()
	p := governor.NewPolicy()
	for name, action := range actions {
		id, ok := governor.Lookup(name)
		if !ok {
			t.Fatalf("no rule %s", name)
		}
		p.Set(governor.Output, id, action)
	}
	return p
}

// redactor returns a redactor that has replaced each value with the placeholder of an email address.
func redactor(t testing.TB, values ...string) *governor.Redactor {
	t.Helper()
	p := policy(t, nil)
	id, _ := governor.Lookup("personal.email")
	p.Set(governor.Input, id, governor.Redact)
	r := &governor.Redactor{Reversible: true}
	for _, value := range values {
		r.Apply(nil, []byte(value), p, governor.Input, []governor.Finding{{Rule: id, Start: 0, End: len(value)}})
	}
	return r
}

func piece(kind chat.DeltaKind, choice, index uint64, text string) chat.Delta {
	return chat.Delta{Kind: kind, Choice: choice, Index: index, Text: jsontext.Escape(text)}
}

func start() chat.Delta { return chat.Delta{Kind: chat.DeltaStart, ID: "id", Model: "model"} }

func tool(choice, index uint64) chat.Delta {
	return chat.Delta{Kind: chat.DeltaTool, Choice: choice, Index: index, ID: jsontext.Escaped("call_" + string(rune('a'+index))), Name: "send"}
}

func end(finish chat.Finish) []chat.Delta {
	return []chat.Delta{{Kind: chat.DeltaFinish, Finish: finish}, {Kind: chat.DeltaUsage}, {Kind: chat.DeltaEnd}}
}

// textAnswer returns the deltas of a response with one text, which is cut into the given pieces.
func textAnswer(kind chat.DeltaKind, pieces ...string) []chat.Delta {
	deltas := []chat.Delta{start()}
	if kind == chat.DeltaArgs {
		deltas = append(deltas, tool(0, 0))
	}
	for _, one := range pieces {
		deltas = append(deltas, piece(kind, 0, 0, one))
	}
	return append(deltas, end(chat.FinishStop)...)
}

func characters(text string) (pieces []string) {
	for _, r := range text {
		pieces = append(pieces, string(r))
	}
	return pieces
}

func run(t *testing.T, form livestream.Form, g *live.Guard, deltas []chat.Delta) livestream.Result {
	t.Helper()
	r, err := livestream.Run(form, g, deltas, 0)
	if err != nil {
		t.Fatalf("%s: %v", form.Name, err)
	}
	return r
}

func wantText(t *testing.T, form livestream.Form, what string, r *chat.Response, choice int, kind chat.PartKind, want string) {
	t.Helper()
	if got := livestream.Text(r, choice, kind); got != want {
		t.Errorf("%s: %s %q, want %q", form.Name, what, got, want)
	}
}

// splits returns several ways to cut a text. The text is not cut, or it is cut after every character, or it is cut
// once, at each possible place.
func splits(text string) (all [][]string) {
	all = append(all, []string{text}, characters(text))
	for i := range text {
		all = append(all, []string{text[:i], text[i:]})
	}
	return all
}

func TestPlaceholdersAreRestored(t *testing.T) {
	g := &live.Guard{Policy: policy(t, nil), Redactor: redactor(t, "joe@example.com", "a\"b\\c\nd@é.example")}
	text := "to [EMAIL_1] and [EMAIL_2], not [EMAIL_3] or [EMAIL] or [x"
	want := strings.NewReplacer("[EMAIL_1]", "joe@example.com", "[EMAIL_2]", "a\"b\\c\nd@é.example").Replace(text)
	for _, pieces := range splits(text) {
		for _, form := range livestream.Forms {
			r := run(t, form, g, textAnswer(chat.DeltaText, pieces...))
			wantText(t, form, "sent", &r.Sent, 0, chat.Text, want)
			wantText(t, form, "stored", &r.Stored, 0, chat.Text, text)
		}
		if t.Failed() {
			t.Fatalf("in pieces %q", pieces)
		}
	}
}

// TestPlaceholdersInJSONAreRestored: text that is JSON stays JSON.
func TestPlaceholdersInJSONAreRestored(t *testing.T) {
	g := &live.Guard{Policy: policy(t, nil), Redactor: redactor(t, "a\"b\\c\nd@é.example")}
	g.Redactor.JSON = true
	text, want := `{"to":"[EMAIL_1]"}`, `{"to":"a\"b\\c\nd@é.example"}`
	for _, pieces := range splits(text) {
		for _, form := range livestream.Forms {
			r := run(t, form, g, textAnswer(chat.DeltaText, pieces...))
			wantText(t, form, "sent", &r.Sent, 0, chat.Text, want)
			wantText(t, form, "stored", &r.Stored, 0, chat.Text, text)
		}
	}
}

func TestPlaceholdersInArgumentsAreRestored(t *testing.T) {
	g := &live.Guard{Policy: policy(t, nil), Redactor: redactor(t, "joe@example.com", "a\"b\\c\nd@é.example")}
	text := `{"to":["[EMAIL_1]","x\n[EMAIL_2]"],"n":[1,[EMAIL_1]],"k[EMAIL_3":"[EMAIL_9]"}`
	want := `{"to":["joe@example.com","x\na\"b\\c\nd@é.example"],"n":[1,"joe@example.com"],"k[EMAIL_3":"[EMAIL_9]"}`
	for _, pieces := range splits(text) {
		for _, form := range livestream.Forms[1:] {
			r := run(t, form, g, textAnswer(chat.DeltaArgs, pieces...))
			wantText(t, form, "sent", &r.Sent, 0, chat.ToolCall, want)
			wantText(t, form, "stored", &r.Stored, 0, chat.ToolCall, text)
		}
		if t.Failed() {
			t.Fatalf("in pieces %q", pieces)
		}
	}
}

func TestARestoredValueIsNotScanned(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Block}), Redactor: redactor(t, "joe@example.com")}
	for _, form := range livestream.Forms {
		r := run(t, form, g, textAnswer(chat.DeltaText, "I wrote to [EMA", "IL_1] today"))
		wantText(t, form, "sent", &r.Sent, 0, chat.Text, "I wrote to joe@example.com today")
		if r.Stream.Blocked() {
			t.Errorf("%s: blocked", form.Name)
		}
	}
}

// TestArgumentsStayJSON redacts findings in arguments: in strings, names and numbers, after escapes, and across
// several strings.
func TestArgumentsStayJSON(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{
		"personal.email": governor.Redact, "personal.payment-card": governor.Redact,
	})}
	for _, c := range []struct{ in, want string }{
		{`{"to":"joe@example.com"}`, `{"to":"[EMAIL]"}`},
		{`{"joe@example.com":1}`, `{"[EMAIL]":1}`},
		{`{"card":4111111111111111,"n":2}`, `{"card":"[PAYMENT_CARD]","n":2}`},
		{`{"card":"4111 1111 1111 1111"}`, `{"card":"[PAYMENT_CARD]"}`},
		{`{"to":"jo\u0065\u0040example.com!"}`, `{"to":"[EMAIL]!"}`},
		{`{"to":"a\njoe@example.com\n\ud83d\ude00"}`, `{"to":"a\n[EMAIL]\n\ud83d\ude00"}`},
		{`{"to":"\"joe@example.com\""}`, `{"to":"\"[EMAIL]\""}`},
		{ // if a private key has no end, the finding continues across quotes and commas
			`{"k":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ","n":[12,true],"s":""}`,
			`{"k":"[PRIVATE_KEY]","[PRIVATE_KEY]":["[PRIVATE_KEY]","[PRIVATE_KEY]"],"[PRIVATE_KEY]":""}`,
		},
	} {
		for _, pieces := range splits(c.in) {
			for _, form := range livestream.Forms[1:] {
				r := run(t, form, g, textAnswer(chat.DeltaArgs, pieces...))
				wantText(t, form, "sent", &r.Sent, 0, chat.ToolCall, c.want)
			}
			if t.Failed() {
				t.Fatalf("%s in pieces %q", c.in, pieces)
			}
		}
	}
}

// TestBlockMidWord: a blocking finding ends the response. The text before the finding is sent, but no part of the
// finding is.
func TestBlockMidWord(t *testing.T) {
	for name, g := range map[string]*live.Guard{
		"block": {Policy: policy(t, map[string]governor.Action{"personal.email": governor.Block})},
		"strict": {Policy: func() *governor.Policy {
			p := policy(t, map[string]governor.Action{"personal.email": governor.Flag})
			p.Tighten(true, 0)
			return p
		}()},
	} {
		text := "Please write to joe@example.com. Thank you!"
		for _, pieces := range splits(text) {
			for _, form := range livestream.Forms {
				r := run(t, form, g, textAnswer(chat.DeltaText, pieces...))
				sent := livestream.Text(&r.Sent, 0, chat.Text)
				if !r.Stream.Blocked() || !strings.HasPrefix("Please write to ", sent) || len(r.Stream.Reports) != 1 {
					t.Fatalf("%s, %s, %q: blocked %t, sent %q, reports %v", name, form.Name, pieces, r.Stream.Blocked(), sent, r.Stream.Reports)
				}
				if strings.Contains(livestream.Text(&r.Stored, 0, chat.Text), "joe") {
					t.Fatalf("%s: stored %q", form.Name, livestream.Text(&r.Stored, 0, chat.Text))
				}
			}
		}
	}
}

// TestSeveralChoices interleaves two choices, each with a split finding.
func TestSeveralChoices(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Redact}), Redactor: redactor(t, "me@example.org")}
	deltas := []chat.Delta{start()}
	a, b := characters("to joe@example.com and [EMAIL_1]"), characters("or  ann@example.com and [EMAIL_1]")
	for i := range b {
		if i < len(a) {
			deltas = append(deltas, piece(chat.DeltaText, 0, 0, a[i]))
		}
		deltas = append(deltas, piece(chat.DeltaText, 1, 0, b[i]))
	}
	deltas = append(deltas, chat.Delta{Kind: chat.DeltaFinish, Choice: 1, Finish: chat.FinishStop})
	deltas = append(deltas, end(chat.FinishStop)...)
	for _, form := range livestream.Forms {
		if form.Dialect != chat.OpenAI {
			continue // the other dialects have only one choice
		}
		r := run(t, form, g, deltas)
		wantText(t, form, "first", &r.Sent, 0, chat.Text, "to [EMAIL] and me@example.org")
		wantText(t, form, "second", &r.Sent, 1, chat.Text, "or  [EMAIL] and me@example.org")
	}
}

// TestParallelToolCalls interleaves the pieces of two calls' arguments.
func TestParallelToolCalls(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Redact}), Redactor: redactor(t, "me@example.org")}
	a, b := characters(`{"to":"joe@example.com","cc":"[EMAIL_1]"}`), characters(`{"to":"[EMAIL_1]","cc":"annabel@example.com"}`)
	deltas := []chat.Delta{start(), piece(chat.DeltaText, 0, 0, "I send"), tool(0, 0), tool(0, 1)}
	for i := range b {
		if i < len(a) {
			deltas = append(deltas, piece(chat.DeltaArgs, 0, 0, a[i]))
		}
		deltas = append(deltas, piece(chat.DeltaArgs, 0, 1, b[i]))
	}
	deltas = append(deltas, end(chat.FinishTools)...)
	for _, form := range livestream.Forms {
		if form.Dialect == chat.Native || form.Dialect != chat.OpenAI && form.Through {
			continue // these dialects do not interleave
		}
		r := run(t, form, g, deltas)
		parts := r.Stored.Choices[0].Parts
		if len(parts) != 3 || parts[1].Args != `{"to":"[EMAIL]","cc":"[EMAIL_1]"}` || parts[2].Args != `{"to":"[EMAIL_1]","cc":"[EMAIL]"}` {
			t.Errorf("%s: stored %+v", form.Name, parts)
		}
		if form.Dialect != chat.OpenAI {
			continue // late pieces are sent with the index of their block, or at the end
		}
		if parts = r.Sent.Choices[0].Parts; len(parts) != 3 || parts[1].Args != `{"to":"[EMAIL]","cc":"me@example.org"}` || parts[2].Args != `{"to":"me@example.org","cc":"[EMAIL]"}` {
			t.Errorf("%s: sent %+v", form.Name, parts)
		}
	}
}

// TestPartsInOrder: the end of each part is sent before the next part begins.
func TestPartsInOrder(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Redact})}
	deltas := append([]chat.Delta{
		start(), piece(chat.DeltaThinking, 0, 0, "I think of joe@example"), piece(chat.DeltaThinking, 0, 0, ".com"),
		piece(chat.DeltaText, 0, 0, "Look at joe@exam"), piece(chat.DeltaText, 0, 0, "ple.com"), tool(0, 0), piece(chat.DeltaArgs, 0, 0, `{"a":"joe@example.`),
		piece(chat.DeltaArgs, 0, 0, `com"}`), tool(0, 1), piece(chat.DeltaArgs, 0, 1, `{"b":"joe@example.com`), piece(chat.DeltaArgs, 0, 1, `"}`),
	}, end(chat.FinishTools)...)
	for _, form := range livestream.Forms[1:] {
		if form.Dialect == chat.Anthropic && form.Through {
			continue // it cannot redact thinking
		}
		r := run(t, form, g, deltas)
		for what, response := range map[string]*chat.Response{"sent": &r.Sent, "stored": &r.Stored} {
			parts := response.Choices[0].Parts
			if len(parts) != 4 || parts[0].Text != "I think of [EMAIL]" || parts[1].Text != "Look at [EMAIL]" ||
				parts[2].Args != `{"a":"[EMAIL]"}` || parts[3].Args != `{"b":"[EMAIL]"}` {
				t.Errorf("%s: %s %+v", form.Name, what, parts)
			}
		}
	}
}

// TestSignedThinking: in signed thinking, a finding is blocked and not redacted. Placeholders are not replaced.
func TestSignedThinking(t *testing.T) {
	deltas := func(thought string) []chat.Delta {
		return append([]chat.Delta{
			start(), piece(chat.DeltaThinking, 0, 0, thought), {Kind: chat.DeltaSignature, Text: "c2ln"}, piece(chat.DeltaText, 0, 0, "for [EMAIL_1]"),
		}, end(chat.FinishStop)...)
	}
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Redact}), Redactor: redactor(t, "me@example.org")}
	through := livestream.Form{Name: "Anthropic through", Dialect: chat.Anthropic, Through: true}
	if r := run(t, through, g, deltas("I write to joe@example.com now")); !r.Stream.Blocked() || strings.Contains(string(r.Bytes), "joe") {
		t.Errorf("a finding in signed thinking is sent: %s", r.Bytes)
	}
	r := run(t, through, g, deltas("I write to [EMAIL_1] now"))
	if p := r.Sent.Choices[0].Parts; len(p) != 2 || p[0].Text != "I write to [EMAIL_1] now" || p[0].Signature != "c2ln" || p[1].Text != "for me@example.org" {
		t.Errorf("sent %+v", p)
	}
	translated := livestream.Form{Name: "Anthropic", Dialect: chat.Anthropic}
	r = run(t, translated, g, deltas("I write to joe@example.com now"))
	if p := r.Sent.Choices[0].Parts; len(p) != 2 || p[0].Text != "I write to [EMAIL] now" || p[0].Signature != "" {
		t.Errorf("translated: sent %+v", p)
	}
	r = run(t, translated, g, deltas("plain"))
	if p := r.Sent.Choices[0].Parts; len(p) != 2 || p[0].Text != "plain" || p[0].Signature != "c2ln" {
		t.Errorf("translated: sent %+v", p)
	}
}
