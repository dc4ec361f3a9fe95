package explore_test

import (
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	story "github.com/postern-ai/postern/internal/transcript"
)

// transcript is a path as text: what was chosen (lines that begin with ">"), and under it events and actions.
// Only the choices matter to a replay.
type transcript struct {
	lines   []string
	printer story.Printer
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
