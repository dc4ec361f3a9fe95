package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// The first summary of a project also contains its history. This matters after an upgrade, and when a project moves
// to another deployment.

// historyDays is the length of the history: two ranges of 90 days.
const historyDays = 180

// historyReads returns the ranges of the history's daily rows.
func historyReads(now uint64) []abi.Range {
	today := calendar.Day(now)
	first := today - min(today, historyDays)
	return []abi.Range{
		{Start: rowModels + abi.Fixed(first), End: rowModels + abi.Fixed(today), Limit: maxScan},
		{Start: dayEndsKey(first), End: dayEndsKey(today), Limit: historyDays},
	}
}

// history contains the days that were read.
func (c *call) history() (days []SummaryHour, err error) {
	for _, row := range c.in.Rows {
		prefix, name, _ := strings.Cut(row.Key, "/")
		at, _, _ := strings.Cut(name, "/")
		day := abi.Unfixed(at)
		switch prefix + "/" {
		case rowModels:
			u, err := decodeUsageRow(row.Value)
			if err != nil {
				return nil, err
			}
			of := Activity{Usage: u}
			of.Usage.Day, of.Usage.Model, of.Usage.Latency = 0, "", Latency{}
			u.Latency.addTo(&of)
			addToDay(&days, day, u.Model, &of)
		case rowEnds:
			var e endings
			if err := abi.DecodeFields(row.Value, e.fields); err != nil {
				return nil, err
			}
			for i := range e.models {
				addToDay(&days, day, e.models[i].model, &Activity{Usage: Usage{Ends: e.models[i].Endings}})
			}
		}
	}
	for i := range days {
		days[i].Models = topOf(days[i].Models)
	}
	return days, nil
}

func addToDay(days *[]SummaryHour, day uint64, model string, of *Activity) {
	at := len(*days)
	for at > 0 && (*days)[at-1].Hour != day*24 {
		at--
	}
	if at == 0 {
		*days = append(*days, SummaryHour{Hour: day * 24})
		at = len(*days)
	}
	activityOf(&(*days)[at-1].Models, model, maxModels).Plus(of)
}

// oldestHour returns the hour of the oldest ten-minute row that was read, or the last hour.
func (c *call) oldestHour(last uint64) uint64 {
	for _, row := range c.in.Rows {
		if name, ok := strings.CutPrefix(row.Key, rowSpans); ok {
			return min(abi.Unfixed(name)/HourSpans, last)
		}
	}
	return last
}

// addDay adds a day of a project's history, unless its hours are known.
func (c *call) addDay(project string, day *SummaryHour) error {
	key := sumKey(rowSumDays, day.Hour/24, project)
	if _, known := c.row(key); known {
		return nil
	}
	total := dayHours{[]SummaryHour{*day}}
	c.put(key, total.encode())
	return c.replaceTogether(dayTogether(day.Hour/24), project, &SummaryHour{}, day)
}
