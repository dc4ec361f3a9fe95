package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// classifying reports whether a classifier has been called and has not responded yet.
func (x *exchange) classifying() bool { return x.pending(idClassifyText) || x.pending(idClassify) }

// holdSettle holds the settlement until a running classifier has responded, because the settlement includes the
// classifier's cost. If no classifier is running, holdSettle returns false.
func (x *exchange) holdSettle(settle *keymeter.Settle) bool {
	c := &x.s.govern.classification
	if !x.classifying() {
		settle.Attempts = append(settle.Attempts, c.charges...)
		return false
	}
	c.held = true
	x.keep(bufferSettle, settle.Encode())
	return true
}

// settlement returns the settle command for the key's meter. model is the model under which the request counts.
func (x *exchange) settlement(outcome keymeter.Outcome, model string, status uint64) keymeter.Settle {
	s := &x.s
	settle := keymeter.Settle{
		RequestID: s.requestID, Outcome: outcome, Model: model, Missed: outcome == keymeter.Served && x.cacheReadable(),
		Idempotency: s.idempotency, Trace: x.trace(status), Violations: x.takeViolations(),
	}
	s.spent.AddTo(&settle, x.targets())
	x.addFailures(&settle)
	return settle
}

// settle sends the settlement. The exchange does not wait for the reply. If the command is lost, the reservation
// expires.
func (x *exchange) settle(settle *keymeter.Settle) {
	if x.holdSettle(settle) {
		return
	}
	x.sendSettle(settle)
}

// sendSettle stores the settlement with the lease that admitted the request. If no lease did, it sends the settlement
// to the meter.
func (x *exchange) sendSettle(settle *keymeter.Settle) {
	if !x.settleLeased(settle) {
		x.call(0, abi.ClassKeyMeter, x.s.keyHash, settle.Encode())
	}
}

// trace returns the exchange's entry in the list of recent requests, with the data known so far.
func (x *exchange) trace(status uint64) keymeter.Trace {
	s := &x.s
	t := keymeter.Trace{Status: status, DurationMs: x.since(s.startMs), Stream: s.request.stream, Agent: s.agent, FirstMs: x.firstTokenMs()}
	switch {
	case s.hit.found:
		t.Provider, t.Cache = s.hit.provider, ledger.CacheHit
	case s.lastTarget > 0:
		t.Provider = x.targets()[s.lastTarget-1].Model.Provider.Name
	case x.testMode() && len(s.order) > 0:
		t.Provider = mockProvider
	}
	if t.Cache == ledger.CacheBypass && x.endpoint.body != noBody && s.rejected == fault.None && x.cacheReadable() {
		t.Cache = ledger.CacheMiss
	}
	return t
}
