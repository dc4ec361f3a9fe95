package inspect_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

func fourMB(before, unit, behind string) []byte {
	const size = 4_000_000
	return []byte(before + strings.Repeat(unit, (size-len(before)-len(behind))/len(unit)) + behind)
}

// heavy lists bodies that need a lot of memory for their size.
var heavy = map[string][3]string{
	"cards":                {`{"messages":[{"content":"`, card + "; ", `"}]}`},
	"cards and escapes":    {`{"messages":[{"content":"\n`, card + `\n`, `"}]}`},
	"short cards":          {`{"messages":[{"content":"`, "4222222222222;", `"}]}`},
	"numbers":              {`{"content":[{"input":{"a":[1`, "," + card, `]}}]}`},
	"arguments":            {`{"function":{"arguments":"{\"a\":[1`, "," + card, `]}"}}`},
	"joined numbers":       {`{"function":{"arguments":"[1`, "+" + card, `]"}}`},
	"strings in arguments": {`{"function":{"arguments":"[1`, `,\"` + card + `\"`, `]"}}`},
	"parts":                {`{"content":[{}`, `,{"text":"` + card + `;"}`, `]}`},
	"split cards":          {`{"content":[{}`, `,{"text":"41111111"},{"text":"11111111;"}`, `]}`},
	"tiny parts":           {`{"content":[{}`, `,{"text":"a"}`, `]}`},
	"tiny messages":        {`{"messages":[{}`, `,{"content":"\n"}`, `]}`},
	"tool calls":           {`{"messages":[{}`, `,{"arguments":"{}"}`, `]}`},
	"images":               {`{"messages":[{}`, `,{"type":"image"}`, `]}`},
	"members":              {`{"a":[{}`, `,{"\u0061b":1}`, `]}`},
	"keys":                 {`{"input":{"a":0`, `,"` + card + `":0`, `}}`},
	"one key":              {`{"input":{"`, card + ";", `":0}}`},
	"placeholders":         {`{"messages":[{"content":"` + card + ` `, "[PAYMENT_CARD_2] ", `"}]}`},
	"mails":                {`{"messages":[{"content":"`, "a@bc.de ", `"}]}`},
	"log probabilities":    {`{"logprobs":{"content":[{}`, `,{"token":"41111111"},{"token":"11111111;","bytes":[1],"top_logprobs":[]}`, `]}}`},
}

// TestMemoryIsBounded: the core's memory has no garbage collector, so all memory that a check allocates counts.
func TestMemoryIsBounded(t *testing.T) {
	const limit = 20 << 20
	for name, c := range heavy {
		body := fourMB(c[0], c[1], c[2])
		check := redacting(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := check.Request(inspect.OpenAIRequest, body)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d findings, %s, %.1f MB", name, r.Tally.Total, r.Decision, float64(used)/(1<<20))
		if used > limit {
			t.Errorf("%s: %d bytes", name, used)
		}
		if r.Body != nil && jsontext.Check(r.Body) != jsontext.OK && name != "keys" {
			t.Errorf("%s: invalid", name)
		}
	}
}

// TestOrdinaryRequestsAllocateLittle: a string without escapes is scanned in place.
func TestOrdinaryRequestsAllocateLittle(t *testing.T) {
	check := redacting(t)
	for _, c := range []struct {
		text string
		want uint64
	}{{strings.Repeat("ordinary text ", 5000), 14 << 10}, {strings.Repeat("ordinary text\\n", 5000), 14<<10 + 80<<10}} {
		body := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"short"},`, 200) + `{"content":"` + c.text + `"}]}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		check.Request(inspect.OpenAIRequest, body)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > c.want {
			t.Errorf("%d bytes for a body of %d", used, len(body))
		}
	}
}

func BenchmarkHeavy(b *testing.B) {
	for name, c := range heavy {
		body := fourMB(c[0], c[1], c[2])
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				check := inspect.Check{Policy: policy(b, governor.Redact, "personal.payment-card"), Redactor: &governor.Redactor{Reversible: true}}
				check.Request(inspect.OpenAIRequest, body)
			}
		})
	}
}
