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
	exportKey     = "e/" // + a project's id: the Directory's note of the last day that was exported
	maxExportDays = 35   // how far back an export goes that was missed
	exportRows    = 15_000
)

// export keeps the usage of each closed day that was not exported before: those before end.
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
	for day := first; day < end && n.left > 0; day++ {
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
	n.left--
	_, err = n.store.commit(ctx, change{writes: []directory.Write{mark}})
	return errors.Join(failure, err)
}

// exported is the last day that was, 0 if none, and the write that stands for its document as it is read.
func (n *run) exported(ctx context.Context, p *project) (mark directory.Write, last uint64, err error) {
	n.left--
	mark, err = n.store.asRead(ctx, exportKey+p.ID)
	if err != nil || mark.Version == 0 {
		return mark, 0, err
	}
	r := abi.Reader{Buf: mark.Value}
	return mark, r.Uint(), r.End()
}

// exportDay keeps a day as usage/<day>/<project>.ndjson with a line for each key and model. A day that is too
// large for one file goes on in <project>.2.ndjson and so on.
func (n *run) exportDay(ctx context.Context, p *project, day uint64) error {
	name := "usage/" + dateText(day) + "/" + p.ID
	question := usageQuestion{Query: ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByDetail}}
	var rows []usageRow
	for part := 1; ; {
		n.left--
		found, err := n.part(ctx, p, &question.Query)
		if err != nil {
			return err
		}
		for i := range found.Groups {
			rows = append(rows, question.row(&found.Groups[i]))
		}
		if len(rows) >= exportRows || found.Next == "" && len(rows) > 0 {
			if err := n.keepExport(ctx, name, part, rows); err != nil {
				return err
			}
			part, rows = part+1, rows[:0]
		}
		if found.Next == "" {
			return nil
		}
		question.After = found.Next
	}
}

func (h *handler) keepExport(ctx context.Context, name string, part int, rows []usageRow) error {
	text, err := ndjsonOf(rows)
	if err != nil {
		return err
	}
	if part > 1 {
		name += "." + strconv.Itoa(part)
	}
	return h.Exports(ctx, name+".ndjson", text)
}
