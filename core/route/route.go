// Package route decides which target comes next, and remembers which ones to leave alone for a while.
package route

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Order is the order in which to try a route's targets. random returns the next random number; cost is what
// the request should cost at a target; usable says whether it can be asked at all (it has a place all the same,
// but no share).
func (c *Circuits) Order(
	s config.Strategy, targets []config.Target, now uint64, random func() uint64, cost func(*config.Model) int64, usable func(int) bool,
) []byte {
	order := make([]byte, len(targets))
	for i := range order {
		order[i] = byte(i)
	}
	switch s {
	case config.Weighted:
		first := draw(targets, random, usable)
		copy(order[1:first+1], order[:first])
		order[0] = byte(first)
	case config.Cheapest:
		slices.SortStableFunc(order, func(a, b byte) int {
			return compare(cost(targets[a].Model), cost(targets[b].Model))
		})
	case config.Fastest:
		// Of what is not known, one is tried: that is how it becomes known.
		slices.SortStableFunc(order, func(a, b byte) int {
			return compare(int64(c.LatencyMs(targets[a].Model.Name, now)), int64(c.LatencyMs(targets[b].Model.Name, now)))
		})
	}
	return order
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// draw is a target by weight; the first if none has any.
func draw(targets []config.Target, random func() uint64, usable func(int) bool) int {
	weight := func(i int) uint64 {
		if !usable(i) {
			return 0
		}
		return targets[i].Weight
	}
	var total uint64
	for i := range targets {
		total += weight(i)
	}
	if total == 0 {
		return 0
	}
	number := random() % total
	for i := range targets {
		if number < weight(i) {
			return i
		}
		number -= weight(i)
	}
	return 0
}

// BackoffMs is how long to wait before a retry: full jitter below a doubling bound, but at least what the
// provider asked for. Beyond the longest wait it says no.
func BackoffMs(r *config.Routing, retry, retryAfterMs, random uint64) (ms uint64, ok bool) {
	if retryAfterMs > r.MaxBackoffMs {
		return 0, false
	}
	bound := min(r.BackoffMs<<min(retry, 10), r.MaxBackoffMs)
	return max(retryAfterMs, random%(bound+1)), true
}

// Circuits is what an isolate knows of its targets and of addresses that guess keys: the shared blob.
type Circuits struct {
	Changed   bool
	targets   []circuit
	addresses []address
}

// circuit is one target: closed while it works, open (resting) after so many failures in a row, and then half
// open: one request tries it, and the others wait for what becomes of that.
type circuit struct {
	model     string
	failures  uint64 // in a row
	refused   bool   // all of them were of the deployment's credentials: a project's own may still do
	untilMs   uint64 // it rests until then
	latencyMs uint64 // to the first piece of an answer, a decayed average; 0: not known
	seenMs    uint64 // when that was last measured
}

type address struct {
	name    string
	guesses uint64
	sinceMs uint64
}

// Bounds of the blob, and how many unknown keys an address may try in a minute.
const (
	maxTargets     = 64
	maxAddresses   = 64
	guessesAllowed = 30
	guessWindowMs  = 60_000
)

// DecodeCircuits reads the blob; one that cannot be read is as good as none.
func DecodeCircuits(data []byte) Circuits {
	var c Circuits
	if len(data) == 0 {
		return c
	}
	r := abi.Reader{Buf: data}
	for n := r.Count(); n > 0; n-- {
		c.targets = append(c.targets, circuit{r.String(), r.Uint(), r.Bool(), r.Uint(), r.Uint(), r.Uint()})
	}
	for n := r.Count(); n > 0; n-- {
		c.addresses = append(c.addresses, address{r.String(), r.Uint(), r.Uint()})
	}
	if r.End() != nil {
		return Circuits{}
	}
	return c
}

// Encode is the blob.
func (c *Circuits) Encode() []byte {
	var w abi.Writer
	w.Uint(uint64(len(c.targets)))
	for _, t := range c.targets {
		w.String(t.model)
		w.Uint(t.failures)
		w.Bool(t.refused)
		w.Uint(t.untilMs)
		w.Uint(t.latencyMs)
		w.Uint(t.seenMs)
	}
	w.Uint(uint64(len(c.addresses)))
	for _, a := range c.addresses {
		w.String(a.name)
		w.Uint(a.guesses)
		w.Uint(a.sinceMs)
	}
	return w.Buf
}

func (c *Circuits) find(model string) *circuit {
	for i := range c.targets {
		if c.targets[i].model == model {
			return &c.targets[i]
		}
	}
	return nil
}

// of is a target's circuit, a new one if it has none. The oldest makes room.
func (c *Circuits) of(model string) *circuit {
	c.Changed = true
	if t := c.find(model); t != nil {
		return t
	}
	if len(c.targets) == maxTargets {
		c.targets = c.targets[1:]
	}
	c.targets = append(c.targets, circuit{model: model})
	return &c.targets[len(c.targets)-1]
}

// Resting says whether a target is to be left alone; owned, by who has credentials of their own for it.
func (c *Circuits) Resting(model string, owned bool, now uint64) bool {
	t := c.find(model)
	return t != nil && t.untilMs > now && !(owned && t.refused)
}

// Try notes that a request goes to a target. If that has rested, it is a probe: the next comes only when
// this one has succeeded, or as much later as a rest takes.
func (c *Circuits) Try(r *config.Routing, model string, owned bool, now uint64) {
	if t := c.find(model); t != nil && t.failures >= r.CoolAfter && t.untilMs <= now && !(owned && t.refused) {
		t.untilMs = now + r.CoolMs
		c.Changed = true
	}
}

// Failed counts a failure; after so many in a row the target rests.
func (c *Circuits) Failed(r *config.Routing, model string, now uint64) {
	c.failed(r, model, false, now)
}

// Refused counts a failure that is the deployment's credentials': they are unknown, or used up for a while.
func (c *Circuits) Refused(r *config.Routing, model string, now uint64) {
	c.failed(r, model, true, now)
}

func (c *Circuits) failed(r *config.Routing, model string, refused bool, now uint64) {
	t := c.of(model)
	t.refused = refused && (t.failures == 0 || t.refused)
	if t.failures++; t.failures >= r.CoolAfter {
		t.untilMs = now + r.CoolMs
	}
}

// Worked ends a row of failures, and takes a measurement: how long the first piece of an answer took. One
// that says nothing new is not noted: hosts carry the blob from step to step.
func (c *Circuits) Worked(model string, owned bool, latencyMs, now uint64) {
	latencyMs = max(latencyMs, 1)
	t := c.find(model)
	ends := t != nil && t.failures > 0 && !(owned && t.refused)
	if t != nil && !ends && t.seenMs+noteLatencyMs > now && near(t.latencyMs, latencyMs) {
		return
	}
	t = c.of(model)
	if ends {
		t.failures, t.untilMs = 0, 0
	}
	if t.latencyMs == 0 || t.seenMs+forgetLatencyMs <= now {
		t.latencyMs = latencyMs
	} else {
		t.latencyMs = (t.latencyMs*7 + latencyMs + 4) / 8
	}
	t.seenMs = now
}

// Target is what an isolate knows of one target.
type Target struct {
	Model     string
	State     string // closed, open or half_open
	LatencyMs uint64 // 0: not known
}

// Targets are those that the isolate has seen.
func (c *Circuits) Targets(r *config.Routing, now uint64) (targets []Target) {
	for _, t := range c.targets {
		state := "closed"
		if t.untilMs > now {
			state = "open"
		} else if t.failures >= r.CoolAfter {
			state = "half_open"
		}
		targets = append(targets, Target{t.model, state, c.LatencyMs(t.model, now)})
	}
	return targets
}

// near: within an eighth.
func near(average, latencyMs uint64) bool {
	return latencyMs <= average+average/8 && latencyMs+average/8 >= average
}

const noteLatencyMs = 60_000

// forgetLatencyMs is after how long a target is measured anew.
const forgetLatencyMs = 300_000

// LatencyMs is a target's average; 0 if it is not known, or too old.
func (c *Circuits) LatencyMs(model string, now uint64) uint64 {
	if t := c.find(model); t != nil && t.seenMs+forgetLatencyMs > now {
		return t.latencyMs
	}
	return 0
}

// Guessed counts an unknown key that came from an address.
func (c *Circuits) Guessed(name string, now uint64) {
	c.Changed = true
	for i := range c.addresses {
		a := &c.addresses[i]
		if a.name != name {
			continue
		}
		if a.sinceMs+guessWindowMs <= now {
			a.guesses, a.sinceMs = 0, now
		}
		a.guesses++
		return
	}
	if len(c.addresses) == maxAddresses {
		c.addresses = c.addresses[1:]
	}
	c.addresses = append(c.addresses, address{name, 1, now})
}

// GuessWaitMs is how long an address has to wait before it may try another unknown key; usually 0.
func (c *Circuits) GuessWaitMs(name string, now uint64) uint64 {
	for _, a := range c.addresses {
		if a.name == name && a.guesses >= guessesAllowed && a.sinceMs+guessWindowMs > now {
			return a.sinceMs + guessWindowMs - now
		}
	}
	return 0
}
