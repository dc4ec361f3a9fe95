package route_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/route"
)

func init() { suite.FixSeed(nil) }

func targets(weights ...uint64) []config.Target {
	var all []config.Target
	for i, w := range weights {
		all = append(all, config.Target{Model: &config.Model{Name: fmt.Sprint("m", i)}, Weight: w})
	}
	return all
}

func weighted(targets []config.Target, random func() uint64) []byte {
	return (&route.Circuits{}).Order(config.Weighted, targets, 0, random, nil, all)
}

func TestOrderedIsAsListed(t *testing.T) {
	order := (&route.Circuits{}).Order(config.Ordered, targets(0, 9, 0), 0, nil, nil, all)
	if !bytes.Equal(order, []byte{0, 1, 2}) {
		t.Errorf("order %v", order)
	}
}

func TestCheapestFirst(t *testing.T) {
	costs := map[string]int64{"m0": 3, "m1": 1, "m2": 3, "m3": 2}
	cost := func(m *config.Model) int64 { return costs[m.Name] }
	if order := (&route.Circuits{}).Order(config.Cheapest, targets(9, 0, 0, 0), 0, nil, cost, all); !bytes.Equal(order, []byte{1, 3, 0, 2}) {
		t.Errorf("order %v", order)
	}
}

// TestFastestFirst: targets with unknown latencies come first, and the others are ordered by a decaying average.
func TestFastestFirst(t *testing.T) {
	c := &route.Circuits{}
	c.Succeeded("m0", false, 500, 1000)
	c.Succeeded("m1", false, 100, 1000)
	fastest := func(now uint64) []byte { return c.Order(config.Fastest, targets(0, 0, 0), now, nil, nil, all) }
	if order := fastest(1001); !bytes.Equal(order, []byte{2, 1, 0}) {
		t.Errorf("order %v", order)
	}
	c.Succeeded("m2", false, 300, 1002)
	for i := range uint64(40) {
		c = recoded(t, c)
		c.Succeeded("m1", false, 900, 2000+i)
	}
	if order := fastest(3000); !bytes.Equal(order, []byte{2, 0, 1}) {
		t.Errorf("order %v, m1 has %d ms", order, c.LatencyMs("m1", 3000))
	}
	if got := c.LatencyMs("m0", 301_000); got != 0 {
		t.Errorf("after five minutes the latency is still %d ms", got)
	}
	before := recoded(t, c)
	if before.Succeeded("m2", false, 310, 3000); before.Changed {
		t.Error("a latency close to the average was recorded")
	}
}

// TestHalfOpen: in the half-open state, one request probes the target while the others avoid it.
func TestHalfOpen(t *testing.T) {
	routing := &config.Routing{CoolAfter: 1, CoolMs: 100}
	c := &route.Circuits{}
	c.Failed(routing, "a", 1000)
	if c.Try(routing, "a", false, 1050); !c.Open("a", false, 1099) || c.Open("a", false, 1100) {
		t.Error("a request to an open target, sent because all are open, changed the circuit")
	}
	c.Try(routing, "a", false, 1100)
	if c = recoded(t, c); !c.Open("a", false, 1101) || !c.Open("a", false, 1199) || c.Open("a", false, 1200) {
		t.Error("during the probe the circuit must be open, for at most CoolMs")
	}
	c.Succeeded("a", false, 5, 1150)
	if c.Open("a", false, 1151) {
		t.Error("the probe's success did not close the circuit")
	}
}

// TestOrderFollowsWeights makes every possible draw once. Each target comes first as many times as its weight.
func TestOrderFollowsWeights(t *testing.T) {
	for _, weights := range [][]uint64{{1}, {1, 0}, {0, 1}, {1, 1}, {3, 0, 5, 2}, {0, 0, 7}, {100, 1}} {
		var total uint64
		for _, w := range weights {
			total += w
		}
		firsts := make([]uint64, len(weights))
		for draw := range total {
			order := weighted(targets(weights...), func() uint64 { return draw })
			firsts[order[0]]++
			checkOrder(t, order, len(weights))
		}
		for i, w := range weights {
			if firsts[i] != w {
				t.Errorf("%d draws with weights %v: target %d was first %d times", total, weights, i, firsts[i])
			}
		}
	}
}

// checkOrder checks that every target appears once, and that all targets after the first are in list order.
func checkOrder(t interface{ Errorf(string, ...any) }, order []byte, n int) {
	seen := map[byte]bool{}
	for i, at := range order {
		if seen[at] || int(at) >= n || i > 1 && order[i-1] >= at {
			t.Errorf("order %v", order)
		}
		seen[at] = true
	}
	if len(order) != n {
		t.Errorf("order %v, want %d targets", order, n)
	}
}

func TestOrderWithoutWeights(t *testing.T) {
	order := weighted(targets(0, 0, 0), func() uint64 { t.Error("a random number was used without weights"); return 0 })
	if !bytes.Equal(order, []byte{0, 1, 2}) {
		t.Errorf("order %v", order)
	}
}

func TestOrderProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint64Range(0, 1<<53), 1, 8).Draw(t, "weights")
		random := rapid.Uint64().Draw(t, "random")
		order := weighted(targets(weights...), func() uint64 { return random })
		checkOrder(t, order, len(weights))
		var total uint64
		for _, w := range weights {
			total += w
		}
		if total > 0 && weights[order[0]] == 0 {
			t.Fatalf("a target with weight 0 was drawn from %v", weights)
		}
	})
}

func TestBackoffBounds(t *testing.T) {
	routing := &config.Routing{BackoffMs: 250, MaxBackoffMs: 4000}
	for _, c := range []struct {
		retry, retryAfter, random uint64
		want                      uint64
		ok                        bool
	}{
		{0, 0, 0, 0, true},
		{0, 0, 250, 250, true},
		{0, 0, 251, 0, true},
		{1, 0, 500, 500, true},
		{4, 0, 4000, 4000, true},
		{5, 0, 4000, 4000, true},
		{5, 0, 4001, 0, true},
		{63, 0, 4000, 4000, true},
		{math.MaxUint64, 0, 4000, 4000, true},
		{0, 1000, 0, 1000, true},
		{0, 1000, 250, 1000, true},
		{3, 1000, 1500, 1500, true},
		{0, 4000, 0, 4000, true},
		{0, 4001, 0, 0, false},
		{0, math.MaxUint64, 0, 0, false},
	} {
		if got, ok := route.BackoffMs(routing, c.retry, c.retryAfter, c.random); got != c.want || ok != c.ok {
			t.Errorf("retry %d, Retry-After %d, random %d: %d, %v, want %d, %v", c.retry, c.retryAfter, c.random, got, ok, c.want, c.ok)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		routing := &config.Routing{
			BackoffMs: rapid.Uint64Range(0, 100_000).Draw(t, "backoff"), MaxBackoffMs: rapid.Uint64Range(0, 100_000).Draw(t, "max"),
		}
		after := rapid.Uint64Range(0, 200_000).Draw(t, "retry after")
		ms, ok := route.BackoffMs(routing, rapid.Uint64().Draw(t, "retry"), after, rapid.Uint64().Draw(t, "random"))
		if ok != (after <= routing.MaxBackoffMs) || ok && (ms < after || ms > routing.MaxBackoffMs) {
			t.Fatalf("backoff %d ms, %v", ms, ok)
		}
	})
}

// recoded encodes and decodes the circuits, as happens between two steps.
func recoded(t *testing.T, c *route.Circuits) *route.Circuits {
	t.Helper()
	decoded := route.DecodeCircuits(c.Encode())
	if decoded.Changed || !bytes.Equal(decoded.Encode(), c.Encode()) {
		t.Errorf("%x was decoded as %x", c.Encode(), decoded.Encode())
	}
	return &decoded
}

func TestCircuitOpens(t *testing.T) {
	routing := &config.Routing{CoolAfter: 3, CoolMs: 30_000}
	c := &route.Circuits{}
	for i := range uint64(3) {
		if c.Open("a", false, 1000+i) {
			t.Errorf("open after %d failures", i)
		}
		if opened := c.Failed(routing, "a", 1000+i); opened != (i == 2) || !c.Changed {
			t.Errorf("failure %d: opened %v, Changed %v", i, opened, c.Changed)
		}
		c = recoded(t, c)
	}
	if !c.Open("a", false, 1002) || !c.Open("a", false, 31_001) || c.Open("a", false, 31_002) || c.Open("b", false, 1002) {
		t.Error("the circuit of a must be open for 30 s, that of b closed")
	}
	// One more failure in the half-open state immediately opens the circuit again.
	if opened := c.Failed(routing, "a", 40_000); opened || !c.Open("a", false, 69_999) || c.Open("a", false, 70_000) {
		t.Errorf("the next failure did not leave the circuit open; opened %v", opened)
	}
	c.Succeeded("a", false, 10, 40_000)
	if c.Open("a", false, 40_001) {
		t.Error("a success did not close the circuit")
	}
	c.Failed(routing, "a", 80_000)
	if c.Open("a", false, 80_000) {
		t.Error("a success did not reset the failure count")
	}
}

func TestCircuitOpensAtFirstFailure(t *testing.T) {
	c := &route.Circuits{}
	if opened := c.Refused(&config.Routing{CoolAfter: 1, CoolMs: 10}, "a", 100); !opened || !c.Open("a", false, 109) || c.Open("a", false, 110) {
		t.Error("the circuit must be open for 10 ms after one failure")
	}
}

func TestGuesses(t *testing.T) {
	c := &route.Circuits{}
	for i := range uint64(30) {
		if wait := c.GuessWaitMs("1.2.3.4", 5000+i); wait != 0 {
			t.Errorf("must wait %d ms after %d guesses", wait, i)
		}
		c.Guessed("1.2.3.4", 5000+i)
		c = recoded(t, c)
	}
	for now, want := range map[uint64]uint64{5029: 59_971, 64_999: 1, 65_000: 0, 65_001: 0} {
		if wait := c.GuessWaitMs("1.2.3.4", now); wait != want {
			t.Errorf("at %d: %d ms, want %d", now, wait, want)
		}
	}
	if c.GuessWaitMs("1.2.3.5", 5030) != 0 {
		t.Error("another address must wait too")
	}
	c.Guessed("1.2.3.4", 65_000)
	if c.GuessWaitMs("1.2.3.4", 65_001) != 0 {
		t.Error("the count was not reset after a minute")
	}
}

// TestBlobIsBounded: neither models nor addresses make the blob grow without limit.
func TestBlobIsBounded(t *testing.T) {
	c := &route.Circuits{}
	for i := range 1000 {
		c.Failed(&config.Routing{CoolAfter: 1, CoolMs: 10}, fmt.Sprintf("model-%060d", i), 1_790_000_000_000)
		c.Guessed(fmt.Sprintf("%064d", i), 1_790_000_000_000)
	}
	if size := len(c.Encode()); size > 10_000 {
		t.Errorf("the blob has %d bytes", size)
	}
	if !c.Open(fmt.Sprintf("model-%060d", 999), false, 1_790_000_000_000) || c.Open(fmt.Sprintf("model-%060d", 0), false, 1_790_000_000_000) {
		t.Error("the newest target was dropped, or the oldest kept")
	}
}

func TestDamagedBlobIsIgnored(t *testing.T) {
	c := &route.Circuits{}
	c.Failed(&config.Routing{CoolAfter: 1, CoolMs: 10}, "a", 100)
	c.Guessed("1.2.3.4", 100)
	blob := c.Encode()
	for i := range blob {
		if d := route.DecodeCircuits(blob[:i]); len(d.Encode()) != 2 {
			t.Errorf("the truncated blob %x was decoded as %x", blob[:i], d.Encode())
		}
	}
	if d := route.DecodeCircuits(append(blob, 0)); len(d.Encode()) != 2 {
		t.Error("a blob with a trailing byte was accepted")
	}
}

// all makes every target usable.
func all(int) bool { return true }

// Unusable targets are not drawn, and the others keep their proportions.
func TestWeightsOfUsableTargets(t *testing.T) {
	usable := func(i int) bool { return i != 2 }
	var first [3]int
	for n := range uint64(100) {
		order := (&route.Circuits{}).Order(config.Weighted, targets(1, 1, 8), 0, func() uint64 { return n }, nil, usable)
		first[order[0]]++
	}
	if first != [3]int{50, 50, 0} {
		t.Errorf("%v", first)
	}
	none := (&route.Circuits{}).Order(config.Weighted, targets(1, 1, 8), 0, nil, nil, func(int) bool { return false })
	if !bytes.Equal(none, []byte{0, 1, 2}) {
		t.Errorf("%v", none)
	}
}

// A circuit opened by failures of the deployment's credentials does not affect requests with a project's own key, and
// their success does not close it. A single failure of another kind makes the open circuit apply to all requests.
func TestRefusedCredentials(t *testing.T) {
	r := &config.Routing{CoolAfter: 2, CoolMs: 100}
	c := &route.Circuits{}
	c.Refused(r, "a", 1000)
	c.Refused(r, "a", 1000)
	c = recoded(t, c)
	if !c.Open("a", false, 1001) || c.Open("a", true, 1001) {
		t.Error("the circuit must be open without an own key and closed with one")
	}
	if c.Try(r, "a", true, 1100); c.Open("a", false, 1100) {
		t.Error("a request with an own key counted as the probe")
	}
	c.Succeeded("a", true, 5, 1050)
	if !c.Open("a", false, 1051) || c.LatencyMs("a", 1051) != 5 {
		t.Error("a success with an own key closed the circuit, or its latency was not recorded")
	}
	c.Failed(r, "a", 1052)
	if !c.Open("a", true, 1053) {
		t.Error("after a general failure the circuit must be open with an own key too")
	}
	c.Succeeded("a", true, 5, 1060)
	if c.Open("a", false, 1061) {
		t.Error("a success must close the circuit")
	}
	c.Failed(r, "b", 1000)
	c.Refused(r, "b", 1000)
	if !c.Open("b", true, 1001) {
		t.Error("after mixed failures the circuit must be open with an own key too")
	}
}
