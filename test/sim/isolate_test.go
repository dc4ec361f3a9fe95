package sim_test

import "slices"

// isolate is one gateway instance. It has the memory that it keeps between exchanges, its clock, its view of KV, and
// its exchanges.
type isolate struct {
	w       *world
	number  int
	shared  []byte
	pinned  map[string]pinnedRow
	hot     map[string]hotRow
	flights map[string]*flight
	queues  map[string][]*waiting
	seen    map[string]kvSeen // KV values that were read here; they stay until they are refreshed
	offset  int64
	rate    int64 // how much too fast the clock runs, in permille
	jumped  bool
	// wentBackAt is the time of the last jump back, or 0 if there was none. back has the entries that have not
	// changed since that time.
	wentBackAt uint64
	back       map[string]bool
	running    []*exchange
	random     *rng
}

type hotRow struct {
	value     []byte
	expiresMs uint64
}

// colo is the data center's cache. Its entries may vanish at any time.
type colo map[string]hotRow

func (c colo) read(w *world, key string, r *rng) ([]byte, bool) {
	row, ok := c[key]
	if ok && (row.expiresMs <= w.now || w.plan.Faults.Evict && r.one(4)) {
		delete(c, key)
		return nil, false
	}
	return row.value, ok
}

type kvSeen struct {
	value   []byte
	ok      bool
	untilMs uint64
}

func newIsolate(w *world, n int) *isolate {
	return &isolate{w: w, number: n, pinned: map[string]pinnedRow{}, hot: map[string]hotRow{}, flights: map[string]*flight{}, queues: map[string][]*waiting{}, back: map[string]bool{}, seen: map[string]kvSeen{}, random: fork(w.plan.Seed, uint64(n)+1000)}
}

// clock returns the isolate's time in Unix milliseconds.
func (i *isolate) clock() uint64 {
	past := int64(i.w.now - i.w.plan.Start)
	return uint64(int64(i.w.now) + i.offset + past*i.rate/1000)
}

// clockOf returns the isolate's time in the form in which its exchanges see it.
func (w *world) clockOf(i *isolate) uint64 {
	if w.defect.clock != nil {
		return w.defect.clock(i, i.clock())
	}
	return i.clock()
}

// real returns the real time in which the isolate's clock advances by ms.
func (i *isolate) real(ms uint64) uint64 { return (ms*1000 + 999) / uint64(1000+i.rate) }

// kill ends every exchange of the isolate and clears its memory. Calls in flight still arrive.
func (i *isolate) kill() {
	i.w.stats.Faults++
	i.w.logf("isolate %d dies with %d exchanges", i.number, len(i.running))
	for _, x := range slices.Clone(i.running) {
		x.die()
	}
	i.w.killed = true
	for _, row := range i.pinned {
		i.w.forget(row.value)
	}
	i.shared, i.pinned, i.hot, i.flights, i.back = nil, map[string]pinnedRow{}, map[string]hotRow{}, map[string]*flight{}, map[string]bool{}
}

// maxPinned is the maximum number of entries in an isolate's pinned memory. It is small, so that sometimes a key
// finds no room.
const maxPinned = 3

type pinnedRow struct {
	value   []byte
	untilMs uint64
}

// unpin returns an entry. If nobody has changed the entry for the time that its exchange asked for, it drops the
// entry.
func (i *isolate) unpin(key string) []byte {
	row, ok := i.pinned[key]
	if ok && row.untilMs <= i.clock() {
		i.w.forget(row.value)
		delete(i.pinned, key)
	}
	return i.pinned[key].value
}

func (i *isolate) pin(key string, value []byte, keepMs uint64) {
	_, known := i.pinned[key]
	if len(i.pinned) >= maxPinned {
		i.dropExpired()
	}
	switch {
	case len(value) == 0:
		delete(i.pinned, key)
	case known || len(i.pinned) < maxPinned:
		i.pinned[key] = pinnedRow{value, i.clock() + keepMs}
	}
}

func (i *isolate) dropExpired() {
	for _, k := range i.w.keys { // the order is fixed, so that a run can be repeated exactly
		i.unpin("lease/" + k.hash)
	}
}

func (i *isolate) remember(key string, value []byte, keepMs uint64) {
	if len(value) == 0 || keepMs == 0 {
		delete(i.hot, key)
		return
	}
	i.hot[key] = hotRow{value, i.clock() + keepMs}
}

func (i *isolate) recall(key string) ([]byte, bool) {
	row, ok := i.hot[key]
	if ok && (row.expiresMs <= i.clock() || i.w.plan.Faults.Evict && i.random.one(4)) {
		delete(i.hot, key)
		return nil, false
	}
	return row.value, ok
}

// readKV reads KV in the way that this isolate sees it. A value may be up to 90 seconds old. The absence of a value
// may be, too.
func (i *isolate) readKV(key string) (value []byte, ok, down bool) {
	w := i.w
	if w.kv.downUntil > w.now {
		return nil, false, true
	}
	if seen, known := i.seen[key]; known && seen.untilMs > w.now {
		return seen.value, seen.ok, false
	}
	value, ok = w.kv.read(w.now, key)
	if w.plan.Faults.Stale {
		i.seen[key] = kvSeen{value, ok, w.now + i.random.below(90*secondMs)}
	}
	return value, ok, false
}
