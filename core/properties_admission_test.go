package core_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

func (m *model) begin(t *rapid.T) {
	m.count++
	k := rapid.SampledFrom(m.keys).Draw(t, "key")
	x := &exchange{key: k, admit: keymeter.Admit{
		RequestID: fmt.Sprint("req_", m.count), Version: k.newest().Record.Version,
		Mode:       rapid.SampledFrom([]keymeter.Mode{keymeter.ModeReserve, keymeter.ModeReserve, keymeter.ModeReserve, keymeter.ModeHit, keymeter.ModeCount, keymeter.ModeCheck}).Draw(t, "mode"),
		Model:      rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"),
		AmountPico: rapid.OneOf(rapid.Int64Range(0, money.Cent), rapid.Int64Range(0, money.Dollar/3), rapid.Int64Range(money.Dollar/4, money.Dollar)).Draw(t, "amount"),
		LifetimeMs: rapid.Uint64Range(500, 120_000).Draw(t, "expires"),
	}}
	if rapid.Bool().Draw(t, "less will do") {
		x.admit.LeastPico = rapid.Int64Range(0, x.admit.AmountPico).Draw(t, "least")
	}
	if x.admit.Mode != keymeter.ModeReserve {
		x.admit.AmountPico, x.admit.LeastPico = 0, 0
	}
	m.exchanges = append(m.exchanges, x)
	m.callAdmit(x)
}

// callAdmit calls admit and applies the verdict.
func (m *model) callAdmit(x *exchange) {
	x.admit.Version = x.key.newest().Record.Version
	reply := m.admit(x.key.name, x.admit)
	if m.drawLoss("admit reply") {
		again := m.admit(x.key.name, x.admit)
		if reply.Verdict == keymeter.Admitted && again.Verdict != keymeter.Admitted {
			m.t.Fatalf("%s was admitted, but the repeat got verdict %d", x.admit.RequestID, again.Verdict)
		}
		if reply.Verdict != keymeter.Admitted && again.Verdict == keymeter.Admitted {
			m.t.Fatalf("%s got verdict %d, but the repeat was admitted", x.admit.RequestID, reply.Verdict)
		}
		reply = again
	}
	if !x.key.active() {
		if reply.Verdict == keymeter.Admitted {
			m.t.Fatalf("I4: %s was admitted on key %s with status %d", x.admit.RequestID, x.key.name, x.key.newest().Status)
		}
		x.phase = phaseFinished
		return
	}
	m.applyVerdict(x, &reply)
}

func (m *model) applyVerdict(x *exchange, reply *keymeter.AdmitReply) {
	x.phase = phaseFinished
	switch reply.Verdict {
	case keymeter.Admitted:
		m.recordAdmission(x, reply.ReservedPico)
	case keymeter.Short:
		x.phase = phaseShort
		x.grantRequest, x.changesWhenShort = grantFor(x.key.name, reply), m.budgetChanges
	case keymeter.RateLimited:
		m.checkRefusal(x, reply)
	case keymeter.ConcurrencyLimited:
		if n := m.reservedOn(x.key); n < 8 {
			m.t.Fatalf("concurrency limited with only %d open reservations", n)
		}
	default:
		m.t.Fatalf("%s got verdict %d on an active key", x.admit.RequestID, reply.Verdict)
	}
}

// recordAdmission records an admission and checks I1.
func (m *model) recordAdmission(x *exchange, reserved money.Pico) {
	x.day = m.clockMs / dayMs
	if x.admit.Mode == keymeter.ModeCheck {
		return
	}
	k := x.key
	k.admitted = append(k.admitted, admission{m.realMs, m.forwardJumps, max(x.day, m.object(abi.ClassKeyMeter, k.name).seenDay)})
	second, day := m.counts(k)
	if k.perSecond > 0 && second > k.perSecond || k.perDay > 0 && day > k.perDay {
		m.t.Fatalf("I1: %d admissions in the last second, %d on this day", second, day)
	}
	switch x.admit.Mode {
	case keymeter.ModeHit:
		u := m.usageOf(x.day, x.admit.Model)
		u.Requests++
		u.Hits++
		u.Latency.Add(0)
	case keymeter.ModeReserve:
		if reserved > x.admit.AmountPico || reserved < x.admit.AmountPico && (!x.admit.Final || reserved < x.minAmount()) {
			m.t.Fatalf("%s requested %d, at least %d, but reserved %d", x.admit.RequestID, x.admit.AmountPico, x.minAmount(), reserved)
		}
		x.phase = phaseReserved
		x.admit.AmountPico = reserved
		x.expiresMs = m.clockMs + x.admit.LifetimeMs
		x.period = m.object(abi.ClassKeyMeter, k.name).slices()[0].period
	}
}

// counts returns the number of admissions in the last admission's second and on its day. Objects cannot detect that a
// clock has jumped forward, so a jump starts a new count.
func (m *model) counts(k *key) (second, day int) {
	last := k.admitted[len(k.admitted)-1]
	for _, a := range k.admitted {
		if a.jumps == last.jumps && a.realMs+1000 > last.realMs {
			second++
		}
		if a.day == last.day {
			day++
		}
	}
	return second, day
}

// checkRefusal checks that a request within the rate limits is not refused if clocks have not jumped.
func (m *model) checkRefusal(x *exchange, reply *keymeter.AdmitReply) {
	if m.wentBack || m.forwardJumps > 0 {
		return
	}
	second, day := 0, 0
	for _, a := range x.key.admitted {
		if a.realMs+1000 > m.realMs {
			second++
		}
		if a.day == m.clockMs/dayMs {
			day++
		}
	}
	if second < x.key.perSecond && day < x.key.perDay {
		m.t.Fatalf("refused after %d admissions in this second and %d on this day", second, day)
	}
	if reply.RetryMs == 0 || day < x.key.perDay && reply.RetryMs > 1000 {
		m.t.Fatalf("refused for %d ms after %d admissions in this second and %d on this day", reply.RetryMs, second, day)
	}
}

func (m *model) usageOf(day uint64, name string) *ledger.Usage {
	id := usageID{day, name}
	if m.usage[id] == nil {
		m.usage[id] = &ledger.Usage{Day: day, Model: name}
	}
	return m.usage[id]
}

func (m *model) reservedOn(k *key) (n int) {
	for _, x := range m.exchanges {
		if x.key == k && x.phase == phaseReserved {
			n++
		}
	}
	return n
}

// pick draws a random exchange in one of the phases. It skips the action if there is none.
func (m *model) pick(t *rapid.T, phases ...phase) *exchange {
	var some []*exchange
	for _, x := range m.exchanges {
		if slices.Contains(phases, x.phase) {
			some = append(some, x)
		}
	}
	if len(some) == 0 {
		t.Skip("none")
	}
	return rapid.SampledFrom(some).Draw(t, "exchange")
}

// requestGrant takes one turn for a request that is short of budget. It calls the Ledger, and recalls meters or keeps
// the grant. Other actions may run between the turns.
func (m *model) requestGrant(t *rapid.T) {
	x := m.pick(t, phaseShort)
	if m.drawLoss("exchange") {
		x.phase = phaseFinished
		return
	}
	reply := m.callGrant(x.grantRequest)
	if m.drawLoss("grant reply") {
		reply = m.callGrant(x.grantRequest)
	}
	switch {
	case reply.Granted:
		x.grants = append(x.grants, keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico})
		x.admit.Final = reply.Final
		x.phase = phaseGranted
	case reply.Next != "":
		if reply.Next <= x.grantRequest.After {
			m.t.Fatalf("a page ends at %q, but the one before at %q", reply.Next, x.grantRequest.After)
		}
		m.recall(reply.Recall)
		x.grantRequest.After = reply.Next
	default:
		m.checkExceeded(x, reply.Period)
		x.phase = phaseFinished
	}
}

// useGrant passes the newest grant to the meter, sometimes after passing an older one.
func (m *model) useGrant(t *rapid.T) {
	x := m.pick(t, phaseGranted)
	if m.drawLoss("exchange after its grant") {
		x.phase = phaseFinished
		return
	}
	if rapid.IntRange(0, 4).Draw(t, "an older grant") == 0 {
		old := keymeter.Admit{RequestID: "req_check", Mode: keymeter.ModeCheck, Grant: rapid.SampledFrom(m.grants(x.key)).Draw(t, "grant")}
		m.admit(x.key.name, old)
	}
	x.admit.Grant = x.grants[len(x.grants)-1]
	m.callAdmit(x)
}

// grants returns all grants that a key's exchanges have received.
func (m *model) grants(k *key) (all []keymeter.Grant) {
	for _, x := range m.exchanges {
		if x.key == k {
			all = append(all, x.grants...)
		}
	}
	return all
}

// recall asks meters to return their idle budget.
func (m *model) recall(names []string) {
	for _, name := range names {
		m.deliverFlush(m.flush(name, true).Absorbs)
	}
}

// recallReliably is like recall, but without losses.
func (m *model) recallReliably(names []string) {
	for _, name := range names {
		if batches := m.flush(name, true).Absorbs; len(batches) > 0 {
			m.call(abi.ClassLedger, project, ledger.Batch(batches))
		}
	}
}

// deliverFlush delivers a flushed meter's batches to the Ledger.
func (m *model) deliverFlush(absorbs [][]byte) {
	if len(absorbs) == 0 {
		return
	}
	if m.drawLoss("news") {
		m.lostBatch = true
		return
	}
	m.call(abi.ClassLedger, project, ledger.Batch(absorbs))
	if m.drawLoss("absorb reply") {
		m.call(abi.ClassLedger, project, ledger.Batch(absorbs))
	}
}

// checkExceeded checks that no request is refused while the budget can pay for it. Money from late settlements and
// undelivered batches does not count before the Ledger knows about it. A request at the end of a period is judged by
// that period. If the budget has changed since the request ran short, other keys may hold idle slices, or the request
// may be outdated. The request must then be granted when it is repeated without interruption.
func (m *model) checkExceeded(x *exchange, period calendar.Period) {
	if m.lostBatch || m.jumps || m.settledLate || period != m.period() {
		return
	}
	if m.budgetChanges != x.changesWhenShort && m.retryGrant(x) {
		return
	}
	if used := m.used(period); used+x.minAmount() <= m.budget() {
		for _, k := range m.keys {
			m.t.Logf("slices of %s: %+v", k.name, m.object(abi.ClassKeyMeter, k.name).slices())
		}
		m.t.Fatalf("refused although the budget suffices: %d used or reserved, %d requested, of %d; the Ledger's state is %+v",
			used, x.minAmount(), m.budget(), m.object(abi.ClassLedger, project).ledgerState())
	}
}

// retryGrant repeats the grant request, without other actions in between, until the Ledger grants or denies it. It
// then drops the grant.
func (m *model) retryGrant(x *exchange) (granted bool) {
	slice := m.object(abi.ClassKeyMeter, x.key.name).slices()[0]
	free := slice.granted - slice.spent - slice.reserved
	request := ledger.Grant{
		Key: x.key.name, Period: slice.period, Epoch: slice.epoch, HeldPico: slice.granted,
		NeedPico: x.admit.AmountPico + max(0, -free), LeastPico: max(0, x.minAmount()-free),
	}
	for {
		reply := m.callGrant(request)
		if reply.Granted || reply.Next == "" {
			return reply.Granted
		}
		m.recallReliably(reply.Recall)
		request.After = reply.Next
	}
}

// callGrant calls the Ledger and records whether it granted anything.
func (m *model) callGrant(g ledger.Grant) ledger.GrantReply {
	before := m.object(abi.ClassLedger, project).ledgerState().committed
	reply := m.grant(project, g)
	if m.object(abi.ClassLedger, project).ledgerState().committed > before {
		m.budgetChanges++
	}
	return reply
}

// used returns the cost and the reservations of a period's requests.
func (m *model) used(period calendar.Period) (sum money.Pico) {
	for id, u := range m.usage {
		if period.Contains(id.day) {
			sum += u.CostPico
		}
	}
	for _, x := range m.exchanges {
		if x.phase == phaseReserved && period.Contains(x.day) {
			sum += x.admit.AmountPico
		}
	}
	return sum
}
