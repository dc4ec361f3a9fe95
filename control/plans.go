package control

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/config"
)

// PlansOf is the plans of a configuration, as Config wants them: the default one first, then by name.
func PlansOf(c *config.Config) []Plan {
	var plans []Plan
	for _, plan := range c.Plans {
		plans = append(plans, Plan{plan.Name, plan.BudgetPico})
	}
	slices.SortFunc(plans, func(a, b Plan) int {
		if (a.Name == c.DefaultPlan) != (b.Name == c.DefaultPlan) {
			if a.Name == c.DefaultPlan {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return plans
}
