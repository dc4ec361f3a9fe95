package usage

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
)

// compared holds the rows of one window of a file.
type compared struct {
	window window
	rows   []reports.UsageRow
}

// boundNames are the names of the first columns in a table of two ranges.
var boundNames = []string{"from", "to"}

func withBounds(from, to string, heads [][]string) [][]string {
	for i := range heads {
		heads[i] = append([]string{from, to}, heads[i]...)
	}
	return heads
}

// ndjsonOf encodes one row per line. If there are two ranges, each row begins with the bounds of its range.
func ndjsonOf(parts []compared) ([]byte, error) {
	type bounded struct {
		From string `json:"from,omitempty"`
		To   string `json:"to,omitempty"`
		*reports.UsageRow
	}
	var out bytes.Buffer
	for _, part := range parts {
		for i := range part.rows {
			row := bounded{UsageRow: &part.rows[i]}
			if len(parts) > 1 {
				row.From, row.To = part.window.from(), part.window.to()
			}
			line, err := kernel.Encode(&row)
			if err != nil {
				return nil, err
			}
			out.Write(append(line, '\n'))
		}
	}
	return out.Bytes(), nil
}

// csvOf encodes rows as a table. If there are two ranges, each row begins with the bounds of its range.
func csvOf(by string, parts []compared) []byte {
	if len(parts) == 1 {
		return tableOf(csvNames(by), headsOf(by, parts[0].rows), parts[0].rows)
	}
	var heads [][]string
	var rows []reports.UsageRow
	for _, part := range parts {
		heads = append(heads, withBounds(part.window.from(), part.window.to(), headsOf(by, part.rows))...)
		rows = append(rows, part.rows...)
	}
	return tableOf(append(boundNames, csvNames(by)...), heads, rows)
}

// headsOf returns each row's leading cells, which identify the row.
func headsOf(by string, rows []reports.UsageRow) (heads [][]string) {
	for i := range rows {
		r := &rows[i]
		names := map[string]*string{
			groupDay: r.Day, groupHour: r.Hour, groupMinute: r.Minute, groupModel: r.Model, groupProvider: r.Provider, "keyId": r.KeyID, "keyName": r.KeyName,
		}
		var head []string
		for _, name := range csvNames(by) {
			head = append(head, csvText(names[name]))
		}
		heads = append(heads, head)
	}
	return heads
}

// tableOf encodes a table with a header row (RFC 4180). heads are the cells that precede the figures in each row.
func tableOf(names []string, heads [][]string, rows []reports.UsageRow) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	// Writing to memory cannot fail.
	_ = w.Write(append(append(names, figureNames...), reports.Causes[:]...))
	for i := range rows {
		_ = w.Write(append(heads[i], figureCells(&rows[i].Figures)...))
	}
	w.Flush()
	return out.Bytes()
}

// figureNames are the names of the columns with figures. The columns with causes follow them.
var figureNames = []string{
	"requests", "hits", "misses", "failed", "promptTokens", "completionTokens", "cost", "estimated", "expired",
	"latencyMeanMs", "latencyP50Ms", "latencyP90Ms", "latencyP95Ms", "latencyP99Ms", "timeToFirstTokenMeanMs", "timeToFirstTokenP50Ms",
	"timeToFirstTokenP90Ms", "timeToFirstTokenP95Ms", "timeToFirstTokenP99Ms", "promptCacheReadTokens", "promptCacheWriteTokens",
	"promptCacheSaved", "attempts", "attemptsBusy", "attemptsRejected", "attemptsUnavailable", "attemptsTimeout", "attemptsConnection",
	"attemptsCut", "attemptsUnusable", "attemptsBroken", "rescued", "opened", "served", "refused", "left",
}

func csvNames(by string) []string {
	switch by {
	case groupKey:
		return []string{"keyId", "keyName"}
	case groupAll:
		return []string{groupDay, "keyId", groupModel}
	}
	return []string{by}
}

func figureCells(r *reports.Figures) []string {
	var cells []string
	for _, n := range []uint64{r.Requests, r.Hits, r.Misses, r.Failed, r.PromptTokens, r.CompletionTokens} {
		cells = append(cells, strconv.FormatUint(n, 10))
	}
	cells = append(cells, string(r.Cost), strconv.FormatUint(r.Estimated, 10), strconv.FormatUint(r.Expired, 10))
	cells = append(cells, append(r.Latency.Cells(), r.TimeToFirstToken.Cells()...)...)
	c := &r.PromptCache
	cells = append(cells, strconv.FormatUint(c.ReadTokens, 10), strconv.FormatUint(c.WriteTokens, 10), string(c.Saved))
	a, n, o := &r.Attempts, &r.Attempts.Failed, &r.Outcomes
	for _, count := range []uint64{
		a.Total, n.Busy, n.Rejected, n.Unavailable, n.Timeout, n.Connection, n.Cut, n.Unusable, n.Broken, a.Rescued, a.Opened, o.Served, o.Refused, o.Left,
	} {
		cells = append(cells, strconv.FormatUint(count, 10))
	}
	for _, cause := range reports.Causes {
		cells = append(cells, strconv.FormatUint(o.Causes[cause], 10))
	}
	return cells
}

// csvText escapes text that a spreadsheet would evaluate as a formula (OWASP, "CSV Injection").
func csvText(text *string) string {
	if text == nil {
		return ""
	}
	if len(*text) > 0 && bytes.IndexByte([]byte("=+-@\t\r"), (*text)[0]) >= 0 {
		return "'" + *text
	}
	return *text
}
