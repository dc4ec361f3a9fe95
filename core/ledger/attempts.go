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
	Causes                        // their number
)

// Attempts counts what became of the attempts at a model's provider, besides the one that each served request has. An attempt whose
// client disconnected before its first content is not counted.
type Attempts struct {
	Failed  [Causes]uint64
	Rescued uint64 // requests that the model served because another target had failed, or has an open circuit
	// Opened is how often a failure opened the model's circuit: once for each isolate, or process, that opens its own. A probe that fails
	// leaves it open. The count is lost with the settlement of its request.
	Opened uint64
}

// Plus adds the figures of o.
func (a *Attempts) Plus(o *Attempts) {
	for i := range a.Failed {
		a.Failed[i] += o.Failed[i]
	}
	a.Rescued += o.Rescued
	a.Opened += o.Opened
}

// Used reports whether an attempt failed at all.
func (a *Attempts) Used() bool { return *a != Attempts{} }

// OnlyAttempts reports whether the model has served, failed and cost nothing: its attempts failed, and another model took over.
func (u *Usage) OnlyAttempts() bool {
	return u.Attempts.Used() && *u == Usage{Day: u.Day, Hour: u.Hour, Model: u.Model, Attempts: u.Attempts}
}

func (a *Attempts) fields(f *abi.Fields) {
	sparseFields(f, a.Failed[:])
	if CountFields(f, &a.Rescued, &a.Opened); !a.Used() {
		f.Fail()
	}
	if f.Reading() {
		for i := range a.Failed { // an older meter has added up whole numbers of a settlement
			a.Opened += a.Failed[i] >> openedShift
			a.Failed[i] &= 1<<openedShift - 1
		}
	}
}

// CountFields are two counts in one number. Older versions, which run beside this one during an upgrade, read and add up the number
// unchanged. They show too many of the first.
func CountFields(f *abi.Fields, count, opened *uint64) {
	both := *count&(1<<openedShift-1) | *opened<<openedShift
	if f.Uint(&both); f.Reading() {
		*count, *opened = both&(1<<openedShift-1), both>>openedShift
	}
}

const openedShift = 40

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
