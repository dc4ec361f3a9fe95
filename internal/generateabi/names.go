package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// acronyms are words that Go names spell in capitals.
var acronyms = []string{"URL", "TTL", "KV", "ID", "OK"}

// words splits a Go name into words. KVCacheSeconds becomes KV, Cache and Seconds.
func words(name string) []string {
	var all []string
	for name != "" {
		n := 0
		for _, acronym := range acronyms {
			if strings.HasPrefix(name, acronym) {
				n = len(acronym)
				break
			}
		}
		if n == 0 {
			n = 1 + strings.IndexFunc(name[1:]+"A", unicode.IsUpper)
		}
		all = append(all, name[:n])
		name = name[n:]
	}
	return all
}

// camel returns the name of a field in TypeScript, such as kvCacheSeconds.
func camel(name string) string {
	all := words(name)
	all[0] = strings.ToLower(all[0])
	for i := range all[1:] {
		word := all[i+1]
		all[i+1] = word[:1] + strings.ToLower(word[1:])
	}
	return strings.Join(all, "")
}

// capitals returns the name of a constant in TypeScript, such as OUTCOME_TOO_LARGE.
func capitals(name string) string { return strings.ToUpper(strings.Join(words(name), "_")) }

// plural returns the name of a list of structs.
func plural(name string) string { return name + "s" }

var identifier = regexp.MustCompile(`[A-Za-z]+(\.[A-Z][A-Za-z]*)?`)

// translate replaces the Go names in a comment with TypeScript names. It replaces the names of constants, and the
// names of fields of the record that has the comment.
func (s *schema) translate(text string, about *record) string {
	return identifier.ReplaceAllStringFunc(text, func(name string) string {
		owner, member, qualified := strings.Cut(name, ".")
		switch {
		case qualified && s.recordOf(owner) != nil:
			return owner + "." + camel(member)
		case slices.ContainsFunc(s.constants(), func(c constant) bool { return c.name == name }):
			return capitals(name)
		case about != nil && about.field(name) != nil && s.recordOf(name) == nil && s.enumOf(name) == nil:
			return camel(name)
		}
		return name
	})
}
