package compliance

import (
	"context"

	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// openViolations has the numbers of violations that have not been closed.
type openViolations struct {
	Open         uint64            `json:"open"`
	Acknowledged uint64            `json:"acknowledged"`
	BySeverity   map[string]uint64 `json:"bySeverity"` // covers only the newest open violations; see counted
	Counted      uint64            `json:"counted"`    // sum of bySeverity; less than open if very many violations are open
}

// maxCountPages is the maximum number of pages that are read to count the open violations by severity.
const maxCountPages = 10

func (h *handler) openViolations(ctx context.Context, p *directory.Project) (openViolations, error) {
	v := openViolations{BySeverity: map[string]uint64{"low": 0, "medium": 0, "high": 0, "critical": 0}}
	command := ledger.Violations{State: ledger.ViolationStates[ledger.ViolationOpen], Limit: ledger.MaxViolationPage}
	for range maxCountPages {
		page, err := reports.Violations(ctx, h.Plane, p, &command)
		if err != nil {
			return v, err
		}
		v.Open, v.Acknowledged = page.ByState[ledger.ViolationOpen], page.ByState[ledger.ViolationAcknowledged]
		for i := range page.Violations {
			v.BySeverity[page.Violations[i].Severity]++
			v.Counted++
		}
		if command.After = page.Next; page.Next == "" {
			break
		}
	}
	return v, nil
}
