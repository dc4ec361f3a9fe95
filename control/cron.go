package control

import (
	"context"
	"encoding/json"
	"errors"
	"log"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// roundKey is the Directory's document of how far the day's work has come.
const roundKey = "w/round"

// How much one run does.
const (
	maxRunCalls    = 1000 // of objects, about: a Worker may make 10,000
	roundPage      = 100
	maxPruneRounds = 100
)

// round is the work that each closed day makes: every project's usage goes to where exports are kept, and what
// is too old goes away. It is spread over as many runs as it takes, and repeated until nothing in it failed.
type round struct {
	Day    uint64 `json:"day"`    // the first that is not closed
	After  string `json:"after"`  // the last project that is done
	Failed bool   `json:"failed"` // some project's work did
	Done   bool   `json:"done"`
}

// Hourly does a part of what is due, if something is. What fails is left to the next time.
func (s *Service) Hourly(ctx context.Context) error {
	h := s.handler
	return errors.Join(h.continueRound(ctx), h.pruneSlowdowns(ctx), h.pruneAudit(ctx))
}

// continueRound goes on where the last run stopped. A day is closed an hour after its end, when nothing is
// under way any more; settlements that come later still are in the ledger only.
func (h *handler) continueRound(ctx context.Context) error {
	write, err := h.store.asRead(ctx, roundKey)
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
	failure := (&run{handler: h, left: maxRunCalls}).projects(ctx, &r)
	if write.Value, err = json.Marshal(r); err == nil {
		_, err = h.store.commit(ctx, change{writes: []directory.Write{write}})
	}
	return errors.Join(failure, err)
}

// run is one run's part of a round.
type run struct {
	*handler
	left int // calls that it still makes
}

// projects does one project after the other. One that fails does not hold up the others; one that is not
// finished when the run ends is gone on with by the next.
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
			if n.left <= 0 {
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
	return errors.Join(n.export(ctx, &p, day), n.pruneUsage(ctx, &p))
}

// pruneUsage has a project's ledger forget what is too old.
func (n *run) pruneUsage(ctx context.Context, p *project) error {
	today := calendar.Day(n.nowMs())
	question := ledger.Prune{FirstDay: today - ledger.KeepDays, FirstHourDay: today - ledger.KeepHourDays}
	for range maxPruneRounds {
		n.left--
		reply, err := n.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, question.Encode())
		if err != nil {
			return err
		}
		if removed, err := ledger.DecodePruned(reply); err != nil || removed == 0 {
			return err
		}
	}
	log.Printf("control: %s has more old usage than one run removes", p.ID)
	return nil
}
