package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// failure counts the failed attempts at one target with one cause.
type failure struct {
	target uint64 // an index into the route's targets
	cause  ledger.Cause
	count  uint64
	opened uint64 // how many of them opened the target's circuit
}

func (v *failure) fields(f *abi.Fields) {
	f.Uint(&v.target)
	abi.Enum(f, &v.cause)
	f.Uint(&v.count)
	f.Uint(&v.opened)
}

// noteFailure counts a failed attempt against the called target, unless the built-in mock responded.
func (x *exchange) noteFailure(cause ledger.Cause) {
	if x.s.lastTarget == 0 {
		return
	}
	x.s.notes.cause = uint64(cause)
	x.failureFor(cause).count++
}

// failureFor finds or adds the called target's entry for a cause.
func (x *exchange) failureFor(cause ledger.Cause) *failure {
	target := x.s.lastTarget - 1
	for i := range x.s.failures {
		if v := &x.s.failures[i]; v.target == target && (v.cause == cause || v.count == 0) {
			v.cause = cause
			return v
		}
	}
	x.s.failures = append(x.s.failures, failure{target: target, cause: cause})
	return &x.s.failures[len(x.s.failures)-1]
}

// failCircuit counts a failure in the circuit of the called target.
func (x *exchange) failCircuit() {
	x.noteOpened(x.circuits.Failed(&x.config.Routing, x.model().Name, x.now))
}

// noteOpened counts a failure that has opened its target's circuit. It may be called before or after the failure
// itself is counted. The request's settlement reports the number of such failures.
func (x *exchange) noteOpened(opened bool) {
	if !opened || x.s.lastTarget == 0 {
		return
	}
	for i := range x.s.failures {
		if v := &x.s.failures[i]; v.target == x.s.lastTarget-1 {
			v.opened++
			return
		}
	}
	x.s.failures = append(x.s.failures, failure{target: x.s.lastTarget - 1, opened: 1})
}

// noteStatus counts a response with a status other than 200 as a failure.
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

// noteBroken counts a stream that ended with f as a failure, unless this gateway ended it.
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

// addFailures adds the failed attempts to a settlement. It also notes whether the model rescued the request after
// another target had failed or had been skipped because of its open circuit.
func (x *exchange) addFailures(settle *keymeter.Settle) {
	settle.Rescued = settle.Outcome == keymeter.Served && settle.Trace.Status == 200 && x.s.skipped
	for i := range x.s.failures {
		v := &x.s.failures[i]
		model := x.targets()[v.target].Model.Name
		settle.Failures = append(settle.Failures, keymeter.Failure{Model: model, Cause: v.cause, Count: v.count, Opened: v.opened})
		settle.Rescued = settle.Rescued || settle.Trace.Status == 200 && model != settle.Model
	}
}
