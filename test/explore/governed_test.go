package explore_test

import (
	"bytes"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// IDs of the actions of a classifier: one for its text, one for its call, and one for the settlement that waits for
// it.
const (
	classifyTextID = 18
	classifyID     = 19
	heldSettleID   = 20
)

const (
	// redactedMark is a value that the Governor redacts. It may go back to the caller and nowhere else.
	redactedMark = "marked.person@example.com"
	// blockedMark is a word that the Governor blocks or redacts in responses. It must not go anywhere.
	blockedMark = "xmarkedword"
)

// checkGoverned checks invariant I14: a redacted value is sent only to the caller, and a blocked text is sent to
// nobody.
func (w *world) checkGoverned(a *abi.Action) {
	if !w.scenario.governed {
		return
	}
	leaves := append([]byte(a.URL+a.Key+a.Name), a.Data...)
	for _, h := range a.Headers {
		leaves = append(leaves, h.Value...)
	}
	switch a.Kind {
	case abi.ActionKeep, abi.ActionAppend:
		return // the host's own memory
	case abi.ActionCall:
		leaves = withoutAnswer(leaves, a)
	}
	body, _ := doc.SplitKnown(w.join(a.Body)) // a policy contains the texts that it blocks
	leaves = append(leaves, body...)
	if bytes.Contains(leaves, []byte(blockedMark)) {
		w.violate("action %d has a blocked text", a.Kind)
	}
	switch a.Kind {
	case abi.ActionRespond, abi.ActionSend:
		w.facts.blocked = w.facts.blocked || bytes.Contains(leaves, []byte("blocked_by_policy"))
	default:
		if bytes.Contains(leaves, []byte(redactedMark)) {
			w.violate("action %d has a redacted value", a.Kind)
		}
	}
}

// withoutAnswer returns the data that leaves with a command. It leaves out the stored response of an idempotent
// request, because that response belongs to the caller and contains the caller's values.
func withoutAnswer(leaves []byte, a *abi.Action) []byte {
	settle, ok := keymeter.Open(a.Data).(*keymeter.Settle)
	if !ok || a.Class != abi.ClassKeyMeter || len(settle.Answer) == 0 {
		return leaves
	}
	settle.Answer = nil
	return settle.Encode()
}

// checkClassifier checks that a classifier is called once, under a reservation.
func (w *world) checkClassifier(model string) {
	switch {
	case w.facts.admitted != keymeter.ModeReserve:
		w.violate("the classifier is called without a reservation")
	case w.facts.classified > 0:
		w.violate("the classifier is called twice")
	case model != w.scenario.classifier:
		w.violate("%s is called as the classifier", model)
	case w.facts.settled > 0:
		w.violate("the classifier is called after the settlement")
	}
}

// noteClassifier records a classifier's failure. A policy may turn this failure into a 503.
func (w *world) noteClassifier(e *abi.Event) {
	if e.Code != 200 || e.Kind != abi.EventResponse || !bytes.Contains(e.Data, []byte("risk")) {
		w.facts.seen |= sawOutage
	}
}

// outlivesResponse reports whether an action may end after the response. Two kinds may: the actions of a classifier
// that runs while the request does, and those of a lease's keeper.
func (p *pending) outlivesResponse() bool {
	return slices.Contains([]uint64{classifyTextID, classifyID, heldSettleID, leaseTimerID, pinnedID, talliedID}, p.action.ID)
}

// noteViolations records the violations in a command. Each may be reported only once.
func (w *world) noteViolations(list []ledger.Violation) {
	for i := range list {
		text := violationText(&list[i]) + ";"
		if strings.Contains(w.facts.reported, text) {
			w.violate("the violation %q is reported twice", text)
		}
		w.facts.reported += text
	}
}

func violationText(v *ledger.Violation) string {
	direction := "input"
	if v.Output {
		direction = "output"
	}
	return direction + " " + v.Rule + " " + v.Decision
}

// checkReported checks the end of an exchange: the meter must have the request's violations and the violations that
// the caller was shown.
func (w *world) checkReported() {
	f := &w.facts
	if f.blocked && !strings.Contains(f.reported, " block;") {
		w.violate("a block has no violation")
	}
	if want := w.scenario.violation; want != "" && f.admitted > keymeter.ModeCheck && !strings.Contains(f.reported, want+";") {
		w.violate("the violation %q is not reported", want)
	}
}
