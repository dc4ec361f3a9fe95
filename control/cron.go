package control

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// roundKey is the Directory's document with the progress of the daily work.
const roundKey = "w/round"

// Limits of one run.
const (
	maxRunCalls    = 1000 // approximate number of calls to objects; a Worker may make 10,000
	roundPage      = 100
	maxPruneRounds = 100
)

// round is the daily work for all projects: export the usage of closed days and prune old data. It takes as
// many runs as necessary and is repeated until no project fails.
type round struct {
	Day    uint64 `json:"day"`    // the first day that is not closed
	After  string `json:"after"`  // document key of the last finished project
	Failed bool   `json:"failed"` // at least one project failed
	Done   bool   `json:"done"`
}

// Hourly does a part of the pending work. Failed work is retried by a later call.
func (s *Service) Hourly(ctx context.Context) error {
	h := s.handler
	return errors.Join(h.continueRound(ctx), h.pruneFailures(ctx), h.pruneAudit(ctx))
}

// continueRound resumes where the last run stopped. A day is closed an hour after its end, when no request of
// that day is in flight. Later settlements are in the ledger, but not in the export.
func (h *handler) continueRound(ctx context.Context) error {
	write, err := h.store.readForWrite(ctx, roundKey)
	var r round
	if err == nil && write.Version > 0 {
		err = json.Unmarshal(write.Value, &r)
	}
	if err != nil {
		return err
	}
	if day := calendar.Day(h.nowMs() - calendar.HourMs); day != r.Day {
		r = round{Day: day}
	}
	if r.Done {
		return nil
	}
	failure := (&run{handler: h, callsLeft: maxRunCalls}).projects(ctx, &r)
	if write.Value, err = json.Marshal(r); err == nil {
		_, err = h.store.commit(ctx, change{writes: []directory.Write{write}})
	}
	return errors.Join(failure, err)
}

// run is one run's part of a round.
type run struct {
	*handler
	callsLeft int // remaining calls to objects
}

// projects processes the projects in order. A failure of one does not stop the others. A project that the run
// does not finish is continued by the next run.
func (n *run) projects(ctx context.Context, r *round) error {
	var failures []error
	for {
		docs, err := n.store.list(ctx, directory.List{Prefix: doc.ProjectKey(""), After: r.After, Limit: roundPage})
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		for _, d := range docs {
			if err := n.project(ctx, d, r.Day); err != nil {
				r.Failed = true
				failures = append(failures, err)
			}
			if n.callsLeft <= 0 {
				return errors.Join(failures...)
			}
			r.After = d.Key
		}
		if len(docs) < roundPage {
			*r = round{Day: r.Day, Done: !r.Failed}
			return errors.Join(failures...)
		}
	}
}

func (n *run) project(ctx context.Context, d directory.Document, day uint64) error {
	p, err := directory.DecodeProject(d)
	if err != nil {
		return err
	}
	return errors.Join(n.export(ctx, &p, day), n.attest(ctx, &p, day), n.pruneUsage(ctx, &p))
}

// pruneUsage removes old usage from a project's ledger.
func (n *run) pruneUsage(ctx context.Context, p *project) error {
	today := calendar.Day(n.nowMs())
	command := ledger.Prune{FirstDay: today - ledger.KeepDays, FirstHourDay: today - ledger.KeepHourDays}
	for range maxPruneRounds {
		n.callsLeft--
		reply, err := n.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
		if err != nil {
			return err
		}
		if removed, err := ledger.DecodePruned(reply); err != nil || removed == 0 {
			return err
		}
	}
	logLine{"info", "", "prune_incomplete", p.ID + " has more old usage than one round prunes; the next round continues"}.write()
	return nil
}
