package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
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

func (i *idem) encode() []byte {
	var w abi.Writer
	w.Uint(format)
	w.String(i.bodyHash)
	w.String(i.requestID)
	w.Bool(i.done)
	w.Bool(i.oversized)
	w.Uint(i.expiresMs)
	w.Uint(i.forgetMs)
	return w.Buf
}

func decodeIdem(data []byte) (idem, bool) {
	r := abi.Reader{Buf: data}
	if r.Uint() != format {
		return idem{}, false
	}
	i := idem{r.String(), r.String(), r.Bool(), r.Bool(), r.Uint(), r.Uint()}
	return i, r.End() == nil
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
	if a.Mode == ModeCheck || c.open(a.RequestID) || m.knows(a.RequestID) {
		return AdmitReply{Verdict: Admitted, Windows: m.windows(limits)}
	}
	if reply := c.refusal(a, limits); reply.Verdict != 0 {
		return reply
	}
	c.book(a, limits)
	c.store()
	return AdmitReply{Verdict: Admitted, Windows: m.windows(limits)}
}

// expired says whether the key's time is over.
func (m *meter) expired(now uint64) bool {
	return m.record.ExpiresMs != 0 && m.record.ExpiresMs <= now
}

func (c *call) open(id string) bool {
	for i := range c.m.reservations {
		if c.m.reservations[i].id == id {
			return true
		}
	}
	return false
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

// refusal is the first thing that stands against an admission: limits first, then money.
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
	if a.Mode == ModeCount {
		return AdmitReply{}
	}
	if a.Mode == ModeReserve && uint64(len(m.reservations)) >= c.config.Plan(m.record.Plan).Concurrent {
		return AdmitReply{Verdict: Crowded, Windows: windows}
	}
	s := &m.slice
	free := s.granted - s.spent - s.reserved
	if !s.live || a.AmountPico > 0 && free < a.AmountPico {
		return AdmitReply{Verdict: Short, Windows: windows, Period: s.period, Seq: m.grantSeq + 1, NeedPico: a.AmountPico}
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
	for i := range m.reservations {
		if r := &m.reservations[i]; r.id == e.RequestID && r.period == m.slice.period {
			return c.enlarge(r, e.TotalPico-r.amountPico)
		}
	}
	return AdmitReply{Verdict: Unknown}
}

func (c *call) enlarge(r *reservation, more int64) AdmitReply {
	s := &c.m.slice
	switch {
	case more <= 0:
	case !s.live || s.granted-s.spent-s.reserved < more:
		return AdmitReply{Verdict: Short, Period: s.period, Seq: c.m.grantSeq + 1, NeedPico: more}
	default:
		r.amountPico += more
		s.reserved += more
		c.store()
	}
	return AdmitReply{Verdict: Admitted}
}

// accept adds a grant to the slice, once: two exchanges that were both short carry the same one. It comes
// before anything that refuses, or the slice would be lost to the project's other keys.
func (c *call) accept(g Grant) {
	if g.Seq != c.m.grantSeq+1 {
		return
	}
	c.m.grantSeq = g.Seq
	c.m.turn(g.Period)
	if g.Period == c.m.slice.period {
		c.m.slice.live = true
		c.m.slice.granted += g.AmountPico
	}
	// Kept even if this request is refused after all: the Ledger counts it as given.
	c.store()
}

// book lets the request in.
func (c *call) book(a *Admit, limits config.Limits) {
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
		m.slice.reserved += a.AmountPico
		m.reservations = append(m.reservations, reservation{
			a.RequestID, m.lastMs, m.lastMs + a.ExpiresMs, m.slice.period, a.AmountPico, a.Model, a.Idempotency,
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
	c.put(key, i.encode())
}

// unremember takes back that the alarm is to delete an idempotency record: the next one with its key has a
// day of its own.
func (c *call) unremember(key string, row []byte) {
	if i, ok := decodeIdem(row); ok {
		c.out.Deletes = append(c.out.Deletes, timesKey(i.forgetMs, key))
	}
}
