package control

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/money"
)

// What a value may be.
const (
	maxNameRunes           = 120
	maxBudgetDollars       = "9000000" // money.Pico reaches a little farther
	maxCacheTTLSeconds     = 30 * 24 * 60 * 60
	defaultCacheTTLSeconds = 60 * 60
	maxListLimit           = 100
	defaultListLimit       = 50
	maxBudgetText          = 64
)

// regions are the platform's location hints.
// Source: developers.cloudflare.com/durable-objects/reference/data-location/
var regions = []string{"wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"}

// name takes the field "name" if it is given.
func (f *fields) name() (name string, given bool) {
	name, given = f.text("name", "")
	if given && !isName(name) {
		f.wrong("name", "must be 1 to 120 characters, not all of them blank, none of them a control character")
	}
	return name, given
}

// requiredName takes the field "name", which must be there.
func (f *fields) requiredName() string {
	if _, ok := f.values["name"]; !ok {
		f.wrong("name", "is required")
	}
	name, _ := f.name()
	return name
}

// isName is for what people read in lists and logs: something to see, no line breaks of any kind, and nothing
// that turns the text around it.
func isName(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= maxNameRunes && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}) && strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

// choice takes a text that must be one of some.
func (f *fields) choice(field, otherwise string, choices []string) (text string, given bool) {
	text, given = f.text(field, otherwise)
	if given && !slices.Contains(choices, text) {
		f.wrong(field, "must be one of "+strings.Join(choices, ", "))
		return otherwise, false
	}
	return text, given
}

// defaultedChoice is choice with the first as the default.
func (f *fields) defaultedChoice(field string, choices []string) string {
	text, _ := f.choice(field, choices[0], choices)
	return text
}

// budget takes the field "budget": dollars a month, to the picodollar.
func (f *fields) budget(otherwise money.Pico) (amount money.Pico, given bool) {
	digits, given := f.number("budget")
	if !given {
		return otherwise, false
	}
	limit, _ := money.Parse(maxBudgetDollars, money.Dollar)
	amount, ok := parseDollars(digits)
	if !ok || amount > limit {
		f.wrong("budget", "must be dollars from 0 to "+maxBudgetDollars+", to 12 decimal places")
		return otherwise, false
	}
	return amount, true
}

// parseDollars reads a JSON number. An exponent is written out first; floating point holds its digits as
// exactly as the caller's own JSON library did.
func parseDollars(digits string) (money.Pico, bool) {
	if len(digits) > maxBudgetText {
		return 0, false
	}
	if strings.ContainsAny(digits, "eE") {
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return 0, false
		}
		digits = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return money.Parse(digits, money.Dollar)
}

// cacheTTL takes the field "cacheTtlSeconds".
func (f *fields) cacheTTL(otherwise uint64) (seconds uint64, given bool) {
	digits, given := f.number("cacheTtlSeconds")
	if !given {
		return otherwise, false
	}
	seconds, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || seconds > maxCacheTTLSeconds {
		f.wrong("cacheTtlSeconds", "must be an integer from 0 to 2592000")
		return otherwise, false
	}
	return seconds, true
}

// models takes the field "models": the names that a key may use. Whether the catalog has them is not asked
// here: it may change, and a name that it does not have opens nothing.
func (f *fields) models() (names []string, given bool) {
	value, given := f.take("models")
	if !given {
		return nil, false
	}
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &names) != nil || len(names) > doc.MaxModels {
		f.wrong("models", "must be at most "+strconv.Itoa(doc.MaxModels)+" names")
		return nil, false
	}
	for _, name := range names {
		if !isModelName(name) {
			f.wrong("models", "must be names of models or tiers")
			return nil, false
		}
	}
	return names, true
}

func isModelName(name string) bool {
	return name != "" && len(name) <= doc.MaxModelBytes && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// count takes a field that is a whole number from 1 to most.
func (f *fields) count(field string, most uint64) (n uint64, given bool) {
	digits, given := f.number(field)
	if !given {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n < 1 || n > most {
		f.wrong(field, "must be an integer from 1 to "+strconv.FormatUint(most, 10))
		return 0, false
	}
	return n, true
}

// null takes a field if it is null.
func (f *fields) null(field string) bool {
	if string(f.values[field]) != "null" {
		return false
	}
	delete(f.values, field)
	return true
}

// object takes a field that is an object, as fields of its own.
func (f *fields) object(field string) (inner *fields, given bool) {
	value, given := f.take(field)
	if !given {
		return nil, false
	}
	values, err := decodeObject(value)
	if err != nil {
		f.wrong(field, "must be an object")
		return nil, false
	}
	return &fields{values: values}, true
}

// close adds what is wrong with an inner object to the outer one's problems.
func (f *fields) close(field string, inner *fields) {
	if err := inner.refused(); err == nil {
		return
	}
	for _, p := range inner.problems {
		f.wrong(field+"."+p.Field, p.Message)
	}
}

// The words of the interface, each with what it means inside, in the same order.
var (
	kindWords        = []string{"gateway", "project"}
	kindValues       = []keys.Kind{keys.Gateway, keys.Project}
	environmentWords = []string{"production", "development"}
	environments     = []keys.Environment{keys.Production, keys.Development}
)

// translate finds the counterpart of a value in a list of the same order. An unknown value has none: the
// zero value.
func translate[From comparable, To any](value From, from []From, to []To) (counterpart To) {
	if i := slices.Index(from, value); i >= 0 {
		counterpart = to[i]
	}
	return counterpart
}
