package keymeter

import (
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// admit decides on one request. It stores nothing for a request that it rejects, so a flood of them causes no writes.
// A repeated command gets the reply that was lost, even if the key's record has changed in the meantime. Without that
// reply, the caller would start over under the new record. The request would then already count as admitted, with the
// first command's reservation or with none.
func (c *call) admit(a *Admit) AdmitReply {
	m := c.m
	if m != nil {
		c.acceptGrant(a.Grant)
		c.acceptGrants(a.Tree.Grants)
	}
	switch {
	case m == nil:
		return AdmitReply{Verdict: Unknown}
	case a.Tree.Release:
		return c.release(a)
	case m.status == doc.Removed:
		return m.refused(Unknown, a)
	case m.status != doc.Active || m.expired(c.in.NowMs):
		return m.refused(Inactive, a)
	}
	if a.Version < m.record.Version && !m.admitted(a.RequestID) {
		return AdmitReply{Verdict: Stale, Record: m.record.Encode()}
	}
	limits := c.limits()
	if m.advance(c.in.NowMs, limits) {
		c.store()
	}
	if verdict, answer := c.replay(a); verdict != 0 {
		return AdmitReply{Verdict: verdict, Answer: answer}
	}
	if i := m.findReservation(a.RequestID); i >= 0 {
		r := m.reservations[i].decode()
		return AdmitReply{Verdict: Admitted, Windows: m.windows(limits), ReservedPico: r.amountPico, Lease: m.lentBefore(a)}
	}
	if a.Mode == ModeCheck && len(a.Violations) == 0 || m.knowsAdmission(a.RequestID) {
		return AdmitReply{Verdict: Admitted, Windows: m.windows(limits), Lease: m.lentBefore(a)}
	}
	if a.Mode == ModeCheck {
		m.rememberAdmission(a.RequestID)
		c.addViolations(a.Violations)
		c.store()
		return AdmitReply{Verdict: Admitted, Windows: m.windows(limits)}
	}
	if reply := c.checkLimits(a, limits); reply.Verdict != 0 {
		return reply
	}
	return c.admitNew(a, limits)
}

// admitNew decides on a request that the meter does not know yet and whose limits have room.
func (c *call) admitNew(a *Admit, limits config.Limits) AdmitReply {
	m := c.m
	reply := AdmitReply{Verdict: Admitted}
	switch a.Mode {
	case ModeReserve:
		if c.wantsToLend(a) {
			reply = m.asksToLend(a)
			reply.Windows = m.windows(limits)
			return reply
		}
		reply = m.reserve(m.request(a))
	case ModeHit:
		reply = m.reserve(&budget.Request{ID: a.RequestID, Want: budget.Amounts{Requests: 1}, Ordered: a.Tree.Ordered})
	case ModeCount:
		reply = m.reserve(&budget.Request{ID: a.RequestID, Want: budget.Amounts{Requests: 1}, Ordered: a.Tree.Ordered, Counted: true})
	}
	switch {
	case reply.Verdict == Admitted:
		c.applyAdmission(a, limits, reply.ReservedPico)
		if a.LeaseID != 0 && a.Version == m.record.Version {
			reply.Lease = c.lend(a.LeaseID, reply.ReservedPico, a.LifetimeMs)
		}
		c.finish()
	case reply.LentMs > 0:
		m.rest()
		c.store()
	case a.Tree.Ordered:
		c.store() // the incomplete reservation
	}
	reply.Windows = m.windows(limits)
	return reply
}

// refused returns the reply to a request whose key must no longer be used. A repeat gets the reservation of its first
// command, so that the caller can return it.
func (m *meter) refused(verdict Verdict, a *Admit) AdmitReply {
	reply := AdmitReply{Verdict: verdict, Lease: m.lentBefore(a)}
	if i := m.findReservation(a.RequestID); i >= 0 {
		reply.ReservedPico = m.reservations[i].decode().amountPico
	}
	return reply
}

// admitted reports whether the meter recognizes the request as admitted.
func (m *meter) admitted(requestID string) bool {
	return m.findReservation(requestID) >= 0 || m.knowsAdmission(requestID)
}

// expired reports whether the key has expired.
func (m *meter) expired(now uint64) bool {
	return m.record.ExpiresMs != 0 && m.record.ExpiresMs <= now
}

// checkLimits rejects a request that exceeds a rate limit or the limit on concurrent requests. If the request is
// within all limits, the verdict is 0.
func (c *call) checkLimits(a *Admit, limits config.Limits) AdmitReply {
	m := c.m
	windows := m.windows(limits)
	retry, limited := uint64(0), false
	for _, w := range windows {
		if w.Tokens && a.Mode != ModeReserve {
			continue // only requests that reach a provider use tokens
		}
		if w.Remaining == 0 {
			retry, limited = max(retry, w.ResetMs), true
		}
	}
	if limited {
		return AdmitReply{Verdict: RateLimited, Windows: windows, RetryMs: retry}
	}
	if a.Mode == ModeReserve && uint64(len(m.reservations))+m.slots() >= c.config.Plan(m.record.Plan).Concurrent {
		return AdmitReply{Verdict: ConcurrencyLimited, Windows: windows}
	}
	return AdmitReply{}
}

// extend raises a reservation to a total. It is idempotent. The verdict is Unknown if the meter has no such
// reservation, or if the reservation belongs to an earlier period that has nothing left.
func (c *call) extend(e *Extend) AdmitReply {
	m := c.m
	if m == nil {
		return AdmitReply{Verdict: Unknown}
	}
	c.acceptGrant(e.Grant)
	c.acceptGrants(e.Tree.Grants)
	if m.advance(c.in.NowMs, c.limits()) {
		c.store()
	}
	i := m.findReservation(e.RequestID)
	if i < 0 {
		return AdmitReply{Verdict: Unknown}
	}
	r := m.reservations[i].decode()
	if e.TotalPico <= r.amountPico {
		return AdmitReply{Verdict: Admitted, ReservedPico: r.amountPico}
	}
	if !m.isPresent(&r.placement) {
		return c.extendPast(i, &r, e)
	}
	minimum := minAmount(e.LeastPico, e.TotalPico) - r.amountPico
	q := budget.Request{
		ID: e.RequestID, Want: budget.Amounts{Pico: e.TotalPico - r.amountPico}, LeastPico: max(0, minimum), Final: m.final(e.Final, &e.Tree), Ordered: e.Tree.Ordered,
	}
	reply := m.reserve(&q)
	if reply.Verdict == Admitted {
		r.amountPico += reply.ReservedPico
		m.reservations[i] = r.open()
		reply.ReservedPico = r.amountPico
		c.finish()
	} else if reply.LentMs > 0 {
		m.rest()
		c.store()
	} else if e.Tree.Ordered {
		c.store() // the incomplete reservation
	}
	return reply
}

// request returns the reservation that an admission asks for.
func (m *meter) request(a *Admit) *budget.Request {
	return &budget.Request{
		ID: a.RequestID, Want: budget.Amounts{Pico: a.AmountPico, Requests: 1, Tokens: 1}, LeastPico: minAmount(a.LeastPico, a.AmountPico),
		Final: m.final(a.Final, &a.Tree), Ordered: a.Tree.Ordered,
	}
}

// final returns the levels whose Ledgers have no more budget, as bits. The flag stands for the project.
func (m *meter) final(flag bool, t *Tree) uint64 {
	bits := t.final(&m.chain)
	if flag {
		bits |= 1 << m.chain.ProjectAt()
	}
	return bits
}

// extendPast raises a reservation of an earlier period by the free part of that period's slice. The Ledger grants no
// more budget for that period, and a request counts only in the period of its admission.
func (c *call) extendPast(at int, r *reservation, e *Extend) AdmitReply {
	more := min(e.TotalPico-r.amountPico, c.m.chain.FreeAt(r.period, r.others))
	if r.amountPico+more < minAmount(e.LeastPico, e.TotalPico) {
		return AdmitReply{Verdict: Unknown}
	}
	c.m.book(&r.placement, budget.Amounts{Pico: more}, budget.Amounts{})
	r.amountPico += more
	c.m.reservations[at] = r.open()
	c.store()
	return AdmitReply{Verdict: Admitted, ReservedPico: r.amountPico}
}

// minAmount returns the smallest amount that a command accepts: least, or the full amount if least is 0.
func minAmount(least, amount int64) int64 {
	if least == 0 {
		return amount
	}
	return min(least, amount)
}

// applyAdmission updates the meter for an admitted request: limits, usage, reservation and idempotency record.
func (c *call) applyAdmission(a *Admit, limits config.Limits, reserved int64) {
	m := c.m
	m.countAdmission(limits)
	c.addViolations(a.Violations)
	if a.Mode != ModeReserve {
		m.rememberAdmission(a.RequestID)
	}
	if a.Idempotency != "" {
		c.beginIdempotency(a)
	}
	switch a.Mode {
	case ModeCount:
		c.addRecent(a)
	case ModeHit:
		u := m.usageFor(m.lastMs, a.Model, m.path())
		u.Requests++
		u.Hits++
		u.Latency.Add(a.Trace.DurationMs)
		c.addRecent(a)
	case ModeReserve:
		r := reservation{
			[]byte(a.RequestID), m.lastMs, m.lastMs + a.LifetimeMs, m.place(), reserved, []byte(a.Model), []byte(a.Idempotency),
		}
		m.reservations = append(m.reservations, r.open())
	}
}

// addRecent lists a request that is complete at its admission, if it was served. The Ledger receives a separate
// record of every other request.
func (c *call) addRecent(a *Admit) {
	t := &a.Trace
	if t.Status == 0 || t.Status >= 400 {
		return
	}
	c.m.addRecent(ledger.Request{
		AtMs: c.m.lastMs, ID: a.RequestID, Model: a.Model, Provider: t.Provider, Agent: t.Agent, Status: t.Status, DurationMs: t.DurationMs,
		Cache: t.Cache, Stream: t.Stream,
	})
}
