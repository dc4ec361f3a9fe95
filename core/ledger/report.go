package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Report is the command that requests the usage of the days FirstDay to EndDay (exclusive). Unless it is Final, the
// caller first flushes the meters that may have unreported usage. The caller does so even if another caller's flush
// is in progress, because that flush might not complete.
type Report struct {
	FirstDay, EndDay uint64
	Waited           bool // WaitMs of the last reply has passed: reply with Flush now
	Final            bool // reply with the usage reported so far
	Ends             bool // include the requests that were not served; DecodeEndsReport decodes the reply
}

// ReportReply is the reply to Report. If Flush is set, the caller flushes those meters and repeats the command. If
// WaitMs is set, another caller's flush is in progress, so the caller waits and repeats the command with Waited.
// Otherwise, the reply has the usage.
type ReportReply struct {
	Flush      []string // names of meters
	WaitMs     uint64
	BudgetPico int64
	UsedPico   int64           // in Period
	Period     calendar.Period // the budget's current one
	Models     []Usage         // by model, sorted by name; Day and Hour are 0
}

// Encode encodes the command.
func (c *Report) Encode() []byte { return abi.EncodeFields(opReport, 32, c.fields) }

func (c *Report) fields(f *abi.Fields) {
	var asOfMs uint64 // unused; isolates of older versions send it during a rollout
	f.Uint(&c.FirstDay)
	f.Uint(&c.EndDay)
	f.Uint(&asOfMs)
	f.Bool(&c.Waited)
	f.Bool(&c.Final)
	if f.Reading() && f.More() || c.Ends { // written only if needed, because older objects do not know it
		if f.Bool(&c.Ends); !c.Ends {
			f.Fail()
		}
	}
}

// DecodeReportReply decodes the reply to Report.
func DecodeReportReply(data []byte) (p ReportReply, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

func (p *ReportReply) fields(f *abi.Fields) {
	abi.List(f, &p.Flush, (*abi.Fields).String)
	f.Uint(&p.WaitMs)
	f.Int(&p.BudgetPico)
	f.Int(&p.UsedPico)
	PeriodFields(f, &p.Period)
	abi.List(f, &p.Models, UsageFields)
	Extras(f, len(p.Models), func(i int) *Usage { return &p.Models[i] })
}

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
