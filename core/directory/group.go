package directory

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// Group is the document of a group with its version.
type Group struct {
	doc.Group
	Version uint64
}

// DecodeGroup decodes the stored document of a group.
func DecodeGroup(d Document) (Group, error) {
	g, err := doc.DecodeGroup(d.Value)
	return Group{g, d.Version}, err
}

// BudgetTo returns the delivery of the group's budget to its Ledger, which has no region.
func BudgetTo(g *Group, nowMs uint64) abi.Delivery {
	put := ledger.Put{Version: g.Version, BudgetPico: g.BudgetPico, Period: g.Period(calendar.Day(nowMs)), Alerts: g.Alerts}
	return abi.Delivery{Class: abi.ClassLedger, Name: g.ID, Data: put.Encode()}
}
