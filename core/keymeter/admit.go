package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// idem is an idempotency record, i/<hash>.
type idem struct {
	bodyHash  string
	requestID string
	done      bool
	oversized bool
	expiresMs uint64 // of a running one: when its exchange is surely dead
	forgetMs  uint64 // when the alarm deletes it
}

func (i *idem) fields(f *abi.Fields) {
	formatField(f)
	f.String(&i.bodyHash)
	f.String(&i.requestID)
	f.Bool(&i.done)
	f.Bool(&i.oversized)
	f.Uint(&i.expiresMs)
	f.Uint(&i.forgetMs)
}

func decodeIdem(data []byte) (i idem, ok bool) {
	ok = decode(data, &i) == nil
	return i, ok
}

// admit decides on one request. What it refuses it does not store: a flood of refusals writes nothing.
func (c *call) admit(a *Admit) AdmitReply {
	m := c.m
	if m != nil {
		c.accept(a.Grant)
	}
	switch {
	case m == nil || m.status == doc.Removed:
		return AdmitReply{Verdict: Unknown}
	case m.status != doc.Active || m.expired(c.in.NowMs):
		return AdmitReply{Verdict: Inactive}
	}
	if a.Version < m.record.Version {
		return AdmitReply{Verdict: Stale, Record: m.record.Encode()}
	}
	limits := c.limits()
	if m.advance(c.in.NowMs, limits) {
		c.store()
	}
	if verdict, answer := c.replayed(a); verdict != 0 {
		return AdmitReply{Verdict: verdict, Answer: answer}
	}
	if r := m.reservation(a.RequestID); r != nil {
		return AdmitReply{Verdict: Admitted, Windows: m.windows(limits), ReservedPico: r.amountPico}
	}
	if a.Mode == ModeCheck || m.knows(a.RequestID) {
		return AdmitReply{Verdict: Admitted, Windows: m.windows(limits)}
	}
	if reply := c.refusal(a, limits); reply.Verdict != 0 {
		return reply
	}
	reply := AdmitReply{Verdict: Admitted}
	switch a.Mode {
	case ModeReserve:
		reply = m.claim(a.AmountPico, atLeast(a.LeastPico, a.AmountPico), a.Final)
	case ModeHit:
		reply = m.claim(0, 0, false)
	}
	if reply.Verdict == Admitted {
		c.book(a, limits, reply.ReservedPico)
		c.store()
	}
	reply.Windows = m.windows(limits)
	return reply
}

// expired says whether the key's time is over.
func (m *meter) expired(now uint64) bool {
	return m.record.ExpiresMs != 0 && m.record.ExpiresMs <= now
}

// replayed says what a request with an idempotency key gets instead of an admission, if anything.
func (c *call) replayed(a *Admit) (Verdict, []byte) {
	if a.Idempotency == "" {
		return 0, nil
	}
	row, ok := c.row(rowIdem + a.Idempotency)
	if !ok {
		return 0, nil
	}
	i, ok := decodeIdem(row)
	switch {
	case !ok, i.expiresMs <= c.in.NowMs, i.requestID == a.RequestID && !i.done:
		return 0, nil
	case i.bodyHash != a.BodyHash:
		return Mismatch, nil
	case !i.done:
		return Running, nil
	case i.oversized:
		return Unreplayable, nil
	}
	answer, _ := c.row(rowAnswer + a.Idempotency)
	return Replay, answer
}

// refusal is the first limit that stands against an admission.
func (c *call) refusal(a *Admit, limits config.Limits) AdmitReply {
	m := c.m
	windows := m.windows(limits)
	retry, limited := uint64(0), false
	for _, w := range windows {
		if w.Tokens && a.Mode != ModeReserve {
			continue // a hit, or what goes to no provider, uses none
		}
		if w.Remaining == 0 {
			retry, limited = max(retry, w.ResetMs), true
		}
	}
	if limited {
		return AdmitReply{Verdict: RateLimited, Windows: windows, RetryMs: retry}
	}
	if a.Mode == ModeReserve && uint64(len(m.reservations)) >= c.config.Plan(m.record.Plan).Concurrent {
		return AdmitReply{Verdict: Crowded, Windows: windows}
	}
	return AdmitReply{}
}

// extend makes a reservation larger. To ask twice for the same total is to ask once. One of a period that
// is over stays as it is.
func (c *call) extend(e *Extend) AdmitReply {
	m := c.m
	if m == nil {
		return AdmitReply{Verdict: Unknown}
	}
	c.accept(e.Grant)
	if m.advance(c.in.NowMs, c.limits()) {
		c.store()
	}
	r := m.reservation(e.RequestID)
	if r == nil || r.period != m.slice.period {
		return AdmitReply{Verdict: Unknown}
	}
	if e.TotalPico <= r.amountPico {
		return AdmitReply{Verdict: Admitted, ReservedPico: r.amountPico}
	}
	least := atLeast(e.LeastPico, e.TotalPico) - r.amountPico
	reply := m.claim(e.TotalPico-r.amountPico, max(0, least), e.Final)
	if reply.Verdict == Admitted {
		r.amountPico += reply.ReservedPico
		reply.ReservedPico = r.amountPico
		c.store()
	}
	return reply
}

// atLeast is the least amount that a command asks for: all of it, unless it says less.
func atLeast(least, amount int64) int64 {
	if least == 0 {
		return amount
	}
	return min(least, amount)
}

// claim reserves want picodollars of the slice. If the Ledger has no more (final), it takes what is free, if that
// is at least least. Otherwise the meter is short, of a debt too; of what is free it asks for once more,
// because requests that wait beside this one count on it as well.
func (m *meter) claim(want, least int64, final bool) AdmitReply {
	s := &m.slice
	free := s.free()
	enough := want
	if final {
		enough = least
	}
	if s.live && (enough == 0 || free >= enough) {
		got := min(want, max(free, 0))
		s.reserved += got
		return AdmitReply{Verdict: Admitted, ReservedPico: got}
	}
	reply := AdmitReply{Verdict: Short, Period: s.period, Epoch: m.epoch, HeldPico: s.granted}
	if want > 0 {
		reply.NeedPico, reply.LeastPico = money.Add(want, max(-free, 0)), max(0, money.Add(least, -free))
	}
	return reply
}

// accept raises the slice to what the Ledger has given. It comes before anything that refuses: what was given for
// a request that is refused after all serves the next.
func (c *call) accept(g Grant) {
	m := c.m
	if g.Epoch == 0 {
		return
	}
	before := m.slice
	m.turn(g.Period)
	if s := &m.slice; g.Period == s.period && g.Epoch == m.epoch {
		s.live, s.granted = true, max(s.granted, g.TotalPico)
	}
	if m.slice != before {
		c.store()
	}
}

// book lets the request in.
func (c *call) book(a *Admit, limits config.Limits, reserved int64) {
	m := c.m
	m.count(limits)
	if a.Mode != ModeReserve {
		m.note(a.RequestID)
	}
	if a.Idempotency != "" {
		c.begin(a)
	}
	switch a.Mode {
	case ModeCount:
		c.note(a)
	case ModeHit:
		u := m.use(m.lastMs, a.Model)
		u.Requests++
		u.Hits++
		u.Latency.Add(a.Trace.DurationMs)
		c.note(a)
	case ModeReserve:
		m.reservations = append(m.reservations, reservation{
			a.RequestID, m.lastMs, m.lastMs + a.ExpiresMs, m.slice.period, reserved, a.Model, a.Idempotency,
		})
	}
}

// note remembers a request that is answered at once.
func (c *call) note(a *Admit) {
	t := &a.Trace
	if t.Status == 0 {
		return
	}
	c.m.trace(ledger.Request{
		AtMs: c.m.lastMs, ID: a.RequestID, Model: a.Model, Provider: t.Provider, Status: t.Status, DurationMs: t.DurationMs,
		Cache: t.Cache, Stream: t.Stream,
	})
}

// begin writes the idempotency record of a request that is let in, in place of one whose time is over.
func (c *call) begin(a *Admit) {
	key := rowIdem + a.Idempotency
	if row, ok := c.row(key); ok {
		c.unremember(key, row)
	}
	i := idem{bodyHash: a.BodyHash, requestID: a.RequestID, expiresMs: c.in.NowMs + a.ExpiresMs, forgetMs: c.remember(key)}
	c.put(key, encode(0, &i, 128))
}

// unremember takes back that the alarm is to delete an idempotency record: the next one with its key has a
// day of its own.
func (c *call) unremember(key string, row []byte) {
	if i, ok := decodeIdem(row); ok {
		c.out.Deletes = append(c.out.Deletes, timesKey(i.forgetMs, key))
	}
}
