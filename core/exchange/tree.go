package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// levels is the part of a budgetRequest for a key with budgets above its project. core/budget describes the protocol.
// The first time, the request asks all Ledgers that lack budget. From then on it is ordered, and asks one Ledger at a
// time.
type levels struct {
	ordered bool
	ledger  string                // the Ledger to which need belongs; empty: the project's Ledger
	asked   []keymeter.ShortLevel // the levels asked the first time, in the order of the calls
	grants  []keymeter.LevelGrant // for the next admit or extend
	inUse   bool                  // the key's requests in progress have reserved a part of the budget to which need belongs
	calls   uint64                // calls of objects so far
	waved   bool                  // meters have been recalled for need
	reports [][]byte              // of these meters, for the Ledger
	// over is 1 + the index in asked of the level whose budget is spent and resets last; 0: no budget is spent. The
	// fields of the budgetRequest then describe that level.
	over uint64
}

func (l *levels) used() bool {
	return l.ordered || l.inUse || l.over > 0 || l.ledger != "" || len(l.asked) > 0 || len(l.grants) > 0 || l.calls > 0 || l.waved || len(l.reports) > 0
}

func (l *levels) fields(f *abi.Fields) {
	if !f.Group(l.used()) {
		return
	}
	f.Flags(&l.ordered, &l.inUse, &l.waved)
	f.String(&l.ledger)
	abi.List(f, &l.asked, keymeter.ShortLevelFields)
	abi.List(f, &l.grants, keymeter.LevelGrantFields)
	f.Uint(&l.over)
	f.Uint(&l.calls)
	abi.List(f, &l.reports, (*abi.Fields).Bytes)
}

// frees reports whether the reply to a recall returns budget. A meter of the project also repeats the batches that are
// still in its outbox. If these counted, a request would recall the same meters again and again for nothing.
func (l *levels) frees(reply *keymeter.FlushReply) bool {
	return reply.Frees || len(reply.Return) > 0 || !l.waved && len(reply.Absorbs) > 0
}

const (
	// maxCalls limits how many calls of objects a request in a tree makes to reserve its budget. It also limits each
	// extension of a stream. It is a guard: a request that reaches it gets a 503 and may try again.
	maxCalls = 40
	// maxWave limits how many meters such a request recalls at once. The first of them may return enough.
	maxWave = 8
	// maxReportBytes limits the reports of recalled meters that a request collects.
	maxReportBytes = 64 << 10
	// callsToContinue are the calls for which there must be room after a Grant was denied: the recall of one meter, whose
	// report goes to the Ledger, then a Grant and an Admit.
	callsToContinue = 4
)

// guarded reports whether n more calls and the release of the reservation would be too many.
func (l *levels) guarded(n int) bool { return l.calls+uint64(n) >= maxCalls }

// wave returns how many meters the request recalls next, given what it needs and what each of them holds. Each of them
// takes a call. A call with their reports follows, then a Grant, an Admit and the release. The first wave is as small as
// possible, because most often a few meters have enough.
func (l *levels) wave(need int64, held []int64) (n int) {
	most := min(maxWave, maxCalls-4-int(l.calls))
	if l.waved || len(held) == 0 {
		return most
	}
	for n < len(held) && need > 0 {
		need -= held[n]
		n++
	}
	return max(1, min(n, most))
}

// collectReport keeps a recalled meter's report. The last reply of a wave sends all reports to the Ledger in one call.
func (x *exchange) collectReport(id uint64, b *budgetRequest, reply *keymeter.FlushReply) {
	b.reports = append(b.reports, reply.Absorbs...)
	if len(reply.Return) > 0 {
		b.reports = append(b.reports, reply.Return)
	}
	size := 0
	for _, r := range b.reports {
		size += len(r)
	}
	flushes := x.event.ID - x.event.ID%(idAbsorb-idFlush)
	if size == 0 || size < maxReportBytes && x.pendingWithin(flushes, flushes+idAbsorb-idFlush) {
		return
	}
	x.countCalls(b, 1)
	encode := ledger.Returns
	if b.ledger == "" {
		encode = ledger.Batch
	}
	x.call(id, abi.ClassLedger, x.ledgerOf(b.ledger), encode(b.reports))
	b.reports = nil
}

// forgetCalls drops the state that is needed only as long as the request asks for budget.
func (l *levels) forgetCalls() { l.calls, l.waved, l.reports = 0, false, nil }

// countCalls counts calls of objects. Requests that are not in a tree have other limits.
func (x *exchange) countCalls(b *budgetRequest, n int) {
	if x.inTree() || b.ordered {
		b.calls += uint64(n)
	}
}

// tree returns the part of an Admit or Extend for the levels.
func (l *levels) tree() keymeter.Tree { return keymeter.Tree{Grants: l.grants, Ordered: l.ordered} }

// beginLevel records the shortfall of one level.
func (b *budgetRequest) beginLevel(reply *keymeter.AdmitReply, s *keymeter.ShortLevel) {
	b.begin(&keymeter.AdmitReply{
		Period: s.Period, Epoch: s.Epoch, HeldPico: s.HeldPico, NeedPico: s.NeedPico, LeastPico: s.LeastPico, LentMs: reply.LentMs,
	})
	b.need.SpentPico, b.ledger, b.inUse = s.UsedPico, s.Ledger, s.ReservedPico > 0
}

// beginOwn records that the key's own budget is too small. The meter knows its amounts.
func (b *budgetRequest) beginOwn(reply *keymeter.AdmitReply) {
	s := &reply.Levels[0]
	b.beginLevel(reply, s)
	b.period, b.told, b.budgetPico, b.spentPico = s.Period, true, s.HeldPico, s.UsedPico
	b.spent = s.LeastPico > s.ReservedPico
}

func (x *exchange) ledgerOf(level string) string {
	if level == "" {
		return x.s.record.ProjectID
	}
	return level
}

func (x *exchange) inTree() bool { return len(x.s.record.Chain) > 0 }

// asksOnlyToLend reports whether the slices cover the request but not a lease.
func (b *budgetRequest) asksOnlyToLend() bool {
	for i := range b.asked {
		if b.asked[i].NeedPico > 0 {
			return false
		}
	}
	return true
}

func levelGrant(level string, reply *ledger.GrantReply) keymeter.LevelGrant {
	return keymeter.LevelGrant{
		Ledger: level, Grant: keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}, Final: reply.Final,
	}
}

// releaseHold ends the incomplete reservation of a refused request. If the call is lost, the reservation lapses.
func (x *exchange) releaseHold() {
	b := &x.s.admission.budget
	if !b.ordered || x.s.admission.admitted {
		return
	}
	b.ordered = false
	command := keymeter.Admit{RequestID: x.s.requestID, Mode: keymeter.ModeReserve, Tree: keymeter.Tree{Release: true}}
	x.call(0, abi.ClassKeyMeter, x.s.keyHash, command.Encode())
}

// node returns the budget above the project that a level belongs to. For the project's own budget, it returns nil.
func (x *exchange) node(level string) *doc.Node {
	for i := range x.s.record.Chain {
		if n := &x.s.record.Chain[i]; n.Ledger() == level {
			return n
		}
	}
	return nil
}
