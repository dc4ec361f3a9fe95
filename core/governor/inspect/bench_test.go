package inspect_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

func prompt(b testing.TB, size int) string {
	b.Helper()
	content, err := os.ReadFile("../../../docs/project/decisions/core-and-hosts.md")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Repeat(string(content), size/len(content)+1)[:size]
}

// BenchmarkRequest checks a request with a prompt of 8 KB. For comparison, BenchmarkScan only scans the same text,
// and BenchmarkCheck measures the validation that every request needs anyway.
func BenchmarkRequest(b *testing.B) {
	body := []byte(`{"model":"gpt-4.1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":` + string(jsontext.AppendString(nil, prompt(b, 8<<10))) + `}],"temperature":0.7,"max_tokens":1000,"stream":true}`)
	c := inspect.Check{Policy: governor.NewPolicy(), Redactor: &governor.Redactor{}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		c.Request(inspect.OpenAIRequest, body)
	}
}

func BenchmarkScan(b *testing.B) {
	text := []byte(prompt(b, 8<<10))
	rules := governor.AllRules()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		governor.Scan(text, rules, nil)
	}
}

func BenchmarkCheck(b *testing.B) {
	body := []byte(`{"m":` + string(jsontext.AppendString(nil, prompt(b, 8<<10))) + `}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		jsontext.Check(body)
		gjson.ParseBytes(body).ForEach(func(_, _ gjson.Result) bool { return true })
	}
}
