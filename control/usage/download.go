package usage

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
)

// ndjsonOf encodes one row per line.
func ndjsonOf(rows []reports.UsageRow) ([]byte, error) {
	var out bytes.Buffer
	for i := range rows {
		line, err := kernel.Encode(&rows[i])
		if err != nil {
			return nil, err
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), nil
}

// csvOf encodes a table with a header row (RFC 4180).
func csvOf(by string, rows []reports.UsageRow) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	// Writes to memory do not fail.
	_ = w.Write(append(append(csvNames(by), "requests", "hits", "misses", "failed", "promptTokens", "completionTokens", "cost",
		"estimated", "expired", "latencyMeanMs", "latencyP50Ms", "latencyP90Ms", "latencyP95Ms", "latencyP99Ms", "timeToFirstTokenMeanMs", "timeToFirstTokenP50Ms",
		"timeToFirstTokenP90Ms", "timeToFirstTokenP95Ms", "timeToFirstTokenP99Ms", "promptCacheReadTokens", "promptCacheWriteTokens",
		"promptCacheSaved", "attempts", "attemptsBusy", "attemptsRejected", "attemptsUnavailable", "attemptsTimeout", "attemptsConnection",
		"attemptsCut", "attemptsUnusable", "attemptsBroken", "rescued", "served", "refused", "left"), reports.Causes[:]...))
	for i := range rows {
		_ = w.Write(csvRow(by, &rows[i]))
	}
	w.Flush()
	return out.Bytes()
}

func csvNames(by string) []string {
	switch by {
	case groupKey:
		return []string{"keyId", "keyName"}
	case groupAll:
		return []string{"day", "keyId", "model"}
	}
	return []string{by}
}

func csvRow(by string, r *reports.UsageRow) []string {
	var cells []string
	names := map[string]*string{"day": r.Day, "hour": r.Hour, "minute": r.Minute, "model": r.Model, "provider": r.Provider, "keyId": r.KeyID, "keyName": r.KeyName}
	for _, name := range csvNames(by) {
		cells = append(cells, csvText(names[name]))
	}
	for _, n := range []uint64{r.Requests, r.Hits, r.Misses, r.Failed, r.PromptTokens, r.CompletionTokens} {
		cells = append(cells, strconv.FormatUint(n, 10))
	}
	cells = append(cells, string(r.Cost), strconv.FormatUint(r.Estimated, 10), strconv.FormatUint(r.Expired, 10))
	cells = append(cells, append(r.Latency.Cells(), r.TimeToFirstToken.Cells()...)...)
	c := &r.PromptCache
	cells = append(cells, strconv.FormatUint(c.ReadTokens, 10), strconv.FormatUint(c.WriteTokens, 10), string(c.Saved))
	a, n := &r.Attempts, &r.Attempts.Failed
	for _, count := range []uint64{
		a.Total, n.Busy, n.Rejected, n.Unavailable, n.Timeout, n.Connection, n.Cut, n.Unusable, n.Broken, a.Rescued,
	} {
		cells = append(cells, strconv.FormatUint(count, 10))
	}
	o := &r.Outcomes
	for _, count := range []uint64{o.Served, o.Refused, o.Left} {
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
