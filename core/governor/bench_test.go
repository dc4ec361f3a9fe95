package governor

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"
)

// texts are 32 KB of ordinary text of three kinds.
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
		"prose": read("../../RATIONALE.md"),
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

// BenchmarkScanKeywords is BenchmarkScan with a list of keywords.
func BenchmarkScanKeywords(b *testing.B) {
	rules := AllRules()
	keywords, err := NewKeywords([]string{"project bluebird", "acme", "internal only", "confidential"})
	if err != nil {
		b.Fatal(err)
	}
	rules.SetKeywords(keywords)
	text := texts(b)["prose"]
	b.SetBytes(int64(len(text)))
	var found []Finding
	for b.Loop() {
		found = Scan(text, rules, found[:0])
	}
}

// BenchmarkSHA256 is the measure: the checks of 32 KB should cost at most half of it. Compare with the processor's
// SHA instructions off (GODEBUG=cpu.sha=off,cpu.avx2=off): WebAssembly has none.
func BenchmarkSHA256(b *testing.B) {
	text := texts(b)["prose"]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		sha256.Sum256(text)
	}
}
