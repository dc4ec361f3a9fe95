package doc

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Root is the ID of the deployment's node, and the name of its Ledger.
const Root = "root"

// GroupPrefix begins the IDs of groups.
const GroupPrefix = "grp_"

// IsNode reports whether a Ledger belongs to the deployment or to a group, and not to a project.
func IsNode(ledger string) bool { return ledger == Root || strings.HasPrefix(ledger, GroupPrefix) }

// MaxChain limits the budgets above a project: the deployment's and those of two groups.
const MaxChain = 3

// Node is a budget above a project's own: the deployment's or a group's.
type Node struct {
	ID    string // of the Ledger that owns the budget
	Name  string // for refusals; empty if callers must not learn it
	Cycle calendar.Cycle
	Epoch uint64 // how often the cycle was changed
}

// Period returns the budget period that contains a day.
func (n *Node) Period(day uint64) calendar.Period { return calendar.NewPeriod(n.Cycle, n.Epoch, day) }

func chainField(f *abi.Fields, chain *[]Node) {
	abi.List(f, chain, func(f *abi.Fields, n *Node) {
		f.String(&n.ID)
		f.String(&n.Name)
		abi.Enum(f, &n.Cycle)
		f.Uint(&n.Epoch)
	})
	if f.Reading() && len(*chain) > MaxChain {
		f.Fail()
	}
}
