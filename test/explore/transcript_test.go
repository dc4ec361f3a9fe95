package explore_test

import (
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	events "github.com/postern-ai/postern/test/transcript"
)

// transcript is a path as text. Choices are in lines that begin with ">". After a choice, the transcript has its
// events and actions. A replay uses only the choices.
type transcript struct {
	lines   []string
	printer events.Printer
}

func (t *transcript) add(format string, args ...any) {
	if t != nil {
		t.lines = append(t.lines, fmt.Sprintf(format, args...))
	}
}

func (t *transcript) choose(label string) { t.add("> %s", label) }

func (t *transcript) String() string { return strings.Join(t.lines, "\n") + "\n" }

func (t *transcript) event(e *abi.Event) {
	if t != nil {
		t.add("  %s", t.printer.Event(e))
	}
}

func (t *transcript) action(a *abi.Action) {
	if t != nil {
		t.add("    %s", strings.ReplaceAll(t.printer.Action(a), "\n", "\n    "))
	}
}
