package ledger

import "github.com/postern-ai/postern/core/abi"

// Cause is the reason why an attempt at a provider failed.
type Cause uint8

// Causes.
const (
	CauseBusy        Cause = iota // status 429
	CauseRejected                 // another 4xx status
	CauseUnavailable              // a 5xx status
	CauseTimeout                  // no response in time
	CauseConnection               // the provider could not be reached
	CauseCut                      // the response ended early, or with an error in its stream, before its first content
	CauseUnusable                 // the response cannot be read, or does not match the request
	CauseBroken                   // a stream broke off after it had begun; its request counts as served
	Causes                        // number of causes
)

// Attempts counts the results of attempts at a model's provider. It leaves out the successful attempt of each served
// request. An attempt does not count if its client disconnected before the first content.
type Attempts struct {
	Failed  [Causes]uint64
	Rescued uint64 // requests that the model served because another target had failed or had an open circuit
	// Opened is the number of times that a failure opened the model's circuit. Each isolate or process that opens its
	// own circuit counts once. A failed probe leaves the circuit open and does not count. If a request's settlement
	// is lost, its count is lost too.
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

// Used reports whether any count is not 0.
func (a *Attempts) Used() bool { return *a != Attempts{} }

// OnlyAttempts reports whether the model has only failed attempts. Such a model served nothing, failed no request and
// cost nothing, because another model took over.
func (u *Usage) OnlyAttempts() bool {
	return u.Attempts.Used() && *u == Usage{Day: u.Day, Hour: u.Hour, Model: u.Model, Attempts: u.Attempts}
}

func (a *Attempts) fields(f *abi.Fields) {
	sparseFields(f, a.Failed[:])
	if CountFields(f, &a.Rescued, &a.Opened); !a.Used() {
		f.Fail()
	}
	if f.Reading() {
		for i := range a.Failed { // an older meter added up the combined numbers of settlements
			a.Opened += a.Failed[i] >> openedShift
			a.Failed[i] &= 1<<openedShift - 1
		}
	}
}

// CountFields encodes two counts as one number. Older versions, which may run alongside this one during an upgrade,
// read and add up the combined number. They show too high a value for the first count.
func CountFields(f *abi.Fields, count, opened *uint64) {
	both := *count&(1<<openedShift-1) | *opened<<openedShift
	if f.Uint(&both); f.Reading() {
		*count, *opened = both&(1<<openedShift-1), both>>openedShift
	}
}

const openedShift = 40

// Extras lists the figures of n usages that older versions do not know: first those of prompt caches, then those of
// failed attempts, then paths. They come at the end of a message and are written only if needed.
func Extras(f *abi.Fields, n int, usage func(i int) *Usage) {
	cached, failed, placed := false, false, false
	for i := range n {
		u := usage(i)
		cached, failed = cached || u.PromptCache.Used(), failed || u.Attempts.Used()
		placed = placed || u.Path.Used()
	}
	if f.Reading() {
		cached = f.More()
	}
	if !cached && !failed && !placed {
		return
	}
	last := cachedGroups(f, n, usage)
	if f.Reading() {
		failed = f.More()
	}
	if failed || placed {
		last = failedGroups(f, n, usage)
	}
	if f.Reading() {
		placed = f.More()
	}
	if placed {
		last = pathGroups(f, n, usage)
	}
	if !last { // the last section must contain figures
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
