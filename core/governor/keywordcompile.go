package governor

import "slices"

// maxKeyword is the maximum length of a word in a keyword list, in bytes. maxKeywordStates limits the automaton. With
// more states, the encoded automaton would exceed MaxPolicy.
const (
	maxKeyword       = 120
	maxKeywordStates = 1 << 14
)

// trieNode is a state of the automaton while it is being built.
type trieNode struct {
	label    byte
	depth    uint8 // with endsWord
	children []int
	words    [][2]int // list and index in the list
	fail     int
}

// compileKeywords returns the automaton for the words of all lists, in the form that Keywords uses: the number of
// states, then the tables. If there are no words or too many states, compileKeywords returns nil.
func compileKeywords(lists []KeywordList) []byte {
	nodes := []trieNode{{}}
	for i := range lists {
		for n, word := range lists[i].Words {
			at := 0
			for j := range len(word) {
				at = child(&nodes, at, fold(word[j]))
			}
			if at != 0 {
				nodes[at].words = append(nodes[at].words, [2]int{i, n})
			}
		}
	}
	if len(nodes) == 1 || len(nodes) > maxKeywordStates {
		return nil
	}
	return encodeKeywords(nodes, link(nodes))
}

// child returns the node that a byte leads to from another node. If there is no such node, child adds it.
func child(nodes *[]trieNode, at int, b byte) int {
	for _, i := range (*nodes)[at].children {
		if (*nodes)[i].label == b {
			return i
		}
	}
	i := len(*nodes)
	*nodes = append(*nodes, trieNode{label: b, depth: min((*nodes)[at].depth+1, maxKeyword)})
	(*nodes)[at].children = append((*nodes)[at].children, i)
	return i
}

// link sets each node's fail link. It lists the nodes by depth, and the children of a node are neighbors in the list.
func link(nodes []trieNode) (order []int) {
	order = append(make([]int, 0, len(nodes)), 0)
	for at := 0; at < len(order); at++ {
		node := &nodes[order[at]]
		slices.SortFunc(node.children, func(a, b int) int { return int(nodes[a].label) - int(nodes[b].label) })
		for _, i := range node.children {
			if order[at] != 0 {
				nodes[i].fail = failOf(nodes, node.fail, nodes[i].label)
			}
			if len(nodes[i].words) > 0 || nodes[nodes[i].fail].depth&endsWord != 0 {
				nodes[i].depth |= endsWord
			}
			order = append(order, i)
		}
	}
	return order
}

// failOf follows the fail links from a node. If a node on the way has a child for the byte b, failOf returns that
// child. Otherwise, it returns the root.
func failOf(nodes []trieNode, from int, b byte) int {
	for {
		for _, i := range nodes[from].children {
			if nodes[i].label == b {
				return i
			}
		}
		if from == 0 {
			return 0
		}
		from = nodes[from].fail
	}
}

// encodeKeywords writes the tables in the order of Keywords' fields. The states are in the given order.
func encodeKeywords(nodes []trieNode, order []int) []byte {
	number := make([]int, len(nodes))
	for at, i := range order {
		number[i] = at
	}
	out := append16(nil, len(order))
	next := 1
	for _, i := range order {
		out = append16(out, next)
		next += len(nodes[i].children)
	}
	out = append16(out, next)
	for _, i := range order {
		out = append16(out, number[nodes[i].fail])
	}
	for _, i := range order {
		out = append(out, nodes[i].label)
	}
	for _, i := range order {
		out = append(out, nodes[i].depth)
	}
	for at, i := range order {
		for _, word := range nodes[i].words {
			out = append16(append(append16(out, at), byte(word[0])), word[1])
		}
	}
	return out
}

func append16(dst []byte, n int) []byte { return append(dst, byte(n), byte(n>>8)) }
