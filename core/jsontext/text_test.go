package jsontext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/core/jsontext"
)

func TestJSONTestSuite(t *testing.T) {
	documents, err := suite.JSON()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[bool]int{}
	for _, d := range documents {
		accepted := jsontext.Check([]byte(d.Input)) == jsontext.OK
		if accepted != d.Valid() && !d.Either() {
			t.Errorf("%s: accepted is %v, want %v: %.100q", d.Name, accepted, d.Valid(), d.Input)
		}
		counts[d.Valid()]++
	}
	if counts[true] != 93 || counts[false] < 225 {
		t.Errorf("the suite has %d valid documents and %d others", counts[true], counts[false])
	}
}

func TestDuplicateKeysOfTheSuite(t *testing.T) {
	documents, err := suite.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		if strings.HasPrefix(d.Name, "y_object_duplicated_key") && jsontext.Check([]byte(d.Input)) != jsontext.DuplicateKey {
			t.Errorf("%s was not rejected for its duplicate keys", d.Name)
		}
	}
}

// naughty returns the suite's naughty strings, the first 256 characters and other special ones.
func naughty(t testing.TB) []string {
	texts, err := suite.Naughty()
	if err != nil {
		t.Fatal(err)
	}
	for c := range 0x100 {
		texts = append(texts, string(rune(c)), "a"+string(rune(c))+"b")
	}
	return append(texts, "\u2027\u2028\u2029\u202a", "\ufffd", "\ufeff", "\U0010ffff", strings.Repeat("x", 100)+"\"")
}

func TestAppendStringRoundTrip(t *testing.T) {
	for _, text := range naughty(t) {
		checkRoundTrip(t, text)
	}
}

func checkRoundTrip(t *testing.T, text string) {
	t.Helper()
	written := jsontext.AppendString([]byte("before"), text)[len("before"):]
	if jsontext.Check(written) != jsontext.OK {
		t.Errorf("%q was written as %s, which Check rejects", text, written)
		return
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\ufffd", "?"), "?")
	ours := strings.ReplaceAll(string(jsontext.Unescape(nil, written[1:len(written)-1])), "\ufffd", "?")
	var theirs string
	if err := json.Unmarshal(written, &theirs); err != nil {
		t.Errorf("%q: %v", text, err)
	}
	theirs = strings.ReplaceAll(theirs, "\ufffd", "?")
	// ToValidUTF8 replaces a run of invalid bytes with a single mark.
	squeeze := func(s string) string {
		for strings.Contains(s, "??") {
			s = strings.ReplaceAll(s, "??", "?")
		}
		return s
	}
	if ours != theirs || squeeze(ours) != squeeze(text) {
		t.Errorf("%q was unescaped as %q, by the standard library as %q", text, ours, theirs)
	}
	if strings.ContainsAny(string(written), "\u2028\u2029") {
		t.Errorf("%q: %s contains an unescaped line separator", text, written)
	}
}

func TestAppendStringSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"":                          `""`,
		"a\"b\\c/d":                 `"a\"b\\c/d"`,
		"\b\f\n\r\t\x00\x1f\x7f":    `"\u0008\u000c\n\r\t\u0000\u001f` + "\x7f\"",
		"<&>é😀":                     `"<&>é😀"`,
		"\u2028\u2029":              `"\u2028\u2029"`,
		"bad \xff\xfe \xed\xa0\x80": "\"bad \ufffd\ufffd \ufffd\ufffd\ufffd\"",
	} {
		if got := string(jsontext.AppendString(nil, text)); got != want {
			t.Errorf("%q was written as %s, want %s", text, got, want)
		}
	}
}

func TestUnescape(t *testing.T) {
	for inside, want := range map[string]string{
		``:                             "",
		`a\"b\\c\/d`:                   `a"b\c/d`,
		`\b\f\n\r\t`:                   "\b\f\n\r\t",
		`\u0041\u00e9\u20AC`:           "Aé€",
		`\ud83d\ude00`:                 "😀",
		`\ud800`:                       "\ufffd",
		`\udc00`:                       "\ufffd",
		`\ud800x`:                      "\ufffdx",
		`\ud800\n`:                     "\ufffd\n",
		`\ud800\u0041`:                 "\ufffdA",
		`\ud800\ud800\udc00`:           "\ufffd\U00010000",
		`\udbff\udfff`:                 "\U0010ffff",
		`\u0000`:                       "\x00",
		"é😀" + `\u2028` + "\u2029":     "é😀\u2028\u2029",
		strings.Repeat(`\\`, 50) + `n`: strings.Repeat(`\`, 50) + "n",
	} {
		if got := string(jsontext.Unescape([]byte("-"), []byte(inside))); got != "-"+want {
			t.Errorf("%s was unescaped as %q, want %q", inside, got, want)
		}
		var theirs string
		if err := json.Unmarshal([]byte(`"`+inside+`"`), &theirs); err != nil || theirs != want {
			t.Errorf("%s: the standard library returns %q, %v", inside, theirs, err)
		}
	}
}

// TestUnescapeEveryUnit tests each of the 65,536 code units on its own, with lowercase and uppercase digits.
func TestUnescapeEveryUnit(t *testing.T) {
	for unit := range 0x10000 {
		for _, form := range []string{`\u%04x`, `\u%04X`} {
			inside := fmt.Sprintf(form, unit)
			want := string(rune(unit)) // U+FFFD for a surrogate
			if got := string(jsontext.Unescape(nil, []byte(inside))); got != want {
				t.Fatalf("%s was unescaped as %q, want %q", inside, got, want)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range naughty(f) {
		f.Add(text)
	}
	f.Add("\xff\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, text string) { checkRoundTrip(t, text) })
}
