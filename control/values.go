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

// Bounds of values.
const (
	maxNameRunes     = 120
	maxBudgetDollars = "9000000" // money.Pico allows slightly more
	maxListLimit     = 100
	defaultListLimit = 50
	maxBudgetText    = 64
)

// regions are the platform's location hints.
// Source: developers.cloudflare.com/durable-objects/reference/data-location/
var regions = []string{"wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"}

// name takes the field "name", if it is present.
func (f *fields) name() (name string, given bool) {
	name, given = f.text("name", "")
	if given && !isName(name) {
		f.problem("name", "must have 1 to 120 characters, at least one of them visible, and no line breaks, control or text-direction characters")
	}
	return name, given
}

// requiredName takes the field "name" and reports its absence.
func (f *fields) requiredName() string {
	if _, ok := f.values["name"]; !ok {
		f.problem("name", "is required")
	}
	name, _ := f.name()
	return name
}

// isName reports whether text is fit for lists and logs: it is visible, and has no line breaks, control
// characters or characters that reverse the text around it.
func isName(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= maxNameRunes && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}) && strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

// choice takes a string that must be one of choices.
func (f *fields) choice(field, fallback string, choices []string) (text string, given bool) {
	text, given = f.text(field, fallback)
	if given && !slices.Contains(choices, text) {
		f.problem(field, "must be "+oneOf(choices)+got(text))
		return fallback, false
	}
	return text, given
}

// defaultedChoice is choice with the first as the default.
func (f *fields) defaultedChoice(field string, choices []string) string {
	text, _ := f.choice(field, choices[0], choices)
	return text
}

// budget takes the field "budget": dollars per budget period, exact to the picodollar.
func (f *fields) budget(fallback money.Pico) (amount money.Pico, given bool) {
	const expectation = "must be a dollar amount between 0 and " + maxBudgetDollars + " with at most 12 decimal places"
	digits, given := f.number("budget", expectation)
	if !given {
		return fallback, false
	}
	limit, _ := money.Parse(maxBudgetDollars, money.Dollar)
	amount, ok := parseDollars(digits)
	if !ok || amount > limit {
		f.problem("budget", expectation+gotNumber(digits))
		return fallback, false
	}
	return amount, true
}

// parseDollars parses a JSON number. A number with an exponent passes through floating point, which is as
// exact as the caller's own JSON library.
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

// models takes the field "models": the models and tiers that a key may use. They are not looked up in the
// catalog: it may change, and an unknown name permits nothing.
func (f *fields) models() (names []string, given bool) {
	value, given := f.take("models")
	if !given {
		return nil, false
	}
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &names) != nil {
		f.problem("models", "must be an array of strings, got "+kindOrMixed(value))
		return nil, false
	}
	if len(names) > doc.MaxModels {
		f.problem("models", "must have at most "+strconv.Itoa(doc.MaxModels)+" names, got "+strconv.Itoa(len(names)))
		return nil, false
	}
	for _, name := range names {
		if !isModelName(name) {
			f.problem("models", "must contain only names of models or tiers"+got(name))
			return nil, false
		}
	}
	return names, true
}

func isModelName(name string) bool {
	return name != "" && len(name) <= doc.MaxModelBytes && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// integer takes an integer from a minimum to a maximum.
func (f *fields) integer(field string, minimum, maximum uint64) (n uint64, given bool) {
	expectation := "must be an integer between " + strconv.FormatUint(minimum, 10) + " and " + strconv.FormatUint(maximum, 10)
	digits, given := f.number(field, expectation)
	if !given {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n < minimum || n > maximum {
		f.problem(field, expectation+gotNumber(digits))
		return 0, false
	}
	return n, true
}

// null removes a field that is null, and reports whether it did.
func (f *fields) null(field string) bool {
	if string(f.values[field]) != "null" {
		return false
	}
	f.take(field)
	return true
}

// object takes an object, as nested fields. A value of another type is not repeated: it may be a secret.
func (f *fields) object(field string) (inner *fields, given bool) {
	value, given := f.take(field)
	if !given {
		return nil, false
	}
	values, err := decodeObject(value)
	if err != nil {
		f.problem(field, "must be an object, got "+kindOf(value))
		return nil, false
	}
	return &fields{values: values}, true
}

// addProblems adds the problems of a nested object, including its unknown fields.
func (f *fields) addProblems(field string, inner *fields) {
	if err := inner.err(); err == nil {
		return
	}
	for _, p := range inner.problems {
		f.problem(field+"."+p.Field, p.Message)
	}
}

// The API's words and their internal values, in the same order.
var (
	kindWords        = []string{"gateway", "project"}
	kindValues       = []keys.Kind{keys.Gateway, keys.Project}
	environmentWords = []string{"production", "development"}
	environments     = []keys.Environment{keys.Production, keys.Development}
)

// translate maps a value to its counterpart in a list of the same order. An unknown value maps to the zero
// value.
func translate[From comparable, To any](value From, from []From, to []To) (counterpart To) {
	if i := slices.Index(from, value); i >= 0 {
		counterpart = to[i]
	}
	return counterpart
}
