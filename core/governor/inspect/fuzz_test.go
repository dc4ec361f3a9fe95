package inspect_test

import (
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// FuzzRequest: a rewritten body is valid and has no findings left. It is still valid after restoring.
func FuzzRequest(f *testing.F) {
	for _, c := range checked {
		f.Add(uint8(c.kind), []byte(c.body))
	}
	for _, c := range rewrites {
		f.Add(uint8(inspect.OpenAIRequest), []byte(c.body))
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		k := inspect.Kind(kind) % (inspect.AnthropicAnswer + 1)
		check := redacting(t)
		r := run(check, k, string(body))
		for _, one := range r.Findings {
			if one.Start < 0 || one.End < one.Start {
				t.Fatalf("%+v in %s", one, body)
			}
		}
		if jsontext.Check(body) != jsontext.OK || r.Body == nil {
			return
		}
		if jsontext.Check(r.Body) != jsontext.OK {
			t.Fatalf("%s\nbecomes %s", body, r.Body)
		}
		if again := run(check, k, string(r.Body)); again.Body != nil {
			t.Fatalf("%s\nbecomes %s\nthen    %s", body, r.Body, again.Body)
		}
		if restored := inspect.Restore(k, r.Body, check.Redactor); restored != nil && jsontext.Check(restored) != jsontext.OK {
			t.Fatalf("%s\nrestored %s", r.Body, restored)
		}
	})
}

// FuzzRestore: restoring keeps a response valid.
func FuzzRestore(f *testing.F) {
	for _, c := range restored {
		f.Add(uint8(c.kind), []byte(c.body))
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		check := &inspect.Check{Policy: policy(t, governor.Redact, "personal.email"), Redactor: &governor.Redactor{Reversible: true}}
		check.Request(inspect.NativeRequest, []byte(`{"a":"jane.roe@example.com x.y@example.com"}`))
		got := inspect.Restore(inspect.Kind(kind)%(inspect.AnthropicAnswer+1), body, check.Redactor)
		if p := jsontext.Check(got); got != nil && jsontext.Check(body) == jsontext.OK && p != jsontext.OK && p != jsontext.DuplicateKey {
			t.Fatalf("%s\nbecomes %s", body, got)
		}
	})
}
