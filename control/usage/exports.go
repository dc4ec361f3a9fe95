package usage

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

const (
	maxExportDays = 35 // older usage is not exported
	exportRows    = 15_000
)

// Export stores the usage of each day before end that has not been exported yet.
func Export(ctx context.Context, n *kernel.Run, p *directory.Project, end uint64) error {
	if n.Exports == nil {
		return nil
	}
	mark, last, err := exported(ctx, n, p)
	if err != nil {
		return err
	}
	first := max(last+1, calendar.Day(p.CreatedMs), end-maxExportDays)
	var failure error
	for day := first; day < end && n.CallsLeft > 0; day++ {
		if failure = exportDay(ctx, n, p, day); failure != nil {
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
	n.CallsLeft--
	_, err = n.Store.Commit(ctx, kernel.Change{Writes: []directory.Write{mark}})
	return errors.Join(failure, err)
}

// exported returns the last exported day, or 0 if there is none. The returned write is based on the document's
// current version.
func exported(ctx context.Context, n *kernel.Run, p *directory.Project) (mark directory.Write, last uint64, err error) {
	n.CallsLeft--
	mark, err = n.Store.ReadForWrite(ctx, kernel.ExportKey+p.ID)
	if err != nil || mark.Version == 0 {
		return mark, 0, err
	}
	r := abi.Reader{Buf: mark.Value}
	return mark, r.Uint(), r.End()
}

// exportDay stores a day as usage/<day>/<project>.ndjson with one line per key and model. If a day does not fit into
// one file, it continues in <project>.2.ndjson and so on.
func exportDay(ctx context.Context, n *kernel.Run, p *directory.Project, day uint64) error {
	name := "usage/" + kernel.DateText(day) + "/" + p.ID
	query := ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByDetail}
	ends, err := endsOf(ctx, n, p, query)
	if err != nil {
		return err
	}
	var rows []reports.UsageRow
	for part := 1; ; {
		n.CallsLeft--
		found, err := reports.QueryPage(ctx, n.Plane, p, &query)
		if err != nil {
			return err
		}
		if found.Next == "" {
			found.Groups = append(found.Groups, ends.without(found.Groups)...)
		}
		for i := range found.Groups {
			g := &found.Groups[i]
			g.Usage.Ends = ends.take(g)
			rows = append(rows, reports.UsageRowOf(query.By, g))
		}
		if len(rows) >= exportRows || found.Next == "" && len(rows) > 0 {
			if err := storeExport(ctx, n.Plane, name, part, rows); err != nil {
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

// dayEnds holds groups of a day's requests that were not served, in row order.
type dayEnds []ledger.Group

// endsOf reads the requests of a day that were not served.
func endsOf(ctx context.Context, n *kernel.Run, p *directory.Project, q ledger.Query) (ends dayEnds, err error) {
	n.CallsLeft--
	err = reports.EndGroups(ctx, n.Plane, p, q, func(g *ledger.Group) error {
		ends = append(ends, *g)
		return nil
	})
	return ends, err
}

// take removes and returns the ends that belong to a group's key and model.
func (d *dayEnds) take(g *ledger.Group) (e ledger.Endings) {
	for i := range *d {
		if o := &(*d)[i]; o.KeyID == g.KeyID && o.Usage.Model == g.Usage.Model {
			e = o.Usage.Ends
			*d = slices.Delete(*d, i, i+1)
			return e
		}
	}
	return e
}

// without returns groups for the keys and models that have ends but no usage.
func (d *dayEnds) without(usage []ledger.Group) (rest []ledger.Group) {
	for _, g := range *d {
		if !slices.ContainsFunc(usage, func(u ledger.Group) bool { return u.KeyID == g.KeyID && u.Usage.Model == g.Usage.Model }) {
			g.Usage.Ends = ledger.Endings{}
			rest = append(rest, g)
		}
	}
	return rest
}

func storeExport(ctx context.Context, cp *kernel.Plane, name string, part int, rows []reports.UsageRow) error {
	text, err := ndjsonOf([]compared{{rows: rows}})
	if err != nil {
		return err
	}
	if part > 1 {
		name += "." + strconv.Itoa(part)
	}
	return cp.Exports(ctx, name+".ndjson", text)
}

const maxPruneRounds = 100

// Prune deletes old usage from a project's ledger.
func Prune(ctx context.Context, n *kernel.Run, p *directory.Project) error {
	today := calendar.Day(n.NowMs())
	command := ledger.Prune{FirstDay: today - ledger.KeepDays, FirstHourDay: today - ledger.KeepHourDays}
	for range maxPruneRounds {
		n.CallsLeft--
		reply, err := n.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
		if err != nil {
			return err
		}
		if removed, err := ledger.DecodePruned(reply); err != nil || removed == 0 {
			return err
		}
	}
	kernel.LogLine{Level: "info", RequestID: "", Code: "prune_incomplete", Message: p.ID + " has more old usage than one round prunes; the next round continues"}.Write()
	return nil
}
