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
	// over is 1 + the index in asked of the level whose budget is spent and resets last; 0: no budget is spent. The
	// fields of the budgetRequest then describe that level.
	over uint64
}

func (l *levels) used() bool {
	return l.ordered || l.over > 0 || l.ledger != "" || len(l.asked) > 0 || len(l.grants) > 0
}

func (l *levels) fields(f *abi.Fields) {
	if !f.Group(l.used()) {
		return
	}
	f.Bool(&l.ordered)
	f.String(&l.ledger)
	abi.List(f, &l.asked, keymeter.ShortLevelFields)
	abi.List(f, &l.grants, keymeter.LevelGrantFields)
	f.Uint(&l.over)
}

// tree returns the part of an Admit or Extend for the levels.
func (l *levels) tree() keymeter.Tree { return keymeter.Tree{Grants: l.grants, Ordered: l.ordered} }

// beginLevel records the shortfall of one level.
func (b *budgetRequest) beginLevel(reply *keymeter.AdmitReply, s *keymeter.ShortLevel) {
	b.begin(&keymeter.AdmitReply{
		Period: s.Period, Epoch: s.Epoch, HeldPico: s.HeldPico, NeedPico: s.NeedPico, LeastPico: s.LeastPico, LentMs: reply.LentMs,
	})
	b.ledger = s.Ledger
}

// beginOwn records that the key's own budget is too small. The meter knows its amounts.
func (b *budgetRequest) beginOwn(reply *keymeter.AdmitReply) {
	s := &reply.Levels[0]
	b.beginLevel(reply, s)
	b.period, b.told, b.budgetPico, b.spentPico = s.Period, true, s.HeldPico, s.UsedPico
	b.spent = s.HeldPico-s.UsedPico < s.LeastPico
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
