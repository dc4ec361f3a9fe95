package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

func (h *host) all(kind abi.ActionKind) (found []abi.Action) {
	for _, a := range h.actions {
		if a.Kind == kind {
			found = append(found, a)
		}
	}
	return found
}

func (h *host) one(kind abi.ActionKind) *abi.Action {
	h.t.Helper()
	found := h.all(kind)
	if len(found) != 1 {
		h.t.Fatalf("got %d actions of kind %d, want 1: %s", len(found), kind, h.log())
	}
	return &found[0]
}

func (h *host) last(kind abi.ActionKind) *abi.Action {
	h.t.Helper()
	found := h.all(kind)
	if len(found) == 0 {
		h.t.Fatalf("got no action of kind %d", kind)
	}
	return &found[len(found)-1]
}

// bodyText returns a body with its buffers filled in.
func (h *host) bodyText(parts []abi.Part) string { return string(h.Join(h, parts)) }

// responseBody returns the body of the caller's response.
func (h *host) responseBody() string {
	h.t.Helper()
	return h.bodyText(h.one(abi.ActionRespond).Body)
}

// sentText returns the body of a streamed response.
func (h *host) sentText() (text string) {
	for _, a := range h.all(abi.ActionSend) {
		text += h.bodyText(a.Body)
	}
	return text
}

// status returns the status of the caller's response.
func (h *host) status() uint64 {
	h.t.Helper()
	return h.one(abi.ActionRespond).Code
}

// header returns a header of the caller's response, or "".
func (h *host) header(name string) string {
	h.t.Helper()
	for _, a := range h.actions {
		if a.Kind == abi.ActionRespond || a.Kind == abi.ActionOpen {
			return headerValue(a.Headers, name)
		}
	}
	h.t.Fatal("there is no response")
	return ""
}

func headerValue(headers []abi.Header, name string) string {
	for _, h := range headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func (h *host) log() string {
	text := ""
	for _, a := range h.all(abi.ActionLog) {
		text += string(a.Data)
	}
	return text
}

// sentCommands returns the commands of a type that were sent to objects.
func sentCommands[T any](h *host) (found []T) {
	for _, a := range h.all(abi.ActionCall) {
		if c, ok := decodeCommand(&a).(T); ok {
			found = append(found, c)
		}
	}
	return found
}

// contains fails unless the text contains all parts.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %s in %s", what, part, text)
		}
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
