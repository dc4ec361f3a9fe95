package control

import (
	"context"
	"errors"
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

const (
	exportKey     = "e/" // + project ID: the Directory's document with the last exported day
	maxExportDays = 35   // usage of days further back is not exported
	exportRows    = 15_000
)

// export stores the usage of each closed day, before end, that has not been exported yet.
func (n *run) export(ctx context.Context, p *project, end uint64) error {
	if n.Exports == nil {
		return nil
	}
	mark, last, err := n.exported(ctx, p)
	if err != nil {
		return err
	}
	first := max(last+1, calendar.Day(p.CreatedMs), end-maxExportDays)
	var failure error
	for day := first; day < end && n.callsLeft > 0; day++ {
		if failure = n.exportDay(ctx, p, day); failure != nil {
			break
		}
		last = day
	}
	if last < first {
		return failure
	}
	var w abi.Writer
	w.Uint(last)
	mark.Value = w.Buf
	n.callsLeft--
	_, err = n.store.commit(ctx, change{writes: []directory.Write{mark}})
	return errors.Join(failure, err)
}

// exported returns the last exported day, 0 if none, and a write based on the document's current version.
func (n *run) exported(ctx context.Context, p *project) (mark directory.Write, last uint64, err error) {
	n.callsLeft--
	mark, err = n.store.readForWrite(ctx, exportKey+p.ID)
	if err != nil || mark.Version == 0 {
		return mark, 0, err
	}
	r := abi.Reader{Buf: mark.Value}
	return mark, r.Uint(), r.End()
}

// exportDay stores a day as usage/<day>/<project>.ndjson with one line per key and model. A day that exceeds
// one file continues in <project>.2.ndjson and so on.
func (n *run) exportDay(ctx context.Context, p *project, day uint64) error {
	name := "usage/" + dateText(day) + "/" + p.ID
	query := usageQuery{Query: ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByDetail}}
	var rows []usageRow
	for part := 1; ; {
		n.callsLeft--
		found, err := n.queryPage(ctx, p, &query.Query)
		if err != nil {
			return err
		}
		for i := range found.Groups {
			rows = append(rows, query.row(&found.Groups[i]))
		}
		if len(rows) >= exportRows || found.Next == "" && len(rows) > 0 {
			if err := n.storeExport(ctx, name, part, rows); err != nil {
				return err
			}
			part, rows = part+1, rows[:0]
		}
		if found.Next == "" {
			return nil
		}
		query.After = found.Next
	}
}

func (h *handler) storeExport(ctx context.Context, name string, part int, rows []usageRow) error {
	text, err := ndjsonOf(rows)
	if err != nil {
		return err
	}
	if part > 1 {
		name += "." + strconv.Itoa(part)
	}
	return h.Exports(ctx, name+".ndjson", text)
}
