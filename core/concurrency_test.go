package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// concurrentSim simulates concurrent requests. They take turns in random order, one call at a time.
type concurrentSim struct {
	*sim
	t          *testing.T
	random     *rand.Rand
	grantCalls int // calls of Ledger.grant
	count      int
}

func newConcurrentSim(t *testing.T, seed uint64, budget money.Pico, meters int) *concurrentSim {
	p := &concurrentSim{sim: newSim(), t: t, random: rand.New(rand.NewPCG(seed, 0))}
	for i := range meters {
		put := keymeter.Put{Status: doc.Active, Record: doc.Record{
			Version: 2, KeyID: "key_" + meterName(i), ProjectID: project, Kind: keys.Gateway, Environment: keys.Production, Plan: "crowd",
		}}
		p.call(abi.ClassKeyMeter, meterName(i), put.Encode())
	}
	p.call(abi.ClassLedger, project, (&ledger.Put{Version: 1, BudgetPico: budget}).Encode())
	return p
}

func meterName(i int) string { return fmt.Sprintf("meter%04d", i) }

// flow is one request that is waiting for admission.
type flow struct {
	meter string
	admit keymeter.Admit
	grant *ledger.Grant // the next call to the Ledger; nil: call the meter
	flush []string      // meters from which to recall budget before that call
	done  bool
	reply keymeter.AdmitReply // of the last admit call
	calls int
}

func (p *concurrentSim) newFlow(meter int, amount, least money.Pico) *flow {
	p.count++
	return &flow{meter: meterName(meter), admit: keymeter.Admit{
		RequestID: fmt.Sprint("req_", p.count), Version: 2, Mode: keymeter.ModeReserve, Model: "m", AmountPico: amount, LeastPico: least, LifetimeMs: 60_000,
	}}
}

func (f *flow) admitted() bool { return f.reply.Verdict == keymeter.Admitted }

// step makes the request's next call.
func (p *concurrentSim) step(f *flow) {
	if f.calls++; f.calls > 10_000 {
		p.t.Fatalf("%s does not end", f.admit.RequestID)
	}
	switch {
	case len(f.flush) > 0:
		if batches := p.sim.flush(f.flush[0], true).Absorbs; len(batches) > 0 {
			p.call(abi.ClassLedger, project, ledger.Batch(batches))
		}
		f.flush = f.flush[1:]
	case f.grant != nil:
		p.callGrant(f)
	default:
		f.reply = p.admit(f.meter, f.admit)
		if f.done = f.reply.Verdict != keymeter.Short; !f.done {
			request := grantFor(f.meter, &f.reply)
			f.grant = &request
		}
	}
}

func (p *concurrentSim) callGrant(f *flow) {
	p.grantCalls++
	reply := p.grant(project, *f.grant)
	switch {
	case reply.Granted:
		f.admit.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
		f.admit.Final, f.grant = reply.Final, nil
	case reply.Next != "":
		f.flush, f.grant.After = reply.Recall, reply.Next
	default:
		f.done = true
	}
	if b := p.object(abi.ClassLedger, project).ledgerState(); p.count <= 100 && (b.committed != b.sum || b.committed > b.budget) {
		p.t.Fatalf("I3: slices and spend are %d, recorded as %d, of a budget of %d", b.sum, b.committed, b.budget)
	}
}

// run steps the requests until all are done. It returns how many were admitted.
func (p *concurrentSim) run(flows ...*flow) (admitted int) {
	for open := append([]*flow(nil), flows...); len(open) > 0; {
		i := p.random.IntN(len(open))
		if p.step(open[i]); open[i].done {
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	for _, f := range flows {
		if f.admitted() {
			admitted++
		}
	}
	return admitted
}

// totalReserved returns the sum of all meters' reservations.
func (p *concurrentSim) totalReserved(meters int) (sum money.Pico) {
	for i := range meters {
		sum += p.object(abi.ClassKeyMeter, meterName(i)).slices()[0].reserved
	}
	return sum
}

func (p *concurrentSim) settle(f *flow, cost money.Pico) {
	s := keymeter.Settle{RequestID: f.admit.RequestID, Outcome: keymeter.Served, Model: "m", CostPico: cost}
	p.call(abi.ClassKeyMeter, f.meter, s.Encode())
}

// TestDebt: a request costs far more than its reservation. One grant covers the debt, whether or not the Ledger
// knows the cost.
func TestDebt(t *testing.T) {
	for _, reported := range []bool{false, true} {
		p := newConcurrentSim(t, 1, 1000*money.Dollar, 1)
		first := p.newFlow(0, money.Cent/100, 0)
		p.run(first)
		p.settle(first, 80*money.Dollar)
		if reported {
			p.call(abi.ClassLedger, project, ledger.Batch(p.sim.flush(meterName(0), false).Absorbs))
		}
		for i := range 3 {
			p.grantCalls = 0
			f := p.newFlow(0, money.Cent, 0)
			if p.run(f) != 1 || p.grantCalls > 1 || i == 0 && p.grantCalls != 1 {
				t.Errorf("reported %t: verdict %d after %d grants", reported, f.reply.Verdict, p.grantCalls)
			}
		}
		last := p.newFlow(0, 919*money.Dollar, 0)
		if p.run(last, p.newFlow(0, 2*money.Dollar, 0)) != 1 {
			t.Errorf("reported %t: rest of the budget: verdict %d", reported, last.reply.Verdict)
		}
	}
}

// TestBurst: of many concurrent requests with one key, the budget admits exactly as many as it can pay for.
func TestBurst(t *testing.T) {
	for seed := range uint64(30) {
		for _, c := range []struct {
			amount money.Pico
			want   int
		}{{15 * money.Cent, 50}, {20 * money.Cent, 50}, {40 * money.Cent, 25}, {3 * money.Dollar, 3}, {11 * money.Dollar, 0}} {
			p := newConcurrentSim(t, seed, 10*money.Dollar, 1)
			var flows []*flow
			for range 50 {
				flows = append(flows, p.newFlow(0, c.amount, 0))
			}
			if got := p.run(flows...); got != c.want || p.totalReserved(1) != money.Pico(c.want)*c.amount {
				t.Fatalf("seed %d: admitted %d of 50 requests for %d, want %d", seed, got, c.amount, c.want)
			}
		}
	}
}

// TestLargeBurst: 500 concurrent requests within the budget are all admitted with at most three Ledger calls each,
// regardless of the slice's balance or debt at the start.
func TestLargeBurst(t *testing.T) {
	for seed := range uint64(4) {
		for _, spent := range []money.Pico{0, 5 * money.Cent, 14 * money.Cent, 9 * money.Dollar} {
			p := newConcurrentSim(t, seed, 100_000*money.Dollar, 1)
			first := p.newFlow(0, money.Cent, 0) // leaves a slice of 16 cents
			p.run(first)
			p.settle(first, spent)
			p.grantCalls = 0
			var flows []*flow
			for range 500 {
				flows = append(flows, p.newFlow(0, 10*money.Cent+p.random.Int64N(money.Dollar), 0))
			}
			if got := p.run(flows...); got != 500 || p.grantCalls > 3*500 {
				t.Errorf("seed %d, %d spent: admitted %d of 500 after %d Ledger calls", seed, spent, got, p.grantCalls)
			}
		}
	}
}

// TestIdleSlices: when keys hold the entire budget in idle slices, another key can still get it.
func TestIdleSlices(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 200, 1001, 1500} {
		p := newConcurrentSim(t, 1, money.Dollar*money.Pico(n)/10, n+2)
		for i := range n {
			f := p.newFlow(i, 10*money.Cent, 0)
			p.run(f)
			p.settle(f, 0)
		}
		part := p.newFlow(n, 10*money.Cent, 0)
		if p.run(part) != 1 {
			t.Errorf("%d keys hold idle slices: another key is refused", n)
		}
		p.settle(part, 0)
		for i := range 2 {
			if f := p.newFlow(n+i, money.Dollar*money.Pico(n)/10, 0); p.run(f) != 1 {
				t.Errorf("%d keys hold idle slices: another key is refused the whole budget", n)
			} else {
				p.settle(f, 0)
			}
		}
	}
}

// TestHopelessRequestTakesOneGrantCall: if too much of the budget is spent, a request is refused after one Ledger
// call.
func TestHopelessRequestTakesOneGrantCall(t *testing.T) {
	p := newConcurrentSim(t, 1, 10*money.Dollar, 40)
	for i := range 39 {
		f := p.newFlow(i, 10*money.Cent, 0)
		p.run(f)
		p.settle(f, 10*money.Cent)
		p.call(abi.ClassLedger, project, ledger.Batch(p.sim.flush(meterName(i), false).Absorbs))
	}
	p.grantCalls = 0
	f := p.newFlow(39, 7*money.Dollar, 0)
	if p.run(f) != 0 || p.grantCalls != 1 || f.calls != 2 {
		t.Errorf("%d admitted after %d calls", len(f.flush), f.calls)
	}
}

// TestPartialReservation: a request for which a smaller reservation suffices gets the rest of the budget.
func TestPartialReservation(t *testing.T) {
	for seed := range uint64(20) {
		p := newConcurrentSim(t, seed, 10*money.Dollar, 3)
		for i := range 2 {
			f := p.newFlow(i, money.Dollar, 0)
			p.run(f)
			p.settle(f, money.Dollar)
		}
		tooMuch, most := p.newFlow(2, 20*money.Dollar, 8*money.Dollar+1), p.newFlow(2, 20*money.Dollar, 8*money.Dollar)
		if p.run(tooMuch) != 0 {
			t.Errorf("%+v", tooMuch.reply)
		}
		if p.run(most) != 1 || most.reply.ReservedPico != 8*money.Dollar {
			t.Errorf("%+v", most.reply)
		}
		if again := p.admit(most.meter, most.admit); again.Verdict != keymeter.Admitted || again.ReservedPico != 8*money.Dollar {
			t.Errorf("repeated admission: %+v", again)
		}
		p.settle(most, 0)
		var flows []*flow
		for i := range 12 {
			flows = append(flows, p.newFlow(i%3, 2*money.Dollar, money.Dollar/2))
		}
		for _, f := range flows[:p.run(flows...)] {
			if f.admitted() && (f.reply.ReservedPico < money.Dollar/2 || f.reply.ReservedPico > 2*money.Dollar) {
				t.Errorf("%+v", f.reply)
			}
		}
		if sum := p.totalReserved(3); sum > 8*money.Dollar || sum <= 8*money.Dollar-money.Dollar/2 {
			t.Errorf("seed %d: %d of 8 dollars are reserved, but requests were refused", seed, sum)
		}
	}
}

// TestConcurrentKeys: keys compete for a budget that is too small for all of them, and recall each other's slices
// during grants. Afterward, every refused request is tried again. It is admitted if it fits and refused if it does
// not.
func TestConcurrentKeys(t *testing.T) {
	const meters = 12
	refused := 0
	for seed := range uint64(10) {
		p := newConcurrentSim(t, seed, 10*money.Dollar, meters)
		var flows []*flow
		for range 90 {
			flows = append(flows, p.newFlow(p.random.IntN(meters), money.Cent+p.random.Int64N(40*money.Cent), 0))
		}
		p.run(flows...)
		for _, f := range flows {
			if f.admitted() {
				continue
			}
			if f.reply.Verdict != keymeter.Short {
				t.Fatalf("seed %d: verdict %d", seed, f.reply.Verdict)
			}
			again := *f
			again.done, again.grant, again.admit.Grant = false, nil, keymeter.Grant{}
			fits := p.totalReserved(meters)+f.admit.AmountPico <= 10*money.Dollar
			if p.run(&again) == 1 != fits {
				t.Fatalf("seed %d: %d reserved, %d requested: verdict %d", seed, p.totalReserved(meters), f.admit.AmountPico, again.reply.Verdict)
			}
			if fits {
				refused++
			}
		}
	}
	t.Logf("%d refused requests fit into the budget later", refused)
}
