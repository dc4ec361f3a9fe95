package ledger

import "github.com/postern-ai/postern/core/abi"

// Cause is why an attempt at a provider failed.
type Cause uint8

// Causes.
const (
	CauseBusy        Cause = iota // 429
	CauseRejected                 // another 4xx status
	CauseUnavailable              // a 5xx status
	CauseTimeout                  // no response in time
	CauseConnection               // not reached
	CauseCut                      // the response ended early, or with an error in its stream, before its first content
	CauseUnusable                 // the response cannot be read, or is not what the request asks for
	CauseBroken                   // a stream that had begun did not end well: its request counts as served
	CauseOpened                   // not a failure: this failure opened the circuit of the target
	Causes                        // their number
)

// Attempts counts what became of the attempts at a model's provider, besides the one that each served request has. An attempt whose
// client disconnected before its first content is not counted. Failed[CauseOpened] are no attempts: each isolate, or process, that opens the circuit counts once,
// and a probe that fails leaves it open. It is lost with the settlement of its request.
type Attempts struct {
	Failed  [Causes]uint64
	Rescued uint64 // requests that the model served because another target had failed, or has an open circuit
}

// Plus adds the figures of o.
func (a *Attempts) Plus(o *Attempts) {
	for i := range a.Failed {
		a.Failed[i] += o.Failed[i]
	}
	a.Rescued += o.Rescued
}

// Used reports whether an attempt failed at all.
func (a *Attempts) Used() bool { return *a != Attempts{} }

// OnlyAttempts reports whether the model has served, failed and cost nothing: its attempts failed, and another model took over.
func (u *Usage) OnlyAttempts() bool {
	return u.Attempts.Used() && *u == Usage{Day: u.Day, Hour: u.Hour, Model: u.Model, Attempts: u.Attempts}
}

func (a *Attempts) fields(f *abi.Fields) {
	sparseFields(f, a.Failed[:])
	if f.Uint(&a.Rescued); !a.Used() {
		f.Fail()
	}
}

// Extras lists the figures of n usages that older versions do not know: of prompt caches, then of failed attempts. They end a message,
// and it has none without need.
func Extras(f *abi.Fields, n int, usage func(i int) *Usage) {
	cached, failed := false, false
	for i := range n {
		u := usage(i)
		cached, failed = cached || u.PromptCache.Used(), failed || u.Attempts.Used()
	}
	if f.Reading() {
		cached = f.More()
	}
	if !cached && !failed {
		return
	}
	last := cachedGroups(f, n, usage)
	if f.Reading() {
		failed = f.More()
	}
	if failed {
		last = failedGroups(f, n, usage)
	}
	if !last { // the last section has figures
		f.Fail()
	}
}

func cachedGroups(f *abi.Fields, n int, usage func(i int) *Usage) (some bool) {
	for i := range n {
		p := &usage(i).PromptCache
		has := f.Group(p.Used())
		p.Fields(f, has)
		some = some || has
	}
	return some
}

func failedGroups(f *abi.Fields, n int, usage func(i int) *Usage) (some bool) {
	for i := range n {
		if a := &usage(i).Attempts; f.Group(a.Used()) {
			a.fields(f)
			some = true
		}
	}
	return some
}
