package governor_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

func TestInvalidExemptions(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	const long = "aaaaaaaaaa"
	for exemptions, want := range map[string]string{
		`"a@example.com"`:                                  "exemptions must be an array",
		`["a@example.com"]`:                                "exemptions",
		`[{"value":"a@example.com","pattern":"a"}]`:        "exemptions[0].value must be set unless pattern is set; set only one of them",
		`[{"rule":"personal.email"}]`:                      "exemptions[0].value must be set unless pattern is set; set only one of them",
		`[{"value":7}]`:                                    "exemptions[0].value must be a string",
		`[{"value":""}]`:                                   "exemptions[0].value must have 1 to 320 bytes",
		`[{"value":"a","rule":"personal.nobody"}]`:         "exemptions[0].rule must be a rule or category that finds texts",
		`[{"value":"a","rule":"length.input"}]`:            "exemptions[0].rule must be a rule or category that finds texts",
		`[{"value":"a\u0000b"}]`:                           "exemptions[0].value must have 1 to 320 bytes",
		`[{"value":"` + strings.Repeat(long, 33) + `"}]`:   "exemptions[0].value must have 1 to 320 bytes",
		`[{"pattern":"(a+)+\\1"}]`:                         "exemptions[0].pattern is not a valid regular expression",
		`[{"pattern":"(?=a)"}]`:                            "exemptions[0].pattern must not use",
		`[{"pattern":""}]`:                                 "exemptions[0].pattern must not match the empty text",
		`[{"value":"a","rule":"keyword.gone"}]`:            "exemptions[0].rule must be a rule or category that finds texts",
		`[{"pattern":".*"}]`:                               "exemptions[0].pattern must not match the empty text",
		`[{"pattern":"` + strings.Repeat(long, 52) + `"}]`: "exemptions[0].pattern must have at most 512 bytes",
		`[{"pattern":"(` + strings.Repeat(long, 20) + `)"},{"pattern":"` + strings.Repeat(long, 20) + `"}]`: "body is not valid: the patterns of exemptions need more than 400 instructions",
		`[` + strings.Repeat(`{"value":"a"},`, 100) + `{"value":"a"}]`:                                      "exemptions",
	} {
		got := b.Do("PUT", path+"/governor", `{"exemptions":`+exemptions+`}`)
		b.Refused(got, fault.InvalidRequest)
		if text := detail(got); !strings.HasPrefix(text, want) || strings.Contains(text, long) {
			t.Errorf("%.80s: %s", exemptions, text)
		}
	}
	many := `{"exemptions":[` + strings.Repeat(`{"value":"a"},`, 4000) + `{"value":"a"}]}`
	b.Refused(b.Do("PUT", path+"/governor", many), fault.InvalidRequest)
	b.Refused(b.Do("PUT", path+"/governor", "{\"exemptions\":[{\"value\":\"\xff\xfe\"}]}"), fault.InvalidRequest)
	if s := settingsOf(b, path); len(s.Exemptions) != 0 {
		t.Errorf("stored: %+v", s.Exemptions)
	}
	b.Must(200, "PUT", path+"/governor", `{"exemptions":[`+strings.Repeat(`{"value":"a"},`, 99)+`{"value":"a"}]}`)
}

// TestSystemActions checks the action for system texts. The rule's entry takes precedence over the category's entry.
// Without either, the action for input applies.
func TestSystemActions(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	b.Must(200, "PUT", path+"/governor", `{"rules":{"personal":{"input":"block","system":"allow"},"personal.iban":{"input":"redact"},"personal.email":{"system":"redact"}}}`)
	got := controltest.Field(b.Must(200, "GET", path+"/governor", ""), "rules")
	const want = `{"personal":{"input":"block","output":"flag","system":"allow"},"personal.email":{"input":"block","output":"flag","system":"redact"},"personal.iban":{"input":"redact","output":"flag","system":"allow"}}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for body, want := range map[string]string{
		`{"rules":{"personal":{"system":"deny"}}}`:                                "rules.personal.system must be",
		`{"rules":{"length":{"system":"flag"}}}`:                                  "rules.length.system is unknown",
		`{"keywords":[{"name":"a","words":["ab"],"system":null}]}`:                "keywords[0].system must be",
		`{"patterns":[{"name":"a","pattern":"a","severity":"low","system":"x"}]}`: "patterns[0].system must be",
	} {
		refused := b.Do("PUT", path+"/governor", body)
		b.Refused(refused, fault.InvalidRequest)
		if text := detail(refused); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", body, text)
		}
	}
}

func TestTryOfARole(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	const draft = `,"settings":{"rules":{"personal.email":{"input":"block","system":"allow"}},"exemptions":[{"value":"Team@Example.com"},{"rule":"personal.email","pattern":"[a-z]+@corp\\.example"}]}`
	for _, c := range []struct{ text, rest, want string }{
		{tryMail, draft, "block 5 personal.email:block:5"},
		{tryMail, `,"role":"user"` + draft, "block 5 personal.email:block:5"},
		{tryMail, `,"role":"system"` + draft, "approve 0"},
		{"team@example.com", draft, "approve 0"},
		{"team@example.com.au", draft, "block 5 personal.email:block:5"},
		{"jane@corp.example", draft, "approve 0"},
		{"jane2@corp.example", draft, "block 5 personal.email:block:5"},
		{"noreply@anthropic.com", draft, "approve 0"},
		{"noreply@anthropic.com", `,"settings":{"exemptAgentAddresses":false}`, "approve 5 personal.email:flag:5"},
	} {
		if got, _ := trial(b, path, c.text, c.rest); got != c.want {
			t.Errorf("%q %s: got %q, want %q", c.text, c.rest, got, c.want)
		}
	}
}
