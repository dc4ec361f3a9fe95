package explore_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// maxStates is what a scenario may have: one that needs more fails, it is not cut.
const maxStates = 400_000

// node is a state that was found, and how.
type node struct {
	from    int32
	choices string // the oracle's decisions on the way here, one byte each
	world   *world // until it was expanded
	open    []uint64
}

type edge struct {
	from, to int32
	id       uint64 // of the action that is answered; 0: none
}

// finding is a violation, and the shortest path to it.
type finding struct{ what, transcript string }

// search is the exploration of one scenario.
type search struct {
	scenario *scenario
	root     *world
	nodes    []node
	edges    []edge
	known    map[[sha256.Size]byte]int32
	ends     int
	told     map[string]bool // what was told on all paths
	rows     []bool
	findings []finding
}

func explore(s *scenario) *search {
	root := newWorld(s, s.deploy.parse())
	x := &search{scenario: s, root: root, known: map[[sha256.Size]byte]int32{}, told: map[string]bool{}, rows: root.rows}
	x.add(root, -1, "", 0)
	for at := 0; at < len(x.nodes); at++ {
		x.expand(int32(at))
		if len(x.nodes) > maxStates {
			x.find(fmt.Sprintf("more than %d states", maxStates), int32(at), "")
			return x
		}
	}
	x.findCycles()
	return x
}

// decisions is an oracle that follows a list, takes the first option beyond it, and notes how many options
// there were.
type decisions struct {
	taken []byte
	of    []byte
	at    int
}

func (d *decisions) choose(options []string) int {
	if d.at == len(d.taken) {
		d.taken, d.of = append(d.taken, 0), append(d.of, 0)
	}
	d.of[d.at] = byte(len(options))
	d.at++
	return int(d.taken[d.at-1])
}

// next turns to the next list of decisions; false: all were taken.
func (d *decisions) next() bool {
	d.taken, d.of, d.at = d.taken[:d.at], d.of[:d.at], 0
	for i := len(d.taken) - 1; i >= 0; i-- {
		if d.taken[i]+1 < d.of[i] {
			d.taken[i]++
			d.taken, d.of = d.taken[:i+1], d.of[:i+1]
			return true
		}
	}
	return false
}

// expand follows everything that may happen in a state.
func (x *search) expand(at int32) {
	w := x.nodes[at].world
	x.nodes[at].world = nil
	var d decisions
	for {
		next := w.clone()
		id, any := next.advance(d.choose)
		if !any {
			x.ends++
			x.told[fmt.Sprintf("asked %s: %s", w.facts.asked, w.facts.told)] = true
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

// advance lets one of the options happen; any is false if there is none.
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

// find notes a violation, the first of its kind. The search is in breadth: no path to it is shorter.
func (x *search) find(what string, from int32, last string) {
	if slices.ContainsFunc(x.findings, func(f finding) bool { return f.what == what }) {
		return
	}
	path := []string{last}
	for ; from > 0; from = x.nodes[from].from {
		path = append(path, x.nodes[from].choices)
	}
	slices.Reverse(path)
	x.findings = append(x.findings, finding{what, x.tell(path)})
}

// tell walks a path again and writes it down.
func (x *search) tell(path []string) string {
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
	for _, what := range w.broken {
		w.trace.add("VIOLATION: %s", what)
	}
	return w.trace.String()
}

// findCycles finds circles that may go on for ever although every outstanding action is answered sooner or
// later: strongly connected states in which no action stays unanswered (Tarjan, without recursion).
func (x *search) findCycles() {
	out := make([][]edge, len(x.nodes))
	for _, e := range x.edges {
		out[e.from] = append(out[e.from], e)
	}
	component := components(out)
	type circle struct {
		answered map[uint64]bool
		edges    int
	}
	circles := map[int32]*circle{}
	for _, e := range x.edges {
		if component[e.from] != component[e.to] {
			continue
		}
		c := circles[component[e.from]]
		if c == nil {
			c = &circle{answered: map[uint64]bool{}}
			circles[component[e.from]] = c
		}
		c.edges++
		c.answered[e.id] = true
	}
	always := map[int32][]uint64{}
	first := map[int32]int32{}
	for at := range x.nodes {
		c := component[at]
		if circles[c] == nil {
			continue
		}
		if _, seen := first[c]; !seen {
			first[c] = int32(at)
			always[c] = x.nodes[at].open
			continue
		}
		always[c] = slices.DeleteFunc(slices.Clone(always[c]), func(id uint64) bool { return !slices.Contains(x.nodes[at].open, id) })
	}
	for c, circle := range circles {
		if !slices.ContainsFunc(always[c], func(id uint64) bool { return !circle.answered[id] }) {
			x.find(fmt.Sprintf("it may go on for ever in a circle that answers %v", idsOf(circle.answered)), x.nodes[first[c]].from, x.nodes[first[c]].choices)
		}
	}
}

func idsOf(set map[uint64]bool) (list []uint64) {
	for id := range set {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// components numbers the strongly connected components.
func components(out [][]edge) []int32 {
	n := len(out)
	index, low, component := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range component {
		component[i] = -1
	}
	var stack, path []int32
	next := make([]int, n)
	count, components := int32(0), int32(0)
	for root := range n {
		if index[root] != 0 {
			continue
		}
		path = append(path, int32(root))
		for len(path) > 0 {
			v := path[len(path)-1]
			if index[v] == 0 {
				count++
				index[v], low[v] = count, count
				stack = append(stack, v)
			}
			if next[v] < len(out[v]) {
				to := out[v][next[v]].to
				next[v]++
				if index[to] == 0 {
					path = append(path, to)
				} else if component[to] < 0 {
					low[v] = min(low[v], index[to])
				}
				continue
			}
			if low[v] == index[v] {
				for {
					top := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					component[top] = components
					if top == v {
						break
					}
				}
				components++
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1]
				low[parent] = min(low[parent], low[v])
			}
		}
	}
	return component
}
