// Package route decides which target comes next, and remembers which ones to leave alone for a while.
package route

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Order is the order in which to try a route's targets: the first drawn by weight among those that have
// one, the others as they are listed. random returns the next random number.
func Order(targets []config.Target, random func() uint64) []byte {
	var total uint64
	for _, t := range targets {
		total += t.Weight
	}
	first := 0
	if total > 0 {
		draw := random() % total
		for i, t := range targets {
			if draw < t.Weight {
				first = i
				break
			}
			draw -= t.Weight
		}
	}
	order := []byte{byte(first)}
	for i := range targets {
		if i != first {
			order = append(order, byte(i))
		}
	}
	return order
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

type circuit struct {
	model    string
	failures uint64 // in a row
	untilMs  uint64 // it rests until then
}

type address struct {
	name    string
	guesses uint64
	sinceMs uint64
}

// Bounds of the blob, and how many unknown keys an address may try in a minute.
const (
	maxTargets     = 32
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
		c.targets = append(c.targets, circuit{r.String(), r.Uint(), r.Uint()})
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
		w.Uint(t.untilMs)
	}
	w.Uint(uint64(len(c.addresses)))
	for _, a := range c.addresses {
		w.String(a.name)
		w.Uint(a.guesses)
		w.Uint(a.sinceMs)
	}
	return w.Buf
}

// Resting says whether a target is to be left alone.
func (c *Circuits) Resting(model string, now uint64) bool {
	for _, t := range c.targets {
		if t.model == model {
			return t.untilMs > now
		}
	}
	return false
}

// Failed counts a failure; after so many in a row the target rests.
func (c *Circuits) Failed(r *config.Routing, model string, now uint64) {
	c.Changed = true
	for i := range c.targets {
		t := &c.targets[i]
		if t.model != model {
			continue
		}
		if t.failures++; t.failures >= r.CoolAfter {
			t.untilMs = now + r.CoolMs
		}
		return
	}
	t := circuit{model: model, failures: 1}
	if r.CoolAfter == 1 {
		t.untilMs = now + r.CoolMs
	}
	if len(c.targets) == maxTargets {
		c.targets = c.targets[1:]
	}
	c.targets = append(c.targets, t)
}

// Worked ends a row of failures.
func (c *Circuits) Worked(model string) {
	for i := range c.targets {
		if c.targets[i].model == model {
			c.targets = append(c.targets[:i], c.targets[i+1:]...)
			c.Changed = true
			return
		}
	}
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
