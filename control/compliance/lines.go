package compliance

import (
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// record encodes a line: a JSON object whose first field is "record".
func record(name string, view any) ([]byte, error) {
	text, err := kernel.Encode(view)
	if err != nil {
		return nil, err
	}
	line := append([]byte(`{"record":"`+name+`",`), text[1:]...)
	return line, nil
}

func records[T any](name string, views []T) (lines [][]byte, err error) {
	for i := range views {
		line, err := record(name, &views[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// policyExport is the project's current policy. The events in the chain are its history.
type policyExport struct {
	Version      uint64                        `json:"version"` // 0: the project has no policy
	Models       []string                      `json:"models"`
	Routes       map[string]settings.RouteView `json:"routes"`
	ProviderKeys []string                      `json:"providerKeys"` // providers for which the project has its own key
	Enforcement  string                        `json:"enforcement"`
	Governor     settings.GovernorView         `json:"governor"`
}

func (e *export) policyLines(string, int) (lines [][]byte, next string, err error) {
	p := &e.project.Policy
	view := policyExport{
		Version: p.Version, Models: append([]string{}, p.Models...), Routes: settings.ViewRoutes(p.Routes), ProviderKeys: []string{},
		Enforcement: settings.EnforcementWord(p.Enforcement),
	}
	for i := range p.ProviderKeys {
		view.ProviderKeys = append(view.ProviderKeys, p.ProviderKeys[i].Provider)
	}
	if view.Governor, err = settings.ViewGovernor(e.handler.Plane, e.project); err != nil {
		return nil, "", err
	}
	lines, err = records("policy", []policyExport{view})
	return lines, "", err
}

// modelLines returns the models in the registry, followed by models that the project used but that have no entry.
func (e *export) modelLines(after string, limit int) (lines [][]byte, next string, err error) {
	all, err := inventory.List(e, e.handler.Plane, e.project)
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(all, func(m inventory.Entry) bool { return m.ID == after }) + 1
	end := min(len(all), at+limit)
	if lines, err = records("model", all[at:end]); end < len(all) && end > 0 {
		next = all[end-1].ID
	}
	return lines, next, err
}

func (e *export) keyLines(after string, limit int) (lines [][]byte, next string, err error) {
	if after != "" && !kernel.IsID(after, kernel.KeyPrefix) {
		return nil, "", kernel.Invalid(badCursorDetail)
	}
	found, err := e.Store.Keys(e, e.project.ID, after, limit)
	if err != nil {
		return nil, "", err
	}
	for i := range found {
		line, err := record("key", settings.ViewKey(e.handler.Plane, &found[i], 0))
		if err != nil {
			return nil, "", err
		}
		lines = append(lines, line)
	}
	if len(found) == limit {
		next = found[limit-1].ID
	}
	return lines, next, nil
}

// chunkCursor is the prefix of cursors into the requests that were not served. In an export, these requests follow
// the served ones.
const chunkCursor = "x"

// requestLines returns requests. The ledger has the newest batches of served requests, and at most 20 refused
// requests per key per minute.
func (e *export) requestLines(after string, limit int) (lines [][]byte, next string, err error) {
	number, unserved := strings.CutPrefix(after, chunkCursor)
	before := uint64(0)
	if number != "" {
		if before, err = strconv.ParseUint(number, 10, 53); err != nil || before == 0 {
			return nil, "", kernel.Invalid(badCursorDetail)
		}
	} else if !unserved {
		if _, err := reports.FlushMeters(e, e.handler.Plane, e.project); err != nil {
			return nil, "", err
		}
	}
	var view reports.RequestsView
	if unserved {
		next, err = e.readChunks(&view, before)
	} else {
		next, err = e.readBatches(&view, before, limit)
	}
	if err != nil {
		return nil, "", err
	}
	kept := slices.DeleteFunc(view.Sorted("").Requests, func(r reports.RequestView) bool { return !e.includes(r.Time) })
	lines, err = records("request", kept)
	return lines, next, err
}

// readBatches reads served requests. After the last batch, the export continues with the requests that were not
// served.
func (e *export) readBatches(view *reports.RequestsView, before uint64, limit int) (next string, err error) {
	command := ledger.Recent{Before: before, Limit: uint64(min(limit, reports.BatchesAtOnce))}
	reply, err := e.Store.Objects.Call(e, abi.ClassLedger, e.project.ID, e.project.Region, command.Encode())
	if err != nil {
		return "", kernel.Unavailable(err)
	}
	batches, err := ledger.DecodeRecent(reply)
	for i := range batches {
		view.Add(&batches[i], &reports.RequestFilter{Catalog: e.Catalog})
	}
	if n := len(batches); uint64(n) == command.Limit && batches[n-1].Seq > 1 {
		return strconv.FormatUint(batches[n-1].Seq, 10), err
	}
	return chunkCursor, err
}

// chunksAtOnce is the number of record chunks per page. Together, they contain about 300 requests.
const chunksAtOnce = 8

func (e *export) readChunks(view *reports.RequestsView, before uint64) (next string, err error) {
	command := ledger.Records{Before: before, Limit: chunksAtOnce}
	reply, err := e.Store.Objects.Call(e, abi.ClassLedger, e.project.ID, e.project.Region, command.Encode())
	if err != nil {
		return "", kernel.Unavailable(err)
	}
	chunks, err := ledger.DecodeRecords(reply)
	for i := range chunks {
		view.AddChunk(&chunks[i], &reports.RequestFilter{Catalog: e.Catalog})
	}
	if n := len(chunks); n == chunksAtOnce && chunks[n-1].Seq > 1 {
		return chunkCursor + strconv.FormatUint(chunks[n-1].Seq, 10), err
	}
	return "", err
}

// includes reports whether a time is within the export's period.
func (e *export) includes(at string) bool {
	return (e.q.from == nil || at >= kernel.Timestamp(*e.q.from)) && (e.q.to == nil || at < kernel.Timestamp(*e.q.to))
}

// usageLines returns the usage per day, key and model. A day is included if any part of it is in the export's period.
// The cursor consists of a day and a position in its usage.
func (e *export) usageLines(after string, _ int) (lines [][]byte, next string, err error) {
	q := ledger.Query{FirstDay: 1, EndDay: calendar.Day(e.NowMs()) + 1, By: ledger.ByDetail, After: after}
	if e.q.from != nil {
		q.FirstDay = calendar.Day(*e.q.from)
	}
	if e.q.to != nil {
		q.EndDay = min(q.EndDay, calendar.Day(*e.q.to-1)+1)
	}
	if after == "" {
		if _, err := reports.FlushMeters(e, e.handler.Plane, e.project); err != nil {
			return nil, "", err
		}
	}
	page, err := reports.QueryPage(e, e.handler.Plane, e.project, &q)
	if err != nil {
		return nil, "", err
	}
	rows := make([]reports.UsageRow, len(page.Groups))
	for i := range page.Groups {
		rows[i] = reports.UsageRowOf(q.By, &page.Groups[i])
	}
	lines, err = records("usage", rows)
	return lines, page.Next, err
}
