package explore_test

import (
	"fmt"
	"slices"
)

// circle is a set of states each of which leads to each other.
type circle struct {
	entry    int32
	always   []uint64        // the actions that are outstanding in all of its states
	answered map[uint64]bool // and those that its paths answer
}

// findCircles finds circles that may go on for ever although every outstanding action is answered sooner or
// later: those in which no action stays unanswered.
func (x *search) findCircles() {
	for _, c := range x.circles() {
		if !slices.ContainsFunc(c.always, func(id uint64) bool { return !c.answered[id] }) {
			n := &x.nodes[c.entry]
			x.find(fmt.Sprintf("it may go on for ever in a circle that answers %v", idsOf(c.answered)), n.from, n.choices)
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

// circles are the strongly connected sets of states with a path inside, in the order of their first states.
func (x *search) circles() (all []*circle) {
	sets := x.components()
	inside := map[int32]*circle{}
	for _, e := range x.edges {
		set := sets[e.from]
		if set != sets[e.to] {
			continue
		}
		if inside[set] == nil {
			inside[set] = &circle{entry: -1, answered: map[uint64]bool{}}
		}
		inside[set].answered[e.id] = true
	}
	for at := range x.nodes {
		c := inside[sets[at]]
		if c == nil {
			continue
		}
		if c.entry < 0 {
			c.entry, c.always = int32(at), slices.Clone(x.nodes[at].open)
			all = append(all, c)
		}
		c.always = slices.DeleteFunc(c.always, func(id uint64) bool { return !slices.Contains(x.nodes[at].open, id) })
	}
	return all
}

// components numbers the strongly connected sets, by Tarjan's algorithm.
func (x *search) components() []int32 {
	t := tarjan{out: make([][]int32, len(x.nodes)), index: make([]int32, len(x.nodes)), low: make([]int32, len(x.nodes)), set: make([]int32, len(x.nodes))}
	for _, e := range x.edges {
		t.out[e.from] = append(t.out[e.from], e.to)
	}
	for v := range t.out {
		if t.index[v] == 0 {
			t.visit(int32(v))
		}
	}
	return t.set
}

type tarjan struct {
	out             [][]int32
	index, low, set []int32 // of each state; 0: none yet
	stack           []int32
	visited, sets   int32
}

func (t *tarjan) visit(v int32) {
	t.visited++
	t.index[v], t.low[v] = t.visited, t.visited
	t.stack = append(t.stack, v)
	for _, to := range t.out[v] {
		if t.index[to] == 0 {
			t.visit(to)
			t.low[v] = min(t.low[v], t.low[to])
		} else if t.set[to] == 0 {
			t.low[v] = min(t.low[v], t.index[to])
		}
	}
	if t.low[v] != t.index[v] {
		return
	}
	t.sets++
	for top := int32(-1); top != v; {
		top = t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.set[top] = t.sets
	}
}
