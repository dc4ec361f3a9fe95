package explore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// noteKept records the end of the exchange's wait for a response to be stored.
func (w *world) noteKept(ok bool) {
	f := &w.facts
	f.unkept = f.unkept || !f.kept && !ok
	f.kept = true
}

// noteCall records a settle, with or without a reply. The command that stores a response is sent once more if the meter
// has not replied.
func (w *world) noteCall(a *abi.Action) {
	f := &w.facts
	if a.ID == 0 && f.unkept && f.stored == string(a.Data) {
		f.unkept = false
		f.record("the host stores the response")
		return
	}
	if a.ID != 0 && w.meaning(a) == "settle" {
		f.stored = string(a.Data)
	}
	if settle, ok := keymeter.Open(a.Data).(*keymeter.Settle); ok && a.Class == abi.ClassKeyMeter {
		w.noteSettle(settle)
	}
}

// TestForgottenResponseIsFound injects a bug: a response that was not stored is sent, and the command is not handed to
// the host.
func TestForgottenResponseIsFound(t *testing.T) {
	s := post("a request with an idempotency key", "/v1/chat/completions", bodyFor("only", messages),
		alphabet{"fetch": {openaiOK}, "settle": {done, failed}}, withHeaders(header("idempotency-key", "i1")))
	s.tamper = without(func(a *abi.Action) bool {
		return isSettle(a) && a.ID == 0 && len(keymeter.Open(a.Data).(*keymeter.Settle).Answer) > 0
	})
	x := explore(s)
	if !slices.ContainsFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, "nobody stores it") }) {
		t.Errorf("found %q", x.findings)
	}
}
