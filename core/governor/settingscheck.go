package governor

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check returns an error for the first invalid setting. The error names the setting and its value, and says what to
// change. Check does not check the schema (see package schema). It also does not check that programs belong to their
// patterns.
func (s *Settings) Check() error {
	if s.AutoApprove > MaxRisk {
		return errors.New("autoApproveThreshold must be between 0 and 100, got " + strconv.FormatUint(s.AutoApprove, 10))
	}
	if len(s.Lists) > MaxLists || len(s.Patterns) > MaxPatterns {
		return errors.New("at most 32 keyword lists and 32 patterns are possible")
	}
	for i := range s.Actions {
		if !isRule(s.Actions[i].Rule) {
			return errors.New("unknown rule " + strconv.Quote(s.Actions[i].Rule) + "; see GET /api/admin/governor/rules")
		}
	}
	names := make([]string, 0, MaxLists)
	for i := range s.Lists {
		if err := s.Lists[i].check(names); err != nil {
			return err
		}
		names = append(names, s.Lists[i].Name)
	}
	if err := checkPatterns(s.Patterns); err != nil {
		return err
	}
	if err := s.checkExemptions(); err != nil {
		return err
	}
	if compileKeywords(s.Lists) == nil && slices.ContainsFunc(s.Lists, func(l KeywordList) bool { return len(l.Words) > 0 }) {
		return errors.New("keywords have too many different letters in all; remove words")
	}
	if n := len(s.Encode()); n > MaxPolicy {
		return errors.New("the settings have " + strconv.Itoa(n) + " bytes when compiled, more than " + strconv.Itoa(MaxPolicy) + "; remove keywords, or shorten patterns or the schema")
	}
	return nil
}

// isRule reports whether a name is the name of a category, or of a rule in the table.
func isRule(name string) bool {
	for c := range Categories {
		if c.String() == name {
			return true
		}
	}
	_, ok := Lookup(name)
	return ok
}

// checkName checks the name of a list or a pattern. No two of them may have the same name.
func checkName(kind, name string, others []string) error {
	valid := len(name) > 0 && len(name) <= MaxNameLength && class[name[0]]&isLower != 0
	for i := range len(name) {
		valid = valid && (class[name[i]]&(isLower|isDigit) != 0 || name[i] == '-')
	}
	if !valid {
		return errors.New(kind + " name must be a lowercase letter, then up to 31 lowercase letters, digits and dashes, got " + strconv.Quote(name))
	}
	if slices.Contains(others, name) {
		return errors.New(kind + " name " + strconv.Quote(name) + " appears twice; rename one")
	}
	return nil
}

// checkPatterns checks the names of the patterns and the size of their programs.
func checkPatterns(patterns []Pattern) error {
	names, total := make([]string, 0, MaxPatterns), 0
	for i := range patterns {
		if err := checkName("pattern", patterns[i].Name, names); err != nil {
			return err
		}
		names = append(names, patterns[i].Name)
		n := Instructions(patterns[i].Program)
		if n == 0 {
			return errors.New("pattern " + patterns[i].Name + " is not compiled")
		}
		if total += n; total > MaxInstructions {
			return errors.New("the patterns need more than " + strconv.Itoa(MaxInstructions) + " instructions in all; use smaller counts, fewer alternatives or fewer patterns")
		}
	}
	return nil
}

func (l *KeywordList) check(others []string) error {
	if err := checkName("keyword list", l.Name, others); err != nil {
		return err
	}
	for _, word := range l.Words {
		if len(word) < 2 || len(word) > maxKeyword {
			return errors.New("keyword list " + l.Name + ": a keyword must have 2 to 120 bytes, got " + strconv.Quote(word))
		}
		if !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return errors.New("keyword list " + l.Name + ": a keyword must be UTF-8 without control characters, got " + strconv.Quote(word))
		}
	}
	return nil
}
