package chat

import "strings"

// Meter identifies the part of a response that counts the calls of a provider tool.
type Meter uint8

const (
	Unmetered    Meter = iota // none: the response does not count the calls
	Searches                  // web searches
	FileSearches              // searches in a provider's file store
	Containers                // containers that ran code
	Images                    // generated images
	meters
)

// meterNames are the names of the meters in the catalog.
var meterNames = [meters]string{"", "searches", "fileSearches", "containers", "images"}

// MeterByName returns the meter with the given name in the catalog.
func MeterByName(name string) (Meter, bool) {
	for m := Searches; m < meters; m++ {
		if meterNames[m] == name {
			return m, true
		}
	}
	return Unmetered, name == ""
}

// Calls contains the numbers of calls of provider tools, indexed by Meter.
type Calls [meters]uint64

// Prices contains prices per call, indexed by Meter.
type Prices [meters]int64

// ToolUse is a provider tool that a request offers to the model. Name is the tool's name in the catalog. Max is the
// number of calls that the request allows. If the request sets no limit, Max is 0.
type ToolUse struct {
	Name string
	Max  uint64
}

// ToolName returns the name of a provider tool in the catalog. The name is the tool's type without a date such as
// that in web_search_20250305 or web_search_2025_08_26.
//
//go:noinline
func ToolName(kind string) string {
	for at := 1; at+4 < len(kind); at++ {
		if kind[at:at+3] == "_20" && kind[at+3] >= '0' && kind[at+3] <= '9' {
			return kind[:at]
		}
	}
	return kind
}

// A term is a choice that changes the price of all tokens. Its form is FIELD=VALUE, for example service_tier=flex.
// Terms are comma-separated. A standard value is empty: "service_tier=" means that the response names the standard
// tier.

const maxTermBytes = 32

// standard lists the values of terms at which the catalog's own prices apply.
var standard = []string{"auto", "default", "standard", "standard_only", "on_demand", "scale", "global", "not_available", "30m", "5m"}

// Term returns the term for an unescaped value of a field. If no catalog can list the value, the term's value is "?".
//
//go:noinline
func Term(member, value string) string {
	for _, s := range standard {
		if value == s {
			return member + "="
		}
	}
	switch {
	case value == "fast" && member == TierMember:
		value = "priority" // OpenAI's new name for the same tier
	case !isTermValue(value):
		value = "?"
	}
	return member + "=" + value
}

// TierMember is the field that chooses a service tier in all dialects.
const TierMember = "service_tier"

func isTermValue(value string) bool {
	for i := 0; i < len(value); i++ {
		if c := value[i]; !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return value != "" && len(value) <= maxTermBytes
}

// AddTerm appends a term to a list, and removes any earlier term for the same field.
//
//go:noinline
func AddTerm(terms, term string) string {
	member, _ := SplitTerm(term)
	kept := ""
	for t, rest := NextTerm(terms); t != ""; t, rest = NextTerm(rest) {
		if name, _ := SplitTerm(t); name != member {
			kept += t + ","
		}
	}
	return kept + term
}

// NextTerm splits the first term off a list. At the end of the list, the term is empty.
//
//go:noinline
func NextTerm(list string) (term, rest string) {
	term, rest, _ = strings.Cut(list, ",")
	return term, rest
}

// SplitTerm returns the field and the value of a term.
//
//go:noinline
func SplitTerm(term string) (member, value string) {
	member, value, _ = strings.Cut(term, "=")
	return member, value
}

// TermOf returns the value of a field in a list of terms. If the list has no term for the field, ok is false.
//
//go:noinline
func TermOf(list, member string) (value string, ok bool) {
	for t, rest := NextTerm(list); t != ""; t, rest = NextTerm(rest) {
		if name, value := SplitTerm(t); name == member {
			return value, true
		}
	}
	return "", false
}
