package groups

import (
	"context"
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// spentView is the part of a budget that is spent in its present period. The keys' meters report it within a
// minute after a request.
type spentView struct {
	Amount   json.RawMessage `json:"amount"` // dollars, exact
	ResetsAt string          `json:"resetsAt"`
}

// spent asks a group's Ledger. It returns nil if the group has no budget that stops requests, because nobody reports
// to its Ledger then.
func (h *handler) spent(ctx context.Context, g *directory.Group) (*spentView, error) {
	if !g.Stops() {
		return nil, nil
	}
	day := calendar.Day(h.NowMs())
	report := ledger.Report{FirstDay: day, EndDay: day + 1, Final: true}
	data, err := h.Store.Objects.Call(ctx, abi.ClassLedger, g.ID, "", report.Encode())
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	reply, err := ledger.DecodeReportReply(data)
	if err != nil {
		return nil, err
	}
	period, used := g.Period(day), reply.UsedPico
	if reply.Period != period { // nothing was spent in the present one
		used = 0
	}
	_, end := period.Bounds()
	return &spentView{money.Append(nil, used, money.Dollar), kernel.Timestamp(end * calendar.DayMs)}, nil
}
