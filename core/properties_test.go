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

// key is what the model knows of one key.
type key struct {
	name      string // its meter's
	plan      string
	perSecond int
	perDay    int
	puts      []keymeter.Put // all that was ever delivered, the newest last
	admitted  []admission
}

// GoString keeps the reports of failures short.
func (k *key) GoString() string { return k.name }

func (k *key) newest() keymeter.Put { return k.puts[len(k.puts)-1] }

func (k *key) active() bool { return k.newest().Status == doc.Active }

// admission is one that counts against the limits.
type admission struct {
	real    uint64
	forward int    // how often clocks had jumped forward
	day     uint64 // the largest that the meter had seen
}

// phase is how far an exchange is.
type phase int

const (
	asking  phase = iota // for admission
	short                // the slice is too small: it is to ask the Ledger
	granted              // the Ledger has answered
	open                 // admitted, with a reservation
	expired              // nobody settled it in time
	over
)

// exchange is one request as the model sees it.
type exchange struct {
	phase
	key       *key
	admit     keymeter.Admit
	day       uint64          // of its admission
	period    calendar.Period // of the slice that its reservation is on
	expiresMs uint64
	forgetMs  uint64 // until then a late settle must count
	forgotten bool   // an alarm after forgetMs may have forgotten it
	settled   bool
	asks      ledger.Grant     // of one that is short
	grants    []keymeter.Grant // that it got, the newest last
	moves     int              // of the model, when it was found short
}

// GoString keeps the reports of failures short.
func (x *exchange) GoString() string { return x.admit.RequestID }

// model runs the objects and keeps its own books.
type model struct {
	*sim
	t         *rapid.T
	keys      []*key
	exchanges []*exchange
	usage     map[usageID]*ledger.Usage
	puts      []ledger.Put // of the budget
	jumps     bool         // clocks may jump
	faults    bool         // replies and deliveries may be lost, exchanges may die
	forward   int
	backward  bool
	cycle     calendar.Cycle // of the budget
	late      bool           // something was settled after it had expired
	withheld  bool           // a meter has told what the Ledger was not told
	moves     int            // how often money was given, settled or added
	count     uint64
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

// names are those of all meters.
func (m *model) names() []string {
	var names []string
	for _, k := range m.keys {
		names = append(names, k.name)
	}
	return names
}

// least is the least that the request takes.
func (x *exchange) least() money.Pico {
	if x.admit.LeastPico == 0 {
		return x.admit.AmountPico
	}
	return min(x.admit.LeastPico, x.admit.AmountPico)
}

// lost draws whether a reply, a confirmation or an exchange is lost.
func (m *model) lost(what string) bool {
	return m.faults && rapid.IntRange(0, 9).Draw(m.t, what) == 0
}

// put delivers a new status, and comes back when it is acknowledged.
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
	m.moves++
	m.call(abi.ClassLedger, project, put.Encode())
}

// period is the present turn of the budget's cycle.
func (m *model) period() calendar.Period { return calendar.NewPeriod(m.cycle, 0, m.told/dayMs) }

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
	m.advance(x)
}

// advance asks for admission.
func (m *model) advance(x *exchange) {
	x.admit.Version = x.key.newest().Record.Version
	reply := m.admit(x.key.name, x.admit)
	if m.lost("admit reply") {
		again := m.admit(x.key.name, x.admit)
		if reply.Verdict == keymeter.Admitted && again.Verdict != keymeter.Admitted {
			m.t.Fatalf("%s was admitted, and when asked again got %d", x.admit.RequestID, again.Verdict)
		}
		if reply.Verdict != keymeter.Admitted && again.Verdict == keymeter.Admitted {
			m.t.Fatalf("%s got %d, and when asked again was admitted", x.admit.RequestID, reply.Verdict)
		}
		reply = again
	}
	if !x.key.active() {
		if reply.Verdict == keymeter.Admitted {
			m.t.Fatalf("I4: %s was admitted on key %s, whose status is %d", x.admit.RequestID, x.key.name, x.key.newest().Status)
		}
		x.phase = over
		return
	}
	m.verdict(x, &reply)
}

func (m *model) verdict(x *exchange, reply *keymeter.AdmitReply) {
	x.phase = over
	switch reply.Verdict {
	case keymeter.Admitted:
		m.admitted(x, reply.ReservedPico)
	case keymeter.Short:
		x.phase = short
		x.asks, x.moves = shortOf(x.key.name, reply), m.moves
	case keymeter.RateLimited:
		m.checkRefusal(x, reply)
	case keymeter.ConcurrencyLimited:
		if n := m.openOn(x.key); n < 8 {
			m.t.Fatalf("crowded, with %d reservations open", n)
		}
	default:
		m.t.Fatalf("%s got verdict %d on an active key", x.admit.RequestID, reply.Verdict)
	}
}

// admitted books an admission and checks I1.
func (m *model) admitted(x *exchange, reserved money.Pico) {
	x.day = m.told / dayMs
	if x.admit.Mode == keymeter.ModeCheck {
		return
	}
	k := x.key
	k.admitted = append(k.admitted, admission{m.real, m.forward, max(x.day, m.object(abi.ClassKeyMeter, k.name).seenDay)})
	second, day := m.counts(k)
	if k.perSecond > 0 && second > k.perSecond || k.perDay > 0 && day > k.perDay {
		m.t.Fatalf("I1: %d admissions in the last second, %d on this day", second, day)
	}
	switch x.admit.Mode {
	case keymeter.ModeHit:
		u := m.use(x.day, x.admit.Model)
		u.Requests++
		u.Hits++
		u.Latency.Add(0)
	case keymeter.ModeReserve:
		if reserved > x.admit.AmountPico || reserved < x.admit.AmountPico && (!x.admit.Final || reserved < x.least()) {
			m.t.Fatalf("%s wants %d, at least %d, and has reserved %d", x.admit.RequestID, x.admit.AmountPico, x.least(), reserved)
		}
		x.phase = open
		x.admit.AmountPico = reserved
		x.expiresMs = m.told + x.admit.ExpiresMs
		x.period = m.object(abi.ClassKeyMeter, k.name).slices()[0].period
	}
}

// counts is how many admissions the second and the day have that the last one is in. Of a clock's jump
// forward nobody can know: it starts a new count.
func (m *model) counts(k *key) (second, day int) {
	last := k.admitted[len(k.admitted)-1]
	for _, a := range k.admitted {
		if a.forward == last.forward && a.real+1000 > last.real {
			second++
		}
		if a.day == last.day {
			day++
		}
	}
	return second, day
}

// checkRefusal: without jumps, nothing is refused that the limits allow.
func (m *model) checkRefusal(x *exchange, reply *keymeter.AdmitReply) {
	if m.backward || m.forward > 0 {
		return
	}
	second, day := 0, 0
	for _, a := range x.key.admitted {
		if a.real+1000 > m.real {
			second++
		}
		if a.day == m.told/dayMs {
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

func (m *model) use(day uint64, name string) *ledger.Usage {
	id := usageID{day, name}
	if m.usage[id] == nil {
		m.usage[id] = &ledger.Usage{Day: day, Model: name}
	}
	return m.usage[id]
}

func (m *model) openOn(k *key) (n int) {
	for _, x := range m.exchanges {
		if x.key == k && x.phase == open {
			n++
		}
	}
	return n
}

// pick draws an exchange in one of some phases, or skips the action.
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

// askLedger takes one turn of a request that is short: it asks the Ledger, and then has meters give back, or asks for
// admission with what it got. Others may come between its turns.
func (m *model) askLedger(t *rapid.T) {
	x := m.pick(t, short)
	if m.lost("exchange") {
		x.phase = over
		return
	}
	reply := m.ask(x.asks)
	if m.lost("grant reply") {
		reply = m.ask(x.asks)
	}
	switch {
	case reply.Granted:
		x.grants = append(x.grants, keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico})
		x.admit.Final = reply.Final
		x.phase = granted
	case reply.Next != "":
		if reply.Next <= x.asks.After {
			m.t.Fatalf("a page ends at %q, the one before at %q", reply.Next, x.asks.After)
		}
		m.recall(reply.Recall)
		x.asks.After = reply.Next
	default:
		m.checkExceeded(x, reply.Period)
		x.phase = over
	}
}

// useGrant brings a grant to the meter: the newest, or first an older one once more.
func (m *model) useGrant(t *rapid.T) {
	x := m.pick(t, granted)
	if m.lost("exchange after its grant") {
		x.phase = over
		return
	}
	if rapid.IntRange(0, 4).Draw(t, "an older grant") == 0 {
		old := keymeter.Admit{RequestID: "req_check", Mode: keymeter.ModeCheck, Grant: rapid.SampledFrom(m.grants(x.key)).Draw(t, "grant")}
		m.admit(x.key.name, old)
	}
	x.admit.Grant = x.grants[len(x.grants)-1]
	m.advance(x)
}

// grants are all that a key's exchanges ever got.
func (m *model) grants(k *key) (all []keymeter.Grant) {
	for _, x := range m.exchanges {
		if x.key == k {
			all = append(all, x.grants...)
		}
	}
	return all
}

// recall has meters give back what is idle.
func (m *model) recall(names []string) {
	for _, name := range names {
		m.carry(m.flush(name, true).Absorbs)
	}
}

// recallNow is the same, and nothing is lost.
func (m *model) recallNow(names []string) {
	for _, name := range names {
		if news := m.flush(name, true).Absorbs; len(news) > 0 {
			m.call(abi.ClassLedger, project, ledger.Batch(news))
		}
	}
}

// carry takes a flushed meter's news to the Ledger.
func (m *model) carry(absorbs [][]byte) {
	if len(absorbs) == 0 {
		return
	}
	if m.lost("news") {
		m.withheld = true
		return
	}
	m.call(abi.ClassLedger, project, ledger.Batch(absorbs))
	if m.lost("absorb reply") {
		m.call(abi.ClassLedger, project, ledger.Batch(absorbs))
	}
}

// checkExceeded: no request is refused for money that is there. (What a late settle gives back, and what a batch says
// that is still on its way, is not there before the Ledger hears of it, and a request that asked in the last moment
// of a period is judged by that.) If money moved since this one was found short, others may hold what they do not use,
// or its question is out of date; but who asks then, and is not interrupted, gets what is there.
func (m *model) checkExceeded(x *exchange, period calendar.Period) {
	if m.withheld || m.jumps || m.late || period != m.period() {
		return
	}
	if m.moves != x.moves && m.insist(x) {
		return
	}
	if used := m.used(period); used+x.least() <= m.budget() {
		for _, k := range m.keys {
			m.t.Logf("%s has %+v", k.name, m.object(abi.ClassKeyMeter, k.name).slices())
		}
		m.t.Fatalf("refused for its budget: %d used or reserved, %d asked, of %d; the Ledger has given %+v",
			used, x.least(), m.budget(), m.object(abi.ClassLedger, project).book())
	}
}

// insist asks the Ledger for what the request is short of until it answers, without anybody coming between. What is
// granted then is lost.
func (m *model) insist(x *exchange) (granted bool) {
	slice := m.object(abi.ClassKeyMeter, x.key.name).slices()[0]
	free := slice.granted - slice.spent - slice.reserved
	ask := ledger.Grant{
		Key: x.key.name, Period: slice.period, Epoch: slice.epoch, HeldPico: slice.granted,
		NeedPico: x.admit.AmountPico + max(0, -free), LeastPico: max(0, x.least()-free),
	}
	for {
		given := m.ask(ask)
		if given.Granted || given.Next == "" {
			return given.Granted
		}
		m.recallNow(given.Recall)
		ask.After = given.Next
	}
}

// ask asks the Ledger, and notes whether it gave anything.
func (m *model) ask(g ledger.Grant) ledger.GrantReply {
	before := m.object(abi.ClassLedger, project).book().committed
	reply := m.grant(project, g)
	if m.object(abi.ClassLedger, project).book().committed > before {
		m.moves++
	}
	return reply
}

// used is what a period's requests have cost or have reserved.
func (m *model) used(period calendar.Period) (sum money.Pico) {
	for id, u := range m.usage {
		if period.Contains(id.day) {
			sum += u.CostPico
		}
	}
	for _, x := range m.exchanges {
		if x.phase == open && period.Contains(x.day) {
			sum += x.admit.AmountPico
		}
	}
	return sum
}

// settle ends an exchange, in time or late.
func (m *model) settle(t *rapid.T) {
	x := m.pick(t, open, expired)
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
	if m.lost("settle reply") {
		m.call(abi.ClassKeyMeter, x.key.name, s.Encode())
	}
}

func (m *model) settleWith(x *exchange, s keymeter.Settle) {
	_, remembered := m.object(abi.ClassKeyMeter, x.key.name).Rows["x/"+x.admit.RequestID]
	if x.phase == expired && !remembered && !x.forgotten {
		m.t.Fatalf("I2: %s expired less than a day ago and is forgotten", x.admit.RequestID)
	}
	m.call(abi.ClassKeyMeter, x.key.name, s.Encode())
	late := x.phase == expired
	m.late = m.late || late
	m.moves++
	x.phase, x.settled = over, true
	if late && !remembered {
		return
	}
	if late {
		u := m.use(x.day, x.admit.Model)
		u.Requests--
		u.Expired--
		u.CostPico -= x.admit.AmountPico
	}
	u := m.use(x.day, s.Model)
	u.Latency.Add(s.Trace.DurationMs)
	u.Prompt += s.Tokens.Prompt
	u.Completion += s.Tokens.Completion
	u.CostPico += s.CostPico
	u.Requests += one(s.Outcome != keymeter.Released)
	u.Failed += one(s.Outcome == keymeter.Released)
	u.Hits += one(s.Outcome == keymeter.Hit)
	u.Estimated += one(s.Estimated)
	u.Misses += one(s.Missed)
	for _, a := range s.Attempts {
		u := m.use(x.day, a.Model)
		u.Prompt += a.Tokens.Prompt
		u.Completion += a.Tokens.Completion
		u.CostPico += a.CostPico
		u.Estimated += one(a.Estimated)
	}
}

func one(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// settleAgain repeats a settle with other figures, long after the first; or settles what was never let in.
func (m *model) settleAgain(t *rapid.T) {
	id, name := "req_nobody", rapid.SampledFrom(m.names()).Draw(t, "meter")
	if x := m.pick(t, over); x.settled || x.admit.Mode != keymeter.ModeReserve {
		id, name = x.admit.RequestID, x.key.name
	}
	s := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "a", Tokens: keymeter.Tokens{Prompt: 77}, CostPico: 77}
	m.call(abi.ClassKeyMeter, name, s.Encode())
}

// admitAgain repeats the admission of an open exchange.
func (m *model) admitAgain(t *rapid.T) {
	x := m.pick(t, open)
	if !x.key.active() {
		t.Skip("inactive")
	}
	if reply := m.admit(x.key.name, x.admit); reply.Verdict != keymeter.Admitted && reply.Verdict != keymeter.Stale {
		m.t.Fatalf("%s is open, and got verdict %d", x.admit.RequestID, reply.Verdict)
	}
}

// extend asks for a larger reservation, as a stream does that grows; with a grant, if the slice is too small.
func (m *model) extend(t *rapid.T) {
	x := m.pick(t, open)
	e := keymeter.Extend{RequestID: x.admit.RequestID, TotalPico: x.admit.AmountPico + rapid.Int64Range(-50, int64(money.Dollar)/5).Draw(t, "more")}
	if rapid.Bool().Draw(t, "less will do") {
		e.LeastPico = rapid.Int64Range(0, max(0, e.TotalPico)).Draw(t, "least")
	}
	for range 3 {
		reply := m.extendOnce(x, e)
		if reply.Verdict != keymeter.Short {
			if reply.Verdict == keymeter.Admitted {
				m.extended(x, &e, reply.ReservedPico)
			}
			return
		}
		given := m.ask(shortOf(x.key.name, &reply))
		if !given.Granted || m.lost("stream after its grant") {
			return
		}
		e.Grant, e.Final = keymeter.Grant{Period: given.Period, Epoch: given.Epoch, TotalPico: given.TotalPico}, given.Final
		x.grants = append(x.grants, e.Grant)
	}
}

// extended books a reservation that has grown: to what was asked for, or less, if there was no more.
func (m *model) extended(x *exchange, e *keymeter.Extend, reserved money.Pico) {
	least := e.TotalPico
	if e.Final && e.LeastPico != 0 {
		least = min(least, e.LeastPico)
	}
	if reserved < max(least, x.admit.AmountPico) || reserved > max(e.TotalPico, x.admit.AmountPico) {
		m.t.Fatalf("%s had %d and asked for %d, at least %d: it has %d", e.RequestID, x.admit.AmountPico, e.TotalPico, least, reserved)
	}
	x.admit.AmountPico = reserved
}

func (m *model) extendOnce(x *exchange, e keymeter.Extend) keymeter.AdmitReply {
	ask := func() keymeter.AdmitReply {
		reply, err := keymeter.DecodeAdmitReply(m.call(abi.ClassKeyMeter, x.key.name, e.Encode()))
		if err != nil {
			m.t.Fatal(err)
		}
		return reply
	}
	reply := ask()
	if m.lost("extend reply") {
		if again := ask(); again.Verdict != reply.Verdict {
			m.t.Fatalf("%s was extended with verdict %d, and when asked again with %d", e.RequestID, reply.Verdict, again.Verdict)
		}
	}
	return reply
}

// wait lets time pass, and alarms ring or be late.
func (m *model) wait(t *rapid.T) {
	ms := rapid.OneOf(
		rapid.SampledFrom([]uint64{0, 1, 333, 499, 500, 999, 1000, 1001}), rapid.Uint64Range(0, 150_000), rapid.SampledFrom([]uint64{hourMs, 25 * hourMs}),
	).Draw(t, "ms")
	m.pass(ms)
	if rapid.IntRange(0, 3).Draw(t, "alarms") > 0 {
		m.alarms()
	}
}

// jump moves the clocks by an hour, or to about where they should be.
func (m *model) jump(t *rapid.T) {
	if !m.jumps {
		t.Skip("no jumps")
	}
	if rapid.Bool().Draw(t, "forward") {
		m.told += hourMs
		m.forward++
	} else {
		m.told -= min(hourMs, rapid.Uint64Range(1, 2*hourMs).Draw(t, "back"))
		m.backward = true
	}
	if rapid.Bool().Draw(t, "alarms") {
		m.alarms()
	}
}

// alarms rings those that are due.
func (m *model) alarms() {
	for _, k := range m.keys {
		if m.ring(abi.ClassKeyMeter, k.name) {
			m.rang(k)
		}
	}
}

// rang books what the alarm must have expired.
func (m *model) rang(k *key) {
	for _, x := range m.exchanges {
		if x.key != k {
			continue
		}
		if x.phase == expired && x.forgetMs <= m.told {
			x.forgotten = true
		}
		if x.phase == open && x.expiresMs <= m.told {
			x.phase, x.forgetMs = expired, m.told+dayMs
			u := m.use(x.day, x.admit.Model)
			u.Requests++
			u.Expired++
			u.CostPico += x.admit.AmountPico
		}
	}
}

// outbox carries out some of what waits in a meter's outbox, or nothing, or twice.
func (m *model) outbox(t *rapid.T) {
	name := rapid.SampledFrom(m.names()).Draw(t, "meter")
	for !m.lost("delivery") && m.deliver(abi.ClassKeyMeter, name, m.lost("confirmation")) && rapid.Bool().Draw(t, "more") {
	}
}

func (m *model) usageReport(t *rapid.T) {
	name := rapid.SampledFrom(m.names()).Draw(t, "meter")
	m.carry(m.flush(name, false).Absorbs)
}

// recallSome has a meter give back, as if for a request that is not in the model: what is on its way to it is void.
func (m *model) recallSome(t *rapid.T) {
	m.recall([]string{rapid.SampledFrom(m.names()).Draw(t, "meter")})
}

func (m *model) changeStatus(t *rapid.T) {
	k := rapid.SampledFrom(m.keys).Draw(t, "key")
	m.put(k, rapid.SampledFrom([]doc.Status{doc.Active, doc.Active, doc.Inactive, doc.Removed}).Draw(t, "status"))
}

// oldPut delivers an older record or budget once more, late.
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

// check is what must hold after every action.
func (m *model) check(t *rapid.T) {
	m.t = t
	b := m.object(abi.ClassLedger, project).book()
	if b.budget != m.budget() {
		t.Fatalf("I10: the budget is %d, want %d", b.budget, m.budget())
	}
	if b.committed != b.sum || b.committed > b.budget {
		t.Fatalf("I3: slices and spend sum up to %d, noted as %d, of a budget of %d", b.sum, b.committed, b.budget)
	}
	if period := m.period(); !m.jumps && m.used(period) > m.budget() {
		t.Fatalf("I3: %d used or reserved of %d", m.used(period), m.budget())
	}
	for _, k := range m.keys {
		m.checkMeter(k, b)
	}
}

func (m *model) checkMeter(k *key, b book) {
	o := m.object(abi.ClassKeyMeter, k.name)
	for _, s := range o.slices() {
		var reserved int64
		for _, x := range m.exchanges {
			if x.key == k && x.phase == open && x.period == s.period {
				reserved += x.admit.AmountPico
			}
		}
		if s.period != 0 && s.reserved != reserved {
			m.t.Fatalf("I6: %s has %d reserved in period %d, its open reservations are %d", k.name, s.reserved, s.period, reserved)
		}
		if s.granted < s.spent+s.reserved || s.reserved < 0 {
			m.t.Fatalf("I3: %s has spent %d and reserved %d of %d", k.name, s.spent, s.reserved, s.granted)
		}
		if granted := b.granted[k.name]; s.period == b.period && s.granted > granted {
			m.t.Fatalf("I3: %s has a slice of %d, the Ledger gave %d", k.name, s.granted, granted)
		}
	}
	for _, x := range m.exchanges {
		if x.key == k && x.phase == open && (o.AlarmMs == 0 || o.AlarmMs > x.expiresMs) {
			m.t.Fatalf("I6: %s expires at %d, the alarm is at %d", x.admit.RequestID, x.expiresMs, o.AlarmMs)
		}
	}
	m.checkRecord(k)
}

// checkRecord: I10, the meter has the newest record, whatever came when.
func (m *model) checkRecord(k *key) {
	reply := m.admit(k.name, keymeter.Admit{RequestID: "req_check", Mode: keymeter.ModeCheck})
	want := k.newest()
	if k.active() != (reply.Verdict == keymeter.Stale) {
		m.t.Fatalf("I10: status %d was answered with verdict %d", want.Status, reply.Verdict)
	}
	if k.active() && !bytes.Equal(reply.Record, want.Record.Encode()) {
		m.t.Fatalf("I10: the record is %x, want %x", reply.Record, want.Record.Encode())
	}
}

// final lets everything come to rest and compares the books: I2.
func (m *model) final() {
	m.alarms()
	m.settleDown(m.names(), func(meter string) {
		for _, k := range m.keys {
			if k.name == meter {
				m.rang(k)
			}
		}
	})
	for _, k := range m.keys {
		if n := m.openOn(k); n > 0 || m.flush(k.name, false).Open > 0 {
			m.t.Fatalf("I6: %s still has %d reservations", k.name, n)
		}
		m.carry(m.flush(k.name, false).Absorbs)
		for m.deliver(abi.ClassKeyMeter, k.name, false) {
		}
		if rows := m.object(abi.ClassKeyMeter, k.name).Keys("", "~"); len(rows) > 1 {
			m.t.Fatalf("%s has kept %q", k.name, rows)
		}
	}
	m.compareUsage()
}

// compareUsage compares the Ledger's books with the model's, day by day.
func (m *model) compareUsage() {
	for day := uint64(firstDay); day <= m.told/dayMs; day++ {
		reply := m.report(project, ledger.Report{FirstDay: day, EndDay: day + 1, Final: true})
		got := map[string]ledger.Usage{}
		for _, u := range reply.Models {
			got[u.Model] = u
		}
		for _, name := range []string{"a", "b", "c"} {
			want := *m.use(day, name)
			want.Day, want.Model = got[name].Day, got[name].Model
			if got[name] != want {
				m.t.Fatalf("I2: of %s on day %d the report says\n%+v, want\n%+v", name, day-firstDay, got[name], want)
			}
		}
		m.compareSums(day)
	}
}

// compareSums compares the other sums of a day, by hour, by key and in detail, with that by model.
func (m *model) compareSums(day uint64) {
	want := m.sum(ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByModel})
	for _, by := range []ledger.Grouping{ledger.ByDay, ledger.ByHour, ledger.ByKey, ledger.ByDetail} {
		if got := m.sum(ledger.Query{FirstDay: day, EndDay: day + 1, By: by}); got != want {
			m.t.Fatalf("I2: day %d summed up by %d is\n%+v, by model\n%+v", day-firstDay, by, got, want)
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

// TestInvariants: I1 to I4, I6 and I10 over random interleavings of exchanges on three keys of one budget,
// with clocks that jump, periods that turn, and calls, replies and deliveries that are lost or come twice.
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
			"ask ledger":    on(m.askLedger),
			"ask ledger 2":  on(m.askLedger),
			"use grant":     on(m.useGrant),
			"use grant 2":   on(m.useGrant),
			"settle":        on(m.settle),
			"settle 2":      on(m.settle),
			"settle again":  on(m.settleAgain),
			"admit again":   on(m.admitAgain),
			"extend":        on(m.extend),
			"wait":          on(m.wait),
			"wait 2":        on(m.wait),
			"jump":          on(m.jump),
			"outbox":        on(m.outbox),
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
