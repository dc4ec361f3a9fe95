package governor

import (
	"crypto/sha256"
	"os"
	"strconv"
	"strings"
	"testing"
)

func texts(b *testing.B) map[string][]byte {
	b.Helper()
	read := func(name string) []byte {
		content, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		return []byte(strings.Repeat(string(content), 32<<10/len(content)+1))[:32<<10]
	}
	record := `{"id":"chatcmpl-9f2c","model":"gpt-5.4-nano","created":1795313530,"usage":{"prompt_tokens":812,"total_tokens":903},"ok":true,"note":"no more than a few words"},`
	return map[string][]byte{
		"prose": read("../../docs/project/decisions/core-and-hosts.md"),
		"code":  read("scan.go"),
		"mixed": read("../../testdata/governor/ordinary/lines.txt"),
		"json":  []byte(strings.Repeat(record, 32<<10/len(record)+1))[:32<<10],
	}
}

func BenchmarkScan(b *testing.B) {
	rules := AllRules()
	for kind, text := range texts(b) {
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var found []Finding
			for b.Loop() {
				found = Scan(text, rules, found[:0])
			}
		})
	}
}

func BenchmarkScanKeywords(b *testing.B) {
	rules := withKeywords("project bluebird", "acme", "internal only", "confidential")
	text := texts(b)["prose"]
	b.SetBytes(int64(len(text)))
	var found []Finding
	for b.Loop() {
		found = Scan(text, rules, found[:0])
	}
}

// BenchmarkSHA256 measures a hash for comparison: scanning 32 KB should take at most half as long. For the
// comparison, turn off the processor's SHA instructions (GODEBUG=cpu.sha=off,cpu.avx2=off), because WebAssembly has
// no such instructions.
func BenchmarkSHA256(b *testing.B) {
	text := texts(b)["prose"]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		sha256.Sum256(text)
	}
}

// BenchmarkHostile scans texts that should take as long as possible. Each text repeats the start of something that a
// detector rejects later.
func BenchmarkHostile(b *testing.B) {
	rules := AllRules()
	for name, unit := range map[string]string{
		"key heads":      "-----BEGIN RSA PRIVATE KEY-----\n",
		"token heads":    "eyJhbGciOi ",
		"one token head": "eyJ.",
		"long token":     "eyJhbGciOiJ",
		"groups":         "4111 ",
		"cards":          "4111 1111 1111 1112, ",
		"dates":          "820101 ",
		"digits":         "8201015800086 ",
		"addresses":      "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb ",
		"names":          "password=",
		"secrets":        "password is ",
		"births":         "born dob birthday ",
		"phrases":        "ignore do not show ",
		"mails":          "a@a.a@a.b@",
		"urls":           "http://a:",
		"colons":         "a:b:c:d:",
		"brackets":       "([<",
		"ibans":          "GB82 WEST 1234 5698 7654 ",
		"vendors":        "aws twilio heroku datadog cloudflare vercel 01234567890123456789abcdef ",
		"plus":           "+49 30 +1 ",
	} {
		text := []byte(strings.Repeat(unit, 64<<10/len(unit)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var found []Finding
			for b.Loop() {
				found = Scan(text, rules, found[:0])
			}
		})
	}
}

// BenchmarkStream scans 32 KB in pieces of 24 bytes.
func BenchmarkStream(b *testing.B) {
	rules := AllRules()
	text := texts(b)["prose"]
	b.SetBytes(int64(len(text)))
	window := make([]byte, 0, 64<<10)
	for b.Loop() {
		s := NewScanner(rules)
		window = window[:0]
		for i := 0; i < len(text); i += 24 {
			window = append(window, text[i:min(i+24, len(text))]...)
			_, done := s.Next(window, false, nil)
			window = append(window[:0], window[done:]...)
		}
	}
}

// BenchmarkSettings decodes settings and compiles their rules. A stream does the same for each chunk.
func BenchmarkSettings(b *testing.B) {
	defaults, all, large := NewSettings(), fullSettings(), fullSettings()
	large.Lists[0].Words = nil
	for i := range 500 {
		large.Lists[0].Words = append(large.Lists[0].Words, "codename "+strconv.Itoa(i*7919%1000))
	}
	for i := range table {
		large.Actions = append(large.Actions, RuleActions{table[i].Name, Block, Redact, 0})
	}
	for name, s := range map[string]*Settings{"defaults": &defaults, "some": &all, "large": &large} {
		data := s.Encode()
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(float64(len(data)), "bytes")
			for b.Loop() {
				got, err := DecodeSettings(data)
				if err != nil {
					b.Fatal(err)
				}
				got.Policy().Rules(Output)
			}
		})
	}
}
