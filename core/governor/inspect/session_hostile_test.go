package inspect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
)

// redactedTurn returns the body that a provider gets for a history. It also returns the redactor that restores the
// values.
func redactedTurn(t *testing.T, d *sessionDialect, history []string, tools string) (string, *governor.Redactor) {
	t.Helper()
	p := governor.NewPolicy()
	p.Set(governor.Input, emailRule(t), governor.Redact)
	p.Set(governor.Output, emailRule(t), governor.Allow)
	r := &governor.Redactor{Reversible: true}
	c := Check{Policy: p, Redactor: r}
	body := fmt.Sprintf(d.body, strings.Join(history, ","), tools)
	result := c.Request(d.request, []byte(body))
	if result.Body == nil {
		return body, r
	}
	return string(result.Body), r
}

// sessionText returns a message with new addresses, addresses from earlier in the session, and text that looks like
// placeholders, in any order.
func sessionText(random *rand.Rand, most int) string {
	words := make([]string, 1+random.IntN(6))
	for i := range words {
		switch n := random.IntN(most); random.IntN(8) {
		case 0:
			words[i] = fmt.Sprintf("[EMAIL_%d]", 1+random.IntN(12))
		case 1:
			words[i] = []string{"[EMAIL]", "[EMAIL_", "[EMAIL_01]", "[email_1]", "[[EMAIL_2]]", "[EMAIL_99999]"}[random.IntN(6)]
		default:
			words[i] = fmt.Sprintf("user%d@example.com", n)
		}
	}
	return strings.Join(words, " ")
}

// TestRandomSessions: new and repeated values come in random order, among texts that look like placeholders. The
// redacted messages of a turn begin with those of the turn before. No value is sent, and different values in a turn
// have different placeholders.
func TestRandomSessions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		d := &sessionDialects[random.IntN(len(sessionDialects))]
		history, before := []string{}, ""
		for turn := range 6 {
			text := sessionText(random, 4+4*turn)
			history = append(history, fill([]string{d.user, d.result}[random.IntN(2)], text, ""))
			metadata := fmt.Sprintf(`"of turn%d@example.com"`, turn)
			body, r := redactedTurn(t, d, history, metadata)
			now := membersOf(t, []byte(body))[d.growing]
			if strings.Contains(body, "user") && strings.Contains(body, "@example.com") {
				t.Fatalf("%s: a value is sent: %s", d.name, body)
			}
			if !strings.HasPrefix(now, strings.TrimSuffix(before, "]")) {
				t.Fatalf("%s, turn %d:\n%s\ndoes not begin with\n%s", d.name, turn, now, before)
			}
			before = now
			checkRestores(t, membersOf(t, fmt.Appendf(nil, d.body, strings.Join(history, ","), metadata))[d.growing], now, r)
		}
	}
}

// checkRestores fails if the redacted messages are not restored to the caller's messages.
func checkRestores(t *testing.T, want, sent string, r *governor.Redactor) {
	t.Helper()
	got := string(r.Restore(nil, []byte(sent)))
	if strings.Contains(want, "[EMAIL_") { // placeholders in the caller's text may be restored as well
		for i := range 30 {
			placeholder := fmt.Sprintf("[EMAIL_%d]", i)
			want = strings.ReplaceAll(want, placeholder, string(r.Restore(nil, []byte(placeholder))))
		}
	}
	if got != want {
		t.Fatalf("restored\n%s\nwant\n%s", got, want)
	}
}

// TestLaterLiterals: if a later message contains text that looks like a placeholder, earlier numbers do not change. A
// new value in that message gets a number that the message does not contain.
func TestLaterLiterals(t *testing.T) {
	d := &sessionDialects[1]
	first, _ := redactedTurn(t, d, []string{fill(d.user, "jane@example.org", "")}, `""`)
	if !strings.Contains(first, "[EMAIL_2]") { // the tool's description contains [EMAIL_1]
		t.Fatal(first)
	}
	later, r := redactedTurn(t, d, []string{fill(d.user, "jane@example.org", ""), fill(d.user, "[EMAIL_2] and joe@example.org, [EMAIL_3]", "")}, `""`)
	if now := membersOf(t, []byte(later))["messages"]; !strings.Contains(now, "[EMAIL_2] and [EMAIL_4], [EMAIL_3]") || !strings.HasPrefix(now, strings.TrimSuffix(membersOf(t, []byte(first))["messages"], "]")) {
		t.Error(now)
	}
	if got := string(r.Restore(nil, []byte("[EMAIL_3] [EMAIL_4]"))); got != "[EMAIL_3] joe@example.org" {
		t.Error(got)
	}
}

// TestThousandValues: values beyond the limit have no number, in this turn and in the next. Placeholders without a
// value are not changed.
func TestThousandValues(t *testing.T) {
	for i := range sessionDialects {
		d := &sessionDialects[i]
		all := make([]string, 1000)
		for n := range all {
			all[n] = fmt.Sprintf("user%d@example.com", n)
		}
		history := []string{fill(d.user, strings.Join(all, " "), "")}
		first, _ := redactedTurn(t, d, history, `"of none"`)
		slices.Reverse(all)
		second, r := redactedTurn(t, d, append(history, fill(d.user, strings.Join(all, " ")+" new@example.com", "")), `"of none"`)
		a, b := membersOf(t, []byte(first))[d.growing], membersOf(t, []byte(second))[d.growing]
		if strings.Contains(second, "@example.com") || !strings.HasPrefix(b, strings.TrimSuffix(a, "]")) || strings.Count(b, "[EMAIL]") < 1000 {
			t.Errorf("%s: %.300s", d.name, b)
		}
		if got := string(r.Restore(nil, []byte("[EMAIL_256] [EMAIL_257] [EMAIL]"))); !strings.HasSuffix(got, "@example.com [EMAIL_257] [EMAIL]") {
			t.Errorf("%s: %s", d.name, got)
		}
	}
}
