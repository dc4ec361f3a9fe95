package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Prune is the command that deletes usage rows and violations from before FirstDay, and hourly rows from before
// FirstHourDay. Ten-minute rows are merged into daily rows if they are more than KeepHourDays older than
// FirstHourDay. Prune deletes a limited number of rows at a time. The reply is the number of rows deleted; the caller
// repeats the command until it is 0.
type Prune struct{ FirstDay, FirstHourDay uint64 }

// firstSpan returns the first ten-minute row to keep.
func (p *Prune) firstSpan() uint64 {
	return (p.FirstHourDay - min(p.FirstHourDay, KeepHourDays)) * DaySpans
}

func (p *Prune) reads() []abi.Range {
	return []abi.Range{
		{Start: rowModels, End: rowModels + abi.Fixed(p.FirstDay), Limit: maxPrune},
		{Start: rowDetails, End: rowDetails + abi.Fixed(p.FirstDay), Limit: maxPrune},
		{Start: rowHours, End: hourKey(p.FirstHourDay, 0), Limit: maxPrune},
		{Start: rowSpans, End: spanKey(p.firstSpan()), Limit: maxPrune},
		{Start: rowSpanDays, End: spanDayKey(p.FirstDay), Limit: maxPrune},
		{Start: rowEnds, End: dayEndsKey(p.FirstDay), Limit: maxPrune},
		{Start: rowKeyEnds, End: keyEndsKey(p.FirstDay, ""), Limit: maxPrune},
		{Start: rowHourEnds, End: hourEndsKey(p.FirstHourDay * 24), Limit: maxPrune},
		{Start: rowViolationAge, End: rowViolationAge + abi.Fixed(p.FirstDay*calendar.DayMs), Limit: maxPrune},
		{Start: rowSumHours, End: rowSumHours + abi.Fixed(p.FirstHourDay), Limit: maxPrune},
		{Start: rowSumDays, End: rowSumDays + abi.Fixed(p.FirstDay), Limit: maxPrune},
		{Start: rowAllHours, End: hourTogether(p.FirstHourDay * 24), Limit: maxPrune},
		{Start: rowAllDays, End: dayTogether(p.FirstDay), Limit: maxPrune},
		{Start: rowViolations}, rowsChain.Head(),
	}
}

func (c *call) prune(p *Prune) error {
	if err := c.fold(p.firstSpan()); err != nil || len(c.out.Ranges) > 0 {
		return err
	}
	if _, err := c.loadViolations(); err != nil {
		return err
	}
	c.dueSummary() // once a day, even if the project has no requests
	events := c.v.events
	for _, row := range c.in.Rows {
		switch {
		case row.Key == rowBudget, row.Key == rowViolations, strings.HasPrefix(row.Key, string(rowsChain)):
		case strings.HasPrefix(row.Key, rowViolationAge):
			c.deleteViolation(row)
		case strings.HasPrefix(row.Key, rowSpans), strings.HasPrefix(row.Key, rowSpanDays) && row.Key >= spanDayKey(p.FirstDay):
		default:
			c.delete(row.Key)
		}
	}
	if c.v.events != events {
		c.put(rowViolations, c.v.encode())
	}
	var w abi.Writer
	w.Uint(uint64(len(c.out.Deletes)))
	c.out.Reply = w.Buf
	return nil
}
