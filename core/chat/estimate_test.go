package chat_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

type sample struct {
	Name, Text string
	Tokens     float64 // according to OpenAI's o200k_base
}

func samples(t testing.TB) (s struct{ Fitted, Others []sample }) {
	t.Helper()
	data, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEstimateError checks the error bounds in the doc comment of EstimateTokens.
func TestEstimateError(t *testing.T) {
	s := samples(t)
	check := func(name string, samples []sample, meanBound, worstBound float64) {
		sum, worst, plain, plainWorst := 0.0, 0.0, 0.0, 0.0
		for _, x := range samples {
			off := float64(chat.EstimateTokens(jsontext.Escape(x.Text)))/x.Tokens - 1
			t.Logf("%-24s %4.0f tokens, off by %+.0f%%", x.Name, x.Tokens, off*100)
			sum, worst = sum+math.Abs(off), max(worst, math.Abs(off))
			off = float64((len(x.Text)+3)/4)/x.Tokens - 1
			plain, plainWorst = plain+math.Abs(off), max(plainWorst, math.Abs(off))
		}
		n := float64(len(samples))
		t.Logf("%s: mean error %.4f, worst %.4f; with four bytes per token: %.4f, %.4f", name, sum/n, worst, plain/n, plainWorst)
		if sum/n > meanBound || worst > worstBound {
			t.Errorf("%s: mean error %.4f, worst %.4f", name, sum/n, worst)
		}
	}
	check("fitted", s.Fitted, 0.095, 0.245)
	check("others", s.Others, 0.135, 0.25)
}

// ascii writes all non-ASCII characters of a text as \u escapes.
func ascii(text string) jsontext.Escaped {
	var b strings.Builder
	for _, r := range string(jsontext.Escape(text)) {
		if r < 128 {
			b.WriteRune(r)
			continue
		}
		units := []uint16{uint16(r)}
		if r > 0xFFFF {
			high, low := utf16.EncodeRune(r)
			units = []uint16{uint16(high), uint16(low)}
		}
		for _, u := range units {
			const digits = "0123456789abcdef"
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[u>>shift&15])
			}
		}
	}
	return jsontext.Escaped(b.String())
}

func TestEstimateIgnoresSpelling(t *testing.T) {
	s := samples(t)
	for _, x := range append(s.Fitted, s.Others...) {
		spelled, escaped := chat.EstimateTokens(jsontext.Escape(x.Text)), chat.EstimateTokens(ascii(x.Text))
		if spelled != escaped {
			t.Errorf("%s: %d tokens, with escapes %d", x.Name, spelled, escaped)
		}
	}
	for _, pair := range [][2]jsontext.Escaped{
		{`a/b`, `a\/b`}, {`\n`, `\u000a`}, {`é`, `\u00E9`}, {`é`, `\u00e9`}, {`\"`, `\u0022`}, {`\t\t`, `\u0009\u0009`},
	} {
		if a, b := chat.EstimateTokens(pair[0]), chat.EstimateTokens(pair[1]); a != b {
			t.Errorf("%s has %d tokens, %s has %d", pair[0], a, pair[1], b)
		}
	}
}

func TestEstimateBounds(t *testing.T) {
	for text, want := range map[jsontext.Escaped]uint64{"": 0, "a": 1, "Hello": 2, `\n`: 0, "7": 2, "12345678901234567890": 8} {
		if got := chat.EstimateTokens(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
}

// TestEstimateIsNeverNearZero: no repeated character makes the estimate of a long text nearly 0.
func TestEstimateIsNeverNearZero(t *testing.T) {
	for r := range rune(0x3000) {
		text := jsontext.Escape(strings.Repeat(string(r), 1000))
		if got := chat.EstimateTokens(text); got < 60 {
			t.Errorf("1,000 times %q has %d tokens", r, got)
		}
	}
}

// TestEstimateNeverPanics estimates broken UTF-8, truncated escapes and other texts.
func TestEstimateNeverPanics(t *testing.T) {
	s := samples(t)
	for _, x := range append(s.Fitted, s.Others...) {
		for _, text := range []string{x.Text, string(ascii(x.Text))} {
			for i := range len(text) {
				chat.EstimateTokens(jsontext.Escaped(text[:i]))
				chat.EstimateTokens(jsontext.Escaped(text[i:]))
			}
		}
	}
	for c := range 256 {
		for d := range 256 {
			chat.EstimateTokens(jsontext.Escaped([]byte{byte(c), byte(d)}))
			chat.EstimateTokens(jsontext.Escaped([]byte{'\\', 'u', byte(c), byte(d), byte(c), byte(d)}))
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	var ascii, other strings.Builder
	s := samples(b)
	for _, x := range append(s.Fitted, s.Others...) {
		text := jsontext.Escape(x.Text)
		if strings.ContainsFunc(x.Text, func(r rune) bool { return r > 127 }) {
			other.WriteString(string(text))
		} else {
			ascii.WriteString(string(text))
		}
	}
	for name, text := range map[string]jsontext.Escaped{"ASCII": jsontext.Escaped(ascii.String()), "other": jsontext.Escaped(other.String())} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				chat.EstimateTokens(text)
			}
		})
	}
}
