package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// startsAnew reports whether a Put changes the budget's cycle, or is the first one of a node above projects. Such a node
// may already have usage.
func (c *call) startsAnew(p *Put) bool {
	if _, unit := doc.UnitOf(c.in.Name); c.b.version == 0 && doc.IsNode(c.in.Name) {
		return unit == doc.Dollars
	}
	return p.Period.Epoch() > c.b.period.Epoch() && c.b.period != 0
}

// applyPut stores a newer Put. If the budget's cycle changes, applyPut first adds up the usage rows to find the
// amount already spent in the new cycle's current period. Credits pay only for later requests.
func (c *call) applyPut(p *Put) error {
	if p.Version <= c.b.version {
		return nil
	}
	if c.startsAnew(p) && p.Period.Resets() {
		first, end := p.Period.Bounds()
		if c.in.Round == 0 {
			c.out.Ranges = []abi.Range{{Start: rowModels + abi.Fixed(first), End: rowModels + abi.Fixed(end), Limit: maxUsage}}
			return nil
		}
		spent, err := c.spentInRows()
		if err != nil {
			return err
		}
		c.b.period, c.b.spent, c.b.committed = p.Period, spent, spent
	}
	if err := c.learnPaths(p.Paths); err != nil {
		return err
	}
	c.b.version, c.b.pico = p.Version, p.BudgetPico
	c.rollover(p.Period)
	c.put(rowBudget, abi.EncodeFields(0, 64, c.b.fields))
	c.put(rowPolicy, p.Policy)
	if err := c.setAlerts(p.Alerts, p.Name); err != nil {
		return err
	}
	if _, err := c.loadViolations(); err != nil {
		return err
	}
	c.dueSummary()
	return c.checkAlerts()
}
