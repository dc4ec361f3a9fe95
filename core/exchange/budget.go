package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// begin records the meter's shortfall. It resets need.After, so the next recall starts with the first key. By now,
// the slices of other keys may be idle.
func (b *budgetRequest) begin(reply *keymeter.AdmitReply) {
	b.need = ledger.Grant{
		Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico,
	}
	b.period, b.ledger = reply.Period, ""
	b.final, b.unreachable, b.recalled, b.passes, b.lentMs, b.waved = false, false, false, 0, reply.LentMs, false
}

func (b *budgetRequest) accept(reply *ledger.GrantReply) {
	if b.ordered {
		b.grants = []keymeter.LevelGrant{levelGrant(b.ledger, reply)}
		return
	}
	b.grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
	b.final = reply.Final
}

// waitForLent decides whether to wait until lent budget returns. Until then, nobody knows whether the budget is
// exhausted.
func (b *budgetRequest) waitForLent() bool {
	most := uint64(maxLentWaits)
	if b.ordered {
		most = maxHeldWaits
	}
	if b.lentMs == 0 || b.waits == most {
		// Other requests still hold incomplete reservations or recalled budget, so the budget is perhaps not exhausted.
		b.unreachable = b.unreachable || b.ordered && (b.lentMs > 0 || b.recalled)
		return false
	}
	b.waits++
	return true
}

// nextPass starts another pass over the keys with idle budget if the last pass recalled anything.
func (b *budgetRequest) nextPass() bool {
	most := uint64(maxPasses)
	if b.ordered {
		most = maxOrderedPasses
	}
	if !b.recalled || b.unreachable || b.passes == most {
		return false
	}
	b.recalled, b.need.After = false, ""
	b.passes++
	return true
}

// maxLentWaits limits how often a request waits for budget that meters have lent to isolates. After a recall, a meter
// stops lending, so one wait is usually enough.
const maxLentWaits = 3

// maxHeldWaits and maxOrderedPasses are the same limits for an ordered request. It waits for the incomplete
// reservations of other requests. One of these requests wins each time.
const (
	maxHeldWaits     = 8
	maxOrderedPasses = 8
)

// maxPasses limits how often the exchange repeats the recall from all keys with idle budget. The Ledger may grant a
// recalled slice to another key before this exchange calls it again.
const maxPasses = 1

// callGrant asks the Ledger to cover the shortfall. The reply arrives under id.
func (x *exchange) callGrant(id uint64, b *budgetRequest) {
	g := b.need
	g.Key = x.s.keyHash
	switch _, unit := doc.UnitOf(b.ledger); {
	case unit != doc.Dollars:
		g.WantPico = wanted[unit]
	case x.s.leased.pinned:
		g.WantPico = money.Cost(lendableRequests, max(g.NeedPico, x.s.admission.amount))
	}
	x.countCalls(b, 1)
	x.call(id, abi.ClassLedger, x.ledgerOf(b.ledger), g.Encode())
}

// wanted is what a meter asks for beyond the need, so that most requests find enough. The Ledger grants it only while it
// has plenty.
var wanted = [...]int64{doc.Requests: 256, doc.Tokens: 500_000}

// If the key's plan has leases, the requested budget covers this many requests.
const lendableRequests = 512

func (x *exchange) grantReply() (reply ledger.GrantReply, err error) {
	if x.event.Code == abi.OutcomeOK {
		reply, err = ledger.DecodeGrantReply(x.event.Data)
	}
	return reply, err
}

// admissionGrant decodes the reply of a level's Ledger. The Ledger knows what the meter lacks, which is less than the
// request needs if a part of the slice is free, and more if the slice is in debt. So it cannot tell exactly whether the
// budget is spent.
func (x *exchange) admissionGrant(level string) (ledger.GrantReply, error) {
	reply, err := x.grantReply()
	if _, unit := doc.UnitOf(level); unit == doc.Dollars && reply.Told {
		reply.Spent = reply.BudgetPico-reply.SpentPico < x.s.admission.least()
	}
	return reply, err
}

// recall tells the meters to return their idle budget. The reply IDs start at first. If a request in a tree does not
// recall all of them at once, the next page begins with the rest.
func (x *exchange) recall(first uint64, b *budgetRequest, reply *ledger.GrantReply) {
	meters := reply.Recall
	if n := b.wave(b.need.NeedPico, reply.HeldPico); b.calls > 0 && n < len(meters) {
		meters, b.need.After = meters[:n], meters[n-1]
	}
	x.countCalls(b, len(meters))
	b.waved = b.calls > 0
	for i, meter := range meters {
		command := keymeter.Flush{Recall: true, Ledger: b.ledger}
		if i < len(reply.HeldPico) {
			command.HeldPico = reply.HeldPico[i]
		}
		x.call(first+uint64(i), abi.ClassKeyMeter, meter, command.Encode())
	}
}

// deliverFlush sends a meter's flushed batches to the Ledger in one command, because they must arrive in order. b is
// the request that recalled them. If it is in a tree, the reports of several meters share a command. A meter that could
// not be called delivers its batches later.
func (x *exchange) deliverFlush(first uint64, b *budgetRequest) {
	var reply keymeter.FlushReply
	err := abi.ErrMalformed
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeFlushReply(x.event.Data)
	}
	b.unreachable = b.unreachable || err != nil
	b.recalled = b.recalled || b.frees(&reply)
	b.lentMs = max(b.lentMs, reply.LentMs)
	x.s.openReservations += reply.Open
	switch {
	case b.calls > 0:
		x.collectReport(first, b, &reply)
	case len(reply.Absorbs) > 0:
		x.call(first, abi.ClassLedger, x.s.record.ProjectID, ledger.Batch(reply.Absorbs))
	}
}
