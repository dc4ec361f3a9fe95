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

// pressure is a simulation in which requests come at once: each moves on one call at a time, in an order that is
// drawn.
type pressure struct {
	*sim
	t      *testing.T
	random *rand.Rand
	grants int // calls of Ledger.grant
	count  int
}

func newPressure(t *testing.T, seed uint64, budget money.Pico, meters int) *pressure {
	p := &pressure{sim: newSim(), t: t, random: rand.New(rand.NewPCG(seed, 0))}
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

// flow is one request on its way to its admission.
type flow struct {
	meter string
	admit keymeter.Admit
	ask   *ledger.Grant // the next call is this; nil: the meter's
	flush []string      // but first these
	over  bool
	reply keymeter.AdmitReply // of the last admission
	calls int
}

func (p *pressure) flow(meter int, amount, least money.Pico) *flow {
	p.count++
	return &flow{meter: meterName(meter), admit: keymeter.Admit{
		RequestID: fmt.Sprint("req_", p.count), Version: 2, Mode: keymeter.ModeReserve, Model: "m", AmountPico: amount, LeastPico: least, ExpiresMs: 60_000,
	}}
}

func (f *flow) admitted() bool { return f.reply.Verdict == keymeter.Admitted }

// step makes the next call.
func (p *pressure) step(f *flow) {
	if f.calls++; f.calls > 10_000 {
		p.t.Fatalf("%s does not come to an end", f.admit.RequestID)
	}
	switch {
	case len(f.flush) > 0:
		if news := p.sim.flush(f.flush[0], true).Absorbs; len(news) > 0 {
			p.call(abi.ClassLedger, project, ledger.Batch(news))
		}
		f.flush = f.flush[1:]
	case f.ask != nil:
		p.granted(f)
	default:
		f.reply = p.admit(f.meter, f.admit)
		if f.over = f.reply.Verdict != keymeter.Short; !f.over {
			ask := shortOf(f.meter, &f.reply)
			f.ask = &ask
		}
	}
}

func (p *pressure) granted(f *flow) {
	p.grants++
	reply := p.grant(project, *f.ask)
	switch {
	case reply.Granted:
		f.admit.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
		f.admit.Final, f.ask = reply.Final, nil
	case reply.Next != "":
		f.flush, f.ask.After = reply.Recall, reply.Next
	default:
		f.over = true
	}
	if b := p.object(abi.ClassLedger, project).book(); p.count <= 100 && (b.committed != b.sum || b.committed > b.budget) {
		p.t.Fatalf("I3: %d given or spent, noted as %d, of %d", b.sum, b.committed, b.budget)
	}
}

// run brings all to their end, and says how many were admitted.
func (p *pressure) run(flows ...*flow) (admitted int) {
	for open := append([]*flow(nil), flows...); len(open) > 0; {
		i := p.random.IntN(len(open))
		if p.step(open[i]); open[i].over {
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

// reserved is what all meters have reserved.
func (p *pressure) reserved(meters int) (sum money.Pico) {
	for i := range meters {
		sum += p.object(abi.ClassKeyMeter, meterName(i)).slices()[0].reserved
	}
	return sum
}

func (p *pressure) settle(f *flow, cost money.Pico) {
	s := keymeter.Settle{RequestID: f.admit.RequestID, Outcome: keymeter.Served, Model: "m", CostPico: cost}
	p.call(abi.ClassKeyMeter, f.meter, s.Encode())
}

// TestDebt: a request cost far more than it had reserved. One grant makes up for it, whether the Ledger has heard of
// the cost or not.
func TestDebt(t *testing.T) {
	for _, reported := range []bool{false, true} {
		p := newPressure(t, 1, 1000*money.Dollar, 1)
		first := p.flow(0, money.Cent/100, 0)
		p.run(first)
		p.settle(first, 80*money.Dollar)
		if reported {
			p.call(abi.ClassLedger, project, ledger.Batch(p.sim.flush(meterName(0), false).Absorbs))
		}
		for i := range 3 {
			p.grants = 0
			f := p.flow(0, money.Cent, 0)
			if p.run(f) != 1 || p.grants > 1 || i == 0 && p.grants != 1 {
				t.Errorf("reported %t: verdict %d after %d grants", reported, f.reply.Verdict, p.grants)
			}
		}
		last := p.flow(0, 919*money.Dollar, 0)
		if p.run(last, p.flow(0, 2*money.Dollar, 0)) != 1 {
			t.Errorf("reported %t: of what is left, verdict %d", reported, last.reply.Verdict)
		}
	}
}

// TestBurst: many requests at once on one key. As many are admitted as the budget affords, no fewer and no more.
func TestBurst(t *testing.T) {
	for seed := range uint64(30) {
		for _, c := range []struct {
			amount money.Pico
			want   int
		}{{15 * money.Cent, 50}, {20 * money.Cent, 50}, {40 * money.Cent, 25}, {3 * money.Dollar, 3}, {11 * money.Dollar, 0}} {
			p := newPressure(t, seed, 10*money.Dollar, 1)
			var flows []*flow
			for range 50 {
				flows = append(flows, p.flow(0, c.amount, 0))
			}
			if got := p.run(flows...); got != c.want || p.reserved(1) != money.Pico(c.want)*c.amount {
				t.Fatalf("seed %d: %d of 50 requests for %d were admitted, want %d", seed, got, c.amount, c.want)
			}
		}
	}
}

// TestLargeBurst: 500 at once with an ample budget are all admitted, with at most three calls of the Ledger each,
// whatever the slice had left or owed when they came.
func TestLargeBurst(t *testing.T) {
	for seed := range uint64(4) {
		for _, spent := range []money.Pico{0, 5 * money.Cent, 14 * money.Cent, 9 * money.Dollar} {
			p := newPressure(t, seed, 100_000*money.Dollar, 1)
			first := p.flow(0, money.Cent, 0) // the slice has 16 cents then
			p.run(first)
			p.settle(first, spent)
			p.grants = 0
			var flows []*flow
			for range 500 {
				flows = append(flows, p.flow(0, 10*money.Cent+p.random.Int64N(money.Dollar), 0))
			}
			if got := p.run(flows...); got != 500 || p.grants > 3*500 {
				t.Errorf("seed %d, %d spent: %d of 500 were admitted after %d calls of the Ledger", seed, spent, got, p.grants)
			}
		}
	}
}

// TestIdleSlices: keys hold all of the budget in slices that they do not use. The next key gets it all the same.
func TestIdleSlices(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 200, 1001, 1500} {
		p := newPressure(t, 1, money.Dollar*money.Pico(n)/10, n+2)
		for i := range n {
			f := p.flow(i, 10*money.Cent, 0)
			p.run(f)
			p.settle(f, 0)
		}
		part := p.flow(n, 10*money.Cent, 0)
		if p.run(part) != 1 {
			t.Errorf("%d keys hold idle slices: another one is refused", n)
		}
		p.settle(part, 0)
		for i := range 2 {
			if f := p.flow(n+i, money.Dollar*money.Pico(n)/10, 0); p.run(f) != 1 {
				t.Errorf("%d keys hold idle slices: another one is refused all of the budget", n)
			} else {
				p.settle(f, 0)
			}
		}
	}
}

// TestRefusalAsksNobody: what so much was spent of that nothing could help is refused with one call.
func TestRefusalAsksNobody(t *testing.T) {
	p := newPressure(t, 1, 10*money.Dollar, 40)
	for i := range 39 {
		f := p.flow(i, 10*money.Cent, 0)
		p.run(f)
		p.settle(f, 10*money.Cent)
		p.call(abi.ClassLedger, project, ledger.Batch(p.sim.flush(meterName(i), false).Absorbs))
	}
	p.grants = 0
	f := p.flow(39, 7*money.Dollar, 0)
	if p.run(f) != 0 || p.grants != 1 || f.calls != 2 {
		t.Errorf("%d admitted after %d calls", len(f.flush), f.calls)
	}
}

// TestLess: where the budget has no more, a request gets what there is, if it says that less will do.
func TestLess(t *testing.T) {
	for seed := range uint64(20) {
		p := newPressure(t, seed, 10*money.Dollar, 3)
		for i := range 2 {
			f := p.flow(i, money.Dollar, 0)
			p.run(f)
			p.settle(f, money.Dollar)
		}
		tooMuch, most := p.flow(2, 20*money.Dollar, 8*money.Dollar+1), p.flow(2, 20*money.Dollar, 8*money.Dollar)
		if p.run(tooMuch) != 0 {
			t.Errorf("%+v", tooMuch.reply)
		}
		if p.run(most) != 1 || most.reply.ReservedPico != 8*money.Dollar {
			t.Errorf("%+v", most.reply)
		}
		if again := p.admit(most.meter, most.admit); again.Verdict != keymeter.Admitted || again.ReservedPico != 8*money.Dollar {
			t.Errorf("asked again: %+v", again)
		}
		p.settle(most, 0)
		var flows []*flow
		for i := range 12 {
			flows = append(flows, p.flow(i%3, 2*money.Dollar, money.Dollar/2))
		}
		for _, f := range flows[:p.run(flows...)] {
			if f.admitted() && (f.reply.ReservedPico < money.Dollar/2 || f.reply.ReservedPico > 2*money.Dollar) {
				t.Errorf("%+v", f.reply)
			}
		}
		if sum := p.reserved(3); sum > 8*money.Dollar || sum <= 8*money.Dollar-money.Dollar/2 {
			t.Errorf("seed %d: %d of 8 dollars are reserved, and others were refused", seed, sum)
		}
	}
}

// TestManyKeysAtOnce: keys press on a budget that is too small for all, recall each other's slices while grants are
// under way, and end. What is left in the end is too little for those that were refused, when they ask once more.
func TestManyKeysAtOnce(t *testing.T) {
	const meters = 12
	refused := 0
	for seed := range uint64(10) {
		p := newPressure(t, seed, 10*money.Dollar, meters)
		var flows []*flow
		for range 90 {
			flows = append(flows, p.flow(p.random.IntN(meters), money.Cent+p.random.Int64N(40*money.Cent), 0))
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
			again.over, again.ask, again.admit.Grant = false, nil, keymeter.Grant{}
			fits := p.reserved(meters)+f.admit.AmountPico <= 10*money.Dollar
			if p.run(&again) == 1 != fits {
				t.Fatalf("seed %d: %d reserved, %d asked: verdict %d", seed, p.reserved(meters), f.admit.AmountPico, again.reply.Verdict)
			}
			if fits {
				refused++
			}
		}
	}
	t.Logf("%d requests were refused in the rush that fitted in afterwards", refused)
}
