package governor

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"
)

// seeds adds one positive and one near miss of every rule.
func seeds(f *testing.F) {
	for _, r := range readData(f) {
		f.Add(r.positives[0].text)
		f.Add(r.fails[0].text)
	}
	f.Add([]byte(letter))
}

// FuzzFindings checks several properties of findings. They lie within the text, are in order, begin and end on
// character boundaries, and are no longer than their rule permits. They do not depend on how the text is cut.
func FuzzFindings(f *testing.F) {
	seeds(f)
	f.Add([]byte("project bluebird - [EMAIL_1] übe-naïve"))
	random := rand.New(rand.NewPCG(1, 1))
	for _, length := range []int{257, maxWord - len("acme-"), maxWord} { // a token may be as long as a word
		f.Add([]byte("acme-" + letters(random, 'w', length)))
	}
	s := NewSettings()
	s.Lists = []KeywordList{list("project bluebird", "token", "übe", "naïve", "a b"), {Name: "exact", Input: Flag, MatchCase: true, Words: []string{"EMAIL", "ab"}}}
	s.Patterns = []Pattern{{Name: "dash", Input: Flag, Program: dash}}
	s.Exemptions = []Exemption{{Rule: "personal", Value: "jane.doe@example.com"}, {Value: "token"}, {Rule: "pattern", Source: "-+", Program: dashes}}
	rules := s.Policy().Rules(Input)
	f.Fuzz(func(t *testing.T, text []byte) {
		found := Scan(text, rules, nil)
		checkRanges(t, text, found)
		cut := len(text) / 2
		if pieces, _ := scanPieces(t, rules, text[:cut], text[cut:]); !slices.Equal(pieces, found) {
			t.Fatalf("in two pieces %s\nwhole %s", describeAll(text, pieces), describeAll(text, found))
		}
		if pieces, _ := scanPieces(t, rules, slices.Collect(slices.Chunk(text, 3))...); !slices.Equal(pieces, found) {
			t.Fatalf("in pieces of 3 %s\nwhole %s", describeAll(text, pieces), describeAll(text, found))
		}
	})
}

func checkRanges(t *testing.T, text []byte, found []Finding) {
	t.Helper()
	end := 0
	for _, one := range found {
		if one.Start < end || one.End <= one.Start || one.End > len(text) {
			t.Fatalf("[%d,%d) after %d of %d", one.Start, one.End, end, len(text))
		}
		end = one.End
		if int(one.Rule) >= len(table) {
			if one.End-one.Start > MaxMatch {
				t.Fatalf("%d bytes of a keyword or pattern", one.End-one.Start)
			}
		} else if r := table[one.Rule]; one.End-one.Start > r.MaxLength {
			t.Fatalf("%s: %d bytes, more than %d", r.Name, one.End-one.Start, r.MaxLength)
		}
		if utf8.Valid(text) && (!utf8.RuneStart(text[one.Start]) || one.End < len(text) && !utf8.RuneStart(text[one.End])) {
			t.Fatalf("%s: not on character boundaries", describe(text, one))
		}
	}
}

// FuzzRedact: text is redacted once or twice, and restoring gives back the original text.
func FuzzRedact(f *testing.F) {
	seeds(f)
	rules, p := AllRules(), redactAll()
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &Redactor{Reversible: true}
		r.Reserve(text)
		redacted := r.Apply(nil, text, p, Input, Scan(text, rules, nil))
		if restored := r.Restore(nil, redacted); !bytes.Equal(restored, text) {
			t.Fatalf("%q redacted is %q, restored %q", text, redacted, restored)
		}
		// A finding may be recognizable only after the text beside it was redacted. For example, two groups of digits
		// may be too long together. Placeholders stay intact, and restoring twice gives the original text.
		again := r.Apply(nil, redacted, p, Input, Scan(redacted, rules, nil))
		if restored := r.Restore(nil, r.Restore(nil, again)); !bytes.Equal(restored, r.Restore(nil, text)) {
			t.Fatalf("%q\nredacted %q\nagain    %q\nrestored %q", text, redacted, again, restored)
		}
	})
}

// TestRedactionIsIdempotent: redacting an example twice gives the same result as redacting it once.
func TestRedactionIsIdempotent(t *testing.T) {
	rules, p := AllRules(), redactAll()
	for _, rule := range readData(t) {
		for _, e := range slices.Concat(rule.positives, rule.fails) {
			r := &Redactor{Reversible: true}
			r.Reserve(e.text)
			redacted := r.Apply(nil, e.text, p, Input, Scan(e.text, rules, nil))
			if again := r.Apply(nil, redacted, p, Input, Scan(redacted, rules, nil)); !bytes.Equal(again, redacted) {
				t.Errorf("%s\nredacted %s\nagain    %s", e.line, redacted, again)
			}
		}
	}
}

// FuzzSettings: decoding, compiling and scanning never crash, whatever bytes are decoded as settings.
func FuzzSettings(f *testing.F) {
	for _, s := range []Settings{NewSettings(), fullSettings()} {
		f.Add(s.Encode(), []byte("project bluebird - ACME a-b"))
	}
	f.Fuzz(func(t *testing.T, data, text []byte) {
		s, err := DecodeSettings(data)
		if err != nil {
			return
		}
		p := s.Policy()
		rules := p.Rules(Input)
		found := Scan(text, rules, nil)
		for _, one := range found {
			if name, _, _ := p.Rule(one.Rule); name == "" {
				t.Fatalf("rule %d has no name", one.Rule)
			}
		}
		r := &Redactor{Reversible: true}
		r.Apply(nil, text, p, Input, found)
		scanner := NewScanner(rules)
		_, done := scanner.Next(text[:len(text)/2], false, nil)
		if done < 0 || done > len(text)/2 {
			t.Fatalf("%d of %d bytes decided", done, len(text)/2)
		}
		scanner.Next(text[done:], true, nil)
	})
}
