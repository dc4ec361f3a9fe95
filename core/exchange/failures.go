package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// failure is the number of attempts at a target that failed for one cause.
type failure struct {
	target uint64 // an index into the route's targets
	cause  ledger.Cause
	count  uint64
}

func (v *failure) fields(f *abi.Fields) {
	f.Uint(&v.target)
	abi.Enum(f, &v.cause)
	f.Uint(&v.count)
}

// noteFailure charges a failed attempt to the target that was called, unless the built-in mock has answered.
func (x *exchange) noteFailure(cause ledger.Cause) {
	if x.s.lastTarget == 0 {
		return
	}
	x.s.notes.cause = uint64(cause)
	x.countFailure(cause)
}

// countFailure counts a failed attempt, or that its failure opened a circuit, for the target that was called.
func (x *exchange) countFailure(cause ledger.Cause) {
	target := x.s.lastTarget - 1
	for i := range x.s.failures {
		if v := &x.s.failures[i]; v.target == target && v.cause == cause {
			v.count++
			return
		}
	}
	x.s.failures = append(x.s.failures, failure{target, cause, 1})
}

// failCircuit counts a failure in the circuit of the target that was called.
func (x *exchange) failCircuit() {
	x.noteOpened(x.circuits.Failed(&x.config.Routing, x.model().Name, x.now))
}

// noteOpened counts that the last failure has opened the circuit of its target. The settlement of the request tells it.
func (x *exchange) noteOpened(opened bool) {
	if opened && x.s.lastTarget > 0 {
		x.countFailure(ledger.CauseOpened)
	}
}

// noteStatus charges a response with another status than 200.
func (x *exchange) noteStatus(status uint64) {
	switch {
	case status == 200:
	case status == 429:
		x.noteFailure(ledger.CauseBusy)
	case status == 408 || status >= 500:
		x.noteFailure(ledger.CauseUnavailable)
	case status >= 400:
		x.noteFailure(ledger.CauseRejected)
	default:
		x.noteFailure(ledger.CauseUnusable)
	}
}

// noteBroken charges a stream that ended with f, unless this gateway has ended it.
func (x *exchange) noteBroken(f fault.Fault) {
	st := &x.s.stream
	switch {
	case f.Origin() != fault.ByProvider:
	case st.opened && st.committed && st.hasContent:
		x.noteFailure(ledger.CauseBroken)
	case f == fault.ProviderTimeout:
		x.noteFailure(ledger.CauseTimeout)
	default:
		x.noteFailure(ledger.CauseCut)
	}
}

// addFailures adds the failed attempts to a settlement, and whether its model has rescued the request: another target has failed, or has
// an open circuit.
func (x *exchange) addFailures(settle *keymeter.Settle) {
	settle.Rescued = settle.Outcome == keymeter.Served && settle.Trace.Status == 200 && x.s.skipped
	for i := range x.s.failures {
		v := &x.s.failures[i]
		model := x.targets()[v.target].Model.Name
		settle.Failures = append(settle.Failures, keymeter.Failure{Model: model, Cause: v.cause, Count: v.count})
		settle.Rescued = settle.Rescued || settle.Trace.Status == 200 && model != settle.Model
	}
}
