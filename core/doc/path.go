package doc

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// Path lists the nodes above a project during a part of its life. Usage carries the number of the path under which its
// request was admitted, so a request counts where it began even if its project moves in the meantime.
type Path struct {
	Number uint64     // from 1
	Nodes  []Ancestor // from the deployment down
}

// Ancestor is a node above a project.
type Ancestor struct {
	ID    string
	Epoch uint64 // how often the node's cycle had been changed
	// Counted nodes have a budget in dollars that stops requests. The keys' meters report the spending to them.
	Counted bool
}

// MaxPaths limits the paths in a project's document. A Ledger that misses a Put learns the path from the next ones.
const MaxPaths = 8

// SetAncestors sets the nodes above the project. If they have changed, the project gets a new path.
func (p *Project) SetAncestors(nodes []Ancestor) {
	if n := len(p.Paths); n > 0 && slices.Equal(p.Paths[n-1].Nodes, nodes) || n == 0 && len(nodes) == 0 {
		return
	}
	p.Path++
	paths := append(slices.Clone(p.Paths), Path{p.Path, nodes})
	p.Paths = paths[max(0, len(paths)-MaxPaths):]
}

// WasBelow reports whether a node is on one of the project's last paths.
func (p *Project) WasBelow(node string) bool {
	return slices.ContainsFunc(p.Paths, func(path Path) bool {
		return slices.ContainsFunc(path.Nodes, func(a Ancestor) bool { return a.ID == node })
	})
}

// PathsField lists paths, oldest first.
func PathsField(f *abi.Fields, paths *[]Path) {
	last := uint64(0)
	abi.List(f, paths, func(f *abi.Fields, p *Path) {
		f.Uint(&p.Number)
		abi.List(f, &p.Nodes, func(f *abi.Fields, a *Ancestor) {
			f.String(&a.ID)
			f.Uint(&a.Epoch)
			f.Bool(&a.Counted)
		})
		if p.Number <= last || len(p.Nodes) > MaxDepth+1 {
			f.Fail()
		}
		last = p.Number
	})
}
