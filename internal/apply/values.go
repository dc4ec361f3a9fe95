package apply

import (
	"fmt"
	"strconv"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/internal/yamltree"
)

// The admin API has the same maximums. A file with a wrong amount is rejected before the first change.
const (
	maxBudgetDollars = 9_000_000
	maxAmountText    = 64
)

// maxLimits are the fields of limits with their maximums.
var maxLimits = map[string]uint64{
	"requestsPerSecond": 1_000_000, "requestsPerDay": 1_000_000_000, "tokensPerMinute": 1_000_000_000,
	"requestsPerPeriod": doc.MaxPeriodLimit, "tokensPerPeriod": doc.MaxPeriodLimit,
}

// amounts checks the budget and the limits of a group, a project or a key. Only a project must have a budget.
func (r *reader) amounts(n *yamltree.Node, path string, must bool) {
	if b := n.Member("budget"); b != nil && (must || b.Kind != yamltree.Null) && !isBudget(b) {
		r.fail(b.Line, "%s must be a dollar amount between 0 and %d with at most 12 decimal places, got %s", join(path, "budget"), maxBudgetDollars, got(b))
	}
	r.choice(n, "budgetPeriod", path, "day", "week", "month", "total")
	r.choice(n, "enforce", path, "hard", "soft")
	limits := n.Member("limits")
	if limits == nil {
		return
	}
	for _, m := range limits.Members {
		if v := m.Value; v.Kind != yamltree.Null && !isLimit(v, maxLimits[m.Key]) {
			r.fail(m.Line, "%s.%s must be an integer between 1 and %d, got %s", join(path, "limits"), m.Key, maxLimits[m.Key], got(v))
		}
	}
}

func isBudget(n *yamltree.Node) bool {
	if n.Kind != yamltree.Number || len(n.Text) > maxAmountText {
		return false
	}
	amount, ok := money.Parse(n.Text, money.Dollar)
	return ok && amount <= maxBudgetDollars*money.Dollar
}

func isLimit(n *yamltree.Node, most uint64) bool {
	limit, err := strconv.ParseUint(n.Text, 10, 64)
	return n.Kind == yamltree.Number && err == nil && limit >= 1 && limit <= most
}

// got describes a wrong value.
func got(n *yamltree.Node) string {
	switch n.Kind {
	case yamltree.Number:
		return n.Text
	case yamltree.String:
		return fmt.Sprintf("the text %q", n.Text)
	}
	return n.Kind.String()
}
