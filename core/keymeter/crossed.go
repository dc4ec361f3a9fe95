package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// crossed are the thresholds of the key's own budget that its spending has reached.
type crossed struct {
	period  calendar.Period
	noted   uint64            // bit i: ledger.Thresholds[i] was noted in this period
	pending []ledger.Crossing // for the next batch
}

func (x *crossed) fields(f *abi.Fields) {
	ledger.PeriodFields(f, &x.period)
	f.Uint(&x.noted)
	abi.List(f, &x.pending, ledger.CrossingFields)
}

// maxCrossings limits the pending crossings. There are more than one per threshold only if the budget is raised and
// reached again between two batches.
const maxCrossings = 8

// cross notes the thresholds that the spending has newly reached, for the next batch. It runs when a command has done its
// work, because a late settle first takes back the charge that it replaces. Of a period that has ended, it notes none.
func (m *meter) cross(now uint64) {
	at := m.chain.Named(OwnLevel)
	own, x := &m.record.Own, &m.crossed
	if at < 0 || own.BudgetPico <= 0 {
		return
	}
	s := &m.chain.Levels[at].Slice
	if !s.Period.Contains(calendar.Day(now)) {
		return
	}
	if x.period != s.Period {
		x.period, x.noted = s.Period, 0
	}
	for i, percent := range ledger.Thresholds {
		bit := uint64(1) << i
		switch {
		case !ledger.Reached(s.Spent, own.BudgetPico, percent):
			x.noted &^= bit
		case x.noted&bit == 0 && len(x.pending) < maxCrossings:
			x.noted |= bit
			x.pending = append(x.pending, ledger.Crossing{
				Name: m.record.KeyName, Percent: percent, Period: s.Period, LimitPico: own.BudgetPico, SpentPico: s.Spent,
			})
			m.reportWithin(usageDelayMs)
		}
	}
}
