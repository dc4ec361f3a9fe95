package governor

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// onlyKeywords returns rules with keyword lists and without the rules of the table.
func onlyKeywords(lists ...KeywordList) *Rules {
	s := NewSettings()
	s.Lists = lists
	r := s.Policy().Rules(Input)
	for i := range table {
		r.Disable(ID(i))
	}
	return r
}

func withKeywords(words ...string) *Rules {
	s := NewSettings()
	s.Lists = []KeywordList{list(words...)}
	return s.Policy().Rules(Input)
}

func list(words ...string) KeywordList {
	return KeywordList{Name: "codenames", Severity: Medium, Input: Flag, Output: Flag, Words: words}
}

func TestKeywords(t *testing.T) {
	for _, c := range []struct {
		text  string
		list  []string
		found string
	}{
		{"Project Bluebird is secret", []string{"project bluebird"}, "Project Bluebird"},
		{"bluebirds and bluebird_2", []string{"bluebird"}, ""},
		{"(bluebird), bluebird.", []string{"bluebird"}, "bluebird|bluebird"},
		{"a new york times article", []string{"new york", "new york times", "york"}, "new york times"},
		{"new yorker in york", []string{"new york times", "york"}, "york"},
		{"这是机密文件吗", []string{"机密", "机密文件"}, "机密文件"},
		{"mail acme@example.com to acme", []string{"acme"}, "acme|acme"},
		{"#tag and #tags", []string{"#tag"}, "#tag"},
	} {
		var got []string
		for _, f := range Scan([]byte(c.text), onlyKeywords(list(c.list...)), nil) {
			got = append(got, c.text[f.Start:f.End])
		}
		if joined := strings.Join(got, "|"); joined != c.found {
			t.Errorf("%q with %q finds %q, want %q", c.text, c.list, joined, c.found)
		}
	}
}

func TestDetectorsComeBeforeKeywords(t *testing.T) {
	rules := withKeywords("acme", "example.com now", "now")
	text := []byte("acme, acme@example.com now acme")
	want := "keyword.codenames [0,4) \"acme\", personal.email [6,22) \"acme@example.com\", keyword.codenames [23,26) \"now\", keyword.codenames [27,31) \"acme\""
	if got := describeWith(rules, text, Scan(text, rules, nil)); got != want {
		t.Errorf("finds %s\nwant %s", got, want)
	}
}

// naive finds keywords as they are defined: at each place, it takes the longest keyword that fits.
func naive(text string, list []string) (found []Finding) {
	word := func(i int) bool { return i >= 0 && i < len(text) && isWordByte(text[i]) }
	for i := 0; i < len(text); i++ {
		best := 0
		for _, k := range list {
			end := i + len(k)
			if len(k) > best && strings.HasPrefix(text[i:], k) && (!word(i) || !word(i-1)) && (!word(end-1) || !word(end)) {
				best = len(k)
			}
		}
		if best > 0 {
			found = append(found, Finding{listRule(0), i, i + best})
			i += best - 1
		}
	}
	return found
}

// TestKeywordsAreLeftmostLongest compares the results with those of naive. It scans the whole text, and the text in
// two pieces.
func TestKeywordsAreLeftmostLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab .]{2,5}`), 1, 6).Draw(t, "words")
		text := rapid.StringMatching(`[ab .]{0,40}`).Draw(t, "text")
		rules := onlyKeywords(list(words...))
		want := naive(text, words)
		if got := Scan([]byte(text), rules, nil); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", words, text, got, want)
		}
		s, cut := NewScanner(rules), rapid.IntRange(0, len(text)).Draw(t, "cut")
		got, done := s.Next([]byte(text[:cut]), false, nil)
		if got, _ = s.Next([]byte(text[done:]), true, got); !slices.Equal(got, want) {
			t.Fatalf("%q in %q cut at %d: %v, want %v", words, text, cut, got, want)
		}
	})
}
