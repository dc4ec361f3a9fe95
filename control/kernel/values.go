package kernel

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

// Limits of values.
const (
	maxNameRunes     = 120
	maxBudgetDollars = "9000000" // money.Pico allows slightly more
	MaxListLimit     = 100
	defaultListLimit = 50
	maxBudgetText    = 64
)

// Regions are the platform's location hints.
// Source: developers.cloudflare.com/durable-objects/reference/data-location/
var Regions = []string{"wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"}

// Name takes the field "name" if it is present.
func (f *Fields) Name() (name string, given bool) {
	name, given = f.Text("name", "")
	if given && !IsName(name) {
		f.Problem("name", "must have 1 to 120 characters, at least one of them visible, and no line breaks, control or text-direction characters")
	}
	return name, given
}

// RequiredName takes the field "name" and reports a problem if it is absent.
func (f *Fields) RequiredName() string {
	if !f.Has("name") {
		f.Problem("name", "is required")
	}
	name, _ := f.Name()
	return name
}

// IsName reports whether text is suitable for lists and logs. The text must have a visible character. It must not
// contain line breaks, control characters, or characters that change the direction of the text around them.
func IsName(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= maxNameRunes && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}) && strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

// Choice takes a string that must be one of choices.
func (f *Fields) Choice(field, fallback string, choices []string) (text string, given bool) {
	text, given = f.Text(field, fallback)
	if given && !slices.Contains(choices, text) {
		f.Problem(field, "must be "+OneOf(choices)+Got(text))
		return fallback, false
	}
	return text, given
}

// DefaultedChoice does the same as Choice but defaults to the first choice.
func (f *Fields) DefaultedChoice(field string, choices []string) string {
	text, _ := f.Choice(field, choices[0], choices)
	return text
}

// Budget takes the field "budget", in dollars per budget period and exact to the picodollar.
func (f *Fields) Budget(fallback money.Pico) (amount money.Pico, given bool) {
	if amount, given = f.dollars("budget", "must be a dollar amount between 0 and "+maxBudgetDollars, 0); !given {
		return fallback, false
	}
	return amount, true
}

// Amount takes an amount in dollars that is greater than 0 and exact to the picodollar.
func (f *Fields) Amount(field string) (amount money.Pico, given bool) {
	return f.dollars(field, "must be a dollar amount greater than 0 and at most "+maxBudgetDollars, 1)
}

func (f *Fields) dollars(field, expectation string, least money.Pico) (amount money.Pico, given bool) {
	expectation += " with at most 12 decimal places"
	digits, given := f.number(field, expectation)
	if !given {
		return 0, false
	}
	amount, ok := parseDollars(digits)
	if !ok || amount < least || amount > MaxBudget() {
		f.Problem(field, expectation+gotNumber(digits))
		return 0, false
	}
	return amount, true
}

// MaxBudget returns the highest budget.
func MaxBudget() money.Pico {
	limit, _ := money.Parse(maxBudgetDollars, money.Dollar)
	return limit
}

// parseDollars parses a JSON number. A number with an exponent is converted with floating-point precision, as in most
// callers' JSON libraries.
func parseDollars(digits string) (money.Pico, bool) {
	if len(digits) > maxBudgetText {
		return 0, false
	}
	if strings.ContainsAny(digits, "eE") {
		v, err := strconv.ParseFloat(digits, 64)
		if mantissa, _, _ := strings.Cut(strings.ToLower(digits), "e"); err != nil || v == 0 && strings.ContainsAny(mantissa, "123456789") {
			return 0, false
		}
		digits = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return money.Parse(digits, money.Dollar)
}

// Models takes the field "models": the models and tiers that a key may use. They are not looked up in the catalog,
// which may change. An unknown name does not permit anything.
func (f *Fields) Models() (names []string, given bool) {
	value, given := f.Take("models")
	if !given {
		return nil, false
	}
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &names) != nil {
		f.Problem("models", "must be an array of strings, got "+KindOrMixed(value))
		return nil, false
	}
	if len(names) > doc.MaxModels {
		f.Problem("models", "must have at most "+strconv.Itoa(doc.MaxModels)+" names, got "+strconv.Itoa(len(names)))
		return nil, false
	}
	for _, name := range names {
		if !IsModelName(name) {
			f.Problem("models", "must contain only names of models or tiers"+Got(name))
			return nil, false
		}
	}
	return names, true
}

// IsModelName reports whether text can be the name of a model, a tier or a rule.
func IsModelName(name string) bool {
	return name != "" && len(name) <= doc.MaxModelBytes && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Integer takes an integer between minimum and maximum, inclusive.
func (f *Fields) Integer(field string, minimum, maximum uint64) (n uint64, given bool) {
	expectation := "must be an integer between " + strconv.FormatUint(minimum, 10) + " and " + strconv.FormatUint(maximum, 10)
	digits, given := f.number(field, expectation)
	if !given {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n < minimum || n > maximum {
		f.Problem(field, expectation+gotNumber(digits))
		return 0, false
	}
	return n, true
}

// Null removes a field if it is null, and reports whether it was.
func (f *Fields) Null(field string) bool {
	if string(f.Values[field]) != "null" {
		return false
	}
	f.Take(field)
	return true
}

// Object takes an object as nested fields. The message does not repeat a value of another type, which may be a
// secret.
func (f *Fields) Object(field string) (inner *Fields, given bool) {
	value, given := f.Take(field)
	if !given {
		return nil, false
	}
	values, err := DecodeObject(value)
	if err != nil {
		f.Problem(field, "must be an object, got "+KindOf(value))
		return nil, false
	}
	return &Fields{Values: values}, true
}

// AddProblems adds the problems of a nested object, including its unknown fields.
func (f *Fields) AddProblems(field string, inner *Fields) {
	if err := inner.Err(); err == nil {
		return
	}
	for _, p := range inner.Problems {
		f.Problem(field+"."+p.Field, p.Message)
	}
}

// Words of the API and their internal values, in the same order.
var (
	KindWords        = []string{"gateway", "project"}
	KindValues       = []keys.Kind{keys.Gateway, keys.Project}
	EnvironmentWords = []string{"production", "development"}
	Environments     = []keys.Environment{keys.Production, keys.Development}
)
