// Package route orders the targets of a request, and keeps the circuit breakers and the counts of guessed keys.
package route

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Order returns the indexes of a route's targets in the order in which to try them. random returns the next random
// number. cost returns the expected cost of the request with a model, in picodollars. Unusable targets keep their
// place but have weight 0.
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
		// A target whose latency is unknown comes first, so that it gets measured.
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

// draw returns the index of a target drawn by weight, or 0 if all weights are 0.
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

// BackoffMs returns the backoff before a retry. The first retry has the number 0. The backoff is random. Its upper
// bound doubles with each retry, but the backoff is at least the provider's Retry-After. If Retry-After exceeds
// MaxBackoffMs, ok is false.
func BackoffMs(r *config.Routing, retry, retryAfterMs, random uint64) (ms uint64, ok bool) {
	if retryAfterMs > r.MaxBackoffMs {
		return 0, false
	}
	bound := min(r.BackoffMs<<min(retry, 10), r.MaxBackoffMs)
	return max(retryAfterMs, random%(bound+1)), true
}

// Circuits is the state that an isolate shares between exchanges, stored as one blob. It has the targets' circuit
// breakers, and the number of unknown keys that each client address has tried.
type Circuits struct {
	Changed   bool
	targets   []circuit
	addresses []address
}

// circuit is the circuit breaker of one target. It is closed while requests succeed, open after Routing.CoolAfter
// consecutive failures, and then half-open. In the half-open state, one request probes the target while the others
// avoid it.
type circuit struct {
	model     string
	failures  uint64 // consecutive
	refused   bool   // all failures are about the deployment's credentials; a project's own key may still work
	untilMs   uint64 // Unix time until which it is open
	latencyMs uint64 // time to first token, as a decaying average; 0 if unknown
	seenMs    uint64 // time of its last measurement
}

// address counts the unknown keys from one client address.
type address struct {
	name    string // the client's IP address
	guesses uint64
	sinceMs uint64 // start of the current window
}

// The blob's limits, and the number of unknown keys that an address may try per minute.
const (
	maxTargets     = 64
	maxAddresses   = 64
	guessesAllowed = 30
	guessWindowMs  = 60_000
)

// DecodeCircuits decodes the blob. A damaged blob gives empty circuits.
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

// Encode returns the blob.
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

// of returns a target's circuit. If the target has none, it adds one. At maxTargets, it drops the oldest.
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

// Open reports whether a target's circuit is open. owned means that the request uses a project's own key.
func (c *Circuits) Open(model string, owned bool, now uint64) bool {
	t := c.find(model)
	return t != nil && t.untilMs > now && !(owned && t.refused)
}

// Try records that a request is sent to a target. If the target's circuit is half-open, the request is the probe. The
// circuit opens again for CoolMs unless the probe succeeds.
func (c *Circuits) Try(r *config.Routing, model string, owned bool, now uint64) {
	if t := c.find(model); t != nil && t.failures >= r.CoolAfter && t.untilMs <= now && !(owned && t.refused) {
		t.untilMs = now + r.CoolMs
		c.Changed = true
	}
}

// Failed counts a failure. CoolAfter consecutive failures open the circuit. Failed returns true for the failure that
// opens it. Later failures keep it open, and Failed returns false for them.
func (c *Circuits) Failed(r *config.Routing, model string, now uint64) (opened bool) {
	return c.failed(r, model, false, now)
}

// Refused counts a failure caused by the deployment's credentials, which the provider rejects or rate-limits.
func (c *Circuits) Refused(r *config.Routing, model string, now uint64) (opened bool) {
	return c.failed(r, model, true, now)
}

func (c *Circuits) failed(r *config.Routing, model string, refused bool, now uint64) (opened bool) {
	t := c.of(model)
	t.refused = refused && (t.failures == 0 || t.refused)
	if t.failures++; t.failures >= r.CoolAfter {
		t.untilMs = now + r.CoolMs
	}
	return t.failures == max(1, r.CoolAfter)
}

// Succeeded closes the circuit and records the time to first token. A measurement close to the average is skipped,
// because each change of the blob makes hosts store it.
func (c *Circuits) Succeeded(model string, owned bool, latencyMs, now uint64) {
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

// Target is the health of one target, as seen by one isolate.
type Target struct {
	Model     string
	State     string // closed, open or half_open
	LatencyMs uint64 // 0: unknown
}

// Targets returns the targets that this isolate has called.
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

// near reports whether a latency is within an eighth of the average.
func near(average, latencyMs uint64) bool {
	return latencyMs <= average+average/8 && latencyMs+average/8 >= average
}

// noteLatencyMs is the age after which even a similar latency is recorded.
const noteLatencyMs = 60_000

// forgetLatencyMs is the age after which a latency is unknown again.
const forgetLatencyMs = 300_000

// LatencyMs returns a target's average time to first token, or 0 if it is unknown or too old.
func (c *Circuits) LatencyMs(model string, now uint64) uint64 {
	if t := c.find(model); t != nil && t.seenMs+forgetLatencyMs > now {
		return t.latencyMs
	}
	return 0
}

// Guessed counts a request with an unknown key from an address.
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

// GuessWaitMs returns how long an address must wait before it may try another unknown key. It is usually 0.
func (c *Circuits) GuessWaitMs(name string, now uint64) uint64 {
	for _, a := range c.addresses {
		if a.name == name && a.guesses >= guessesAllowed && a.sinceMs+guessWindowMs > now {
			return a.sinceMs + guessWindowMs - now
		}
	}
	return 0
}
