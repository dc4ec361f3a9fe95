package explore_test

import (
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// transcript is a path as text: what was chosen (lines that begin with ">"), and under it events and actions.
// Only the choices matter to a replay.
type transcript struct{ lines []string }

func (t *transcript) add(format string, args ...any) {
	if t != nil {
		t.lines = append(t.lines, fmt.Sprintf(format, args...))
	}
}

func (t *transcript) choose(label string) { t.add("> %s", label) }

func (t *transcript) String() string { return strings.Join(t.lines, "\n") + "\n" }

var eventNames = [...]string{"", "request", "body", "supplied", "stored", "reply", "response", "fault", "timer", "left", "head", "chunk", "end"}

func (t *transcript) event(e *abi.Event) {
	if t == nil {
		return
	}
	line := "  " + eventNames[e.Kind]
	if e.ID != 0 {
		line += fmt.Sprintf(" #%d", e.ID)
	}
	if e.Code != 0 {
		line += fmt.Sprintf(" code %d", e.Code)
	}
	if len(e.Data) > 0 && e.Kind != abi.EventRequest {
		line += " " + shorten(e.Data)
	}
	t.add("%s", line)
}

var actionNames = [...]string{
	"", "read body", "supply", "keep", "read", "write", "call", "fetch", "respond", "wait", "cancel", "log", "forward", "open", "send", "close", "append", "unseal",
}

func (t *transcript) action(a *abi.Action) {
	if t == nil {
		return
	}
	line := "    " + actionNames[a.Kind]
	if a.ID != 0 {
		line += fmt.Sprintf(" #%d", a.ID)
	}
	if a.Buffer != 0 {
		line += fmt.Sprintf(" buffer %d", a.Buffer)
	}
	switch a.Kind {
	case abi.ActionCall:
		line += " " + callMeaning(a)
	case abi.ActionFetch:
		line += fmt.Sprintf(" %s %s stream %d %s", a.Method, a.URL, a.Stream, parts(a.Body))
	case abi.ActionRead, abi.ActionWrite:
		line += fmt.Sprintf(" %s where %d %s", a.Key, a.Where, parts(a.Body))
	case abi.ActionRespond, abi.ActionOpen:
		line += fmt.Sprintf(" %d %s", a.Code, parts(a.Body))
	case abi.ActionSend:
		line += " " + parts(a.Body)
	case abi.ActionWait:
		line += fmt.Sprintf(" %d ms", a.KeepMs)
	case abi.ActionKeep, abi.ActionAppend, abi.ActionLog:
		line += " " + shorten(a.Data)
	}
	t.add("%s", strings.TrimRight(line, " "))
}

func parts(parts []abi.Part) (text string) {
	for _, p := range parts {
		if p.Buffer != 0 {
			text += fmt.Sprintf("[buffer %d]", p.Buffer)
		} else {
			text += shorten(p.Data)
		}
	}
	return text
}

// shorten is the beginning of some data, on one line.
func shorten(data []byte) string {
	text := fmt.Sprintf("%q", data)
	if len(text) > 160 {
		text = text[:160] + "…"
	}
	return text
}
