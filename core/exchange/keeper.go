package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
)

// leaseRows is the keeper's state machine. A keeper is an exchange that keeps the key's lease, both during and after
// its own request.
var leaseRows = [...]sideRow{
	{leaseAsleep, inLeaseTimer, (*exchange).onLeaseTimer, 1<<leaseIdle | 1<<leaseAsleep | 1<<leaseReporting, 0},
	{leaseBoth, inLeaseTimer, (*exchange).onLeaseTimer, 1<<leaseReporting | 1<<leaseBoth, 0},
	{leaseReporting, inLeaseReport, (*exchange).onLeaseReport, 1<<leaseIdle | 1<<leaseAsleep | 1<<leaseReporting | 1<<leaseBoth, 0},
	{leaseBoth, inLeaseReport, (*exchange).onLeaseReport, 1<<leaseAsleep | 1<<leaseBoth, 0},
}

func (x *exchange) leaseState() (state sideState) {
	if x.pending(idLeaseTimer) {
		state |= leaseAsleep
	}
	if x.pending(idLeaseReport) {
		state |= leaseReporting
	}
	return state
}

// onLeaseTimer wakes the keeper.
func (x *exchange) onLeaseTimer() {
	e := x.entry()
	closing := e.Early(x.now, x.keeperID())
	duty := e.Wake(x.now, x.keeperID())
	x.saveEntry()
	if duty != lease.Leave {
		x.tellTally(closing)
	}
	switch duty {
	case lease.Send:
		x.reportLease(false)
		if !x.pending(idLeaseReport) {
			x.sleepAsKeeper()
		}
	case lease.Sleep:
		x.sleepAsKeeper()
	}
}

func (x *exchange) onLeaseReport() {
	e := x.entry()
	reply, err := keymeter.DecodeReportReply(x.event.Data)
	if x.event.Code != abi.OutcomeOK || err != nil {
		e.Failed(x.s.leased.sent)
	} else {
		e.Confirmed(x.now, x.s.leased.sent, &reply)
	}
	x.staysKeeper(e)
	if x.s.phase == phaseStream && x.s.stream.withheld.waiting {
		x.requestExtension() // the meter may now know the leased reservation and be able to extend it
	}
}
