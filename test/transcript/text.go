package transcript

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
)

func (p *Printer) masked(text string) string {
	if p.Mask != nil {
		text = p.Mask.Replace(text)
	}
	return hash.ReplaceAllString(text, "$1…")
}

// hash matches a SHA-256 hash. A text shows only the first digits, which are enough to tell two hashes apart.
var hash = regexp.MustCompile(`\b([0-9a-f]{6})[0-9a-f]{58}\b`)

func (p *Printer) buffer(number uint64) string {
	if p.Buffer != nil {
		return p.Buffer(number)
	}
	return fmt.Sprintf("buffer %d", number)
}

// parts formats a body. Buffers are shown as names in brackets.
func (p *Printer) parts(parts []abi.Part) string {
	var text string
	for _, part := range parts {
		if part.Buffer != 0 {
			text += "[" + p.buffer(part.Buffer) + "]"
		} else {
			text += p.text(part.Data)
		}
	}
	return text
}

// text formats the start of the data on one line. If the data is not text, it shows the length.
func (p *Printer) text(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	if !printable(data) {
		return fmt.Sprintf("(%d bytes)", len(data))
	}
	text, limit := oneLine.Replace(string(data)), p.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

func printable(data []byte) bool {
	for _, c := range string(data) {
		if c == utf8.RuneError || c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}

// dullFields matches the times and the ID in a log line.
var dullFields = regexp.MustCompile(`"(timeMs|durationMs|admitMs|upstreamMs)":\d+,?|"requestId":"[^"]*",?`)

func logLine(data []byte) string {
	return strings.Replace(dullFields.ReplaceAllString(string(data), ""), ",}", "}", 1)
}
