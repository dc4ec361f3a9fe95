package keymeter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
)

// promise is what docs/guides/limits-and-budgets.md says about the one-second window. An admission counts for 1,000
// ms from the millisecond of its decision. A request is admitted if and only if the number of admissions that count
// is below the limit. If the clock goes back to before the last admission, the window is full for 1,000 ms.
type promise struct {
	limit  int
	counts []uint64 // times of the admissions, oldest first
	fullMs uint64   // until when the window is full after a clock step
	lastMs uint64   // last admission or clock step; a refusal stores nothing
}

func (p *promise) decide(now uint64) (admitted bool) {
	if now < p.lastMs {
		p.counts, p.fullMs, p.lastMs = nil, now+calendar.SecondMs, now
	}
	for len(p.counts) > 0 && p.counts[0]+calendar.SecondMs <= now {
		p.counts = p.counts[1:]
	}
	if len(p.counts) >= p.limit || now < p.fullMs {
		return false
	}
	p.counts, p.lastMs = append(p.counts, now), now
	return true
}

// TestSecondAsPromised checks every decision in bursts, trickles and clock steps. Nothing is admitted beyond the
// promise, and nothing within it is refused. It also checks that the retry time is exact.
func TestSecondAsPromised(t *testing.T) {
	steps := []uint64{0, 0, 0, 0, 1, 1, 7, 50, 333, 998, 999, 1000, 1001, 60_000}
	modes := []keymeter.Mode{keymeter.ModeCount, keymeter.ModeHit}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 8))
		k, want := newKey(t, record("counted")), promise{limit: 4}
		for i := range 60 { // fewer than the day admits
			if k.now += steps[random.IntN(len(steps))]; random.IntN(30) == 0 {
				k.now -= uint64(random.IntN(3000))
			}
			reply := k.admit(keymeter.Admit{Mode: modes[random.IntN(2)], Grant: keymeter.Grant{Period: november, Epoch: 1}})
			if admitted := want.decide(k.now); (reply.Verdict == keymeter.Admitted) != admitted {
				t.Fatalf("seed %d, decision %d at %d: %+v, want admitted: %t; admissions at %v", seed, i, k.now, reply, admitted, want.counts)
			}
			if reply.Verdict != keymeter.RateLimited {
				continue
			}
			k.now += reply.RetryMs - 1
			if early := k.admit(keymeter.Admit{Mode: keymeter.ModeCount}); early.Verdict != keymeter.RateLimited || early.RetryMs != 1 {
				t.Fatalf("seed %d, decision %d: a millisecond before the retry: %+v", seed, i, early)
			}
			want.decide(k.now)
		}
	}
}

// TestSecondHasNoEdge checks pairs of bursts on both sides of an instant. Together, the two bursts have twice the
// limit. A window that begins at full seconds would admit both.
func TestSecondHasNoEdge(t *testing.T) {
	for gap := uint64(1); gap <= 1100; gap++ {
		k := newKey(t, record("counted"))
		burst := func() (admitted uint64) {
			for range 8 {
				if k.admit(keymeter.Admit{Mode: keymeter.ModeCount}).Verdict == keymeter.Admitted {
					admitted++
				}
			}
			return admitted
		}
		k.now += 999 - gap%7
		first := burst()
		k.now += gap
		second, want := burst(), uint64(0)
		if gap >= calendar.SecondMs {
			want = 4
		}
		if first != 4 || second != want {
			t.Fatalf("%d ms apart: %d and %d admitted, want 4 and %d", gap, first, second, want)
		}
	}
}
