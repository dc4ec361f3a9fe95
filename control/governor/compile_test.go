package governor

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/governor"
)

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// patternRules returns rules that apply patterns and none of the built-in rules.
func patternRules(t failer, sources ...string) *governor.Rules {
	t.Helper()
	s := governor.NewSettings()
	for c := range governor.Categories {
		s.Actions = append(s.Actions, governor.RuleActions{Rule: c.String()})
	}
	for i, source := range sources {
		compiled, err := compilePattern(source)
		if err != nil {
			t.Fatalf("%q %v", source, err)
		}
		s.Patterns = append(s.Patterns, governor.Pattern{
			Name: "p" + string(rune('a'+i)), Severity: governor.Medium, Input: governor.Flag, Source: source, Program: compiled.Program, MaxLength: compiled.MaxLength,
		})
	}
	return s.Policy().Rules(governor.Input)
}

// matched returns the start and end of each finding.
func matched(found []governor.Finding) (places [][]int) {
	for _, f := range found {
		places = append(places, []int{f.Start, f.End})
	}
	return places
}

// byRegexp returns the reference result: Go's leftmost-longest matches.
func byRegexp(t failer, source, text string) [][]int {
	re, err := regexp.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	re.Longest()
	return re.FindAllStringIndex(text, -1)
}

// inPieces scans a text in pieces. Between two pieces, only the scanner's encoded state is kept.
func inPieces(t failer, rules *governor.Rules, text string, size int) (found []governor.Finding) {
	s, window := governor.NewScanner(rules), []byte(nil)
	for i := 0; ; i += size {
		final := i >= len(text)
		if !final {
			window = append(window, text[i:min(i+size, len(text))]...)
		}
		var done int
		found, done = s.Next(window, final, found)
		if final {
			return found
		}
		window = slices.Clone(window[done:])
		next, err := governor.Resume(s.AppendState(nil), rules)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
}

// comparePattern compares the matches with those of Go's regexp, scanning the text at once and in pieces.
func comparePattern(t failer, source, text string) {
	t.Helper()
	rules := patternRules(t, source)
	want := byRegexp(t, source, text)
	if got := matched(governor.Scan([]byte(text), rules, nil)); !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("%q in %q finds %v, Go's regexp %v", source, text, got, want)
	}
	for size := 1; size <= 5; size++ {
		if got := matched(inPieces(t, rules, text, size)); !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q in %q in pieces of %d finds %v, want %v", source, text, size, got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ source, text string }{
		{`EMP-[0-9]{6}`, "employee EMP-123456, EMP-12345 and EMP-1234567."},
		{`\bEMP-\d{6}\b`, "EMP-123456 EMP-1234567 xEMP-123456"},
		{`(?i)straße|strasse`, "STRASSE Straße STRAßE strasse"},
		{`^[a-z]+`, "first\nsecond"},
		{`(?m)^[a-z]+$`, "first\nsecond\nthird x\nfourth"},
		{`[a-z]+$`, "first second"},
		{`\Aab|ab\z`, "ab ab ab"},
		{`a|ab|abc`, "abcd abx"},
		{`[äöü]+|\p{Greek}{2,}`, "für αβγ öäü"},
		{`.`, "aé日😀\n\xff\xfez"},
		{`[^a]b`, "ab\xffb éb"},
		{`x(?:ab|cd)*?y`, "xabcdy xy xabcy"},
		{`\Bab\B`, "cabd ab cab"},
		{`(?s)a.b`, "a\nb acb"},
		{`\x{FFFD}`, "a\xffb"},
		{`\$\d+(\.\d\d)?`, "$12.50, $3.1"},
		{`K`, "K K"},
		{`(?i)k`, "K K k"},
	} {
		comparePattern(t, c.source, c.text)
	}
}

func TestRejectedPatterns(t *testing.T) {
	for source, want := range map[string]string{
		`a*`: "empty text", `^`: "empty text", `\b`: "empty text", `(a|)`: "empty text", `a{0,3}`: "empty text", ``: "empty text",
		`(?=a)b`: `"(?="`, `(?<!a)b`: "lookaround", `(a)\1`: `"\\1"`, `a(`: "missing closing", `[z-a]`: "character class range",
		`a{2000}`: "256 bytes", `(a{100}){100}`: "256 bytes", `[a-z]{300}`: "at least 300 bytes", `(?:[ab]{0,200}c){3,5}`: "instructions",
		strings.Repeat("a", 600): "512 bytes", "\xff": "invalid UTF-8", `[^\x00-\x{10FFFF}]`: "at least",
	} {
		if _, err := compilePattern(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", source, err, want)
		}
	}
}

func TestPatternMaxLength(t *testing.T) {
	for source, want := range map[string]uint64{`EMP-[0-9]{6}`: 4 + 6*4, `abc`: 3, `a+`: 256, `é|abc`: 3} {
		if got, err := compilePattern(source); err != nil || got.MaxLength != want {
			t.Errorf("%s: %d, %v; want %d", source, got.MaxLength, err, want)
		}
	}
}

// TestSeveralPatterns checks which match wins: the leftmost, then the longest, then that of the first pattern.
func TestSeveralPatterns(t *testing.T) {
	text := "abc abcd xbc"
	got := governor.Scan([]byte(text), patternRules(t, `bcd?`, `ab`, `abc`, `[a-z]bc`), nil)
	first := governor.ID(len(governor.Table()))
	want := []governor.Finding{{Rule: first + 2, Start: 0, End: 3}, {Rule: first + 2, Start: 4, End: 7}, {Rule: first + 3, Start: 9, End: 12}}
	if !slices.Equal(got, want) {
		t.Errorf("finds %v, want %v", got, want)
	}
}

// TestLongAttempts checks that a match has at most 256 bytes. The text after a longer attempt must still be searched.
func TestLongAttempts(t *testing.T) {
	rules := patternRules(t, `[a-z]+;`)
	for _, c := range []struct {
		text string
		want [][]int
	}{
		{strings.Repeat("a", 255) + ";", [][]int{{0, 256}}},
		{strings.Repeat("a", 256) + ";x", nil},
		{strings.Repeat("a", 300) + "; ab;", [][]int{{256, 301}, {302, 305}}},
	} {
		got := matched(governor.Scan([]byte(c.text), rules, nil))
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%d bytes: finds %v, want %v", len(c.text), got, c.want)
		}
		for _, size := range []int{1, 3, 100} {
			if pieces := matched(inPieces(t, rules, c.text, size)); !slices.EqualFunc(pieces, c.want, slices.Equal) {
				t.Errorf("%d bytes in pieces of %d: finds %v, want %v", len(c.text), size, pieces, c.want)
			}
		}
	}
}

// TestPatternsFindNoPlaceholders checks that patterns match neither placeholders nor parts of them. Patterns do match
// other words in brackets.
func TestPatternsFindNoPlaceholders(t *testing.T) {
	rules := patternRules(t, `[A-Z]{4,}`, `_[0-9]`)
	text := "[EMAIL_1] [EMAIL] [PATTERN_PA_12] [BLUEBIRD_1] [PATTERN_PX_1]"
	var got []string
	for _, f := range governor.Scan([]byte(text), rules, nil) {
		got = append(got, text[f.Start:f.End])
	}
	if want := []string{"BLUEBIRD", "_1", "PATTERN", "_1"}; !slices.Equal(got, want) {
		t.Errorf("finds %q, want %q", got, want)
	}
}

// randomPattern draws a regular expression over a few letters.
func randomPattern(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if depth == 0 {
			return rapid.SampledFrom([]string{"a", "b", "c", "é", "日", ".", "[ab]", "[^a]", "[b-d]", `\b`, `\B`, "^", "$", `\d`, " ", `\w`, "(?i:B)", "(?m:^)", "(?m:$)"}).Draw(t, "atom")
		}
		one, two := randomPattern(depth-1), randomPattern(depth-1)
		switch rapid.IntRange(0, 6).Draw(t, "form") {
		case 0:
			return "(?:" + one.Draw(t, "x") + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"}).Draw(t, "times")
		case 1:
			return "(" + one.Draw(t, "x") + "|" + two.Draw(t, "y") + ")"
		case 2:
			return one.Draw(t, "x")
		}
		return one.Draw(t, "x") + two.Draw(t, "y")
	})
}

// TestPatternsAgreeWithGo compares random patterns on random texts.
func TestPatternsAgreeWithGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := randomPattern(3).Draw(t, "pattern")
		if _, err := compilePattern(source); err != nil {
			if !strings.Contains(err.Error(), "empty text") && !strings.Contains(err.Error(), "at least") {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aabbcdé日1 \n")), 0, 40, -1).Draw(t, "text")
		comparePattern(t, source, text)
	})
}

// FuzzPattern compares each pattern that compiles with Go's regexp. The texts are shorter than the maximum length of
// a match.
func FuzzPattern(f *testing.F) {
	f.Add(`EMP-[0-9]{6}`, "an EMP-123456")
	f.Add(`(?i)\bé+$`, "É é")
	f.Fuzz(func(t *testing.T, source, text string) {
		if _, err := compilePattern(source); err != nil || len(text) >= governor.MaxMatch || !utf8.ValidString(source) || strings.Contains(text, "[") {
			return
		}
		comparePattern(t, source, text)
	})
}
