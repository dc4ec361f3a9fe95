package core_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

const project = "prj_1"

// key is the model's view of one key.
type key struct {
	name      string // of its meter
	plan      string
	perSecond int
	perDay    int
	puts      []keymeter.Put // all records delivered so far, the newest last
	admitted  []admission
}

// GoString keeps failure reports short.
func (k *key) GoString() string { return k.name }

func (k *key) newest() keymeter.Put { return k.puts[len(k.puts)-1] }

func (k *key) active() bool { return k.newest().Status == doc.Active }

// admission is an admission that counts toward the rate limits.
type admission struct {
	realMs uint64
	jumps  int    // number of forward clock jumps before it
	day    uint64 // the largest day that the meter had seen
}

// phase is the state of an exchange.
type phase int

const (
	phaseAdmitting phase = iota // about to call admit
	phaseShort                  // the slice is too small: the Ledger is called next
	phaseGranted                // the Ledger has granted
	phaseReserved               // admitted, with a reservation
	phaseExpired                // the reservation has expired
	phaseFinished
)

// exchange is the model's view of one request.
type exchange struct {
	phase
	key              *key
	admit            keymeter.Admit
	day              uint64          // of the admission
	period           calendar.Period // of the slice that contains the reservation
	expiresMs        uint64
	forgetMs         uint64 // until then a late settle must be accepted
	forgotten        bool   // an alarm after forgetMs may have deleted it
	settled          bool
	grantRequest     ledger.Grant     // of a short exchange
	grants           []keymeter.Grant // all grants received, the newest last
	changesWhenShort int              // model.budgetChanges when the meter was short
}

// GoString keeps failure reports short.
func (x *exchange) GoString() string { return x.admit.RequestID }

// model runs the objects and keeps its own accounts.
type model struct {
	*sim
	t             *rapid.T
	keys          []*key
	exchanges     []*exchange
	usage         map[usageID]*ledger.Usage
	puts          []ledger.Put // of the budget
	jumps         bool         // clocks may jump
	faults        bool         // replies and deliveries may be lost, and exchanges may be abandoned
	forwardJumps  int
	wentBack      bool
	cycle         calendar.Cycle // of the budget
	settledLate   bool           // an expired exchange was settled
	lostBatch     bool           // a flushed batch was not delivered to the Ledger
	budgetChanges int            // number of grants, settles and budget increases
	count         uint64
}

type usageID struct {
	day   uint64
	model string
}

func newModel(t *rapid.T) *model {
	m := &model{sim: newSim(), t: t, usage: map[usageID]*ledger.Usage{}}
	m.jumps, m.faults = rapid.Bool().Draw(t, "jumps"), rapid.Bool().Draw(t, "faults")
	m.cycle = rapid.SampledFrom([]calendar.Cycle{calendar.Monthly, calendar.Weekly, calendar.Daily}).Draw(t, "cycle")
	for i, k := range []*key{{plan: "tiny", perSecond: 3, perDay: 40}, {plan: "daily", perSecond: 4, perDay: 6}, {plan: "wide"}} {
		k.name = fmt.Sprint("meter", i)
		m.keys = append(m.keys, k)
		m.put(k, doc.Active)
	}
	m.setBudget(money.Dollar)
	return m
}

// meterNames returns the names of all meters.
func (m *model) meterNames() []string {
	var names []string
	for _, k := range m.keys {
		names = append(names, k.name)
	}
	return names
}

// minAmount is the smallest reservation that the request accepts.
func (x *exchange) minAmount() money.Pico {
	if x.admit.LeastPico == 0 {
		return x.admit.AmountPico
	}
	return min(x.admit.LeastPico, x.admit.AmountPico)
}

// drawLoss draws whether a reply, a confirmation or an exchange is lost.
func (m *model) drawLoss(what string) bool {
	return m.faults && rapid.IntRange(0, 9).Draw(m.t, what) == 0
}

// put delivers a new status, and returns when it is acknowledged.
func (m *model) put(k *key, status doc.Status) {
	put := keymeter.Put{Status: status, Record: doc.Record{
		Version: uint64(3*len(k.puts) + 2), KeyID: "key_" + k.name, ProjectID: project, Kind: keys.Gateway, Environment: keys.Production,
		Plan: k.plan, CacheTTLSeconds: uint64(len(k.puts)), Cycle: m.cycle,
	}}
	k.puts = append(k.puts, put)
	m.call(abi.ClassKeyMeter, k.name, put.Encode())
}

func (m *model) setBudget(amount money.Pico) {
	put := ledger.Put{Version: uint64(len(m.puts) + 1), BudgetPico: amount, Period: m.period()}
	m.puts = append(m.puts, put)
	m.budgetChanges++
	m.call(abi.ClassLedger, project, put.Encode())
}

// period is the current period of the budget.
func (m *model) period() calendar.Period { return calendar.NewPeriod(m.cycle, 0, m.clockMs/dayMs) }

func (m *model) budget() money.Pico { return m.puts[len(m.puts)-1].BudgetPico }

// begin starts a request.
func (m *model) begin(t *rapid.T) {
	m.count++
	k := rapid.SampledFrom(m.keys).Draw(t, "key")
	x := &exchange{key: k, admit: keymeter.Admit{
		RequestID: fmt.Sprint("req_", m.count), Version: k.newest().Record.Version,
		Mode:       rapid.SampledFrom([]keymeter.Mode{keymeter.ModeReserve, keymeter.ModeReserve, keymeter.ModeReserve, keymeter.ModeHit, keymeter.ModeCount, keymeter.ModeCheck}).Draw(t, "mode"),
		Model:      rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"),
		AmountPico: rapid.OneOf(rapid.Int64Range(0, money.Cent), rapid.Int64Range(0, money.Dollar/3), rapid.Int64Range(money.Dollar/4, money.Dollar)).Draw(t, "amount"),
		ExpiresMs:  rapid.Uint64Range(500, 120_000).Draw(t, "expires"),
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
		x.expiresMs = m.clockMs + x.admit.ExpiresMs
		x.period = m.object(abi.ClassKeyMeter, k.name).slices()[0].period
	}
}

// counts returns the number of admissions in the second and on the day of the last one. Objects cannot detect a
// forward jump of the clock, so a jump starts a new count.
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

// checkRefusal: without clock jumps, a request within the rate limits is not refused.
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

// pick draws an exchange in one of the phases. It skips the action if there is none.
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

// requestGrant takes one turn of a short request: it calls the Ledger, and recalls meters or keeps the grant.
// Other actions may run between its turns.
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

// useGrant passes the newest grant to the meter, sometimes after an older one.
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

// recallReliably is recall without losses.
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

// checkExceeded: no request is refused while the budget can pay for it. Money from late settles and undelivered
// batches does not count before the Ledger knows of it, and a request at the end of a period is judged by that
// period. If the budget has changed since the request was short, other keys may hold idle slices or the request
// may be outdated; it must then be granted when it is repeated without interruption.
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

// retryGrant repeats the grant request until the Ledger grants or denies it, without other actions in between. The
// grant is then dropped.
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

// used is the cost and the reservations of a period's requests.
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

// settle settles an exchange, in time or late.
func (m *model) settle(t *rapid.T) {
	x := m.pick(t, phaseReserved, phaseExpired)
	s := keymeter.Settle{
		RequestID: x.admit.RequestID, Outcome: rapid.SampledFrom([]keymeter.Outcome{keymeter.Served, keymeter.Served, keymeter.Released, keymeter.Hit}).Draw(t, "outcome"),
		Model:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "model"),
		Trace:    keymeter.Trace{Status: 200, DurationMs: rapid.Uint64Range(0, 200_000).Draw(t, "duration")},
		Tokens:   keymeter.Tokens{Prompt: rapid.Uint64Range(0, 1000).Draw(t, "prompt"), Completion: rapid.Uint64Range(0, 1000).Draw(t, "completion")},
		CostPico: rapid.Int64Range(0, x.admit.AmountPico).Draw(t, "cost"), Estimated: rapid.Bool().Draw(t, "estimated"), Missed: rapid.Bool().Draw(t, "missed"),
	}
	if rapid.Bool().Draw(t, "attempts") {
		part := rapid.Int64Range(0, s.CostPico).Draw(t, "cost of attempts")
		s.CostPico -= part
		s.Attempts = []keymeter.Charge{{Model: "c", Tokens: keymeter.Tokens{Prompt: 3}, CostPico: part / 2, Estimated: true}, {Model: "b", Tokens: keymeter.Tokens{Completion: 5}, CostPico: part - part/2}}
	}
	m.settleWith(x, s)
	if m.drawLoss("settle reply") {
		m.call(abi.ClassKeyMeter, x.key.name, s.Encode())
	}
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
	u.Requests += count(s.Outcome != keymeter.Released)
	u.Failed += count(s.Outcome == keymeter.Released)
	u.Hits += count(s.Outcome == keymeter.Hit)
	u.Estimated += count(s.Estimated)
	u.Misses += count(s.Missed)
	for _, a := range s.Attempts {
		u := m.usageOf(x.day, a.Model)
		u.Prompt += a.Tokens.Prompt
		u.Completion += a.Tokens.Completion
		u.CostPico += a.CostPico
		u.Estimated += count(a.Estimated)
	}
}

func count(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// settleAgain repeats a settle with other figures long after the first one, or settles an unknown request.
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

// recordExtension records an extended reservation: the requested amount, or less if the budget has no more.
func (m *model) recordExtension(x *exchange, e *keymeter.Extend, reserved money.Pico) {
	least := e.TotalPico
	if e.Final && e.LeastPico != 0 {
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

// letTimePass advances the clock. Due alarms fire or are late.
func (m *model) letTimePass(t *rapid.T) {
	ms := rapid.OneOf(
		rapid.SampledFrom([]uint64{0, 1, 333, 499, 500, 999, 1000, 1001}), rapid.Uint64Range(0, 150_000), rapid.SampledFrom([]uint64{hourMs, 25 * hourMs}),
	).Draw(t, "ms")
	m.sleep(ms)
	if rapid.IntRange(0, 3).Draw(t, "alarms") > 0 {
		m.fireAlarms()
	}
}

// jump moves the clocks forward by an hour, or back by up to an hour.
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

// fireAlarms fires the due alarms.
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

// deliverOutbox delivers some, none or repeated entries of a meter's outbox.
func (m *model) deliverOutbox(t *rapid.T) {
	name := rapid.SampledFrom(m.meterNames()).Draw(t, "meter")
	for !m.drawLoss("delivery") && m.deliver(abi.ClassKeyMeter, name, m.drawLoss("confirmation")) && rapid.Bool().Draw(t, "more") {
	}
}

func (m *model) usageReport(t *rapid.T) {
	name := rapid.SampledFrom(m.meterNames()).Draw(t, "meter")
	m.deliverFlush(m.flush(name, false).Absorbs)
}

// recallSome recalls a meter's idle budget, as for a request outside the model. This invalidates grants on their
// way to the meter.
func (m *model) recallSome(t *rapid.T) {
	m.recall([]string{rapid.SampledFrom(m.meterNames()).Draw(t, "meter")})
}

func (m *model) changeStatus(t *rapid.T) {
	k := rapid.SampledFrom(m.keys).Draw(t, "key")
	m.put(k, rapid.SampledFrom([]doc.Status{doc.Active, doc.Active, doc.Inactive, doc.Removed}).Draw(t, "status"))
}

// oldPut delivers an older record or budget again.
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

// check verifies the invariants after every action.
func (m *model) check(t *rapid.T) {
	m.t = t
	b := m.object(abi.ClassLedger, project).ledgerState()
	if b.budget != m.budget() {
		t.Fatalf("I10: got a budget of %d, want %d", b.budget, m.budget())
	}
	if b.committed != b.sum || b.committed > b.budget {
		t.Fatalf("I3: slices and spend are %d, recorded as %d, of a budget of %d", b.sum, b.committed, b.budget)
	}
	if period := m.period(); !m.jumps && m.used(period) > m.budget() {
		t.Fatalf("I3: %d used or reserved of %d", m.used(period), m.budget())
	}
	for _, k := range m.keys {
		m.checkMeter(k, b)
	}
}

func (m *model) checkMeter(k *key, b ledgerState) {
	o := m.object(abi.ClassKeyMeter, k.name)
	for _, s := range o.slices() {
		var reserved int64
		for _, x := range m.exchanges {
			if x.key == k && x.phase == phaseReserved && x.period == s.period {
				reserved += x.admit.AmountPico
			}
		}
		if s.period != 0 && s.reserved != reserved {
			m.t.Fatalf("I6: %s has %d reserved in period %d, but open reservations of %d", k.name, s.reserved, s.period, reserved)
		}
		if s.granted < s.spent+s.reserved || s.reserved < 0 {
			m.t.Fatalf("I3: %s has spent %d and reserved %d of a slice of %d", k.name, s.spent, s.reserved, s.granted)
		}
		if granted := b.granted[k.name]; s.period == b.period && s.granted > granted {
			m.t.Fatalf("I3: %s has a slice of %d, but the Ledger granted %d", k.name, s.granted, granted)
		}
	}
	for _, x := range m.exchanges {
		if x.key == k && x.phase == phaseReserved && (o.AlarmMs == 0 || o.AlarmMs > x.expiresMs) {
			m.t.Fatalf("I6: %s expires at %d, but the alarm is set to %d", x.admit.RequestID, x.expiresMs, o.AlarmMs)
		}
	}
	m.checkRecord(k)
}

// checkRecord checks I10: the meter has the newest record, in whatever order records arrived.
func (m *model) checkRecord(k *key) {
	reply := m.admit(k.name, keymeter.Admit{RequestID: "req_check", Mode: keymeter.ModeCheck})
	want := k.newest()
	if k.active() != (reply.Verdict == keymeter.Stale) {
		m.t.Fatalf("I10: got verdict %[2]d for status %[1]d", want.Status, reply.Verdict)
	}
	if k.active() && !bytes.Equal(reply.Record, want.Record.Encode()) {
		m.t.Fatalf("I10: got the record %x, want %x", reply.Record, want.Record.Encode())
	}
}

// final lets all alarms and deliveries finish and checks I2.
func (m *model) final() {
	m.fireAlarms()
	m.runToEnd(m.meterNames(), func(meter string) {
		for _, k := range m.keys {
			if k.name == meter {
				m.recordExpiries(k)
			}
		}
	})
	for _, k := range m.keys {
		if n := m.reservedOn(k); n > 0 || m.flush(k.name, false).Open > 0 {
			m.t.Fatalf("I6: %s still has %d reservations", k.name, n)
		}
		m.deliverFlush(m.flush(k.name, false).Absorbs)
		for m.deliver(abi.ClassKeyMeter, k.name, false) {
		}
		if rows := m.object(abi.ClassKeyMeter, k.name).Keys("", "~"); len(rows) > 1 {
			m.t.Fatalf("%s still has the rows %q", k.name, rows)
		}
	}
	m.compareUsage()
}

// compareUsage compares the Ledger's usage with the model's, day by day.
func (m *model) compareUsage() {
	for day := uint64(firstDay); day <= m.clockMs/dayMs; day++ {
		reply := m.report(project, ledger.Report{FirstDay: day, EndDay: day + 1, Final: true})
		got := map[string]ledger.Usage{}
		for _, u := range reply.Models {
			got[u.Model] = u
		}
		for _, name := range []string{"a", "b", "c"} {
			want := *m.usageOf(day, name)
			want.Day, want.Model = got[name].Day, got[name].Model
			if got[name] != want {
				m.t.Fatalf("I2: usage of %s on day %d: got\n%+v, want\n%+v", name, day-firstDay, got[name], want)
			}
		}
		m.compareSums(day)
	}
}

// compareSums compares a day's usage grouped by hour, key and detail with the usage grouped by model.
func (m *model) compareSums(day uint64) {
	want := m.sum(ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByModel})
	for _, by := range []ledger.Grouping{ledger.ByDay, ledger.ByHour, ledger.ByKey, ledger.ByDetail} {
		if got := m.sum(ledger.Query{FirstDay: day, EndDay: day + 1, By: by}); got != want {
			m.t.Fatalf("I2: usage on day %d grouped by %d: got\n%+v, want as by model\n%+v", day-firstDay, by, got, want)
		}
	}
}

func (m *model) sum(q ledger.Query) (sum ledger.Usage) {
	reply, err := ledger.DecodeQueryReply(m.call(abi.ClassLedger, project, q.Encode()))
	if err != nil || reply.Next != "" {
		m.t.Fatal(err, reply.Next)
	}
	for i := range reply.Groups {
		sum.Plus(&reply.Groups[i].Usage)
	}
	return sum
}

// TestInvariants checks I1 to I4, I6 and I10 over random interleavings of exchanges on three keys of one budget,
// with clock jumps, period changes, and lost or repeated calls, replies and deliveries.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		on := func(f func(*rapid.T)) func(*rapid.T) {
			return func(t *rapid.T) {
				m.t = t
				f(t)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":           m.check,
			"begin":      on(m.begin),
			"begin more": on(m.begin),
			"begin four": on(func(t *rapid.T) {
				for range 4 {
					m.begin(t)
				}
			}),
			"ask ledger":    on(m.requestGrant),
			"ask ledger 2":  on(m.requestGrant),
			"use grant":     on(m.useGrant),
			"use grant 2":   on(m.useGrant),
			"settle":        on(m.settle),
			"settle 2":      on(m.settle),
			"settle again":  on(m.settleAgain),
			"admit again":   on(m.admitAgain),
			"extend":        on(m.extend),
			"wait":          on(m.letTimePass),
			"wait 2":        on(m.letTimePass),
			"jump":          on(m.jump),
			"outbox":        on(m.deliverOutbox),
			"usage report":  on(m.usageReport),
			"recall":        on(m.recallSome),
			"change status": on(m.changeStatus),
			"old put":       on(m.oldPut),
			"raise budget":  on(m.raiseBudget),
		})
		m.t = t
		m.final()
	})
}
