package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// failure counts the failed attempts at one target for one cause.
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

// noteFailure counts a failed attempt against the called target. Failures of the built-in mock do not count.
func (x *exchange) noteFailure(cause ledger.Cause) {
	if x.s.lastTarget == 0 {
		return
	}
	x.s.notes.cause = uint64(cause)
	x.failureFor(cause).count++
}

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

// noteOpened counts a failure that has opened its target's circuit. It may be called before or after the failure is
// counted. The request's settlement reports how many failures opened a circuit.
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

// noteBroken counts a stream that ended with f as a failure. If this gateway ended the stream, it does not count.
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

// addFailures adds the failed attempts to a settlement. If another target failed, or was skipped because of its open
// circuit, addFailures notes that the model rescued the request.
func (x *exchange) addFailures(settle *keymeter.Settle) {
	settle.Rescued = settle.Outcome == keymeter.Served && settle.Trace.Status == 200 && x.s.skipped
	for i := range x.s.failures {
		v := &x.s.failures[i]
		model := x.targets()[v.target].Model.Name
		settle.Failures = append(settle.Failures, keymeter.Failure{Model: model, Cause: v.cause, Count: v.count, Opened: v.opened})
		settle.Rescued = settle.Rescued || settle.Trace.Status == 200 && model != settle.Model
	}
}
