package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange/cached"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
)

// pinLease pins the key's entry from the next step on, if the key's plan has leases.
func (x *exchange) pinLease() {
	if x.s.leased.pinned || x.config.Plan(x.s.record.Plan).Lease.DurationMs == 0 {
		return
	}
	x.pin()
}

// pin pins the key's entry. All requests without a known key share one entry, "root". A hash is never "root", so the
// names cannot collide.
func (x *exchange) pin() {
	x.s.leased.pinned, x.pins = true, true
	name := x.s.keyHash
	if !x.s.haveRecord {
		name = ledger.Root
	}
	x.do(abi.Action{Kind: abi.ActionPin, Key: "lease/" + name})
}

// entry returns the content of the pinned entry, decoded once per step. If no entry is pinned, it returns nil. The
// step that pins the entry does not have the content yet, so entry returns nil there too.
func (x *exchange) entry() *lease.Entry {
	if !x.s.leased.pinned || x.pins {
		return nil
	}
	if x.entryMemo == nil {
		x.entryMemo = lease.Decode(x.pinned)
	}
	return x.entryMemo
}

// saveEntry makes the step write the pinned entry.
func (x *exchange) saveEntry() { x.out.PinnedChanged = true }

// keeperID identifies this exchange in the entry.
func (x *exchange) keeperID() uint64 { return max(1, hashText(x.s.requestID)) }

func hashText(text string) uint64 { return cached.Checksum([]byte(text)) }

// takeLease admits the request with its key's lease, or waits for the lease. If the meter must decide, it returns
// false. The meter decides on requests with an Idempotency-Key, because the meter has the key's stored response. It also
// decides on requests with violations, because it stores them with the admission.
func (x *exchange) takeLease(command *keymeter.Admit) bool {
	s, e := &x.s, x.entry()
	if e == nil || !mayBeLeased(command) {
		return false
	}
	if s.admission.rounds > 0 {
		// This admission is a repetition, with a grant or a newer record. The meter may have admitted the request
		// although its reply was lost, so only the meter can repeat the admission. A repetition also does not help to
		// make the key hot.
		command.LeaseID = s.leased.asked
		return false
	}
	if s.leased.untilMs > 0 {
		s.times.admit += x.since(s.times.admitStart)
	}
	q := lease.Request{
		ID: s.requestID, Version: s.record.Version, Model: command.Model, AmountPico: command.AmountPico, LifetimeMs: command.LifetimeMs,
	}
	if command.Mode == keymeter.ModeHit {
		q.Settle = &keymeter.Settle{RequestID: s.requestID, Outcome: keymeter.Hit, Model: command.Model, Trace: command.Trace}
	}
	if !e.Take(x.now, &q) {
		return x.awaitLease(e, command.Mode) || x.askForLease(e, command)
	}
	a := &s.admission
	a.mode, a.admitted, a.reserved, a.windows = command.Mode, true, command.AmountPico, e.Windows()
	s.leased.taken = true
	x.saveEntry()
	x.reportIfDue()
	x.keepLease(e)
	return true
}

func mayBeLeased(command *keymeter.Admit) bool {
	return (command.Mode == keymeter.ModeReserve || command.Mode == keymeter.ModeHit) && command.Idempotency == "" && len(command.Violations) == 0
}

// askForLease makes the admission ask for the lease, if nobody does. It always returns false, because the meter must
// decide. If an exchange that was woken does not ask, no reply will wake the exchanges that still wait, so all of them
// continue.
func (x *exchange) askForLease(e *lease.Entry, command *keymeter.Admit) bool {
	id, changed := e.Ask(x.now, x.s.record.Version, x.random(), x.keeperID())
	if changed {
		x.saveEntry()
	}
	if id == 0 && x.woken() {
		x.wakeAll = true
		x.saveEntry()
	}
	x.s.leased.asked, command.LeaseID = id, id
	return false
}

// woken reports whether another exchange has ended the wait for the lease.
func (x *exchange) woken() bool {
	return x.event.Kind == abi.EventTimer && x.event.Code == abi.TimerWoken
}

// leaseWaitMs is how long a request waits for the lease. A reply that takes longer is probably lost.
const leaseWaitMs = 1_000

// awaitLease waits in the queue of the entry, if that may help the request. Only one command for the lease is under way
// at a time. If the wait takes too long, the request calls the meter. awaitLease then returns false.
func (x *exchange) awaitLease(e *lease.Entry, mode keymeter.Mode) bool {
	s, at := &x.s, uint64(abi.WaitLast)
	switch {
	case s.leased.untilMs == 0:
		s.leased.untilMs = x.now + leaseWaitMs
	case x.now >= s.leased.untilMs:
		return false
	default:
		at = abi.WaitFirst
	}
	switch e.Need(s.record.Version) {
	case lease.Call:
		return false
	case lease.Renew:
		if s.leased.sends {
			return false
		}
		s.leased.sends = true
		x.reportLease(true)
	}
	s.admission.mode, s.times.admitStart = mode, x.now
	x.enter(phaseAdmit)
	x.await(abi.Action{Kind: abi.ActionWait, ID: idTimer, Code: at, KeepMs: min(leaseWaitMs, s.leased.untilMs-x.now)})
	return true
}

func (x *exchange) takeLeaseReply(reply *keymeter.AdmitReply, ok bool) {
	asked := x.s.leased.asked
	e := x.entry()
	if e == nil || asked == 0 || ok && (reply.Verdict == keymeter.Short || reply.Verdict == keymeter.Stale) {
		return
	}
	x.s.leased.asked = 0
	request := lease.Asked{ID: asked, SentMs: x.s.times.admitStart, Version: x.s.record.Version}
	if ok && !e.Granted(x.now, request, &reply.Lease, reply.Windows) {
		closing := keymeter.Report{LeaseID: reply.Lease.ID, Seq: 1, Close: true}
		x.call(0, abi.ClassKeyMeter, x.s.keyHash, closing.Encode())
	}
	if !ok {
		e.Unknown(asked)
	}
	x.staysKeeper(e)
}

// If the exchange is the keeper, staysKeeper makes it sleep until the end of the interval. staysKeeper also saves the
// entry.
func (x *exchange) staysKeeper(e *lease.Entry) {
	if e.Keeps(x.keeperID()) {
		x.sleepAsKeeper()
	}
	x.saveEntry()
}

// dropAsk withdraws the request for a lease if the meter has not admitted the exchange. Others can then ask again. If
// there is no such request, dropAsk returns false.
func (x *exchange) dropAsk() bool {
	e, asked := x.entry(), x.s.leased.asked
	if e == nil || asked == 0 || x.pending(idAdmit) {
		return false
	}
	x.s.leased.asked = 0
	e.Granted(x.now, lease.Asked{ID: asked}, &keymeter.Lease{}, nil)
	x.staysKeeper(e) // settlements from the meantime rely on this keeper
	return true
}

// settleLeased stores the settlement in the entry. If no lease admitted the request, or if the entry is full, the
// meter must get the settlement, and settleLeased returns false.
func (x *exchange) settleLeased(settle *keymeter.Settle) bool {
	e := x.entry()
	if e == nil {
		return false
	}
	if !x.s.leased.taken {
		x.keepLease(e)
		return false
	}
	if x.s.admission.mode == keymeter.ModeHit {
		return true // a hit is settled as part of its admission
	}
	left := e.Settle(x.now, settle)
	x.saveEntry()
	if left && len(settle.Violations) > 0 {
		x.reportLease(true) // violations do not wait for the end of the interval
	} else {
		x.reportIfDue()
	}
	x.keepLease(e)
	return left
}

// keepLease makes the exchange the keeper if the entry has none.
func (x *exchange) keepLease(e *lease.Entry) {
	if e.Keep(x.now, x.keeperID()) {
		x.saveEntry()
		x.sleepAsKeeper()
	}
}

func (x *exchange) sleepAsKeeper() {
	if !x.pending(idLeaseTimer) {
		x.await(abi.Action{Kind: abi.ActionWait, ID: idLeaseTimer, KeepMs: x.entry().Nap(x.now, x.keeperID())})
	}
}

// reportIfDue sends a report before the end of the interval if there is enough to report.
func (x *exchange) reportIfDue() {
	if x.entry().Due() {
		x.reportLease(true)
	}
}

// reportLease reports the entry to the meter, unless this exchange or another one is doing so.
func (x *exchange) reportLease(urgent bool) {
	e := x.entry()
	if x.pending(idLeaseReport) || urgent && e.InFlight() {
		return
	}
	command, sent := e.Report(x.now, urgent)
	x.saveEntry()
	if command != nil {
		x.s.leased.sent = sent
		x.call(idLeaseReport, abi.ClassKeyMeter, x.s.keyHash, command)
	}
}

const (
	leaseIdle      sideState = iota
	leaseAsleep              // waiting for the end of the interval
	leaseReporting           // waiting for the meter's reply to a report
	leaseBoth
)
