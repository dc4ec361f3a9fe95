package postern

import (
	"slices"
	"strconv"
	"strings"
)

// variables reads environment variables and keeps the first error. If a setting was given, its variable is ignored.
type variables struct {
	read func(name string) string // returns "" for a variable that is not set
	err  error
}

func (v *variables) check(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v *variables) fail(setting, problem string) { v.check(misconfigured(setting, problem)) }

func (v *variables) text(given *string, name string) string {
	if given != nil {
		return *given
	}
	return v.read(name)
}

// named returns the name of a setting. If the value comes from its variable, it returns the name of the variable.
func named(given *string, setting, variable string) string {
	if given == nil {
		return variable
	}
	return setting
}

// choice returns a setting, which must be one of values. If neither the setting nor its variable is set, it returns
// "".
func (v *variables) choice(given *string, setting, name string, values ...string) string {
	text := v.text(given, name)
	if text != "" && !slices.Contains(values, text) {
		last := len(values) - 1
		problem := "must be " + strings.Join(values[:last], ", ") + " or " + values[last]
		v.fail(named(given, setting, name), problem) // the error leaves out the value, because it could be a misplaced secret
		return ""
	}
	return text
}

// integer returns a setting. If neither the setting nor its variable is set, it returns nil.
func (v *variables) integer(given *int, name string, low, high int) *int {
	text := v.read(name)
	if given != nil || text == "" {
		return given
	}
	n := integer(text)
	if n == nil || *n < low || *n > high {
		v.fail(name, "must be an integer between "+strconv.Itoa(low)+" and "+strconv.Itoa(high))
	}
	return n
}

// boolean returns a setting. If neither the setting nor its variable is set, it returns nil.
func (v *variables) boolean(given *bool, name string) *bool {
	text := v.read(name)
	if given != nil || text == "" {
		return given
	}
	switch strings.ToLower(text) {
	case "1", "true":
		return Ptr(true)
	case "0", "false":
		return Ptr(false)
	}
	v.fail(name, "must be true, false, 1 or 0")
	return nil
}
