package core_test

import (
	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

func (m *model) settle(t *rapid.T) {
	x := m.pick(t, phaseReserved, phaseExpired)
	s := keymeter.Settle{
		RequestID: x.admit.RequestID, Outcome: rapid.SampledFrom([]keymeter.Outcome{keymeter.Served, keymeter.Served, keymeter.Released, keymeter.Hit}).Draw(t, "outcome"),
		Model:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "model"),
		Trace:    keymeter.Trace{Status: 200, DurationMs: rapid.Uint64Range(0, 200_000).Draw(t, "duration")},
		Tokens:   keymeter.Tokens{Prompt: rapid.Uint64Range(0, 1000).Draw(t, "prompt"), Completion: rapid.Uint64Range(0, 1000).Draw(t, "completion")},
		CostPico: rapid.Int64Range(0, x.admit.AmountPico).Draw(t, "cost"), Estimated: rapid.Bool().Draw(t, "estimated"), Missed: rapid.Bool().Draw(t, "missed"),
	}
	s.PromptCache = drawPromptCache(t)
	if rapid.Bool().Draw(t, "attempts") {
		part := rapid.Int64Range(0, s.CostPico).Draw(t, "cost of attempts")
		s.CostPico -= part
		s.Attempts = []keymeter.Charge{{Model: "c", Tokens: keymeter.Tokens{Prompt: 3}, CostPico: part / 2, Estimated: true, PromptCache: drawPromptCache(t)}, {Model: "b", Tokens: keymeter.Tokens{Completion: 5}, CostPico: part - part/2}}
	}
	s.Failures, s.Rescued = drawFailures(t), rapid.Bool().Draw(t, "rescued")
	m.settleWith(x, s)
	if m.drawLoss("settle reply") {
		m.call(abi.ClassKeyMeter, x.key.name, s.Encode())
	}
}

// drawPromptCache draws random prompt cache figures. Most requests have none.
func drawPromptCache(t *rapid.T) (p ledger.PromptCache) {
	if rapid.IntRange(0, 3).Draw(t, "prompt cache") == 0 {
		p = ledger.PromptCache{Read: rapid.Uint64Range(0, 900).Draw(t, "read"), Written: rapid.Uint64Range(0, 90).Draw(t, "written")}
		p.SavedPico = int64(p.Read) - 3*int64(p.Written)
	}
	return p
}

// drawFailures draws random failed attempts. Most requests have none.
func drawFailures(t *rapid.T) (list []keymeter.Failure) {
	for range max(0, rapid.IntRange(-4, 2).Draw(t, "failures")) {
		list = append(list, keymeter.Failure{
			Model: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "failing model"), Cause: ledger.Cause(rapid.IntRange(0, int(ledger.Causes)-1).Draw(t, "cause")),
			Count: rapid.Uint64Range(1, 3).Draw(t, "attempts"),
		})
	}
	return list
}

func (m *model) settleWith(x *exchange, s keymeter.Settle) {
	_, remembered := m.object(abi.ClassKeyMeter, x.key.name).Rows["x/"+x.admit.RequestID]
	if x.phase == phaseExpired && !remembered && !x.forgotten {
		m.t.Fatalf("I2: %s expired less than a day ago, but its row is gone", x.admit.RequestID)
	}
	m.call(abi.ClassKeyMeter, x.key.name, s.Encode())
	late := x.phase == phaseExpired
	m.settledLate = m.settledLate || late
	m.budgetChanges++
	x.phase, x.settled = phaseFinished, true
	if late && !remembered {
		return
	}
	if late {
		u := m.usageOf(x.day, x.admit.Model)
		u.Requests--
		u.Expired--
		u.CostPico -= x.admit.AmountPico
	}
	u := m.usageOf(x.day, s.Model)
	u.Latency.Add(s.Trace.DurationMs)
	u.Prompt += s.Tokens.Prompt
	u.Completion += s.Tokens.Completion
	u.CostPico += s.CostPico
	u.PromptCache.Plus(&s.PromptCache)
	u.Requests += count(s.Outcome != keymeter.Released)
	u.Failed += count(s.Outcome == keymeter.Released)
	u.Hits += count(s.Outcome == keymeter.Hit)
	u.Estimated += count(s.Estimated)
	u.Misses += count(s.Missed)
	u.Attempts.Rescued += count(s.Rescued)
	for _, f := range s.Failures {
		m.usageOf(x.day, f.Model).Attempts.Failed[f.Cause] += f.Count
	}
	for _, a := range s.Attempts {
		u := m.usageOf(x.day, a.Model)
		u.Prompt += a.Tokens.Prompt
		u.Completion += a.Tokens.Completion
		u.CostPico += a.CostPico
		u.PromptCache.Plus(&a.PromptCache)
		u.Estimated += count(a.Estimated)
	}
}

func count(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// settleAgain repeats a settlement with different figures long after the first one, or settles an unknown request.
func (m *model) settleAgain(t *rapid.T) {
	id, name := "req_nobody", rapid.SampledFrom(m.meterNames()).Draw(t, "meter")
	if x := m.pick(t, phaseFinished); x.settled || x.admit.Mode != keymeter.ModeReserve {
		id, name = x.admit.RequestID, x.key.name
	}
	s := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "a", Tokens: keymeter.Tokens{Prompt: 77}, CostPico: 77}
	m.call(abi.ClassKeyMeter, name, s.Encode())
}

// admitAgain repeats the admission of an exchange with a reservation.
func (m *model) admitAgain(t *rapid.T) {
	x := m.pick(t, phaseReserved)
	if !x.key.active() {
		t.Skip("inactive")
	}
	if reply := m.admit(x.key.name, x.admit); reply.Verdict != keymeter.Admitted && reply.Verdict != keymeter.Stale {
		m.t.Fatalf("%s has a reservation, but got verdict %d", x.admit.RequestID, reply.Verdict)
	}
}

// extend enlarges a reservation, as a growing stream does. If the slice is too small, it requests a grant.
func (m *model) extend(t *rapid.T) {
	x := m.pick(t, phaseReserved)
	e := keymeter.Extend{RequestID: x.admit.RequestID, TotalPico: x.admit.AmountPico + rapid.Int64Range(-50, int64(money.Dollar)/5).Draw(t, "more")}
	if rapid.Bool().Draw(t, "less will do") {
		e.LeastPico = rapid.Int64Range(0, max(0, e.TotalPico)).Draw(t, "least")
	}
	for range 3 {
		reply := m.extendOnce(x, e)
		if reply.Verdict != keymeter.Short {
			if reply.Verdict == keymeter.Admitted {
				m.recordExtension(x, &e, reply.ReservedPico)
			}
			return
		}
		grant := m.callGrant(grantFor(x.key.name, &reply))
		if !grant.Granted || m.drawLoss("stream after its grant") {
			return
		}
		e.Grant, e.Final = keymeter.Grant{Period: grant.Period, Epoch: grant.Epoch, TotalPico: grant.TotalPico}, grant.Final
		x.grants = append(x.grants, e.Grant)
	}
}

// recordExtension records an extended reservation. It has the requested amount, or less if that is all that the
// budget has. The Ledger grants nothing for an earlier period.
func (m *model) recordExtension(x *exchange, e *keymeter.Extend, reserved money.Pico) {
	least := e.TotalPico
	past := x.period != m.object(abi.ClassKeyMeter, x.key.name).slices()[0].period
	if (e.Final || past) && e.LeastPico != 0 {
		least = min(least, e.LeastPico)
	}
	if reserved < max(least, x.admit.AmountPico) || reserved > max(e.TotalPico, x.admit.AmountPico) {
		m.t.Fatalf("%s had %d and requested %d, at least %d, but reserved %d", e.RequestID, x.admit.AmountPico, e.TotalPico, least, reserved)
	}
	x.admit.AmountPico = reserved
}

func (m *model) extendOnce(x *exchange, e keymeter.Extend) keymeter.AdmitReply {
	call := func() keymeter.AdmitReply {
		reply, err := keymeter.DecodeAdmitReply(m.call(abi.ClassKeyMeter, x.key.name, e.Encode()))
		if err != nil {
			m.t.Fatal(err)
		}
		return reply
	}
	reply := call()
	if m.drawLoss("extend reply") {
		if again := call(); again.Verdict != reply.Verdict {
			m.t.Fatalf("%s: extend got verdict %d, but the repeat %d", e.RequestID, reply.Verdict, again.Verdict)
		}
	}
	return reply
}

// letTimePass advances the clock. Due alarms either fire or are late.
func (m *model) letTimePass(t *rapid.T) {
	ms := rapid.OneOf(
		rapid.SampledFrom([]uint64{0, 1, 333, 499, 500, 999, 1000, 1001}), rapid.Uint64Range(0, 150_000), rapid.SampledFrom([]uint64{hourMs, 25 * hourMs}),
	).Draw(t, "ms")
	m.sleep(ms)
	if rapid.IntRange(0, 3).Draw(t, "alarms") > 0 {
		m.fireAlarms()
	}
}

// jump moves the clocks forward by an hour or back by up to an hour.
func (m *model) jump(t *rapid.T) {
	if !m.jumps {
		t.Skip("no jumps")
	}
	if rapid.Bool().Draw(t, "forward") {
		m.clockMs += hourMs
		m.forwardJumps++
	} else {
		m.clockMs -= min(hourMs, rapid.Uint64Range(1, 2*hourMs).Draw(t, "back"))
		m.wentBack = true
	}
	if rapid.Bool().Draw(t, "alarms") {
		m.fireAlarms()
	}
}

func (m *model) fireAlarms() {
	for _, k := range m.keys {
		if m.fireAlarm(abi.ClassKeyMeter, k.name) {
			m.recordExpiries(k)
		}
	}
}

// recordExpiries records the expiries that the alarm must have caused.
func (m *model) recordExpiries(k *key) {
	for _, x := range m.exchanges {
		if x.key != k {
			continue
		}
		if x.phase == phaseExpired && x.forgetMs <= m.clockMs {
			x.forgotten = true
		}
		if x.phase == phaseReserved && x.expiresMs <= m.clockMs {
			x.phase, x.forgetMs = phaseExpired, m.clockMs+dayMs
			u := m.usageOf(x.day, x.admit.Model)
			u.Requests++
			u.Expired++
			u.CostPico += x.admit.AmountPico
		}
	}
}

// deliverOutbox delivers entries in a meter's outbox. It may deliver only some, none, or some of them repeatedly.
func (m *model) deliverOutbox(t *rapid.T) {
	name := rapid.SampledFrom(m.meterNames()).Draw(t, "meter")
	for !m.drawLoss("delivery") && m.deliver(abi.ClassKeyMeter, name, m.drawLoss("confirmation")) && rapid.Bool().Draw(t, "more") {
	}
}

func (m *model) usageReport(t *rapid.T) {
	name := rapid.SampledFrom(m.meterNames()).Draw(t, "meter")
	m.deliverFlush(m.flush(name, false).Absorbs)
}

// recallSome recalls a meter's idle budget, as a request outside the model would. This invalidates grants that are on
// their way to the meter.
func (m *model) recallSome(t *rapid.T) {
	m.recall([]string{rapid.SampledFrom(m.meterNames()).Draw(t, "meter")})
}

func (m *model) changeStatus(t *rapid.T) {
	k := rapid.SampledFrom(m.keys).Draw(t, "key")
	m.put(k, rapid.SampledFrom([]doc.Status{doc.Active, doc.Active, doc.Inactive, doc.Removed}).Draw(t, "status"))
}

// oldPut redelivers an older record and an older budget.
func (m *model) oldPut(t *rapid.T) {
	k := rapid.SampledFrom(m.keys).Draw(t, "key")
	put := rapid.SampledFrom(k.puts).Draw(t, "put")
	m.call(abi.ClassKeyMeter, k.name, put.Encode())
	budget := rapid.SampledFrom(m.puts).Draw(t, "budget")
	m.call(abi.ClassLedger, project, budget.Encode())
}

func (m *model) raiseBudget(t *rapid.T) {
	m.setBudget(m.budget() + rapid.Int64Range(0, money.Dollar/4).Draw(t, "more"))
}
