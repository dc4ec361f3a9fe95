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

// BudgetsTo returns the deliveries of the group's budget and limits to its Ledgers, which have no region.
func BudgetsTo(g *Group, nowMs uint64) (to []abi.Delivery) {
	put := ledger.Put{Version: g.Version, BudgetPico: g.BudgetPico, Period: g.Period(calendar.Day(nowMs)), Alerts: g.Alerts}
	if g.Alerts.URL != "" {
		put.Name = g.Name
	}
	if !g.Budgeted {
		put.BudgetPico = 0 // of a budget that was removed, no alerts are sent
	}
	to = append(to, abi.Delivery{Class: abi.ClassLedger, Name: g.ID, Data: put.Encode()})
	return append(to, limitsTo(g.ID, "", &g.Limits, put)...)
}

// limitsTo returns the deliveries of limits to the Ledgers that count requests and tokens. They send no alerts.
func limitsTo(id, region string, l *doc.PeriodLimits, put ledger.Put) (to []abi.Delivery) {
	put.Alerts, put.Policy, put.Name = doc.Alerts{}, nil, ""
	for _, u := range [...]doc.Unit{doc.Requests, doc.Tokens} {
		if put.BudgetPico = int64(l.Of(u)); put.BudgetPico > 0 {
			to = append(to, abi.Delivery{Class: abi.ClassLedger, Name: doc.LedgerName(id, u), Region: region, Data: put.Encode()})
		}
	}
	return to
}

// LimitsTo returns the deliveries of the project's limits per budget period to the Ledgers that count them.
func LimitsTo(p *Project, nowMs uint64) []abi.Delivery {
	return limitsTo(p.ID, p.Region, &p.Limits, ledger.Put{Version: p.Version, Period: p.Period(calendar.Day(nowMs))})
}
