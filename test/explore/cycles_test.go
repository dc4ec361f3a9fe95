package explore_test

import (
	"fmt"
	"slices"
)

// cycle is a set of states. Each of them can be reached from each other one.
type cycle struct {
	entry   int32
	always  []uint64        // actions that are outstanding in all of its states
	replied map[uint64]bool // actions that get a reply on its transitions
}

// findCycles finds cycles that can repeat forever although every outstanding action gets its reply at some time. In
// such a cycle, no action is outstanding in all states without a reply.
func (x *search) findCycles() {
	for _, c := range x.cycles() {
		if !slices.ContainsFunc(c.always, func(id uint64) bool { return !c.replied[id] }) {
			n := &x.nodes[c.entry]
			x.find(fmt.Sprintf("it may repeat forever in a cycle that replies to %v", idsOf(c.replied)), n.from, n.choices)
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

// cycles returns the strongly connected components with an internal transition, ordered by their first states.
func (x *search) cycles() (all []*cycle) {
	sets := x.components()
	inside := map[int32]*cycle{}
	for _, e := range x.edges {
		set := sets[e.from]
		if set != sets[e.to] {
			continue
		}
		if inside[set] == nil {
			inside[set] = &cycle{entry: -1, replied: map[uint64]bool{}}
		}
		inside[set].replied[e.id] = true
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

// components numbers the strongly connected components with Tarjan's algorithm.
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
	index, low, set []int32 // number of each state; 0: none yet
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
