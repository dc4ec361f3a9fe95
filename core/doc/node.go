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

// Unit is what a budget counts.
type Unit uint8

const (
	Dollars  Unit = iota // in picodollars
	Requests             // counted when they are admitted, also if they are served from the cache
	Tokens               // of the prompt and the completion, counted when the request is settled
	units
)

// unitSuffixes complete the name of a node's Ledger. Each unit has a Ledger of its own.
var unitSuffixes = [units]string{"", "#requests", "#tokens"}

// LedgerName returns the name of the Ledger that counts a unit for a project, a group or the deployment.
func LedgerName(id string, u Unit) string { return id + unitSuffixes[u] }

// UnitOf returns the ID and the unit in the name of a Ledger.
func UnitOf(ledger string) (id string, u Unit) {
	for u := Requests; u < units; u++ {
		if id, ok := strings.CutSuffix(ledger, unitSuffixes[u]); ok {
			return id, u
		}
	}
	return ledger, Dollars
}

// IsNode reports whether a Ledger belongs to the deployment or to a group, or counts a project's requests or tokens.
func IsNode(ledger string) bool {
	return ledger == Root || strings.HasPrefix(ledger, GroupPrefix) || strings.Contains(ledger, "#")
}

// MaxChain limits the entries of a chain. The deployment and two groups have an entry for each unit, and the project has
// entries for requests and tokens.
const MaxChain = 3*int(units) + int(units) - 1

// PeriodLimits are the limits of requests and tokens per budget period. 0: no limit.
type PeriodLimits struct{ Requests, Tokens uint64 }

// Of returns the limit of a unit.
func (l *PeriodLimits) Of(u Unit) uint64 {
	switch u {
	case Requests:
		return l.Requests
	case Tokens:
		return l.Tokens
	}
	return 0
}

func (l *PeriodLimits) fields(f *abi.Fields) {
	f.Uint(&l.Requests)
	f.Uint(&l.Tokens)
}

// Node is a budget above a project's own: the deployment's or a group's, or the project's limit of requests or tokens.
type Node struct {
	ID    string // of the deployment, the group or the project
	Name  string // for refusals; empty if callers must not learn it
	Unit  Unit
	Cycle calendar.Cycle
	Epoch uint64 // how often the cycle was changed
	Soft  bool   // counts, but does not stop requests; only of a project's limits, because soft groups are in no chain
	// Lowered grows when the budget is lowered. A meter that gets a new value returns the unused part of its slice.
	Lowered uint64
}

// Ledger returns the name of the Ledger that owns the budget.
func (n *Node) Ledger() string { return LedgerName(n.ID, n.Unit) }

// Period returns the budget period that contains a day.
func (n *Node) Period(day uint64) calendar.Period { return calendar.NewPeriod(n.Cycle, n.Epoch, day) }

func chainField(f *abi.Fields, chain *[]Node) {
	abi.List(f, chain, func(f *abi.Fields, n *Node) {
		f.String(&n.ID)
		f.String(&n.Name)
		unitField(f, &n.Unit)
		abi.Enum(f, &n.Cycle)
		f.Uint(&n.Epoch)
		f.Bool(&n.Soft)
		f.Uint(&n.Lowered)
	})
	if f.Reading() && len(*chain) > MaxChain {
		f.Fail()
	}
}

func unitField(f *abi.Fields, u *Unit) {
	if abi.Enum(f, u); *u >= units {
		f.Fail()
	}
}

// Restriction is a node's list of models. A key may use a model only if all restrictions above it allow the model.
type Restriction struct {
	ID     string // of the deployment or the group
	Name   string // for refusals; empty if callers must not learn it
	Models []string
}

func restrictionsField(f *abi.Fields, list *[]Restriction) {
	abi.List(f, list, func(f *abi.Fields, r *Restriction) {
		f.String(&r.ID)
		f.String(&r.Name)
		abi.List(f, &r.Models, (*abi.Fields).String)
	})
	if f.Reading() && len(*list) > MaxDepth+1 {
		f.Fail()
	}
}
