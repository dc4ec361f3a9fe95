package inspect_test

import (
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
)

func TestSmoke(t *testing.T) {
	p := governor.NewPolicy()
	for _, name := range []string{"personal.email", "personal.payment-card"} {
		id, _ := governor.Lookup(name)
		p.Set(governor.Input, id, governor.Redact)
	}
	c := &inspect.Check{Policy: p, Redactor: &governor.Redactor{Reversible: true}, Key: []byte("k")}
	for _, body := range []string{
		`{"model":"x","messages":[{"role":"user","content":"mail jane.roe@example.com and \u006aane.roe@example.com, [EMAIL_1]"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"mail jane.roe@exam"},{"text":"ple.com now","type":"text"}]}]}`,
		`{"messages":[{"tool_calls":[{"function":{"name":"f","arguments":"{\"to\":\"jane.roe\\u0040example.com\", \"card\": 4111111111111111}"}}]}]}`,
		`{"messages":[{"content":[{"type":"tool_use","input":{"jane.roe@example.com":"jane.roe@example.com", "n":[4111111111111111]}}]}]}`,
		`{"messages":[{"content":[{"type":"thinking","thinking":"jane.roe@example.com","signature":"abc"}]}]}`,
	} {
		r := c.Request(inspect.OpenAIRequest, []byte(body))
		t.Logf("%s\n%s\n%+v %v %+v", body, r.Body, r.Findings, r.Decision, r.Reports)
	}
}
