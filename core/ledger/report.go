package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// report replies with the usage, or with the meters that the caller must flush first.
func (c *call) report(q *Report) error {
	c.rollover(c.b.period.At(calendar.Day(c.in.NowMs)))
	reply := ReportReply{BudgetPico: c.b.pico, UsedPico: c.b.spent, Period: c.b.period}
	var live []string
	c.eachMeter(c.in.Rows, func(key string, m *meter) {
		if m.live && c.mayHaveUsage(m) && len(live) < maxWave {
			live = append(live, key)
		}
	})
	switch {
	case q.Final || len(live) == 0:
	case c.b.waveMs+waveMs > c.in.NowMs && c.b.waveMs <= c.in.NowMs && !q.Waited:
		reply.WaitMs = c.b.waveMs + waveMs - c.in.NowMs
		return c.replyReport(q, &reply)
	default:
		c.b.waveMs = c.in.NowMs
		c.put(rowBudget, abi.EncodeFields(0, 64, c.b.fields))
		reply.Flush = live
		return c.replyReport(q, &reply)
	}
	models, err := c.usageByModel()
	if err != nil {
		return err
	}
	reply.Models = models
	return c.replyReport(q, &reply)
}

func (c *call) replyReport(q *Report, reply *ReportReply) error {
	if !q.Ends {
		c.out.Reply = abi.EncodeFields(0, 512, reply.fields)
		return nil
	}
	ends, err := c.endsOfRows()
	e := endsReport{reply, ends.models}
	c.out.Reply = abi.EncodeFields(0, 512, e.fields)
	return err
}

// mayHaveUsage reports whether a live meter may have unreported usage: in an open period, or in the cycle before the
// last change.
func (c *call) mayHaveUsage(m *meter) bool {
	return m.period >= c.oldestOpenPeriod() || m.period.Epoch() < c.b.period.Epoch()
}

// oldestOpenPeriod returns the oldest period that may have unreported usage. That is the previous period until
// rolloverGraceMs after its end, and then the current period.
func (c *call) oldestOpenPeriod() calendar.Period {
	first, _ := c.b.period.Bounds()
	if c.in.NowMs < first*calendar.DayMs+rolloverGraceMs {
		return c.b.period.At(first - 1)
	}
	return c.b.period
}
