package exchange_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// args contains a command's words: plain words, and words of the form name=value. checkConsumed reports words that
// the command does not know.
type args struct {
	t     *testing.T
	line  string
	words []string
	input []string
	late  bool // the reply is to a canceled action
}

func parseArgs(t *testing.T, b *block) *args {
	words := strings.Fields(b.command)
	a := &args{t: t, line: b.command, words: words[1:], input: b.input}
	a.late = a.flag("late")
	return a
}

func (a *args) fail(what string) {
	a.t.Helper()
	a.t.Fatalf("%q: %s", a.line, what)
}

// word takes the next plain word. If there is none, it returns "".
func (a *args) word() string {
	for i, w := range a.words {
		if !strings.Contains(w, "=") || strings.HasPrefix(w, "/") {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return w
		}
	}
	return ""
}

// flag takes the given plain word and reports whether it was present.
func (a *args) flag(name string) bool {
	for i, w := range a.words {
		if w == name {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return true
		}
	}
	return false
}

// value takes name=value.
func (a *args) value(name string) (value string, ok bool) {
	for i, w := range a.words {
		if value, ok = strings.CutPrefix(w, name+"="); ok {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return value, true
		}
	}
	return "", false
}

func (a *args) text(name, fallback string) string {
	if value, ok := a.value(name); ok {
		return value
	}
	return fallback
}

func (a *args) list(name string) []string {
	if value, ok := a.value(name); ok {
		return strings.Split(value, ",")
	}
	return nil
}

func (a *args) number(name string, fallback uint64) uint64 {
	value, ok := a.value(name)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		a.fail(name + " is not a number")
	}
	return n
}

func (a *args) milliseconds(name string) uint64 {
	value, ok := a.value(name)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		a.fail(name + " is not a duration")
	}
	return uint64(d.Milliseconds())
}

// dollars takes name=$1.50.
func (a *args) dollars(name string) money.Pico {
	value, ok := a.value(name)
	if !ok {
		return 0
	}
	return a.amount(value)
}

// amount parses an amount such as "$1.50".
func (a *args) amount(value string) money.Pico {
	amount, ok := money.Parse(strings.TrimPrefix(value, "$"), money.Dollar)
	if !ok {
		a.fail(value + " is not an amount")
	}
	return amount
}

// headers takes the leading "name: value" lines of the input.
func (a *args) headers() (headers []abi.Header) {
	for len(a.input) > 0 {
		name, value, ok := strings.Cut(a.input[0], ": ")
		if !ok || strings.ContainsAny(name, `{"< `) {
			break
		}
		headers = append(headers, abi.Header{Name: name, Value: value})
		a.input = a.input[1:]
	}
	return headers
}

// body takes the rest of the input.
func (a *args) body() []byte {
	data := strings.Join(a.input, "\n")
	a.input = nil
	return []byte(data)
}

// checkConsumed fails if any words or input are left.
func (a *args) checkConsumed() {
	a.t.Helper()
	if len(a.words) > 0 {
		a.fail("unknown words: " + strings.Join(a.words, " "))
	}
	if len(a.input) > 0 {
		a.fail("the command takes no input")
	}
}
