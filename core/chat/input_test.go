package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// TestInput reads a custom tool's input text from complete arguments. Nothing that a model wrote is lost.
func TestInput(t *testing.T) {
	for args, want := range map[string]string{
		`{"input":"*** Begin Patch\n+é \"x\" \\ \ud83d\ude00"}`: "*** Begin Patch\n+é \"x\" \\ 😀",
		` { "note" : {"input":["no"]} , "input" : "yes" } `:     "yes",
		`{"n":1,"s":"}\"","b":true,"input":"last"}`:             "last",
		`{"input":""}`:                       "",
		`{"patch":"x"}`:                      `{"patch":"x"}`,
		`{"input":7}`:                        `{"input":7}`,
		`{"inputs":"x"}`:                     `{"inputs":"x"}`,
		`{}`:                                 `{}`,
		`plain text`:                         `plain text`,
		`"a string"`:                         `"a string"`,
		`{"_invalid":"*** x"}`:               "*** x",
		`{"_invalid":"{\"input\":\"cut of"}`: "cut of",
		`{"input":"cut of`:                   "cut of",
		`{"input":"a\qb\u12Zb"}`:             `a\qb\u12Zb`,
	} {
		text := chat.Input(args)
		if jsontext.Check([]byte(`"`+text+`"`)) != jsontext.OK {
			t.Errorf("%s: %q is not the inside of a string", args, text)
		}
		if got := text.Plain(); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if got := chat.Input(chat.InputArgs(`a\n\"b\"`)); got != `a\n\"b\"` {
		t.Errorf("%q after a round trip", got)
	}
}

// FuzzInputReader reads arguments in pieces. The output of each piece is the inside of a JSON string. All outputs
// together equal the output for the complete arguments.
func FuzzInputReader(f *testing.F) {
	f.Add(`{"input":"a\n\"é\" \ud83d\ude00 \\u0041"}`, uint8(1))
	f.Add(`{"a":[{"b":"}"}],"input":"x"}`, uint8(3))
	f.Add(`{"input":"\ud83d broken \u12"}`, uint8(2))
	f.Add(`bare "text" \`, uint8(1))
	f.Fuzz(func(t *testing.T, args string, size uint8) {
		if !utf8.ValidString(args) {
			return
		}
		for _, escaped := range []jsontext.Escaped{jsontext.Escape(args), spelled(args)} {
			var whole, pieces chat.InputReader
			want := string(whole.Read(nil, escaped))
			got := ""
			for _, piece := range cutEscaped(escaped, int(size)%7+1) {
				text := pieces.Read(nil, piece)
				if jsontext.Check([]byte(`"`+string(text)+`"`)) != jsontext.OK {
					t.Fatalf("%q: %q is not the inside of a string", args, text)
				}
				got += string(text)
			}
			if got != want {
				t.Fatalf("%q in pieces: %q, whole: %q", args, got, want)
			}
		}
		var object map[string]any
		if json.Unmarshal([]byte(args), &object) != nil || strings.Count(args, `"input"`) != 1 || jsontext.Check([]byte(args)) != jsontext.OK {
			return
		}
		if text, ok := object["input"].(string); ok && !strings.Contains(args, `\u`) && !strings.HasPrefix(args, `{"_invalid":`) {
			if got := chat.Input(args).Plain(); got != text {
				t.Fatalf("%q: %q, want %q", args, got, text)
			}
		}
	})
}

func spelled(text string) jsontext.Escaped {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range text {
		if c > 0xffff {
			b.WriteRune(c)
			continue
		}
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(digits[c>>shift&15])
		}
	}
	return jsontext.Escaped(b.String())
}

// cutEscaped splits an escaped text into pieces of about size units.
func cutEscaped(text jsontext.Escaped, size int) (pieces []jsontext.Escaped) {
	start, units := 0, 0
	for at := 0; at < len(text); {
		switch {
		case text[at] == '\\' && text[at+1] == 'u':
			at += 6
		case text[at] == '\\':
			at += 2
		default:
			at++
			for at < len(text) && text[at]&0xc0 == 0x80 {
				at++
			}
		}
		if units++; units == size {
			pieces, start, units = append(pieces, text[start:at]), at, 0
		}
	}
	return append(pieces, text[start:])
}
