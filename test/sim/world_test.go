package sim_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

const (
	secondMs = 1000
	minuteMs = 60 * secondMs
	hourMs   = 60 * minuteMs
	dayMs    = 24 * hourMs
)

// world is one run. now is real time. Each part of the world has a clock, which shows now plus the clock's offset.
type world struct {
	plan         *plan
	now          uint64
	queue        queue
	isolates     []*isolate
	objects      map[objectID]*object
	ordered      []*object
	kv           kv
	colo         colo
	projects     []*project
	groups       []*group // the deployment's first; none: the world has no tree
	nodes        []*node  // of all groups and projects
	keys         []*key
	byHash       map[string]*key
	exchanges    []*exchange
	byID         map[string]*exchange
	dispatched   map[idemID]*exchange // the latest exchange under an idempotency key that was sent to a provider
	fetches      []*fetch
	stats        *stats
	defect       defect
	trace        *strings.Builder // nil: no trace
	objectOffset int64            // offset of the objects' clocks
	killed       bool             // an isolate has died
	jumped       bool             // a clock has jumped
}

// failure ends a run at the first violation. Later violations may only be its consequences.
type failure struct{ rule, text string }

func (w *world) fail(rule, format string, args ...any) {
	if slices.Contains(ignored, rule) {
		return
	}
	panic(failure{rule, fmt.Sprintf(format, args...)})
}

func (w *world) logf(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "# %8d  ", w.now-w.plan.Start)
		fmt.Fprintf(w.trace, format, args...)
		w.trace.WriteByte('\n')
	}
}

// event is something that happens at a time. If events have the same time, they run in the order in which they were
// scheduled.
type event struct {
	at, seq uint64
	do      func()
}

// queue is a binary min-heap of events.
type queue struct {
	heap []event
	seq  uint64
}

func (q *queue) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (q *queue) push(at uint64, do func()) {
	q.seq++
	q.heap = append(q.heap, event{at, q.seq, do})
	for i := len(q.heap) - 1; i > 0 && q.less(i, (i-1)/2); i = (i - 1) / 2 {
		q.heap[i], q.heap[(i-1)/2] = q.heap[(i-1)/2], q.heap[i]
	}
}

func (q *queue) pop() event {
	first, last := q.heap[0], len(q.heap)-1
	q.heap[0], q.heap[last] = q.heap[last], event{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && q.less(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

// after schedules do to run in ms milliseconds.
func (w *world) after(ms uint64, do func()) { w.queue.push(w.now+ms, do) }

// delay returns a random latency in milliseconds, within the range that the plan selects.
func (w *world) delay(r *rng) uint64 {
	switch w.plan.Delay {
	case "short":
		return r.below(12)
	case "long":
		if r.one(8) {
			return r.below(4000)
		}
		return r.below(60)
	}
	return 0
}

// maxEvents is a number of events. If a world has more, it counts as one that does not end.
const maxEvents = 2_000_000

// run carries out a plan until the event queue is empty. Then it reconciles the accounts. It returns the first
// violation, or nil.
func run(p *plan, b defect, s *stats, trace *strings.Builder) (wrong *failure) {
	w := newWorld(p, b, s, trace)
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(fmt.Sprintf("%v\n%s", r, p.text()))
			}
			wrong = &f
		}
	}()
	for i := range p.Items {
		w.schedule(i)
	}
	w.settleDown()
	w.reconcile()
	return nil
}

// settleDown runs all events except those hours later, which only remove old rows.
func (w *world) settleDown() { w.drainWhile(func(at uint64) bool { return at < w.now+6*hourMs }) }

func (w *world) drain() { w.drainWhile(func(uint64) bool { return true }) }

// drainWhile runs the events until one has a time that goes rejects.
func (w *world) drainWhile(goes func(at uint64) bool) {
	for n := 0; len(w.queue.heap) > 0 && goes(w.queue.heap[0].at); n++ {
		if n == maxEvents {
			w.fail("I13", "the world does not terminate")
		}
		e := w.queue.pop()
		w.now = max(w.now, e.at)
		e.do()
	}
}

func newWorld(p *plan, b defect, s *stats, trace *strings.Builder) *world {
	w := &world{plan: p, now: p.Start, colo: colo{}, objects: map[objectID]*object{}, byHash: map[string]*key{}, byID: map[string]*exchange{}, dispatched: map[idemID]*exchange{}, stats: s, defect: b, trace: trace}
	w.kv.init()
	for i := range max(1, p.Isolates) {
		w.isolates = append(w.isolates, newIsolate(w, i))
		if p.Drift {
			w.isolates[i].rate = pick(fork(p.Seed, uint64(i)+2000), int64(-47), -20, 0, 20, 50)
		}
	}
	w.setUp()
	s.Worlds++
	if !p.Faults.any() {
		s.Calm++
	}
	return w
}

// schedule queues an item, once for each repetition.
func (w *world) schedule(n int) {
	it := &w.plan.Items[n]
	for i := range max(1, it.Times) {
		at := w.plan.Start + it.At + uint64(i)*it.Every
		w.queue.push(at, func() { w.happen(n, i) })
	}
}

func (w *world) happen(n, i int) {
	it := &w.plan.Items[n]
	switch it.Do {
	case "ask":
		w.ask(n, i)
	case "kill":
		w.isolate(it.Isolate).kill()
	case "cut":
		w.isolate(it.Isolate).cut()
	case "jump":
		w.jump(it)
	case "kv":
		w.kv.downUntil = max(w.kv.downUntil, w.now+uint64(it.Ms))
		w.stats.Faults++
		w.logf("KV is down for %d ms", it.Ms)
	default:
		w.operate(it)
	}
}

func (w *world) isolate(n int) *isolate { return w.isolates[n%len(w.isolates)] }

// jump moves the clocks of all objects, or the clock of one isolate.
func (w *world) jump(it *item) {
	w.stats.Faults++
	w.jumped = true
	w.logf("a clock jumps by %d ms: %s %d", it.Ms, it.Name, it.Isolate)
	if it.Name != "objects" {
		i := w.isolate(it.Isolate)
		i.offset, i.jumped = i.offset+it.Ms, true
		if it.Ms < 0 {
			i.jumpBack()
		}
		return
	}
	for _, o := range w.ordered {
		o.offset += it.Ms
		o.reset()
		if k := w.byHash[o.name]; k != nil && o.class == abi.ClassKeyMeter {
			k.jumped++
			if it.Ms > 0 {
				k.forwards++
			}
		}
	}
	for _, n := range w.nodes {
		n.jumped = true
	}
	w.objectOffset += it.Ms
}
