package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

// Lease is a part of a key's limits and slice that the meter lends to an isolate. The isolate admits requests with it
// without calling the meter. The totals only grow while the lease exists, so replies may be lost, repeated or
// reordered.
type Lease struct {
	ID uint64 // chosen by the isolate; 0: none
	// DurationMs is how long the lease may be used. The isolate counts from when it sent the command. The meter
	// counts from its reply and adds an allowance. 0: the lease must no longer be used.
	DurationMs uint64
	Requests   uint64 // admissions lent since the lease began
	AmountPico int64  // budget lent since the lease began
	Slots      uint64 // number of the lease's requests that may be in progress and unregistered at the same time
}

func (l *Lease) fields(f *abi.Fields) {
	f.Uint(&l.ID)
	f.Uint(&l.DurationMs)
	f.Uint(&l.Requests)
	f.Int(&l.AmountPico)
	f.Uint(&l.Slots)
}

// Leased is a request that a lease admitted.
type Leased struct {
	RequestID  string
	AdmittedMs uint64 // on the isolate's clock
	AmountPico int64  // its reservation
	LifetimeMs uint64 // of the reservation, from the admission
	Model      string
	Settle     []byte // the encoded Settle; empty while the request is in progress
}

// LeasedFields lists the fields of a leased request.
func LeasedFields(f *abi.Fields, l *Leased) {
	f.String(&l.RequestID)
	f.Uint(&l.AdmittedMs)
	f.Int(&l.AmountPico)
	f.Uint(&l.LifetimeMs)
	f.String(&l.Model)
	f.Bytes(&l.Settle)
}

// Report is the command that reports the requests of a lease, both ended and in progress. Requests in progress become
// ordinary reservations. Reports of a lease are numbered from 1, so that a repeat counts once. The reply is a
// ReportReply.
type Report struct {
	SentMs   uint64 // when it was sent, on the isolate's clock; the meter derives the ages of the requests from it
	LeaseID  uint64
	Seq      uint64
	Requests []Leased
	Settles  [][]byte // encoded Settles of requests that an earlier report has registered
	Close    bool     // the isolate no longer uses the lease; the rest returns to the key
	Renew    bool     // the isolate wants to continue the lease
	// AmountPico is the typical reservation of the isolate's requests, for a renewal.
	AmountPico int64
}

// Encode encodes the command.
func (c *Report) Encode() []byte {
	size := 64
	for i := range c.Requests {
		size += 64 + len(c.Requests[i].Settle)
	}
	for _, s := range c.Settles {
		size += 4 + len(s)
	}
	return abi.EncodeFields(opReport, size, c.fields)
}

func (c *Report) fields(f *abi.Fields) {
	f.Uint(&c.SentMs)
	f.Uint(&c.LeaseID)
	f.Uint(&c.Seq)
	abi.List(f, &c.Requests, LeasedFields)
	abi.List(f, &c.Settles, (*abi.Fields).Bytes)
	f.Flags(&c.Close, &c.Renew)
	f.Int(&c.AmountPico)
}

// DecodeReport decodes a Report.
func DecodeReport(command []byte) (c Report, err error) {
	r := abi.Reader{Buf: command}
	if r.Uint() != opReport {
		return c, abi.ErrMalformed
	}
	err = abi.DecodeFields(r.Buf, c.fields)
	return c, err
}

// ReportReply is the reply to Report.
type ReportReply struct {
	Lease   Lease // ID 0: the meter does not know the lease
	Windows []Window
}

// DecodeReportReply decodes the reply to Report.
func DecodeReportReply(data []byte) (r ReportReply, err error) {
	err = abi.DecodeFields(data, r.fields)
	return r, err
}

// Encode encodes the reply.
func (r *ReportReply) Encode() []byte { return abi.EncodeFields(0, 64, r.fields) }

func (r *ReportReply) fields(f *abi.Fields) {
	r.Lease.fields(f)
	abi.List(f, &r.Windows, WindowFields)
}

func (c *Report) reads() []abi.Range { return nil }

func (c *Report) apply(call *call) {
	reply := call.takeReport(c)
	call.out.Reply = reply.Encode()
}

const (
	// maxLeases limits the leases of a key. Additional isolates call the meter for each request.
	maxLeases = 64
	// minLeaseRequests and minLeaseSlots are the sizes of the smallest useful lease.
	minLeaseRequests = 8
	minLeaseSlots    = 4
	// lendAmounts is the number of reservations that a lease covers. Each has the size of the reservation of the
	// request that asks for the lease. minLendAmounts is the smallest useful number.
	lendAmounts    = 128
	minLendAmounts = 4
	// lendDivisor limits the lent part of a window to a tenth at a time.
	lendDivisor = 10
	// slotDivisor limits the lent part of the concurrent requests.
	slotDivisor = 4
	// clockDivisor and clockMs are the allowance for the isolate's clock. That clock may run slower than the meter's
	// by one part in clockDivisor. It may also lag by clockMs, because a platform's clock may stop while code runs.
	clockDivisor = 20
	clockMs      = 250
	// restMs is how long a meter does not lend after its slice was recalled or was too small.
	restMs = 5000
)

// lend creates the lease with the given ID, or extends it. If the meter does not lend now, it returns a Lease without
// a duration. If the meter does not know the lease, that Lease has no ID either. amount is the typical reservation of
// the isolate's requests.
func (c *call) lend(id uint64, amount int64, lifetimeMs uint64) Lease {
	m := c.m
	l := m.findLease(id)
	created := l == nil
	if created {
		l = &lease{id: id, version: m.record.Version, startMs: c.in.NowMs, placement: m.place(), lifetimeMs: lifetimeMs}
		l.slots = c.lendableSlots()
	}
	terms := c.terms(l, amount)
	if terms.durationMs == 0 || created && (l.slots == 0 || m.knowsClosed(id) || len(m.leases) == maxLeases) {
		if created {
			return Lease{}
		}
		return l.lent(0)
	}
	l.requests += terms.requests
	m.dayCount += terms.requests
	l.amountPico += terms.amountPico
	l.heldPico += terms.amountPico
	m.book(&l.placement, budget.Amounts{Pico: terms.amountPico}, budget.Amounts{})
	l.endMs = max(l.endMs, c.in.NowMs+allowed(terms.durationMs))
	if created {
		m.leases = append(m.leases, *l)
	}
	return l.lent(terms.durationMs)
}

// wantsToLend reports whether the slice is too small to lend from and the Ledger may have more. If so, the exchange
// first asks the Ledger once.
func (c *call) wantsToLend(a *Admit) bool {
	m := c.m
	if a.LeaseID == 0 || m.chain.Counts() || a.Grant.Epoch != 0 || a.Tree.used() || a.AmountPico <= 0 || c.config.Plan(m.record.Plan).Lease.DurationMs == 0 {
		return false
	}
	free := m.chain.Free()
	return m.chain.Live() && m.restUntilMs <= c.in.NowMs && free >= a.AmountPico && free-a.AmountPico < lendAmounts/4*a.AmountPico
}

// allowed returns the time after which the meter considers a lease of the given duration to have ended.
func allowed(durationMs uint64) uint64 { return durationMs + durationMs/clockDivisor + clockMs }

// terms contains the duration of a lease and the additions to the lease. Without a duration, there is no lease.
type terms struct {
	durationMs uint64
	requests   uint64
	amountPico int64
}

func (c *call) terms(l *lease, amount int64) (t terms) {
	m, plan, limits := c.m, c.config.Plan(c.m.record.Plan), c.limits()
	duration := c.lendableMs(plan.Lease.DurationMs)
	if duration < config.MinLeaseMs || limits.TokensPerMinute > 0 || m.chain.Counts() || m.restUntilMs > c.in.NowMs || !m.chain.Live() ||
		l.ended || l.version != m.record.Version || !m.isPresent(&l.placement) ||
		uint64(len(m.reservations))+m.slots() > plan.Concurrent {
		return t
	}
	target := min(plan.Lease.Requests, m.lendableRequests(l, limits.PerSecond, m.usedInSecond()), m.lendableRequests(l, limits.PerDay, m.dayCount))
	if target < minLeaseRequests {
		return t
	}
	t.requests = target - min(target, l.unused())
	t.amountPico = max(0, min(money.Cost(lendAmounts, amount)-l.heldPico, m.chain.Free()/2))
	if money.Add(l.heldPico, t.amountPico) < money.Cost(minLendAmounts, amount) {
		return terms{}
	}
	t.durationMs = duration
	return t
}

// lendableMs returns the duration of a lease. The lease must end on the day it begins, and before the key expires.
func (c *call) lendableMs(longest uint64) uint64 {
	now := c.in.NowMs
	end := (calendar.Day(now) + 1) * calendar.DayMs
	if expires := c.m.record.ExpiresMs; expires != 0 {
		end = min(end, expires)
	}
	left := end - min(end, now+clockMs)
	return min(longest, left-left/clockDivisor)
}

// lendableRequests returns the number of unused admissions that a lease may have in a window. All leases together
// have at most a tenth of the window. The other leases leave a part of that tenth, and one lease gets half of that
// part. It gets at most half of the window's remaining admissions.
func (m *meter) lendableRequests(l *lease, limit, used uint64) uint64 {
	if limit == 0 {
		return ^uint64(0)
	}
	others := uint64(0)
	for i := range m.leases {
		if o := &m.leases[i]; o.id != l.id && !o.ended {
			others += o.unused()
		}
	}
	share := limit / lendDivisor
	return min((share-min(share, others)+1)/2, (limit-min(limit, used))/2+l.unused())
}

// lendableSlots returns the number of concurrent requests for a new lease, or 0 if the key is near its limit.
func (c *call) lendableSlots() uint64 {
	concurrent := c.config.Plan(c.m.record.Plan).Concurrent
	share, lent := concurrent/slotDivisor, c.m.slots()
	slots := (share - min(share, lent)) / 2
	if slots < minLeaseSlots || uint64(len(c.m.reservations))+lent+slots > concurrent-share {
		return 0
	}
	return slots
}
