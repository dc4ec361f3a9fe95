package control

import (
	"context"
	"errors"
	"log"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// How far back an export goes that was missed, and how much one run does.
const (
	exportKey      = "e/" // + a project's id: the Directory's note of the last day that was exported
	maxExportDays  = 35
	maxExportRuns  = 1000 // days of all projects in one run; the rest is for the next
	maxPruneRounds = 100
)

// Daily does what is due once a day: every closed day's usage goes to where exports are kept, and what is
// too old goes away. What fails is left to the next day.
func (s *Service) Daily(ctx context.Context) error {
	h := s.handler
	return errors.Join(h.eachProject(ctx), h.pruneSlowdowns(ctx), h.pruneAudit(ctx))
}

// eachProject exports and prunes project by project. One that fails does not hold up the others.
func (h *handler) eachProject(ctx context.Context) error {
	var failures []error
	runs := 0
	query := directory.List{Prefix: doc.ProjectKey(""), Limit: scanPage}
	for {
		docs, err := h.store.list(ctx, query)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		for _, d := range docs {
			p, err := directory.DecodeProject(d)
			if err == nil {
				err = errors.Join(h.export(ctx, &p, &runs), h.pruneUsage(ctx, &p))
			}
			if err != nil {
				failures = append(failures, err)
			}
		}
		if len(docs) < scanPage {
			return errors.Join(failures...)
		}
		query.After = docs[len(docs)-1].Key
	}
}

// export keeps the usage of each closed day that was not exported before, as <day>/<project>.ndjson with a
// line for each key and model. A day is closed an hour after its end, when nothing is under way any more;
// settlements that come later still are in the ledger only.
func (h *handler) export(ctx context.Context, p *project, runs *int) error {
	if h.Exports == nil {
		return nil
	}
	note, err := h.store.list(ctx, directory.List{Prefix: exportKey + p.ID, Limit: 1})
	if err != nil {
		return err
	}
	mark := directory.Document{Key: exportKey + p.ID}
	if len(note) == 1 && note[0].Key == mark.Key {
		mark = note[0]
	}
	end := calendar.Day(h.nowMs() - calendar.HourMs)
	last := uint64(0)
	if mark.Version > 0 {
		last = (&abi.Reader{Buf: mark.Value}).Uint()
	}
	first := max(last+1, calendar.Day(p.CreatedMs), end-maxExportDays)
	var failure error
	for day := first; day < end && *runs < maxExportRuns; day++ {
		*runs++
		if failure = h.exportDay(ctx, p, day); failure != nil {
			break
		}
		last = day
	}
	if last < first {
		return failure
	}
	var w abi.Writer
	w.Uint(last)
	_, err = h.store.commit(ctx, change{writes: []directory.Write{{Key: mark.Key, Version: mark.Version, Value: w.Buf}}})
	return errors.Join(failure, err)
}

func (h *handler) exportDay(ctx context.Context, p *project, day uint64) error {
	q := usageQuestion{Query: ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByDetail}}
	groups, err := h.groups(ctx, p, q.Query)
	if err != nil || len(groups) == 0 {
		return err
	}
	rows := make([]usageRow, len(groups))
	for i := range groups {
		rows[i] = q.row(&groups[i])
	}
	text, err := ndjsonOf(rows)
	if err != nil {
		return err
	}
	return h.Exports(ctx, "usage/"+dateText(day)+"/"+p.ID+".ndjson", text)
}

// pruneUsage has a project's ledger forget what is too old.
func (h *handler) pruneUsage(ctx context.Context, p *project) error {
	today := calendar.Day(h.nowMs())
	question := ledger.Prune{FirstDay: today - ledger.KeepDays, FirstHourDay: today - ledger.KeepHourDays}
	for range maxPruneRounds {
		reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, question.Encode())
		if err != nil {
			return err
		}
		if n, err := ledger.DecodePruned(reply); err != nil || n == 0 {
			return err
		}
	}
	log.Printf("control: %s has more old usage than one day removes", p.ID)
	return nil
}
