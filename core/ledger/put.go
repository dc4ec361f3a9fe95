package ledger

import "github.com/postern-ai/postern/core/abi"

// applyPut stores a newer Put. If the budget's cycle changes, applyPut first adds up the usage rows to find the
// amount already spent in the new cycle's current period. Credits pay only for later requests.
func (c *call) applyPut(p *Put) error {
	if p.Version <= c.b.version {
		return nil
	}
	if p.Period.Epoch() > c.b.period.Epoch() && c.b.period != 0 && p.Period.Resets() {
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
	c.b.version, c.b.pico = p.Version, p.BudgetPico
	c.rollover(p.Period)
	c.put(rowBudget, abi.EncodeFields(0, 64, c.b.fields))
	c.put(rowPolicy, p.Policy)
	if err := c.setAlerts(p.Alerts); err != nil {
		return err
	}
	if _, err := c.loadViolations(); err != nil {
		return err
	}
	c.dueSummary()
	return c.checkAlerts()
}
