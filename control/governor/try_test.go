package governor_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/governor"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

const (
	tryMail = "jane.doe@example.com"
	trySSN  = "SSN 536-90-4399"
	tryCard = "card 4111 1111 1111 1111"
)

// trial checks a text with the given settings and returns the decision, the risk score, and the points of each
// finding.
func trial(b *controltest.Bench, path, text, rest string) (summary string, got controltest.Reply) {
	b.Helper()
	got = b.Must(200, "POST", path+"/governor/try", fmt.Sprintf(`{"text":%q%s}`, text, rest))
	summary = fmt.Sprint(got.Text("decision"), " ", got.Fields["riskScore"])
	for _, f := range got.Fields["findings"].([]any) {
		finding := f.(map[string]any)
		summary += fmt.Sprint(" ", finding["rule"], ":", finding["action"], ":", finding["points"])
	}
	return summary, got
}

// The risk score is the sum of the findings' points, which are calculated by hand here.
func TestTrySumsUp(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	mails := tryMail + " a@example.org b@example.org c@example.org"
	for _, c := range []struct{ text, rest, want string }{
		{"Hello, world", "", "approve 0"},
		{"Write to " + tryMail, "", "approve 5 personal.email:flag:5"},
		{trySSN + ", " + tryMail + ", a@example.org", "", "approve 30 personal.us-ssn:flag:20 personal.email:flag:5 personal.email:flag:5"},
		{mails, "", "approve 15 personal.email:flag:5 personal.email:flag:5 personal.email:flag:5 personal.email:flag:0"},
		{tryCard, "", "review 40 personal.payment-card:flag:40"},
		{tryCard, `,"settings":{"strictMode":true}`, "block 40 personal.payment-card:flag:40"},
		{tryCard, `,"settings":{"strictMode":true,"autoApproveThreshold":40}`, "approve 40 personal.payment-card:flag:40"},
		{tryCard, `,"settings":{"rules":{"personal":{"input":"allow"}}}`, "approve 0"},
		{tryCard, `,"direction":"output","settings":{"rules":{"personal":{"input":"allow"}}}`, "review 40 personal.payment-card:flag:40"},
		{tryMail, `,"settings":{"rules":{"personal.email":{"input":"block"}}}`, "block 5 personal.email:block:5"},
		{tryMail, `,"settings":{"rules":{"personal.email":{"input":"redact"}}}`, "approve 0 personal.email:redact:0"},
		{"Ask about blue heron.", `,"settings":{"keywords":[{"name":"codes","severity":"high","words":["Blue Heron"]}]}`, "review 40 keyword.codes:flag:40"},
		{"Ask about blue heron.", `,"settings":{"keywords":[{"name":"codes","matchCase":true,"words":["Blue Heron"]}]}`, "approve 0"},
		{"I am EMP-123456.", `,"settings":{"patterns":[{"name":"id","pattern":"EMP-[0-9]{6}","severity":"high","input":"block"}]}`, "block 40 pattern.id:block:40"},
		{`{"a":1}`, `,"direction":"output","settings":{"answerSchema":{"schema":{"type":"object"},"action":"block"}}`, "approve 0"},
		{"Hello", `,"direction":"output","settings":{"answerSchema":{"schema":{"type":"object"},"action":"block"}}`, "block 20 schema.answer:block:20"},
		{"Hello", `,"direction":"output","settings":{"answerSchema":{"schema":{"type":"object"},"severity":"high"}}`, "review 40 schema.answer:flag:40"},
		{"Hello", `,"settings":{"answerSchema":{"schema":{"type":"object"},"action":"block"}}`, "approve 0"},
		{"Grüße", `,"settings":{"maxInputCharacters":4}`, "block 20 length.input:block:20"},
		{"Grüße", `,"settings":{"maxInputCharacters":5,"maxOutputCharacters":1}`, "approve 0"},
	} {
		if got, _ := trial(b, path, c.text, c.rest); got != c.want {
			t.Errorf("%q %s: got %s, want %s", c.text, c.rest, got, c.want)
		}
	}
}

// Offsets count UTF-8 bytes. Redacted text has placeholders, which are numbered if the original text can be restored.
func TestTryShowsPlacesAndRedactions(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	text := "Grüße an " + tryMail + " und " + tryMail
	_, got := trial(b, path, text, `,"settings":{"reversible":true,"rules":{"personal.email":{"input":"redact"}}}`)
	if redacted := got.Text("redacted"); redacted != "Grüße an [EMAIL_1] und [EMAIL_1]" {
		t.Error(redacted)
	}
	first := got.Fields["findings"].([]any)[0].(map[string]any)
	start, end := fmt.Sprint(first["start"]), fmt.Sprint(first["end"])
	if start != "11" || end != "31" || text[11:31] != tryMail {
		t.Errorf("%s to %s", start, end)
	}
	_, got = trial(b, path, text, "")
	if value, given := got.Fields["redacted"]; !given || value != nil {
		t.Errorf("nothing is redacted by default: %v", value)
	}
	_, got = trial(b, path, strings.Repeat(tryMail+" ", 101), "")
	if n := len(got.Fields["findings"].([]any)); n != 100 || fmt.Sprint(got.Fields["total"]) != "101" {
		t.Errorf("%d listed of %v", n, got.Fields["total"])
	}
}

// Without a draft, the stored settings apply. Trying a text changes nothing and logs nothing.
func TestTryLeavesNoTrace(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	b.Must(200, "PUT", path+"/governor", `{"strictMode":true,"rules":{"personal.email":{"output":"block"}}}`)
	b.Memory.Forget()
	rows := len(b.Memory.Rows)
	var logged strings.Builder
	log.SetOutput(io.MultiWriter(&logged, os.Stderr))
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	if got, _ := trial(b, path, tryMail, `,"direction":"output"`); got != "block 5 personal.email:block:5" {
		t.Errorf("stored settings: %s", got)
	}
	if got, _ := trial(b, path, tryMail, `,"direction":"output","settings":{}`); got != "approve 5 personal.email:flag:5" {
		t.Errorf("a draft: %s", got)
	}
	b.Do("POST", path+"/governor/try", `{"text":["`+tryMail+`"],"direction":"`+tryMail+`"}`)
	if len(b.Memory.Rows) != rows || len(b.Memory.Sent) != 0 || len(b.Memory.Outbox(t)) != 0 || logged.Len() > 0 {
		t.Errorf("rows %d, were %d; sent %v; logged %q", len(b.Memory.Rows), rows, b.Memory.Sent, logged.String())
	}
}

func TestInvalidTry(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	for body, want := range map[string]string{
		`{}`:                                "text is required",
		`{"text":7}`:                        "text must be a string, got a number",
		`{"text":"x","direction":"inward"}`: `direction must be input or output, got "inward"`,
		`{"text":"x","role":"tool"}`:        `role must be user or system, got "tool"`,
		`{"text":"x","role":"system","direction":"output"}`: "role must be user for an output; system texts are input",
		`{"text":"x","settings":[]}`:                        "settings must be an object, got an array",
		`{"text":"x","Settings":{}}`:                        "Settings is unknown; the fields are text, direction, role and settings",
	} {
		got := b.Do("POST", path+"/governor/try", body)
		b.Refused(got, fault.InvalidRequest)
		if text := detail(got); text != want {
			t.Errorf("%s: %s", body, text)
		}
	}
	b.Refused(b.Do("POST", "/api/admin/projects/proj_1/governor/try", `{"text":"x"}`), fault.NotFound)
	b.Must(200, "POST", path+"/governor/try", `{"text":"`+strings.Repeat("x", governor.MaxTryBody-100)+`"}`)
	got := b.Do("POST", path+"/governor/try", `{"text":"`+strings.Repeat("x", governor.MaxTryBody)+`"}`)
	b.Refused(got, fault.BodyTooLarge)
	if text := detail(got); text != "body must be at most 131072 bytes" {
		t.Error(text)
	}
}
