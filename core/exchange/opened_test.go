package exchange_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/route"
)

// failedBefore returns the shared state of an isolate. In it, n attempts at gpt have failed, the last one at the
// given time.
func failedBefore(t *testing.T, n int, at uint64) []byte {
	var c route.Circuits
	for range n {
		c.Failed(&configured(t, "").Routing, "gpt", at)
	}
	return c.Encode()
}

// failuresOf returns the failures in the request's only settlement as "cause×count", and the circuit openings as
// "opened×count". All of them must be failures of gpt.
func failuresOf(t *testing.T, h *host) string {
	t.Helper()
	settles := sentCommands[*keymeter.Settle](h)
	if len(settles) != 1 {
		t.Fatalf("%d settlements", len(settles))
	}
	var words []string
	for _, f := range settles[0].Failures {
		if f.Model != "gpt" {
			t.Errorf("failure of %q", f.Model)
		}
		words = append(words, fmt.Sprintf("%d×%d", f.Cause, f.Count))
		if f.Opened > 0 {
			words = append(words, fmt.Sprintf("opened×%d", f.Opened))
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// TestOpeningIsCountedOnce checks that only the third failure counts as an opening, because it opens the circuit.
// Earlier failures and failed probes of an open circuit do not count.
func TestOpeningIsCountedOnce(t *testing.T) {
	down := wholeResponse(500, `{"error":{"message":"down"}}`)
	for _, c := range []struct {
		before int
		at     uint64
		fails  int
		want   string
	}{
		{0, noon, 2, "2×2"},
		{1, noon, 2, "2×2 opened×1"},
		{2, noon, 1, "2×1 opened×1"},
		{3, noon - 40_000, 1, "2×1"}, // a probe
		{0, noon, 0, ""},
	} {
		provider := append(slices.Repeat([][]abi.Event{down}, c.fails), wholeResponse(200, openaiResponse))
		h := request{path: "/v1/chat/completions", body: openaiRequest, overlay: `{"routing":{"retries":2}}`, shared: failedBefore(t, c.before, c.at), provider: provider}.run(t)
		if got := failuresOf(t, h); got != c.want {
			t.Errorf("after %d failures: %q, want %q", c.before, got, c.want)
		}
	}
}

// TestEveryKindOfFailureOpens checks that a third failure of any kind counts as an opening, and that the request
// still ends with that failure.
func TestEveryKindOfFailureOpens(t *testing.T) {
	fault := func(code uint64) []abi.Event { return []abi.Event{{Kind: abi.EventFault, Code: code}} }
	for _, c := range []struct {
		stream bool
		events []abi.Event
		cause  ledger.Cause
		end    ledger.End
	}{
		{false, wholeResponse(500, `{}`), ledger.CauseUnavailable, ledger.EndUnavailable},
		{false, wholeResponse(429, `{}`), ledger.CauseBusy, ledger.EndBusy},
		{false, wholeResponse(401, `{}`), ledger.CauseRejected, ledger.EndRejected},
		{false, wholeResponse(200, `<html>`), ledger.CauseUnusable, ledger.EndUnusable},
		{false, fault(abi.FaultConnect), ledger.CauseConnection, ledger.EndConnection},
		{false, fault(abi.FaultTotal), ledger.CauseTimeout, ledger.EndTimeout},
		{false, fault(abi.FaultBroken), ledger.CauseCut, ledger.EndCut},
		{true, streamEvents(greeting, "end"), ledger.CauseBroken, ledger.EndCut},
	} {
		body := openaiRequest
		if c.stream {
			body = streamRequest
		}
		h := request{path: "/v1/chat/completions", body: body, shared: failedBefore(t, 2, noon), provider: [][]abi.Event{c.events}}.run(t)
		if got, want := failuresOf(t, h), fmt.Sprintf("%d×1 opened×1", c.cause); got != want {
			t.Errorf("cause %d: %q, want %q", c.cause, got, want)
		}
		if end := exchange.EndOf(h.config, h.State); end != c.end {
			t.Errorf("cause %d: end %d, want %d", c.cause, end, c.end)
		}
	}
}
