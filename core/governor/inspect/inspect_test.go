package inspect_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

const card = "4111111111111111"

var rewrites = []struct{ name, body, want string }{
	{
		"split over two parts",
		`{"messages":[{"content":[{"type":"text","text":"to jane.roe@exam"},{"type":"text","text":"ple.com now"}]}]}`,
		`{"messages":[{"content":[{"type":"text","text":"to [EMAIL_1]"},{"type":"text","text":" now"}]}]}`,
	},
	{
		"split over four parts, with escapes",
		`{"messages":[{"content":[{"text":"é jan\u0065"},{"text":""},{"text":"\u002eroe"},{"text":"\u0040example.com, x"}]}]}`,
		`{"messages":[{"content":[{"text":"é [EMAIL_1]"},{"text":""},{"text":""},{"text":", x"}]}]}`,
	},
	{
		"a split one between whole ones",
		`{"m":[{"text":"a.b@example.com c.d@exam"},{"text":"ple.com a.b@example.com"}]}`,
		`{"m":[{"text":"[EMAIL_1] [EMAIL_2]"},{"text":" [EMAIL_1]"}]}`,
	},
	{
		"a text inside of a split one's part",
		`{"m":[{"text":"jane.roe@exam","citations":[{"cited_text":"a.b@example.com"}]},{"note":"c.d@example.com","text":"ple.com"}]}`,
		`{"m":[{"text":"[EMAIL_1]","citations":[{"cited_text":"[EMAIL_2]"}]},{"note":"[EMAIL_3]","text":""}]}`,
	},
	{
		"the same value has the same placeholder",
		`{"messages":[{"content":"a.b@example.com"},{"content":"c.d@example.com a.\u0062@example.com"}]}`,
		`{"messages":[{"content":"[EMAIL_1]"},{"content":"[EMAIL_2] [EMAIL_1]"}]}`,
	},
	{
		"placeholders before and in the value's message are reserved, later ones are not",
		`{"messages":[{"content":["a.b@example.com","\u005bEMAIL_1]"]},{"content":"\u005bEMAIL_4] and [EMAIL_5]"},{"content":"c.d@example.com"}],"tools":[{"parameters":{"x":"[EMAIL_2]"}}]}`,
		`{"messages":[{"content":["[EMAIL_3]","\u005bEMAIL_1]"]},{"content":"\u005bEMAIL_4] and [EMAIL_5]"},{"content":"[EMAIL_6]"}],"tools":[{"parameters":{"x":"[EMAIL_2]"}}]}`,
	},
	{
		"values of tools and system texts are numbered first, those of metadata last",
		`{"metadata":{"a":"m@example.com"},"messages":[{"content":"u@example.com"}],"system":"s@example.com","tools":[{"description":"t@example.com"}]}`,
		`{"metadata":{"a":"[EMAIL_4]"},"messages":[{"content":"[EMAIL_3]"}],"system":"[EMAIL_1]","tools":[{"description":"[EMAIL_2]"}]}`,
	},
	{
		"a number in arguments",
		`{"function":{"arguments":"{\"card\": 4111111111111111, \"n\":[ 5500005555555559]}"}}`,
		`{"function":{"arguments":"{\"card\": \"[PAYMENT_CARD_1]\", \"n\":[ \"[PAYMENT_CARD_2]\"]}"}}`,
	},
	{
		"a number in an input",
		`{"content":[{"input":{"card":4111111111111111,"n":4111111111111112}}]}`,
		`{"content":[{"input":{"card":"[PAYMENT_CARD_1]","n":4111111111111112}}]}`,
	},
	{
		"numbers with nothing but a comma between",
		`{"input":{"n":[4111111111111111,5500005555555559,1]},"arguments":"[4111111111111111,5500005555555559]"}`,
		`{"input":{"n":["[PAYMENT_CARD_1]","[PAYMENT_CARD_2]",1]},"arguments":"[\"[PAYMENT_CARD_1]\",\"[PAYMENT_CARD_2]\"]"}`,
	},
	{
		"a number with a sign, beside an escape",
		`{"content":[{"input":{"n":-4111111111111111,"\n":""}}]}`,
		`{"content":[{"input":{"n":"-[PAYMENT_CARD_1]","\n":""}}]}`,
	},
	{
		"spelled digits of a number in arguments",
		`{"arguments":"{\"n\":\u0034111111111111111}"}`,
		`{"arguments":"{\"n\":\"[PAYMENT_CARD_1]\"}"}`,
	},
}

func TestRewrites(t *testing.T) {
	for _, c := range rewrites {
		r := redacting(t).Request(inspect.OpenAIRequest, []byte(c.body))
		if string(r.Body) != c.want {
			t.Errorf("%s:\n%s\nbecomes %s\nwant    %s\n%+v", c.name, c.body, r.Body, c.want, r.Findings)
		}
	}
}

func TestSplitFindingHasThePathOfItsFirstPart(t *testing.T) {
	r := redacting(t).Request(inspect.AnthropicRequest, []byte(`{"system":[{"text":"é"},{"text":" é jane.roe@exam"},{"text":"ple.com"}]}`))
	if len(r.Findings) != 1 || r.Findings[0].Path != "system[1].text" || r.Findings[0].Start != 4 || r.Findings[0].End != 24 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestOtherTextsAreApart: adjacent parts of one message are joined into one text. No other texts are.
func TestOtherTextsAreApart(t *testing.T) {
	for _, body := range []string{
		`{"messages":[{"content":"jane.roe@exam"},{"content":"ple.com"}]}`,
		`{"messages":[{"content":[{"text":"jane.roe@exam"}]},{"content":[{"text":"ple.com"}]}]}`,
		`{"messages":[{"content":[{"text":"jane.roe@exam"},{"type":"image_url"},{"text":"ple.com"}]}]}`,
		`{"messages":[{"content":[{"text":"jane.roe@exam"},{"type":"thinking","thinking":"x"},{"text":"ple.com"}]}]}`,
		`{"messages":[{"content":[{"text":"jane.roe@exam"},{"text":"x","signature":"s"},{"text":"ple.com"}]}]}`,
		`{"input":["jane.roe@exam","ple.com"]}`,
		`{"text":"jane.roe@exam","a":{"text":"ple.com"}}`,
		`{"a":[[{"text":"jane.roe@exam"}],[{"text":"ple.com"}]]}`,
	} {
		if r := redacting(t).Request(inspect.OpenAIRequest, []byte(body)); len(r.Findings) > 0 {
			t.Errorf("%s: %+v", body, r.Findings)
		}
	}
}

// fixed lists bodies with a finding that cannot be rewritten. Such a finding is blocked instead of redacted.
var fixed = []string{
	`{"messages":[{"content":[{"type":"thinking","thinking":"«»","signature":"s"}]}]}`,
	`{"messages":[{"content":[{"signature":"s","thinking":"«»","type":"thinking"}]}]}`,
	`{"messages":[{"reasoning_details":[{"type":"reasoning.text","text":"«»","signature":"s"}]}]}`,
	`{"messages":[{"content":[{"type":"tool_use","input":{"«»":1}}]}]}`,
	`{"messages":[{"content":[{"type":"tool_use","input":{"a":{ "x «»" : 1}}}]}]}`,
	`{"messages":[{"tool_calls":[{"function":{"arguments":"{\"«»\" :1}"}}]}]}`,
	`{"tools":[{"parameters":{"properties":{"«»":{}}}}]}`,
}

func TestWhatCannotBeRedactedIsBlocked(t *testing.T) {
	for _, body := range fixed {
		body = strings.Replace(body, "«»", email, 1)
		r := redacting(t).Request(inspect.AnthropicRequest, []byte(body))
		if r.Decision != governor.Rejected || r.Body != nil || len(r.Findings) != 1 || r.Findings[0].Action != governor.Block || r.Reports[0].Action != governor.Block {
			t.Errorf("%s: %s, %+v", body, r.Decision, r.Findings)
		}
		if strings.Contains(r.Findings[0].Path, "jane") {
			t.Errorf("%s: the path %s has the finding", body, r.Findings[0].Path)
		}
		flagging := &inspect.Check{Policy: policy(t, governor.Flag, "personal.email"), Redactor: &governor.Redactor{}}
		if r := flagging.Request(inspect.AnthropicRequest, []byte(body)); r.Decision != governor.Approve || r.Tally.Risk != 5 {
			t.Errorf("%s: flagged %s, risk %d", body, r.Decision, r.Tally.Risk)
		}
	}
}

// TestUnsignedNeighborsAreRedacted: a signature covers only its own object. Findings in other objects are redacted.
func TestUnsignedNeighborsAreRedacted(t *testing.T) {
	body := `{"content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"` + email + `"}]}`
	if r := redacting(t).Request(inspect.AnthropicRequest, []byte(body)); r.Decision != governor.Approve || !strings.Contains(string(r.Body), "[EMAIL_1]") {
		t.Errorf("%s: %s", r.Decision, r.Body)
	}
}

// TestDecisions: blocking rewrites nothing, flagging counts, and an allowed rule finds nothing.
func TestDecisions(t *testing.T) {
	body := []byte(`{"messages":[{"content":"` + email + ` and ` + card + ` and x@example.com"}]}`)
	for _, c := range []struct {
		action   governor.Action
		decision governor.Decision
		count    int
	}{
		{governor.Allow, governor.Approve, 0}, {governor.Flag, governor.Review, 3}, {governor.Redact, governor.Approve, 3}, {governor.Block, governor.Rejected, 3},
	} {
		check := &inspect.Check{Policy: policy(t, c.action, "personal.email", "personal.payment-card")}
		r := check.Request(inspect.NativeRequest, body)
		if r.Decision != c.decision || r.Tally.Total != c.count || (r.Body != nil) != (c.action == governor.Redact) {
			t.Errorf("%s: %s, %d findings, body %s", c.action, r.Decision, r.Tally.Total, r.Body)
		}
		if c.action == governor.Redact && !strings.Contains(string(r.Body), "[EMAIL] and [PAYMENT_CARD] and [EMAIL]") {
			t.Errorf("without a redactor: %s", r.Body)
		}
	}
}

func TestReports(t *testing.T) {
	check := redacting(t)
	r := check.Request(inspect.NativeRequest, []byte(`{"messages":[{"content":"`+email+` x@example.com"},{"content":"x \ud83d\ude00 `+email+` AKIAQ4VN7ZT2KXW3MJ5D"}]}`))
	if len(r.Reports) != 2 || r.Reports[0].Count != 3 || r.Reports[0].Path != "messages[0].content" || r.Reports[1].Start != 28 {
		t.Fatalf("%+v", r.Reports)
	}
	if first, second := r.Reports[0], r.Reports[1]; first.Excerpt != "om" || second.Excerpt != "" || len(second.MAC) != 64 || first.MAC == second.MAC {
		t.Errorf("%+v", r.Reports)
	}
	same := check.Request(inspect.AnthropicRequest, []byte(`{"system":"\u006aane.roe@example.com"}`))
	if same.Reports[0].MAC != r.Reports[0].MAC {
		t.Error("one value has two fingerprints")
	}
	other := redacting(t)
	other.Key = func() []byte { return []byte("another project's") }
	if r := other.Request(inspect.AnthropicRequest, []byte(`{"system":"`+email+`"}`)); r.Reports[0].MAC == same.Reports[0].MAC {
		t.Error("two projects' fingerprints are the same")
	}
}

// TestManyFindings: of many findings, 100 are listed, but the policy's action applies to all. A rule is reported even
// if its first finding is not listed.
func TestManyFindings(t *testing.T) {
	body := `{"messages":[{"content":"` + strings.Repeat(email+" ", 5000) + `"},{"content":"` + card + `"}]}`
	r := redacting(t).Request(inspect.NativeRequest, []byte(body))
	if len(r.Findings) != governor.MaxListed || r.Tally.Total != 5001 || strings.Contains(string(r.Body), "@") || strings.Count(string(r.Body), "[EMAIL_1]") != 5000 {
		t.Errorf("%d listed, %d counted", len(r.Findings), r.Tally.Total)
	}
	if len(r.Reports) != 2 || r.Reports[0].Count != 5000 || r.Reports[1].Path != "messages[1].content" {
		t.Errorf("%+v", r.Reports)
	}
}

// TestLength: the length is the number of characters, not bytes. Only texts count, not other strings.
func TestLength(t *testing.T) {
	settings := governor.NewSettings()
	settings.MaxInput, settings.MaxOutput = 6, 3
	check := &inspect.Check{Policy: settings.Policy()}
	for body, want := range map[string]governor.Decision{
		`{"model":"a long name","messages":[{"content":"é\u00e9é"},{"content":[{"text":"😀😀"},{"text":"x"}]}]}`:  governor.Approve,
		`{"model":"a long name","messages":[{"content":"é\u00e9é"},{"content":[{"text":"😀😀"},{"text":"xx"}]}]}`: governor.Rejected,
	} {
		if r := check.Request(inspect.OpenAIRequest, []byte(body)); r.Decision != want {
			t.Errorf("%s: %s of %d characters, %+v", body, r.Decision, r.Characters, r.Findings)
		}
	}
	if r := check.Answer(inspect.NativeAnswer, []byte(`{"text":"four"}`)); r.Decision != governor.Rejected || r.Findings[0].Rule != governor.RuleLengthOutput {
		t.Errorf("%s, %+v", r.Decision, r.Findings)
	}
}

func TestText(t *testing.T) {
	text := "a \\u0041 \"quote\" " + email + "\n" + card
	r := redacting(t).Text(text, governor.Input)
	if want := "a \\u0041 \"quote\" [EMAIL_1]\n[PAYMENT_CARD_1]"; string(r.Body) != want {
		t.Errorf("%s", r.Body)
	}
	if len(r.Findings) != 2 || r.Findings[0].Path != "text" || text[r.Findings[0].Start:r.Findings[0].End] != email {
		t.Errorf("%+v", r.Findings)
	}
	blocking := &inspect.Check{Policy: policy(t, governor.Block, "personal.email")}
	if r := blocking.Text("x AKIAQ4VN7ZT2KXW3MJ5D "+email, governor.Output); r.Decision != governor.Rejected || string(r.Body) != "x [AWS_ACCESS_KEY_ID] "+email {
		t.Errorf("%s: %s", r.Decision, r.Body)
	}
	if r := redacting(t).Text("nothing", governor.Input); r.Body != nil || r.Decision != governor.Approve {
		t.Errorf("%+v", r)
	}
}

// TestNotPromised documents evasions that the rules do not find.
func TestNotPromised(t *testing.T) {
	for _, text := range []string{
		"amFuZS5yb2VAZXhhbXBsZS5jb20=",
		"jane.roe@exam\u200bple.com",
		"4111\u200b1111\u200b1111\u200b1111",
		"AKIA\u200bQ4VN7ZT2KXW3MJ5D",
	} {
		if r := redacting(t).Text(text, governor.Input); len(r.Findings) > 0 {
			t.Errorf("%q is found: %+v", text, r.Findings)
		}
	}
	// A document may be nested twice in strings. It is decoded twice, not three times.
	body := `{"arguments":"{\"a\":\"{\\\"b\\\":\\\"jane\\\\\\\\u002eroe\\\\\\\\u0040example.com\\\"}\"}"}`
	if r := redacting(t).Request(inspect.OpenAIRequest, []byte(body)); jsontext.Check([]byte(body)) != jsontext.OK || len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestMalformedBodiesEnd: callers pass only valid bodies. Other bodies must not make a check hang or panic.
func TestMalformedBodiesEnd(t *testing.T) {
	whole := `{"messages":[{"content":[{"type":"text","text":"\u006aane.roe@example.com"}]},{"tool_calls":[{"function":{"arguments":"{\"a\":4111111111111111}"}}]}],"input":{"a":[1]},"logprobs":{"content":[{"token":"a","bytes":[1],"top_logprobs":[{}]}]}}`
	for i := range whole {
		redacting(t).Request(inspect.OpenAIRequest, []byte(whole[:i]))
		redacting(t).Answer(inspect.ResponsesAnswer, []byte(whole[i:]))
		inspect.Restore(inspect.OpenAIAnswer, []byte(whole[:i]), &governor.Redactor{})
	}
}
