package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// ending says how the request ended if it was not served. It is kept until it is counted in the key's entry.
type ending struct {
	count  ledger.EndCount // Count 0: none
	record ledger.Record
}

func (e *ending) fields(f *abi.Fields) {
	if f.Group(e.count.Count > 0) {
		ledger.EndCountFields(f, &e.count)
		ledger.RecordFields(f, &e.record)
	}
}

// endingRows is the state machine that counts a request that was not served. It reports the key's counts to the
// project's Ledger.
var endingRows = [...]sideRow{
	{endingPinned, inPinned, (*exchange).onPinned, 1<<endingIdle | 1<<endingTold, 0},
	{endingTold, inTallied, (*exchange).onTallied, 1<<endingIdle | 1<<endingTold, 0},
}

// The states of endingRows.
const (
	endingIdle   sideState = iota
	endingPinned           // waiting for the next step, which has the key's entry
	endingTold             // waiting for the Ledger's reply to a tally
)

func (x *exchange) endingState() sideState {
	switch {
	case x.pending(idPinned):
		return endingPinned
	case x.pending(idTallied):
		return endingTold
	}
	return endingIdle
}

// countEnd adds a request that was not served to the counts in its key's entry. If this step does not have the entry,
// a later step does this. All requests without a known key share one entry, which is reported to the deployment's
// Ledger.
func (x *exchange) countEnd(f fault.Fault, booked ledger.Booked) {
	s := &x.s
	if !s.haveRecord && !x.countsWithoutKey(f) {
		return
	}
	end := x.endOf(f)
	s.ending.count = ledger.EndCount{Hour: s.startMs / hourMs, End: end, Booked: booked, Count: 1}
	if s.haveRecord {
		s.ending.count.Model = x.endModel()
		s.ending.record = x.endRecord(f, end)
	}
	if x.entry() != nil {
		x.keepEnd()
		return
	}
	if !s.leased.pinned {
		x.pin()
	}
	x.wait(idPinned, 0)
}

const hourMs = 3_600_000

// countsWithoutKey reports whether a request without a known key counts for the deployment. A request counts if its
// key, path or method was wrong, or if the key's record could not be read. Requests for the control plane do not
// count. Requests that a disconnect or a shutdown ended do not count either.
func (x *exchange) countsWithoutKey(f fault.Fault) bool {
	return x.s.phase != phaseForward && f != fault.ClientClosed && f != fault.ShuttingDown
}

// onPinned continues in the step that has the key's entry.
func (x *exchange) onPinned() { x.keepEnd() }

func (x *exchange) keepEnd() {
	e, s := x.entry(), &x.s
	record := &s.ending.record
	if !s.haveRecord {
		record = nil
	}
	e.Count(x.now, x.random(), &s.ending.count, record)
	s.ending = ending{}
	x.saveEntry()
	x.tellTally(false)
	x.keepLease(e)
}

func (x *exchange) tellTally(closing bool) {
	e := x.entry()
	if x.pending(idTallied) {
		return
	}
	command, seq := e.Tally(x.now, x.s.record.KeyID, closing)
	if command == nil {
		return
	}
	x.s.leased.tally = seq
	x.saveEntry()
	x.call(idTallied, abi.ClassLedger, x.ledgerName(), command)
}

// ledgerName returns the name of the Ledger to which the exchange's entry is reported.
func (x *exchange) ledgerName() string {
	if !x.s.haveRecord {
		return ledger.Root
	}
	return x.s.record.ProjectID
}

func (x *exchange) onTallied() {
	e := x.entry()
	e.Tallied(x.s.leased.tally, x.event.Code == abi.OutcomeOK)
	if !e.Held() {
		x.cancel(idLeaseTimer)
	}
	x.staysKeeper(e)
}

// endOf returns how a request ends if it fails with f.
func (x *exchange) endOf(f fault.Fault) ledger.End {
	switch f {
	case fault.ClientClosed:
		return ledger.EndLeft
	case fault.ProviderTimeout:
		return ledger.EndTimeout
	case fault.IdempotencyReused:
		return ledger.EndConflict
	case fault.RejectedRequest, fault.TooLong, fault.Filtered:
		if x.s.attempts > 0 || x.s.dispatchMs > 0 {
			return ledger.EndRejected
		}
	}
	switch f.Origin() {
	case fault.ByProvider:
		return x.failedBy(f)
	case fault.ByGateway:
		return ledger.EndOurs
	}
	return refusedWith(f.Status())
}

// failedBy returns how a request ends if it ends with f because a provider failed.
func (x *exchange) failedBy(f fault.Fault) ledger.End {
	if f == fault.ProviderBusy {
		return ledger.EndBusy
	}
	if n := len(x.s.failures); n > 0 && x.s.notes.cause < uint64(len(endOfCause)) {
		return endOfCause[x.s.notes.cause]
	}
	if f == fault.ProviderAnswer {
		return ledger.EndUnusable
	}
	return ledger.EndUnavailable
}

var endOfCause = [ledger.Causes]ledger.End{
	ledger.CauseBusy: ledger.EndBusy, ledger.CauseRejected: ledger.EndRejected, ledger.CauseUnavailable: ledger.EndUnavailable,
	ledger.CauseTimeout: ledger.EndTimeout, ledger.CauseConnection: ledger.EndConnection, ledger.CauseCut: ledger.EndCut,
	ledger.CauseUnusable: ledger.EndUnusable, ledger.CauseBroken: ledger.EndCut,
}

// refusedWith returns how a request ends if this gateway refuses it with an HTTP status.
func refusedWith(status uint64) ledger.End {
	switch status {
	case 401:
		return ledger.EndUnauthorized
	case 402:
		return ledger.EndBudget
	case 403:
		return ledger.EndForbidden
	case 404:
		return ledger.EndNotFound
	case 405, 426:
		return ledger.EndMethod
	case 409:
		return ledger.EndConflict
	case 413:
		return ledger.EndTooLarge
	case 415:
		return ledger.EndMediaType
	case 422:
		return ledger.EndBlocked
	case 429:
		return ledger.EndLimited
	}
	return ledger.EndInvalid
}

// booked returns how usage statistics count a request that ends with an error. The result depends on the request's
// settlement or, for a hit, on its admission.
func (x *exchange) booked(outcome keymeter.Outcome) ledger.Booked {
	switch {
	case !x.s.admission.admitted:
		return ledger.NotBooked
	case x.s.admission.mode == keymeter.ModeHit:
		return ledger.BookedServed
	case x.s.admission.mode != keymeter.ModeReserve:
		return ledger.NotBooked
	case outcome == keymeter.Released:
		return ledger.BookedFailed
	}
	return ledger.BookedServed
}
