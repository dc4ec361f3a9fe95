package core_test

import (
	"fmt"
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
	puts      []keymeter.Put // all records delivered so far, newest last
	admitted  []admission
}

// GoString keeps failure reports short.
func (k *key) GoString() string { return k.name }

func (k *key) newest() keymeter.Put { return k.puts[len(k.puts)-1] }

func (k *key) active() bool { return k.newest().Status == doc.Active }

// admission is an admission that counts toward the rate limits.
type admission struct {
	realMs uint64
	jumps  int    // the number of forward clock jumps before the admission
	day    uint64 // the latest day that the meter had seen
}

// phase is the state of an exchange.
type phase int

const (
	phaseAdmitting phase = iota // about to call admit
	phaseShort                  // the slice is too small, so the Ledger is called next
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
	forgetMs         uint64 // until then, a late settlement must be accepted
	forgotten        bool   // an alarm after forgetMs may have deleted the reservation
	settled          bool
	grantRequest     ledger.Grant     // of a short exchange
	grants           []keymeter.Grant // all grants received, newest last
	changesWhenShort int              // model.budgetChanges when the meter ran short of budget
}

// GoString keeps failure reports short.
func (x *exchange) GoString() string { return x.admit.RequestID }

// model runs the objects and keeps its own books.
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
	budgetChanges int            // the number of grants, settlements and budget increases
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

func (m *model) meterNames() []string {
	var names []string
	for _, k := range m.keys {
		names = append(names, k.name)
	}
	return names
}

// minAmount is the smallest reservation that suffices for the request.
func (x *exchange) minAmount() money.Pico {
	if x.admit.LeastPico == 0 {
		return x.admit.AmountPico
	}
	return min(x.admit.LeastPico, x.admit.AmountPico)
}

// drawLoss decides at random whether a reply, a confirmation or an exchange is lost.
func (m *model) drawLoss(what string) bool {
	return m.faults && rapid.IntRange(0, 9).Draw(m.t, what) == 0
}

// put delivers a new status and returns when it has been acknowledged.
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

// period returns the current period of the budget.
func (m *model) period() calendar.Period { return calendar.NewPeriod(m.cycle, 0, m.clockMs/dayMs) }

func (m *model) budget() money.Pico { return m.puts[len(m.puts)-1].BudgetPico }

// TestInvariants checks I1 to I4, I6 and I10 for random interleavings of exchanges with three keys that share a
// budget. It includes clock jumps, period changes, and lost or repeated calls, replies and deliveries.
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
