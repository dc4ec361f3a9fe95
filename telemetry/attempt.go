package telemetry

import (
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/host"
)

// attempt implements host.ObservedAttempt. The exchange's mutex guards its fields.
type attempt struct {
	x        *observed
	fetch    exchange.Fetch
	started  time.Time
	took     time.Duration // 0: not ended
	status   int           // 0: no response head
	fault    uint64
	canceled bool
	span     attemptSpan
}

// describe describes a fetch. If it cannot read the exchange's state, the fetch is counted without names.
func describe(c *catalog, id uint64, state host.State) (f exchange.Fetch) {
	defer func() {
		if recover() != nil { // the configuration was replaced at just this moment
			f = exchange.Fetch{}
		}
	}()
	if c.config == nil {
		return f
	}
	f, _ = state.DescribeFetch(c.config, id)
	return f
}

// Head implements host.ObservedAttempt.
func (a *attempt) Head(status int) {
	a.x.mu.Lock()
	defer a.x.mu.Unlock()
	if !a.x.ended {
		a.status = status
	}
}

// End implements host.ObservedAttempt.
func (a *attempt) End(fault uint64, canceled bool) {
	a.x.mu.Lock()
	defer a.x.mu.Unlock()
	if !a.x.ended && a.took == 0 {
		a.took, a.fault, a.canceled = max(1, time.Since(a.started)), fault, canceled
	}
}

// conclude counts the attempt at the end of its exchange.
func (a *attempt) conclude(now time.Time) {
	if a.took == 0 {
		a.took, a.canceled = max(1, now.Sub(a.started)), true
	}
	outcome, m := a.outcome(), a.x.t.metrics
	m.attempts.of(attemptKey{a.fetch.Provider, a.fetch.Model, outcome}).Inc()
	m.attemptTimes.of(a.fetch.Provider).Observe(a.took.Seconds())
	a.span.end(a, outcome)
}

// canceled is the outcome of an attempt that the exchange gave up, usually because the caller disconnected.
const canceled = "canceled"

// outcome returns the attempt's status or fault, in the words of the header x-postern-attempts. If a fetch was
// canceled after its response had ended, it counts as complete.
func (a *attempt) outcome() string {
	switch {
	case !a.canceled && a.fault == 0:
		return statusWord(a.status)
	case !a.canceled:
		return faultWord(a.fault)
	}
	for i := range a.x.done.broken {
		b := &a.x.done.broken[i]
		if provider, model, ok := strings.Cut(b.target, "/"); ok && provider == a.fetch.Provider && model == a.fetch.Model {
			word := a.x.t.words.of([]byte(b.code))
			*b = brokenStream{}
			return word
		}
	}
	if a.x.done.status == 200 && a.status == 200 {
		return statusWord(a.status)
	}
	return canceled
}

func faultWord(code uint64) string {
	switch code {
	case abi.FaultConnect, abi.FaultUndelivered:
		return "unreachable"
	case abi.FaultHead, abi.FaultFirstByte, abi.FaultIdle, abi.FaultTotal:
		return "timeout"
	case abi.FaultCut, abi.FaultClosing:
		return "shutdown"
	case abi.FaultTooLarge:
		return "too_large"
	}
	return "broken"
}
