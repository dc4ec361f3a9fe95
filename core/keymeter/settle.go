package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// expired is what was booked for a reservation that nobody settled in time, x/<request id>.
type expired struct {
	admittedMs uint64
	period     calendar.Period
	amountPico int64
	model      string
}

func (e *expired) fields(f *abi.Fields) {
	formatField(f)
	f.Uint(&e.admittedMs)
	ledger.PeriodFields(f, &e.period)
	f.Int(&e.amountPico)
	f.String(&e.model)
}

// settle books what happened to a request, once. A repeat finds neither the reservation nor an expired one.
func (c *call) settle(s *Settle) {
	if c.m == nil {
		return
	}
	jumped := c.m.advance(c.in.NowMs, c.limits())
	if s.Outcome == Finish {
		c.finish(s)
		if jumped {
			c.store()
		}
		return
	}
	if r, ok := c.m.take(s.RequestID); ok {
		c.m.sliceOf(r.period).reserved -= r.amountPico
		c.m.note(s.RequestID) // its admission, repeated late, must not reserve again
		c.charge(s, r.admittedMs, r.period)
		c.finish(s)
		c.store()
		return
	}
	if c.in.Round == 0 {
		c.out = abi.ObjectOutput{Ranges: []abi.Range{{Start: rowExpired + s.RequestID}}}
		return
	}
	if row, ok := c.row(rowExpired + s.RequestID); ok {
		c.settleLate(s, row)
	}
}

// charge books a settle to the hour and the period of its admission: the request to the model that answered it,
// what attempts cost to the models that were asked.
func (c *call) charge(s *Settle, admittedMs uint64, period calendar.Period) {
	u := c.m.use(admittedMs, s.Model)
	switch s.Outcome {
	case Released:
		u.Failed++
	case Hit:
		u.Requests++
		u.Hits++
	case Served:
		u.Requests++
	}
	if s.Missed {
		u.Misses++
	}
	u.Latency.Add(s.Trace.DurationMs)
	sum := Charge{Model: s.Model, Tokens: s.Tokens, CostPico: s.CostPico, Estimated: s.Estimated}
	sum.book(u)
	for i := range s.Attempts {
		a := &s.Attempts[i]
		a.book(c.m.use(admittedMs, a.Model))
		sum.add(a)
	}
	slice := c.m.sliceOf(period)
	slice.spent = money.Add(slice.spent, sum.CostPico)
	c.m.countTokens(sum.Tokens.Prompt+sum.Tokens.Completion, c.limits().TokensPerMinute)
	c.m.trace(ledger.Request{
		AtMs: admittedMs, ID: s.RequestID, Model: s.Model, Provider: s.Trace.Provider, Status: s.Trace.Status,
		DurationMs: s.Trace.DurationMs, Prompt: sum.Tokens.Prompt, Completion: sum.Tokens.Completion, CostPico: sum.CostPico,
		Cache: s.Trace.Cache, Stream: s.Trace.Stream, Estimated: sum.Estimated,
	})
}

// book adds the tokens and the cost to the usage of a model.
func (a *Charge) book(u *ledger.Usage) {
	u.Prompt += a.Tokens.Prompt
	u.Completion += a.Tokens.Completion
	u.CostPico = money.Add(u.CostPico, a.CostPico)
	if a.Estimated {
		u.Estimated++
	}
}

func (a *Charge) add(o *Charge) {
	a.Tokens.Prompt += o.Tokens.Prompt
	a.Tokens.Completion += o.Tokens.Completion
	a.CostPico = money.Add(a.CostPico, o.CostPico)
	a.Estimated = a.Estimated || o.Estimated
}

// settleLate replaces what expiry booked by what really happened.
func (c *call) settleLate(s *Settle, row []byte) {
	var e expired
	if decode(row, &e) != nil {
		return
	}
	u := c.m.use(e.admittedMs, e.model)
	// Counters wrap: the Ledger adds what went below zero here back to what it has.
	u.Expired--
	u.Requests--
	u.CostPico -= e.amountPico
	c.m.sliceOf(e.period).spent -= e.amountPico
	c.charge(s, e.admittedMs, e.period)
	c.finish(s)
	c.out.Deletes = append(c.out.Deletes, rowExpired+s.RequestID)
	c.store()
}

// finish ends the idempotency record: with the answer, or by dropping it so that the caller may try again.
func (c *call) finish(s *Settle) {
	if s.Idempotency == "" {
		return
	}
	row, ok := c.row(rowIdem + s.Idempotency)
	i, valid := decodeIdem(row)
	if !ok || !valid || i.requestID != s.RequestID || i.done {
		return
	}
	if len(s.Answer) == 0 && !s.Oversized {
		c.out.Deletes = append(c.out.Deletes, rowIdem+s.Idempotency)
		c.unremember(rowIdem+s.Idempotency, row)
		return
	}
	i.done, i.oversized, i.expiresMs = true, s.Oversized, c.m.lastMs+rememberMs
	c.put(rowIdem+s.Idempotency, encode(0, &i, 128))
	if !s.Oversized {
		c.put(rowAnswer+s.Idempotency, s.Answer)
	}
}

// expire settles the reservations that nobody settled, at the reserved amount, flagged.
func (c *call) expire() {
	m := c.m
	open := m.reservations[:0]
	for _, r := range m.reservations {
		if r.expiresMs > c.in.NowMs {
			open = append(open, r)
			continue
		}
		u := m.use(r.admittedMs, r.model)
		u.Requests++
		u.Expired++
		u.CostPico += r.amountPico
		s := m.sliceOf(r.period)
		s.reserved -= r.amountPico
		s.spent += r.amountPico
		e := expired{r.admittedMs, r.period, r.amountPico, r.model}
		c.put(rowExpired+r.id, encode(0, &e, 64))
		c.remember(rowExpired + r.id)
		m.trace(ledger.Request{AtMs: r.admittedMs, ID: r.id, Model: r.model, CostPico: r.amountPico, Estimated: true})
	}
	m.reservations = open
}
