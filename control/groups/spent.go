package groups

import (
	"context"
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// spentView is the spend of the present budget period. The keys' meters report it within a minute after a request. If
// the budget stops no requests, the projects' Ledgers do so.
type spentView struct {
	Amount   json.RawMessage `json:"amount"`   // dollars, exact; null: no budget
	Requests *int64          `json:"requests"` // null: no limit
	Tokens   *int64          `json:"tokens"`   // null: no limit
	ResetsAt *string         `json:"resetsAt"` // null: never
}

// spent asks a group's Ledgers. It returns nil if the group has neither a budget nor a limit that stops requests.
func (h *handler) spent(ctx context.Context, g *directory.Group) (*spentView, error) {
	if !g.Budgeted && !g.Stops() {
		return nil, nil
	}
	view := spentView{Amount: settings.ViewBudget(false, 0), ResetsAt: settings.EndOf(g.Period(calendar.Day(h.NowMs())))}
	nodes := g.Nodes()
	if g.Budgeted && !g.Stops() {
		nodes = []doc.Node{{ID: g.ID, Cycle: g.Cycle, Epoch: g.Epoch}}
	}
	for _, n := range nodes {
		used, err := h.usedOf(ctx, &n)
		if err != nil {
			return nil, err
		}
		switch n.Unit {
		case doc.Dollars:
			view.Amount = settings.ViewBudget(true, used)
		case doc.Requests:
			view.Requests = &used
		case doc.Tokens:
			view.Tokens = &used
		}
	}
	return &view, nil
}

// usedOf returns the used part of a node in its present period.
func (h *handler) usedOf(ctx context.Context, n *doc.Node) (int64, error) {
	day := calendar.Day(h.NowMs())
	report := ledger.Report{FirstDay: day, EndDay: day + 1, Final: true}
	data, err := h.Store.Objects.Call(ctx, abi.ClassLedger, n.Ledger(), "", report.Encode())
	if err != nil {
		return 0, kernel.Unavailable(err)
	}
	reply, err := ledger.DecodeReportReply(data)
	if err != nil || reply.Period != n.Period(day) { // nothing was used in the present period
		return 0, err
	}
	return reply.UsedPico, nil
}
