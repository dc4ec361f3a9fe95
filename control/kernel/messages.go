package kernel

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/api"
)

// OneOf joins choices: "a, b or c".
func OneOf(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// AllOf joins names: "a, b and c".
func AllOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// KindOf describes a JSON value. It repeats only true, false and null.
func KindOf(value json.RawMessage) string {
	value = bytes.TrimLeft(value, " \t\r\n")
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	case 't', 'f', 'n':
		return string(bytes.TrimSpace(value))
	}
	return "a number"
}

// KindOrMixed does the same as KindOf for a value that should be an array of strings and is not.
func KindOrMixed(value json.RawMessage) string {
	if kind := KindOf(value); kind != "an array" {
		return kind
	}
	return "an array with other elements"
}

// Got returns the end of a message that repeats a rejected string. The string is quoted by api.Quote.
func Got(text string) string { return ", got " + api.Quote(text) }

// gotJSON does the same as Got for a JSON value. It does not repeat arrays and objects.
func gotJSON(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return Got(text)
	case value[0] == '[':
		return ", got an array"
	case value[0] == '{':
		return ", got an object"
	}
	return gotNumber(string(value))
}

// gotNumber does the same as Got for the digits of a JSON number.
func gotNumber(digits string) string {
	const maxDigits = 48
	if len(digits) > maxDigits {
		return ", got a number with " + strconv.Itoa(len(digits)) + " digits"
	}
	return ", got " + digits
}
