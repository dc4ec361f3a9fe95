package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// Path says where usage counts above its project.
type Path struct {
	Number uint64 // doc.Record.Path at the admission of the requests; 0: nowhere
	// Ahead has AheadBits bits for each counted node of the path, from the deployment's in the lowest bits down. They are
	// the number of cycle changes of the node that its grant already had, but the key's record did not.
	Ahead uint64
}

// AheadBits is the number of bits for a node in Path.Ahead.
const AheadBits = 16

// Used reports whether the usage counts above its project.
func (p *Path) Used() bool { return *p != Path{} }

// Fields lists the fields of a path that is used.
func (p *Path) Fields(f *abi.Fields) {
	f.Uint(&p.Number)
	if f.Uint(&p.Ahead); p.Number == 0 {
		f.Fail()
	}
}

// pathGroups lists the paths of n usages.
func pathGroups(f *abi.Fields, n int, usage func(i int) *Usage) (some bool) {
	for i := range n {
		if p := &usage(i).Path; f.Group(p.Used()) {
			p.Fields(f)
			some = true
		}
	}
	return some
}

// epochs returns, for each node of a path, the cycle changes that its grants had.
func epochs(nodes []doc.Ancestor, ahead uint64) []uint64 {
	list := make([]uint64, len(nodes))
	for i := range nodes {
		list[i] = nodes[i].Epoch
		if nodes[i].Counted {
			list[i] += ahead & (1<<AheadBits - 1)
			ahead >>= AheadBits
		}
	}
	return list
}
