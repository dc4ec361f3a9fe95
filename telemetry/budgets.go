package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/server"
)

// budgetInterval is the minimum time between two readings of the budgets. A reading costs one command per project.
const budgetInterval = 15 * time.Second

// budget is a project's budget in the current period, in dollars.
type budget struct {
	project          string
	limit, remaining float64
}

// budgets remembers the budgets between readings.
type budgets struct {
	mu   sync.Mutex
	last time.Time
	all  []budget
}

// read returns the budgets of the oldest projects, oldest first. If the store does not return a budget in time, it
// leaves that budget out.
func (b *budgets) read(ctx context.Context, p *server.Parts, limit int) []budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() && time.Since(b.last) < budgetInterval {
		return b.all
	}
	b.last, b.all = time.Now(), nil
	list := directory.List{Prefix: doc.ProjectKey(""), Limit: uint64(limit)}
	reply, err := p.Objects.Call(ctx, abi.ClassDirectory, directory.Name, "", list.Encode())
	if err != nil {
		return nil
	}
	docs, _ := directory.DecodeDocuments(reply)
	for _, d := range docs {
		project, err := directory.DecodeProject(d)
		if err != nil || project.Archived {
			continue
		}
		if one, ok := readBudget(ctx, p, &project); ok {
			b.all = append(b.all, one)
		}
	}
	return b.all
}

// readBudget reads a project's budget from its ledger. It does not call the keys' meters. The usage of the last
// second or two is therefore missing, because the meters have not reported it yet.
func readBudget(ctx context.Context, p *server.Parts, project *directory.Project) (budget, bool) {
	today := calendar.Day(p.Host.Clock.Now())
	report := ledger.Report{FirstDay: today, EndDay: today, Waited: true, Final: true}
	reply, err := p.Objects.Call(ctx, abi.ClassLedger, project.ID, project.Region, report.Encode())
	if err != nil {
		return budget{}, false
	}
	r, err := ledger.DecodeReportReply(reply)
	if err != nil {
		return budget{}, false
	}
	dollars := func(amount money.Pico) float64 { return float64(amount) / float64(money.Dollar) }
	return budget{project.ID, dollars(r.BudgetPico), dollars(max(0, r.BudgetPico-r.UsedPico))}, true
}
