package keymeter

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// expiredReservation is row x/<request id>: a reservation that was charged in full because no settle arrived in time.
type expiredReservation struct {
	admittedMs uint64
	placement
	amountPico int64
	model      string
}

func (e *expiredReservation) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&e.admittedMs)
	ledger.PeriodFields(f, &e.period)
	f.Int(&e.amountPico)
	f.String(&e.model)
	e.othersFields(f)
}

// released returns what a reservation of dollars no longer reserves when it ends. It also reserved one token.
func released(pico int64) budget.Amounts { return budget.Amounts{Pico: -pico, Tokens: -1} }

// maxTokens limits the tokens that one request counts, so that sums of hostile figures cannot overflow.
const maxTokens = 1 << 40

// settle charges a request according to its outcome. It does so exactly once, because a repeat finds neither an open
// nor an expired reservation.
func (c *call) settle(s *Settle) {
	if c.m == nil {
		return
	}
	jumped := c.m.advance(c.in.NowMs, c.limits())
	if s.Outcome == Finish {
		scheduled := c.finishIdempotency(s)
		if c.finishViolations(s) || scheduled || jumped {
			c.finish()
		}
		return
	}
	if c.m.findReservation(s.RequestID) < 0 && c.in.Round == 0 {
		c.out = abi.ObjectOutput{Ranges: []abi.Range{{Start: rowExpired + s.RequestID}}}
		return
	}
	if c.settleReserved(s) {
		c.finish()
	}
}

// settleReserved settles an open or expired reservation. It returns false if there is none.
func (c *call) settleReserved(s *Settle) bool {
	if r, ok := c.m.removeReservation(s.RequestID); ok {
		c.m.book(&r.placement, released(r.amountPico), budget.Amounts{})
		c.m.rememberAdmission(s.RequestID) // a late repeat of the Admit must not reserve again
		c.charge(s, r.admittedMs, &r.placement)
		c.m.balance(r.admittedMs)
		c.finishIdempotency(s)
		return true
	}
	row, ok := c.row(rowExpired + s.RequestID)
	return ok && c.settleLate(s, row)
}

// charge adds a settle to the violations, the usage and the slice, in the hour and period of the request's admission.
// The request counts for s.Model. Each attempt's tokens and cost count for the model that it tried. charge returns
// the cost of all attempts.
func (c *call) charge(s *Settle, admittedMs uint64, at *placement) money.Pico {
	c.addViolations(s.Violations)
	u := c.m.usageFor(admittedMs, s.Model, at.path)
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
	total := Charge{Model: s.Model, Tokens: s.Tokens, CostPico: s.CostPico, Estimated: s.Estimated, PromptCache: s.PromptCache}
	total.addTo(u)
	for i := range s.Attempts {
		a := &s.Attempts[i]
		a.addTo(c.m.usageFor(admittedMs, a.Model, at.path))
		total.add(a)
	}
	c.countAttempts(s, admittedMs, at.path)
	c.m.book(at, budget.Amounts{}, budget.Amounts{Pico: total.CostPico, Tokens: int64(min(total.Tokens.Prompt+total.Tokens.Completion, maxTokens))})
	c.m.countTokens(total.Tokens.Prompt+total.Tokens.Completion, c.limits().TokensPerMinute)
	if s.Trace.Status >= 400 {
		return total.CostPico // the Ledger receives a separate record of the request
	}
	c.m.addRecent(ledger.Request{
		AtMs: admittedMs, ID: s.RequestID, Model: s.Model, Provider: s.Trace.Provider, Agent: s.Trace.Agent, Status: s.Trace.Status,
		DurationMs: s.Trace.DurationMs, Prompt: total.Tokens.Prompt, Completion: total.Tokens.Completion, CostPico: total.CostPico,
		Cache: s.Trace.Cache, Stream: s.Trace.Stream, Estimated: total.Estimated, FirstMs: s.Trace.FirstMs, PromptCache: total.PromptCache,
	})
	return total.CostPico
}

// countAttempts counts failed attempts for the models whose providers failed, in the hour of the admission.
func (c *call) countAttempts(s *Settle, admittedMs uint64, path ledger.Path) {
	for i := range s.Failures {
		f := &s.Failures[i]
		a := &c.m.usageFor(admittedMs, f.Model, path).Attempts
		a.Failed[f.Cause] += f.Count
		a.Opened += f.Opened
	}
	if s.Rescued {
		c.m.usageFor(admittedMs, s.Model, path).Attempts.Rescued++
	}
}

// addTo adds the tokens and the cost to a model's usage.
func (a *Charge) addTo(u *ledger.Usage) {
	u.Prompt += a.Tokens.Prompt
	u.Completion += a.Tokens.Completion
	u.CostPico = money.Add(u.CostPico, a.CostPico)
	u.PromptCache.Plus(&a.PromptCache)
	if a.Estimated {
		u.Estimated++
	}
}

func (a *Charge) add(o *Charge) {
	a.Tokens.Prompt += o.Tokens.Prompt
	a.Tokens.Completion += o.Tokens.Completion
	a.CostPico = money.Add(a.CostPico, o.CostPico)
	a.Estimated = a.Estimated || o.Estimated
	a.PromptCache.Plus(&o.PromptCache)
}

// settleLate replaces the charge of an expired reservation with the actual one.
func (c *call) settleLate(s *Settle, row []byte) bool {
	key := rowExpired + s.RequestID
	var e expiredReservation
	if slices.Contains(c.out.Deletes, key) || abi.DecodeFields(row, e.fields) != nil {
		return false
	}
	u := c.m.usageFor(e.admittedMs, e.model, e.path)
	// Unsigned counters may wrap below zero here. The Ledger's sums wrap back.
	u.Expired--
	u.Requests--
	u.CostPico -= e.amountPico
	c.m.reportWithin(usageDelayMs)
	c.m.book(&e.placement, budget.Amounts{}, budget.Amounts{Pico: -e.amountPico})
	c.m.rememberAdmission(s.RequestID)
	c.charge(s, e.admittedMs, &e.placement)
	c.m.balance(e.admittedMs)
	c.finishIdempotency(s)
	c.out.Deletes = append(c.out.Deletes, key)
	return true
}

// finishViolations adds the violations of a response to a request without a reservation. A repeat adds nothing.
func (c *call) finishViolations(s *Settle) (added bool) {
	id := s.RequestID + " finished"
	if len(s.Violations) == 0 || c.m.knowsAdmission(id) {
		return false
	}
	c.m.rememberAdmission(id)
	c.addViolations(s.Violations)
	return true
}

// expire charges the full amount of each reservation that expires by byMs, and keeps a row for a late settle. The
// usage counts these reservations as expired.
func (c *call) expire(byMs uint64) {
	m := c.m
	open := m.reservations[:0]
	for _, o := range m.reservations {
		if o.expiresMs > byMs {
			open = append(open, o)
			continue
		}
		r := o.decode()
		id, model := string(r.id), string(r.model)
		m.rememberAdmission(id) // a late repeat of the Admit must not reserve again
		u := m.usageFor(r.admittedMs, model, r.path)
		u.Requests++
		u.Expired++
		u.CostPico += r.amountPico
		m.reportWithin(usageDelayMs)
		m.book(&r.placement, released(r.amountPico), budget.Amounts{Pico: r.amountPico})
		e := expiredReservation{r.admittedMs, r.placement, r.amountPico, model}
		c.put(rowExpired+id, abi.EncodeFields(0, 64, e.fields))
		c.scheduleForget(rowExpired+id, m.lastMs)
		m.addRecent(ledger.Request{AtMs: r.admittedMs, ID: id, Model: model, CostPico: r.amountPico, Estimated: true})
	}
	m.reservations = open
}
