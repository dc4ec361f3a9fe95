package keymeter

import (
	"slices"
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// lease is the meter's side of a Lease that has not been closed. Until it ends, its unused admissions count in every
// window. Its budget stays reserved until it is closed or booked.
type lease struct {
	id      uint64
	version uint64 // version of the key record when the lease began
	seq     uint64 // number of the last report
	startMs uint64
	endMs   uint64 // allowance included
	ended   bool
	placement
	lifetimeMs uint64 // of a request
	requests   uint64 // lent in total
	taken      uint64 // number of these that were reported
	amountPico int64  // lent in total
	heldPico   int64  // part of the slice's reserved amount
	slots      uint64
}

// leaseFields lists the fields of a lease in a version of the meter's row.
func leaseFields(version uint64) func(*abi.Fields, *lease) {
	return func(f *abi.Fields, l *lease) {
		l.fields(f)
		if version >= treeFormat {
			abi.List(f, &l.others, placeFields)
			if f.Group(l.path.Used()) {
				l.path.Fields(f)
			}
		}
	}
}

func (l *lease) fields(f *abi.Fields) {
	f.Uint(&l.id)
	f.Uint(&l.version)
	f.Uint(&l.seq)
	f.Uint(&l.startMs)
	f.Uint(&l.endMs)
	f.Bool(&l.ended)
	ledger.PeriodFields(f, &l.period)
	f.Uint(&l.lifetimeMs)
	f.Uint(&l.requests)
	f.Uint(&l.taken)
	f.Int(&l.amountPico)
	f.Int(&l.heldPico)
	f.Uint(&l.slots)
}

// unused returns the number of admissions that have not been reported.
func (l *lease) unused() uint64 { return l.requests - min(l.requests, l.taken) }

// lent returns the lease in the form that the isolate receives.
func (l *lease) lent(durationMs uint64) Lease {
	return Lease{ID: l.id, DurationMs: durationMs, Requests: l.requests, AmountPico: l.amountPico, Slots: l.slots}
}

// bookMs returns the time at which everything unreported is booked. The lease's last request must have ended by then.
func (l *lease) bookMs() uint64 { return l.endMs + l.lifetimeMs }

func (m *meter) findLease(id uint64) *lease {
	for i := range m.leases {
		if m.leases[i].id == id {
			return &m.leases[i]
		}
	}
	return nil
}

// lentBefore returns the lease of an admission that is repeated. The first reply was lost and the lease's time has
// been running since then, so the isolate can only close the lease.
func (m *meter) lentBefore(a *Admit) Lease {
	if l := m.findLease(a.LeaseID); l != nil {
		return l.lent(0)
	}
	return Lease{}
}

// removeLease removes a closed or booked lease but remembers its ID. A late Admit that asks for the lease must not
// create it again.
func (m *meter) removeLease(id uint64) {
	m.rememberClosed(id)
	m.leases = slices.DeleteFunc(m.leases, func(l lease) bool { return l.id == id })
}

// unusedRequests returns the number of lent admissions that count in the windows.
func (m *meter) unusedRequests() (n uint64) {
	for i := range m.leases {
		if l := &m.leases[i]; !l.ended {
			n += l.unused()
		}
	}
	return n
}

// slots returns the number of concurrent requests that the leases may have, in addition to the reservations. A lease
// that has ended keeps its slots until it is closed or booked, because its requests may still be in progress.
func (m *meter) slots() (n uint64) {
	for i := range m.leases {
		n += m.leases[i].slots
	}
	return n
}

// lentMs returns the time until all leases that hold budget have ended and had time to report. It returns 0 if there
// are none.
func (m *meter) lentMs() (ms uint64) {
	for i := range m.leases {
		if l := &m.leases[i]; l.heldPico > 0 && m.lastMs < l.endMs+overdueMs {
			ms = max(ms, l.endMs-min(l.endMs, m.lastMs)+reportMs)
		}
	}
	return ms
}

// reportMs is the usual time from the end of a lease to its last report. After overdueMs, the isolate is presumed
// dead.
const (
	reportMs  = 250
	overdueMs = 2000
)

// rest stops lending for a while, so that lent budget can return.
func (m *meter) rest() { m.restUntilMs = m.lastMs + restMs }

// endLeases ends the leases whose time is up. Unreported admissions count as used at the end of the lease. If the
// clock went back, the remaining leases end as if they had just been extended.
func (m *meter) endLeases(jumped bool, longestMs uint64) {
	if jumped {
		m.restUntilMs = min(m.restUntilMs, m.lastMs+restMs)
	}
	for i := range m.leases {
		l := &m.leases[i]
		if jumped {
			l.startMs, l.endMs = min(l.startMs, m.lastMs), min(l.endMs, m.lastMs+allowed(longestMs))
		}
		if !l.ended && l.endMs <= m.lastMs {
			l.ended = true
			m.countAt(l.endMs, l.unused())
		}
	}
}

// countAt adds past admissions to the one-second window.
func (m *meter) countAt(ms, n uint64) {
	if n == 0 || ms+calendar.SecondMs <= m.lastMs {
		return
	}
	at, found := slices.BinarySearchFunc(m.ticks, ms, func(t tick, ms uint64) int { return int(int64(t.ms) - int64(ms)) })
	if found {
		m.ticks[at].count += n
		return
	}
	m.ticks = slices.Insert(m.ticks, at, tick{ms, n})
}

// usedInSecond returns the number of admissions in the one-second window, including lent ones.
func (m *meter) usedInSecond() uint64 {
	used := m.unusedRequests()
	for _, t := range m.ticks {
		used += t.count
	}
	return used
}

// takeReport applies a report.
func (c *call) takeReport(r *Report) (reply ReportReply) {
	m := c.m
	if m == nil {
		return reply
	}
	m.advance(c.in.NowMs, c.limits())
	settles := decodeSettles(r.Settles)
	if missing := c.missing(r, settles); len(missing) > 0 && c.in.Round == 0 {
		c.out = abi.ObjectOutput{Ranges: missing}
		return reply
	}
	for i := range settles {
		c.settleReserved(&settles[i])
	}
	if l := m.findLease(r.LeaseID); l != nil {
		reply.Lease = c.reportLease(l, r)
	} else if row, ok := c.row(rowLease + leaseName(r.LeaseID)); ok {
		reply.Lease = c.reportLate(r, row)
	} else if r.Close && r.LeaseID != 0 {
		m.rememberClosed(r.LeaseID) // the Admit that asks for the lease may arrive late
	}
	reply.Windows = m.windows(c.limits())
	c.finish()
	return reply
}

func decodeSettles(list [][]byte) (settles []Settle) {
	for _, encoded := range list {
		if s, err := DecodeSettle(encoded); err == nil && s.Outcome != Finish {
			settles = append(settles, s)
		}
	}
	return settles
}

// missing returns the rows that a report needs in addition to the meter.
func (c *call) missing(r *Report, settles []Settle) (ranges []abi.Range) {
	for i := range settles {
		if id := settles[i].RequestID; c.m.findReservation(id) < 0 {
			ranges = append(ranges, abi.Range{Start: rowExpired + id})
		}
	}
	if c.m.findLease(r.LeaseID) == nil && r.LeaseID != 0 {
		ranges = append(ranges, abi.Range{Start: rowLease + leaseName(r.LeaseID)})
	}
	return ranges
}

// reportLease applies a report to its lease, unless it is a repeat, and closes or renews the lease.
func (c *call) reportLease(l *lease, r *Report) Lease {
	if r.Seq > l.seq {
		l.seq = r.Seq
		c.takeLeased(l, r)
	}
	if r.Close {
		closed := l.lent(0)
		c.closeLease(l)
		return closed
	}
	if r.Renew && c.m.status == doc.Active {
		return c.lend(l.id, r.AmountPico, l.lifetimeMs)
	}
	return l.lent(0)
}

// takeLeased books the requests of a report. A request counts at the time it was admitted. Its age on the isolate's
// clock converts that time to the meter's clock. The result is never earlier than the true time. It may be later by
// the allowance for a fast clock and the time that the report took. It always lies before the end of the lease, and
// therefore on the lease's day.
func (c *call) takeLeased(l *lease, r *Report) {
	m := c.m
	for i := range r.Requests {
		q := &r.Requests[i]
		age := r.SentMs - min(r.SentMs, q.AdmittedMs)
		age -= (age + clockDivisor - 1) / clockDivisor
		admittedMs := min(max(l.startMs, m.lastMs-min(m.lastMs, age)), l.endMs-1)
		if !l.ended {
			m.countAt(admittedMs, 1)
		}
		l.taken++
		m.lastUsedMs = max(m.lastUsedMs, admittedMs)
		if s, err := DecodeSettle(q.Settle); err == nil && s.RequestID == q.RequestID {
			l.release(m, c.charge(&s, admittedMs, &l.placement))
			continue
		}
		l.release(m, q.AmountPico)
		m.book(&l.placement, budget.Amounts{Pico: q.AmountPico}, budget.Amounts{})
		o := reservation{[]byte(q.RequestID), admittedMs, admittedMs + q.LifetimeMs, l.placement, q.AmountPico, []byte(q.Model), nil}
		m.reservations = append(m.reservations, o.open())
	}
	m.balance(l.startMs)
}

// release returns the lease's spent or reserved budget to the slice.
func (l *lease) release(m *meter, amount int64) {
	amount = max(0, min(amount, l.heldPico))
	l.heldPico -= amount
	m.book(&l.placement, budget.Amounts{Pico: -amount}, budget.Amounts{})
}

// closeLease returns the rest of a lease to the key.
func (c *call) closeLease(l *lease) {
	m := c.m
	l.release(m, l.heldPico)
	if calendar.Day(l.startMs) == m.day {
		m.dayCount -= min(m.dayCount, l.unused())
	}
	m.balance(l.startMs)
	m.removeLease(l.id)
}

// Unreported is the model name under which the usage counts lent budget that was never reported.
const Unreported = "(unreported)"

// bookedLease is row l/<lease>: a lease that was booked because it was not fully reported in time.
type bookedLease struct {
	seq     uint64
	startMs uint64
	endMs   uint64
	placement
	requests   uint64
	amountPico int64
}

func (b *bookedLease) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&b.seq)
	f.Uint(&b.startMs)
	f.Uint(&b.endMs)
	ledger.PeriodFields(f, &b.period)
	f.Uint(&b.requests)
	f.Int(&b.amountPico)
	b.othersFields(f)
}

func leaseName(id uint64) string { return strconv.FormatUint(id, 36) }

// bookLeases books the maximum that leases may have used if their isolates have died. It takes the leases due by a
// time. For each one, it keeps a row in case a report arrives late.
func (c *call) bookLeases(byMs uint64) {
	m := c.m
	for _, l := range slices.Clone(m.leases) {
		if l.bookMs() > byMs {
			continue
		}
		b := bookedLease{l.seq, l.startMs, l.endMs, l.placement, l.unused(), l.heldPico}
		l.release(m, l.heldPico)
		m.removeLease(l.id)
		if b.requests == 0 {
			continue // every admission was reported, so the rest of the budget is unused
		}
		c.book(&b, 1)
		name := rowLease + leaseName(l.id)
		c.put(name, abi.EncodeFields(0, 32, b.fields))
		c.scheduleForget(name, m.lastMs)
	}
}

// book adds a lost lease to the usage and the slice. If sign is -1, it removes the lease from them. Unsigned counters
// may wrap below zero, and the Ledger's sums then wrap back.
func (c *call) book(b *bookedLease, sign int64) {
	u := c.m.usageFor(b.startMs, Unreported, b.path)
	u.Requests += uint64(sign) * b.requests
	u.Expired += uint64(sign) * b.requests
	u.CostPico += sign * b.amountPico
	c.m.reportWithin(usageDelayMs)
	c.m.book(&b.placement, budget.Amounts{}, budget.Amounts{Pico: sign * b.amountPico})
}

// reportLate applies the reports of a booked lease. The first report replaces the booking. Later reports add to it,
// until the isolate closes the lease.
func (c *call) reportLate(r *Report, row []byte) Lease {
	var b bookedLease
	if abi.DecodeFields(row, b.fields) != nil {
		return Lease{}
	}
	if r.Seq > b.seq {
		c.book(&b, -1)
		c.takeLeased(&lease{startMs: b.startMs, endMs: b.endMs, ended: true, placement: b.placement}, r)
		b.seq, b.requests, b.amountPico = r.Seq, 0, 0
		name := rowLease + leaseName(r.LeaseID)
		if r.Close {
			c.out.Deletes = append(c.out.Deletes, name)
		} else {
			c.put(name, abi.EncodeFields(0, 32, b.fields))
		}
	}
	return Lease{ID: r.LeaseID}
}
