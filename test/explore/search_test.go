package explore_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// maxStates is the maximum number of states of a scenario. If a scenario has more, it fails. The search never stops
// early.
const maxStates = 150_000

// node is a state, and the step that has led to it.
type node struct {
	from    int32
	choices string // decisions of the oracle on the way here, one byte each
	world   *world // nil once expanded
	open    []uint64
}

type edge struct {
	from, to int32
	id       uint64 // ID of the action that gets its reply; 0: none
}

// finding is a violation. It has the shortest path to the violation.
type finding struct{ what, transcript string }

type search struct {
	scenario *scenario
	root     *world
	nodes    []node
	edges    []edge
	known    map[[sha256.Size]byte]int32
	ends     int
	outcomes map[string]bool // the outcomes of all paths
	rows     []phasesSeen
	findings []finding
}

func explore(s *scenario) *search {
	root := newWorld(s, s.deploy.parse())
	x := &search{scenario: s, root: root, known: map[[sha256.Size]byte]int32{}, outcomes: map[string]bool{}, rows: root.rows}
	x.add(root, -1, "", 0)
	for at := 0; at < len(x.nodes); at++ {
		x.expand(int32(at))
		if *hurry && len(x.findings) > 0 {
			return x
		}
		if len(x.nodes) > maxStates {
			x.find(fmt.Sprintf("more than %d states", maxStates), int32(at), "")
			return x
		}
	}
	x.findCycles()
	return x
}

// decisions is an oracle that follows a list. After the list, it takes the first option each time. It records how
// many options there were.
type decisions struct {
	taken  []byte
	counts []byte
	at     int
}

func (d *decisions) choose(options []string) int {
	if d.at == len(d.taken) {
		d.taken, d.counts = append(d.taken, 0), append(d.counts, 0)
	}
	d.counts[d.at] = byte(len(options))
	d.at++
	return int(d.taken[d.at-1])
}

// next goes to the next list of decisions. After the last list, it returns false.
func (d *decisions) next() bool {
	d.taken, d.counts, d.at = d.taken[:d.at], d.counts[:d.at], 0
	for i := len(d.taken) - 1; i >= 0; i-- {
		if d.taken[i]+1 < d.counts[i] {
			d.taken[i]++
			d.taken, d.counts = d.taken[:i+1], d.counts[:i+1]
			return true
		}
	}
	return false
}

// expand follows every option of a state.
func (x *search) expand(at int32) {
	w := x.nodes[at].world
	x.nodes[at].world = nil
	var d decisions
	for {
		next := w.clone()
		id, any := next.advance(d.choose)
		if !any {
			x.ends++
			x.outcomes[fmt.Sprintf("called %s: %s", cmp.Or(strings.TrimSpace(w.facts.called), "none"), w.facts.outcomes)] = true
			return
		}
		switch {
		case len(next.broken) > 0:
			for _, what := range next.broken {
				x.find(what, at, string(d.taken))
			}
		default:
			x.add(next, at, string(d.taken), id)
		}
		if !d.next() {
			return
		}
	}
}

// advance performs one of the options. If there is no option and no violation, any is false.
func (w *world) advance(o oracle) (id uint64, any bool) {
	w.oracle = o
	options := w.options()
	if len(options) == 0 {
		return 0, len(w.broken) > 0
	}
	labels := make([]string, len(options))
	for i := range options {
		labels[i] = options[i].label
	}
	chosen := &options[o(labels)]
	w.happen(chosen)
	return chosen.id, true
}

func (x *search) add(w *world, from int32, choices string, id uint64) {
	key := w.key()
	to, known := x.known[key]
	if !known {
		to = int32(len(x.nodes))
		x.known[key] = to
		n := node{from: from, choices: choices, world: w}
		for i := range w.open {
			n.open = append(n.open, w.open[i].action.ID)
		}
		x.nodes = append(x.nodes, n)
	}
	if from >= 0 {
		x.edges = append(x.edges, edge{from, to, id})
	}
}

// find records the first violation of each kind. The search is breadth-first, so no path to it is shorter.
func (x *search) find(what string, from int32, last string) {
	if slices.ContainsFunc(x.findings, func(f finding) bool { return f.what == what }) {
		return
	}
	path := []string{last}
	for ; from > 0; from = x.nodes[from].from {
		path = append(path, x.nodes[from].choices)
	}
	slices.Reverse(path)
	x.findings = append(x.findings, finding{what, x.transcribe(what, path)})
}

func (x *search) transcribe(what string, path []string) string {
	w := newWorld(x.scenario, x.root.config)
	w.trace = &transcript{}
	w.trace.add("scenario %s", x.scenario.name)
	for _, step := range path {
		at := 0
		first := true
		_, _ = w.advance(func(options []string) int {
			chosen := 0
			if at < len(step) {
				chosen = int(step[at])
			}
			at++
			if !first {
				w.trace.choose(options[chosen])
			}
			first = false
			return chosen
		})
	}
	w.trace.add("VIOLATION: %s", what)
	return w.trace.String()
}
