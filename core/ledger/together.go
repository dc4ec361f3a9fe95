package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Rows of the deployment's Ledger with the activity of all projects together. An overview of 5,000 projects would
// otherwise read 150,000 rows for 30 days:
//
//	sa/<hour>, sb/<day>  the sums of rows "sh/" and "sd/", by model, and the keys with the highest cost
//	sc                   the first hour that they cover
//
// A summary replaces a project's hours, so it adds the difference. Older versions did not write these rows. If the
// Ledger has summaries of such a version, the sums begin with the next hour.
const (
	rowAllHours = "sa/"
	rowAllDays  = "sb/"
	rowAllFrom  = "sc"
	// togetherKeys is the number of keys that an hour or a day lists.
	togetherKeys = 20
)

// together is a row "sa/" or "sb/". The name of a key has its project before it, and a slash.
type together struct{ models, keys []Named }

func (t *together) fields(f *abi.Fields) {
	f.Format(format)
	abi.List(f, &t.models, NamedFields)
	abi.List(f, &t.keys, NamedFields)
}

// replace replaces a project's part of the sums.
func (t *together) replace(project string, before, now *SummaryHour) {
	for i := range before.Models {
		activityOf(&t.models, before.Models[i].Name, maxSpanModels).minus(&before.Models[i].Activity)
	}
	for i := range now.Models {
		activityOf(&t.models, now.Models[i].Name, maxSpanModels).Plus(&now.Models[i].Activity)
	}
	others := t.keys[:0]
	for i := range t.keys {
		if !strings.HasPrefix(t.keys[i].Name, project+"/") {
			others = append(others, t.keys[i])
		}
	}
	for i := range now.Keys {
		if k := now.Keys[i]; k.Name != "" {
			k.Name = project + "/" + k.Name
			others = append(others, k)
		}
	}
	sortByCost(others)
	t.keys = others[:min(len(others), togetherKeys)]
}

// replaceTogether replaces a project's part in one of the rows, if they cover the hour.
func (c *call) replaceTogether(key, project string, before, now *SummaryHour) error {
	if now.Hour < c.togetherFrom {
		return nil
	}
	var t together
	if row, ok := c.row(key); ok {
		if err := abi.DecodeFields(row, t.fields); err != nil {
			return err
		}
	}
	t.replace(project, before, now)
	c.put(key, abi.EncodeFields(0, 1024, t.fields))
	return nil
}

// readTogetherFrom reads the first hour that the sums cover, or chooses it at the first summary.
func (c *call) readTogetherFrom() error {
	if row, found := c.row(rowAllFrom); found {
		r := abi.Reader{Buf: row}
		c.togetherFrom = r.Uint()
		return r.End()
	}
	for i := range c.in.Rows {
		if strings.HasPrefix(c.in.Rows[i].Key, rowStatus) {
			c.togetherFrom = c.in.NowMs/calendar.HourMs + 1
		}
	}
	var w abi.Writer
	w.Uint(c.togetherFrom)
	c.put(rowAllFrom, w.Buf)
	return nil
}

// reads returns the rows that the summary changes, and the first summary of any project.
func (s *Summary) reads() (ranges []abi.Range) {
	keys := []string{rowAllFrom, rowStatus + s.Project}
	for i := range s.Hours {
		hour := s.Hours[i].Hour
		if keys = append(keys, hourTogether(hour)); i == 0 || hour/24 != s.Hours[i-1].Hour/24 {
			keys = append(keys, sumKey(rowSumHours, hour/24, s.Project))
			keys = s.dayKeys(keys, hour/24)
		}
	}
	for i := range s.Days {
		keys = s.dayKeys(keys, s.Days[i].Hour/24)
	}
	for _, key := range keys {
		ranges = append(ranges, abi.Range{Start: key})
	}
	return append(ranges, abi.Range{Start: rowStatus, End: rowStatus + "\x7f", Limit: 1})
}

func (s *Summary) dayKeys(keys []string, day uint64) []string {
	return append(keys, dayTogether(day), sumKey(rowSumDays, day, s.Project))
}

func hourTogether(hour uint64) string { return rowAllHours + abi.Fixed(hour) }

func dayTogether(day uint64) string { return rowAllDays + abi.Fixed(day) }

// togetherRows returns the range of the sums that a query reads.
func (q *OverviewQuery) togetherRows() abi.Range {
	if q.Daily {
		return abi.Range{Start: dayTogether(q.First / 24), End: dayTogether(q.End / 24), Limit: KeepDays}
	}
	return abi.Range{Start: hourTogether(q.First), End: hourTogether(q.End), Limit: KeepDays}
}

// together adds the sums that were read to a reply.
func (q *OverviewQuery) together(c *call, reply *OverviewReply) error {
	prefix, hours := rowAllHours, uint64(1)
	if q.Daily {
		prefix, hours = rowAllDays, 24
	}
	for _, row := range c.in.Rows {
		name, ok := strings.CutPrefix(row.Key, prefix)
		if !ok {
			continue
		}
		var t together
		if err := abi.DecodeFields(row.Value, t.fields); err != nil {
			return err
		}
		reply.add(&SummaryHour{abi.Unfixed(name) * hours, t.models, t.keys})
	}
	return nil
}
