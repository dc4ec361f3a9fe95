package jsontext_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/jsontext"
)

func nested(open, inside, end string, depth int) string {
	return strings.Repeat(open, depth) + inside + strings.Repeat(end, depth)
}

// keysObject returns an object with n members. name returns their keys.
func keysObject(n int, name func(int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s":%d`, name(i), i)
	}
	return "{" + b.String()[1:] + "}"
}

var checks = []struct {
	text string
	want jsontext.Problem
}{
	{`{}`, jsontext.OK},
	{` [ ] `, jsontext.OK},
	{"\t\r\n null \n", jsontext.OK},
	{`true`, jsontext.OK},
	{`false`, jsontext.OK},
	{`""`, jsontext.OK},
	{`-0.0e-0`, jsontext.OK},
	{`{"a":[1,{"b":[]},"c"],"d":{}}`, jsontext.OK},
	{`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, jsontext.OK},
	{`"\ud800"`, jsontext.OK},
	{`"é€😀` + "\u007f\ufeff\u2028" + `"`, jsontext.OK},
	{``, jsontext.Syntax},
	{` `, jsontext.Syntax},
	{`nul`, jsontext.Syntax},
	{`nulll`, jsontext.Syntax},
	{`True`, jsontext.Syntax},
	{`{} {}`, jsontext.Syntax},
	{`{"a"}`, jsontext.Syntax},
	{`{"a":}`, jsontext.Syntax},
	{`{"a":1,}`, jsontext.Syntax},
	{`{,}`, jsontext.Syntax},
	{`{a:1}`, jsontext.Syntax},
	{`{"a":1"b":2}`, jsontext.Syntax},
	{`{1:2}`, jsontext.Syntax},
	{`[1,]`, jsontext.Syntax},
	{`[,1]`, jsontext.Syntax},
	{`[1 2]`, jsontext.Syntax},
	{`[1}`, jsontext.Syntax},
	{`{"a":1]`, jsontext.Syntax},
	{`]`, jsontext.Syntax},
	{`[`, jsontext.Syntax},
	{`{`, jsontext.Syntax},
	{`"`, jsontext.Syntax},
	{`"\`, jsontext.Syntax},
	{`"\u12`, jsontext.Syntax},
	{`"\u12g4"`, jsontext.Syntax},
	{`"\x41"`, jsontext.Syntax},
	{`"\U0041"`, jsontext.Syntax},
	{"\"\n\"", jsontext.Syntax},
	{"\"\x00\"", jsontext.Syntax},
	{"\"aaaaaaa\x1f\"", jsontext.Syntax},
	{`01`, jsontext.Syntax},
	{`-`, jsontext.Syntax},
	{`+1`, jsontext.Syntax},
	{`.5`, jsontext.Syntax},
	{`1.`, jsontext.Syntax},
	{`1e`, jsontext.Syntax},
	{`1e+`, jsontext.Syntax},
	{`0x1`, jsontext.Syntax},
	{`NaN`, jsontext.Syntax},
	{`Infinity`, jsontext.Syntax},
	{`'a'`, jsontext.Syntax},
	{`/**/1`, jsontext.Syntax},
	{"\xef\xbb\xbf{}", jsontext.Syntax},
	{"\u00a01", jsontext.Syntax},
	{"\"\xff\"", jsontext.BadUTF8},
	{"\"\xc3\"", jsontext.BadUTF8},
	{"\"\xed\xa0\x80\"", jsontext.BadUTF8},
	{"\"\xc0\xaf\"", jsontext.BadUTF8},
	{"\"\xf4\x90\x80\x80\"", jsontext.BadUTF8},
	{"{\"aaaaaaaaaaaaaaa\x80\":1}", jsontext.BadUTF8},
	{"\xff", jsontext.Syntax},
	{nested("[", "", "]", 100), jsontext.OK},
	{nested("[", "", "]", 101), jsontext.TooDeep},
	{nested(`{"a":`, "1", "}", 100), jsontext.OK},
	{nested(`{"a":`, "1", "}", 101), jsontext.TooDeep},
	{nested("[", "", "", 1_000_000), jsontext.TooDeep},
	{`{"a":1,"a":1}`, jsontext.DuplicateKey},
	{`{"a":1,"A":1}`, jsontext.OK},
	{`{"":1,"":2}`, jsontext.DuplicateKey},
	{`{"a":{"b":1},"c":{"b":1}}`, jsontext.OK},
	{`[{"a":1},{"a":1}]`, jsontext.OK},
	{`{"a":{"a":1}}`, jsontext.OK},
	{`{"x":{"a":1,"b":2,"a":3}}`, jsontext.DuplicateKey},
	{`{"a":1,"\u0061":2}`, jsontext.DuplicateKey},
	{`{"/":1,"\/":2}`, jsontext.DuplicateKey},
	{`{"é":1,"\u00e9":2}`, jsontext.DuplicateKey},
	{`{"e\u0301":1,"\u00e9":2}`, jsontext.OK},
	{`{"😀":1,"\uD83D\ude00":2}`, jsontext.DuplicateKey},
	{`{"\ud800":1,"\udfff":2}`, jsontext.DuplicateKey}, // both are read as U+FFFD
	{`{"\u0000":1,"":2}`, jsontext.OK},
	{keysObject(13, func(i int) string { return fmt.Sprint("k", i) }), jsontext.OK},
	{keysObject(13, func(i int) string { return fmt.Sprint("k", i%12) }), jsontext.DuplicateKey},
	{keysObject(300, func(i int) string { return fmt.Sprint("k", i) }), jsontext.OK},
	{keysObject(300, func(i int) string { return fmt.Sprint("k", i%299) }), jsontext.DuplicateKey},
	{keysObject(300, func(i int) string { return fmt.Sprintf(`\u%04x`, 0x3b1+i%299) }), jsontext.DuplicateKey},
}

func TestCheck(t *testing.T) {
	for _, c := range checks {
		if got := jsontext.Check([]byte(c.text)); got != c.want {
			t.Errorf("%.100q: %d, want %d", c.text, got, c.want)
		}
	}
}

// TestCheckAlignment puts every special byte at each position of the eight bytes that are checked together.
func TestCheckAlignment(t *testing.T) {
	for before := range 20 {
		for after := range 10 {
			around := func(middle string) []byte {
				return []byte(`"` + strings.Repeat("a", before) + middle + strings.Repeat("b", after) + `"`)
			}
			for middle, want := range map[string]jsontext.Problem{
				"": jsontext.OK, "é": jsontext.OK, `\"`: jsontext.OK, `\\`: jsontext.OK, "\x7f": jsontext.OK, "!": jsontext.OK,
				"\x1f": jsontext.Syntax, "\x00": jsontext.Syntax, `"`: jsontext.Syntax, "\x80": jsontext.BadUTF8, "\xff": jsontext.BadUTF8,
			} {
				if got := jsontext.Check(around(middle)); got != want {
					t.Fatalf("%q: %d, want %d", around(middle), got, want)
				}
			}
		}
	}
}

func TestProblemMessages(t *testing.T) {
	seen := map[string]bool{}
	for p := jsontext.Syntax; p <= jsontext.DuplicateKey; p++ {
		if text := p.String(); seen[text] || !strings.HasPrefix(text, "must ") {
			t.Errorf("%d: %q", p, text)
		} else {
			seen[text] = true
		}
	}
}

// TestManyKeysStayFast checks four megabytes of keys, in forms that could make comparing them slow.
func TestManyKeysStayFast(t *testing.T) {
	const size = 4_000_000
	mixed := func(i int) int { return i * 2654435761 & 0xffffff } // a pseudo-random order
	for name, object := range map[string]string{
		"in order":      keysObject(size/14, func(i int) string { return fmt.Sprintf("%06x", i) }),
		"mixed":         keysObject(size/17, func(i int) string { return fmt.Sprintf("%06x", mixed(i)) }),
		"escaped":       keysObject(size/21, func(i int) string { return fmt.Sprintf(`\u0061%06x`, mixed(i)) }),
		"common prefix": keysObject(2000, func(i int) string { return strings.Repeat("p", 1980) + fmt.Sprintf("%06x", mixed(i)) }),
		"few and long":  keysObject(12, func(i int) string { return strings.Repeat(`\n`, size/24-10) + fmt.Sprint(i) }),
		"levels":        nested(`{"a":`, keysObject(size/17, func(i int) string { return fmt.Sprintf("%06x", mixed(i)) }), "}", 99),
	} {
		start := time.Now()
		if got := jsontext.Check([]byte(object)); got != jsontext.OK {
			t.Errorf("%s: %d", name, got)
		}
		t.Log(name, len(object), "bytes", time.Since(start))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(object), took)
		}
	}
}

// reference uses the standard library's decoder. It returns the nesting depth of a valid text, and whether an object
// in it has a duplicate key.
func reference(data []byte) (depth int, duplicate bool) {
	type level struct {
		keys  map[string]bool // nil in an array
		inKey bool
	}
	var open []level
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return depth, duplicate
		}
		if err != nil {
			panic(err)
		}
		if top := len(open) - 1; top >= 0 && open[top].keys != nil && token != json.Delim('}') {
			if open[top].inKey = !open[top].inKey; open[top].inKey {
				key := token.(string)
				duplicate = duplicate || open[top].keys[key]
				open[top].keys[key] = true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		depth = max(depth, len(open))
	}
}

// TestReference tests the reference itself.
func TestReference(t *testing.T) {
	for _, c := range checks {
		if c.want == jsontext.Syntax || c.want == jsontext.BadUTF8 || !json.Valid([]byte(c.text)) {
			continue
		}
		depth, duplicate := reference([]byte(c.text))
		if (c.want == jsontext.TooDeep) != (depth > jsontext.MaxDepth) || (c.want == jsontext.DuplicateKey) != duplicate {
			t.Errorf("%.100q: the reference says %d deep, duplicate %v", c.text, depth, duplicate)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, c := range checks {
		if len(c.text) < 2000 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(compareWithReference)
}

func compareWithReference(t *testing.T, data []byte) {
	t.Helper()
	got := jsontext.Check(data)
	if !json.Valid(data) {
		if got == jsontext.OK {
			t.Errorf("%q was accepted", data)
		}
		return
	}
	depth, duplicate := reference(data)
	possible := map[jsontext.Problem]bool{
		jsontext.TooDeep: depth > jsontext.MaxDepth, jsontext.DuplicateKey: duplicate, jsontext.BadUTF8: !utf8.Valid(data),
	}
	possible[jsontext.OK] = !possible[jsontext.TooDeep] && !possible[jsontext.DuplicateKey] && !possible[jsontext.BadUTF8]
	if !possible[got] {
		t.Errorf("%q: %d; valid JSON, %d deep, duplicate %v, UTF-8 %v", data, got, depth, duplicate, utf8.Valid(data))
	}
}

// TestChangedBytes compares Check with the reference for texts with long strings, at every alignment and with every
// byte at every position.
func TestChangedBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		text := []byte(`{"a":"` + strings.Repeat("xé ", random.IntN(8)) + `\n` + strings.Repeat("y", random.IntN(20)) + `","b":[1.5e3,"` + strings.Repeat("€", random.IntN(6)) + `"]}`)
		for range random.IntN(3) {
			text[random.IntN(len(text))] = byte(random.IntN(256))
		}
		compareWithReference(t, text)
	}
}

func TestExamineLocatesTheProblem(t *testing.T) {
	many := `{"k00":0,"k01":1,"k02":2,"k03":3,"k04":4,"k05":5,"k06":6,"k07":7,"k08":8,"k09":9,"k10":10,"k11":11,"k\u0030\u0030":0}`
	for text, want := range map[string]string{
		`{"a":1,}`:                               "must be valid JSON; the error is at byte 7",
		`{"a":1`:                                 "must be valid JSON; the error is at byte 6",
		``:                                       "must be valid JSON; the error is at byte 0",
		"{\"a\":\"\xff\"}":                       "must be valid UTF-8; the error is at byte 6",
		`{"a":{"b":1,"b":2}}`:                    `must not have the key <b> twice in one object`,
		many:                                     `must not have the key <k00> twice in one object`,
		strings.Repeat("[", jsontext.MaxDepth+1): "must not nest deeper than 100 levels",
	} {
		found := jsontext.Examine([]byte(text))
		if got := found.Message(func(key string) string { return "<" + key + ">" }); got != want {
			t.Errorf("%.40s:\ngot  %s\nwant %s", text, got, want)
		}
	}
	if found := jsontext.Examine([]byte(`{"a":1}`)); found != (jsontext.Finding{}) {
		t.Errorf("a valid text: %v", found)
	}
}
