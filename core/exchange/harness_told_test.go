package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// all are the actions of a kind.
func (h *host) all(kind abi.ActionKind) (found []abi.Action) {
	for _, a := range h.done {
		if a.Kind == kind {
			found = append(found, a)
		}
	}
	return found
}

// one is the only action of a kind.
func (h *host) one(kind abi.ActionKind) *abi.Action {
	h.t.Helper()
	found := h.all(kind)
	if len(found) != 1 {
		h.t.Fatalf("%d actions of kind %d, not one: %s", len(found), kind, h.log())
	}
	return &found[0]
}

// last is the last action of a kind.
func (h *host) last(kind abi.ActionKind) *abi.Action {
	h.t.Helper()
	found := h.all(kind)
	if len(found) == 0 {
		h.t.Fatalf("no action of kind %d", kind)
	}
	return &found[len(found)-1]
}

// text is a body as it goes out.
func (h *host) text(parts []abi.Part) string {
	var text []byte
	for _, p := range parts {
		if p.Buffer != 0 {
			text = append(text, h.buffers[p.Buffer]...)
		} else {
			text = append(text, p.Data...)
		}
	}
	return string(text)
}

// answered is the body of the caller's answer.
func (h *host) answered() string {
	h.t.Helper()
	return h.text(h.one(abi.ActionRespond).Body)
}

// streamed is all that the caller got of a stream.
func (h *host) streamed() (text string) {
	for _, a := range h.all(abi.ActionSend) {
		text += h.text(a.Body)
	}
	return text
}

// status is that of the caller's answer.
func (h *host) status() uint64 {
	h.t.Helper()
	return h.one(abi.ActionRespond).Code
}

// header is one of the caller's answer; "": there is none.
func (h *host) header(name string) string {
	h.t.Helper()
	for _, a := range h.done {
		if a.Kind == abi.ActionRespond || a.Kind == abi.ActionOpen {
			return valueOf(a.Headers, name)
		}
	}
	h.t.Fatal("nothing was answered")
	return ""
}

func valueOf(headers []abi.Header, name string) string {
	for _, h := range headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// log is the exchange's line of it.
func (h *host) log() string {
	text := ""
	for _, a := range h.all(abi.ActionLog) {
		text += string(a.Data)
	}
	return text
}

// told are the commands of a type that went to meters and the ledger.
func told[T any](h *host) (found []T) {
	for _, a := range h.all(abi.ActionCall) {
		if c, ok := opened(&a).(T); ok {
			found = append(found, c)
		}
	}
	return found
}

// want fails unless a text has all of some parts.
func want(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s: %s", what, part, text)
		}
	}
}

// equal fails unless two values are the same.
func equal[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s is %v, not %v", what, got, wanted)
	}
}
