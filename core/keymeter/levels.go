package keymeter

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// LevelGrant is a Grant of one of the Ledgers on a key's path.
type LevelGrant struct {
	Ledger string // name of the Ledger; empty for the project's
	Grant
	Final bool // the Ledger has no more
}

// LevelGrantFields lists the fields of a grant.
func LevelGrantFields(f *abi.Fields, g *LevelGrant) {
	f.String(&g.Ledger)
	g.Fields(f)
	f.Bool(&g.Final)
}

// ShortLevel is a level with too little budget, in the reply to a command of a key with budgets above its project. The
// fields from Period on are those of the ledger.Grant to send.
type ShortLevel struct {
	Ledger    string // name of the Ledger; empty for the project's
	Period    calendar.Period
	Epoch     uint64
	HeldPico  int64
	NeedPico  int64
	LeastPico int64
	// UsedPico is what the key has spent in the period. Its own budget is HeldPico.
	UsedPico int64
	// ReservedPico is what the key's requests in progress have reserved at the level.
	ReservedPico int64
}

// ShortLevelFields lists the fields of a level.
func ShortLevelFields(f *abi.Fields, s *ShortLevel) {
	f.String(&s.Ledger)
	ledger.PeriodFields(f, &s.Period)
	f.Uint(&s.Epoch)
	f.Int(&s.HeldPico)
	f.Int(&s.NeedPico)
	f.Int(&s.LeastPico)
	f.Int(&s.UsedPico)
	f.Int(&s.ReservedPico)
}

// Tree is the part of an Admit or Extend that only keys with budgets above their project need.
type Tree struct {
	Grants  []LevelGrant
	Ordered bool // the request has asked Ledgers before: reserve the levels from the root down, see package budget
	// Release ends the request's incomplete reservation instead of admitting the request. The verdict is Unknown.
	Release bool
}

func (t *Tree) used() bool { return len(t.Grants) > 0 || t.Ordered || t.Release }

func (t *Tree) fields(f *abi.Fields) {
	abi.List(f, &t.Grants, LevelGrantFields)
	f.Flags(&t.Ordered, &t.Release)
}

// final returns the levels whose Ledgers have no more, as bits.
func (t *Tree) final(c *budget.Chain) (bits uint64) {
	for i := range t.Grants {
		if at := c.Named(t.Grants[i].Ledger); at >= 0 && t.Grants[i].Final {
			bits |= 1 << at
		}
	}
	return bits
}

// acceptGrant raises the slice of the project to the granted total. It runs before the checks. If they refuse the
// request, the next request uses the grant.
func (c *call) acceptGrant(g Grant) { c.acceptAt(c.m.chain.ProjectAt(), &g) }

// acceptGrants raises the slices of all levels to their granted totals.
func (c *call) acceptGrants(list []LevelGrant) {
	for i := range list {
		if at := c.m.chain.Named(list[i].Ledger); at >= 0 {
			c.acceptAt(at, &list[i].Grant)
		}
	}
}

func (c *call) acceptAt(level int, g *Grant) {
	if g.Epoch != 0 && c.m.chain.Accept(budget.Grant{Level: level, Period: g.Period, Epoch: g.Epoch, TotalPico: g.TotalPico}) {
		c.store()
	}
}

// reserve reserves amounts at all levels. If one of them lacks budget, the reply is Short, or OverOwn if it is the key's
// own budget.
func (m *meter) reserve(q *budget.Request) AdmitReply {
	pico, short := m.chain.Reserve(m.lastMs, q)
	if len(short) == 0 {
		m.returnSpent(false) // requests are spent when they are admitted
		return AdmitReply{Verdict: Admitted, ReservedPico: pico}
	}
	if l := &m.chain.Levels[short[0].Level]; l.Own > 0 {
		reply := AdmitReply{Verdict: OverOwn}
		if l.Unit() == doc.Dollars {
			reply.LentMs = m.lentMs()
		}
		m.lacking(&reply, short)
		return reply
	}
	reply := AdmitReply{Verdict: Short, LentMs: m.lentMs()}
	m.lacking(&reply, short)
	return reply
}

// lacking adds the levels that lack budget to a reply.
func (m *meter) lacking(reply *AdmitReply, short []budget.Shortfall) {
	if len(m.chain.Levels) == 1 {
		s := &short[0]
		reply.Period, reply.Epoch, reply.HeldPico, reply.NeedPico, reply.LeastPico = s.Period, s.Epoch, s.HeldPico, s.NeedPico, s.LeastPico
		return
	}
	for i := range short {
		s, l := &short[i], &m.chain.Levels[short[i].Level]
		reply.LentMs = max(reply.LentMs, s.WaitMs)
		reply.Levels = append(reply.Levels, ShortLevel{
			Ledger: l.Ledger, Period: s.Period, Epoch: s.Epoch, HeldPico: s.HeldPico, NeedPico: s.NeedPico, LeastPico: s.LeastPico,
			UsedPico: max(0, l.Slice.Spent), ReservedPico: l.Slice.Reserved,
		})
	}
}

// asksToLend returns the reply to a request if the slices cover the request but are too small to lend from.
func (m *meter) asksToLend(a *Admit) AdmitReply {
	reply := AdmitReply{Verdict: Short}
	var short []budget.Shortfall
	for i := range m.chain.ProjectAt() + 1 {
		if l := &m.chain.Levels[i]; !l.Soft && l.Slice.Free()-a.AmountPico < lendAmounts/4*a.AmountPico {
			short = append(short, budget.Shortfall{Level: i, Period: l.Slice.Period, Epoch: l.Epoch, HeldPico: l.Slice.Granted})
		}
	}
	m.lacking(&reply, short)
	return reply
}

// returnGranted returns what the meter of a removed key has been granted and has not reserved. It learns of no later
// change, so it would keep that part of a budget that has become lower.
func (c *call) returnGranted(reply *AdmitReply) {
	m := c.m
	if m == nil || m.status != doc.Removed || reply.Verdict == Short {
		return
	}
	above := slices.ContainsFunc(m.chain.Above(), func(l budget.Level) bool { return l.Slice.Free() > 0 })
	if above {
		m.chain.ReturnAbove()
		m.returnDirectly(debtDelayMs)
	}
	if c.returnRemoved() || above {
		c.store()
	}
}

// returnRemoved returns the free part of a removed key's slice of its project's budget, and reports it at once. It returns
// false if there is nothing to return.
func (c *call) returnRemoved() bool {
	if c.m.status != doc.Removed || c.m.level().Soft || c.m.slice().Free() <= 0 {
		return false
	}
	c.m.level().Return()
	c.reportNow()
	return true
}

// reportNow adds a batch to the outbox, in the same commit.
func (c *call) reportNow() {
	c.report(c.m.nextBatch(c.in.Name, false))
	c.out.Deliver = true
}

// slice is the next report of a level's slice.
func (c *call) slice(l *budget.Level) ledger.Return {
	c.m.returns.seq++
	l.Unsent = false
	return ledger.Return{
		Key: c.in.Name, Seq: c.m.returns.seq, Period: l.Slice.Period, Epoch: l.Epoch, HeldPico: l.Slice.Granted, SpentPico: l.Slice.Spent,
	}
}

// returned is the report of a level's slice to its Ledger. It is stored in the outbox too.
func (c *call) returned(l *budget.Level) []byte {
	r := c.slice(l)
	data := r.Encode()
	d := abi.Delivery{Class: abi.ClassLedger, Name: l.Ledger, Data: data}
	c.put(abi.OutboxKey(firstReturn+r.Seq), d.Encode())
	return data
}

// returnedFormer is the report of a level on a former path. The level keeps only the amount in use.
func (c *call) returnedFormer(l *budget.Level) []byte {
	l.Return()
	return c.returned(l)
}

// release ends the incomplete reservation of a request that was refused.
func (c *call) release(a *Admit) AdmitReply {
	before := len(c.m.chain.Holds)
	if c.m.chain.Release(a.RequestID); len(c.m.chain.Holds) < before {
		c.store()
	}
	return AdmitReply{Verdict: Unknown}
}

// firstReturn separates the numbers of reports to Ledgers above the project from those of batches in the outbox.
const firstReturn = 1 << 40

// returns are the meter's reports to the Ledgers above the project.
type returns struct {
	seq    uint64 // number of the last ledger.Return
	lastMs uint64 // when all Ledgers got the present state
	dueMs  uint64 // when they get it again; 0: they know it
	direct bool   // they get it from the meter, because the way through the project's Ledger can take a minute
}

// returnEveryMs is the interval of these reports while the key is busy. It is longer than that of the project, because
// the Ledger of a group has many more keys. A Ledger that does not know of spending yet still counts the key's slice.
const returnEveryMs = 30_000

// returnWithin schedules a report to the Ledgers above the project, unless an earlier one is scheduled.
func (m *meter) returnWithin(ms uint64) { m.returns.dueMs = minNonZero(m.returns.dueMs, m.lastMs+ms) }

// returnDirectly schedules a report that somebody may wait for.
func (m *meter) returnDirectly(ms uint64) {
	m.returns.direct = true
	m.returnWithin(ms)
}

// unsent reports whether a Ledger above the project does not know all spending or the present slice.
func (m *meter) unsent() bool {
	unsent := func(l budget.Level) bool { return l.Unsent && l.Own == 0 }
	return slices.ContainsFunc(m.chain.Above(), unsent) || slices.ContainsFunc(m.chain.Former, unsent)
}

// returnSpent schedules a report of the spending, if there is any to report. A Ledger that does not know of a lower cost
// refuses requests, so that is reported as early as to the project.
func (m *meter) returnSpent(lower bool) {
	switch next := m.returns.lastMs + returnEveryMs; {
	case !m.unsent():
	case lower:
		m.returnDirectly(usageDelayMs)
	default:
		m.returnWithin(max(m.usageWithin(), next-min(next, m.lastMs)))
	}
}

// returnWithBatch schedules the report to the Ledgers above the project that accompanies a batch. The batch may have become
// due, because it is full, after the report was scheduled.
func (m *meter) returnWithBatch() {
	if next := m.returns.lastMs + returnEveryMs; m.returns.dueMs != 0 {
		m.returnWithin(next - min(next, m.lastMs))
	}
}

// returnsDue decides whether a report to the Ledgers above the project is due. A report that will be due before the
// meter's next report to its project is due now, which saves an alarm.
func (m *meter) returnsDue(reports bool) bool {
	by := m.lastMs
	if reports {
		by += usageDelayMs
	}
	return m.returns.dueMs != 0 && m.returns.dueMs <= by
}

// usedUp reports whether a slice that its Ledger takes for unused is spent. Until the Ledger knows, requests of other keys
// recall it for nothing.
func usedUp(l *budget.Level) bool { return l.Unsent && l.Slice.Spent >= l.Slice.Granted }

// dollarsUsedUp reports whether this holds for a budget above the project.
func (m *meter) dollarsUsedUp() bool {
	return slices.ContainsFunc(m.chain.Above(), func(l budget.Level) bool { return l.Unit() == doc.Dollars && usedUp(&l) })
}

// returnAll reports all levels above the project whose Ledgers do not know their state. If a batch follows, the slices of
// the nodes that get usage from the project's Ledger travel in it. On the way they still count as the meter's, and a
// recall gets a newer report from the meter.
func (c *call) returnAll(batch bool) {
	batch = batch && !c.m.returns.direct
	c.m.returns = returns{seq: c.m.returns.seq, lastMs: c.m.lastMs}
	for i := range c.m.chain.ProjectAt() {
		switch l := &c.m.chain.Levels[i]; {
		case !l.Unsent:
		case batch && l.Unit() == doc.Dollars:
			c.m.travelling = append(c.m.travelling, ledger.Returned{Ledger: l.Ledger, Return: c.slice(l)})
		default:
			c.returned(l)
		}
	}
	for i := range c.m.chain.Former {
		if l := &c.m.chain.Former[i]; l.Unsent && l.Own == 0 {
			c.returnedFormer(l)
		}
	}
}

// flushReturns reports to the Ledgers above the project when the usage is flushed. batch tells whether there is any.
func (c *call) flushReturns(batch bool) {
	if c.m.unsent() {
		c.returnAll(batch)
		c.store()
		c.out.AlarmMs = minNonZero(c.out.AlarmMs, c.in.NowMs+abi.RedeliverMs)
	}
}

// recallLevel returns the free part of a slice above the project to its Ledger.
func (c *call) recallLevel(f *Flush) FlushReply {
	m := c.m
	m.advance(c.in.NowMs, c.limits())
	reply := FlushReply{Open: uint64(len(m.reservations) + len(m.leases)), LentMs: m.lentMs()}
	if reply.LentMs > 0 {
		m.rest()
		c.store()
	}
	if at := m.chain.Named(f.Ledger); at >= 0 {
		returned, waitMs := m.chain.Recall(c.in.NowMs, at, f.HeldPico)
		reply.LentMs = max(reply.LentMs, waitMs)
		if l := &m.chain.Levels[at]; returned || usedUp(l) {
			reply.Return = c.returned(l)
		}
	} else if l := m.chain.FormerNamed(f.Ledger); l != nil && (l.Unsent || l.Slice.Free() > 0 || l.Slice.Granted != f.HeldPico) {
		reply.Return = c.returnedFormer(l)
	}
	if len(reply.Return) > 0 {
		c.store()
		c.out.AlarmMs = minNonZero(c.out.AlarmMs, c.in.NowMs+abi.RedeliverMs)
	}
	return reply
}

// OwnLevel is the name of the level of a key's own budget, in place of a Ledger's. Its limits of requests and tokens have
// the suffixes of doc.LedgerName.
const OwnLevel = "key"

// setPath moves the meter to the path of its record. It reports whether the project's budget begins to stop requests, so
// that its Ledger must learn the slice now.
func (m *meter) setPath(now uint64) (hardened bool) {
	names := make([]string, 0, len(m.record.Chain))
	for i := range m.record.Chain {
		names = append(names, m.record.Chain[i].Ledger())
	}
	var own []budget.Own
	for _, o := range m.record.Own.Own() {
		own = append(own, budget.Own{Name: doc.LedgerName(OwnLevel, o.Unit), Limit: o.Limit})
	}
	left := m.chain.SetPath(now, names, own) && len(m.chain.Former) > 0
	above, project := m.soften()
	if left || above {
		m.returns.direct, m.returns.dueMs = true, minNonZero(m.returns.dueMs, now+debtDelayMs)
	}
	return project
}

// soften tells the levels whether they stop requests, as the record says. The results report whether levels begin to stop
// them: some above the project's, or the project's own. Their Ledgers must then learn the spending.
func (m *meter) soften() (above, project bool) {
	for i := range min(len(m.record.Chain), m.chain.ProjectAt()) {
		above = m.chain.Levels[i].Soften(m.record.Chain[i].Soft) || above
	}
	return above, m.level().Soften(m.record.Soft)
}

// lower returns the unused parts of the slices of budgets that are lower than under an earlier record. The meter of a
// removed key returns all of them, because it learns of no later change.
func (m *meter) lower(now uint64, before []doc.Node) {
	for i := range m.record.Chain {
		n := &m.record.Chain[i]
		lowered := func(o doc.Node) bool { return o.ID == n.ID && o.Unit == n.Unit && o.Lowered < n.Lowered }
		if m.status == doc.Removed || slices.ContainsFunc(before, lowered) {
			m.chain.Lower(now, i)
			m.returns.dueMs = minNonZero(m.returns.dueMs, now+debtDelayMs)
		}
	}
}
