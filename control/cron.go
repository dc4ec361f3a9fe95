package control

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/postern-ai/postern/control/auditlog"
	"github.com/postern-ai/postern/control/compliance"
	"github.com/postern-ai/postern/control/groups"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/usage"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// roundKey is the key of the Directory document with the progress of the daily work.
const roundKey = "w/round"

// roundPage is the number of projects that one call reads.
const roundPage = 100

// round is the daily work for all projects and groups: it exports the usage of closed days and prunes old data. It takes as many
// runs as necessary and is repeated until no project fails.
type round struct {
	Day    uint64 `json:"day"`    // the first day that is not closed
	After  string `json:"after"`  // document key of the last finished project or, after all projects, group
	Failed bool   `json:"failed"` // at least one project or group failed
	Done   bool   `json:"done"`
}

// Hourly does a part of the pending work. A later call retries work that failed.
func (s *Service) Hourly(ctx context.Context) error {
	return errors.Join(s.continueRound(ctx), s.auth.PruneFailures(ctx), groups.Continue(ctx, s.plane), auditlog.Prune(ctx, s.plane))
}

// A day is closed an hour after its end. By then, none of its requests should be in flight. Later settlements are in
// the ledger but not in the export.
func (s *Service) continueRound(ctx context.Context) error {
	write, err := s.plane.Store.ReadForWrite(ctx, roundKey)
	var r round
	if err == nil && write.Version > 0 {
		err = json.Unmarshal(write.Value, &r)
	}
	if err != nil {
		return err
	}
	// If the last day's round is not finished, it continues with the work of this day. If it began again, a deployment
	// with too many projects for one day would never get to the last ones.
	if day := calendar.Day(s.plane.NowMs() - calendar.HourMs); day != r.Day {
		r = round{Day: day, After: r.After, Failed: r.Failed}
	}
	if r.Done {
		return nil
	}
	failure := work(ctx, (&kernel.Run{Plane: s.plane, CallsLeft: kernel.MaxRunCalls}), &r)
	if write.Value, err = json.Marshal(r); err == nil {
		_, err = s.plane.Store.Commit(ctx, kernel.Change{Writes: []directory.Write{write}})
	}
	return errors.Join(failure, err)
}

// work processes the projects, then the groups and the deployment.
func work(ctx context.Context, n *kernel.Run, r *round) error {
	var failures []error
	if !strings.HasPrefix(r.After, doc.AllGroups) {
		done, err := workOn(ctx, n, r, doc.ProjectKey(""), workOnProject)
		if !done {
			return err
		}
		failures, r.After = append(failures, err), doc.AllGroups
	}
	done, err := workOn(ctx, n, r, doc.AllGroups, pruneGroup)
	if failures = append(failures, err); !done {
		return errors.Join(failures...)
	}
	if err := usage.Prune(ctx, n, &reports.Root); err != nil {
		r.Failed = true
		failures = append(failures, err)
	}
	*r = round{Day: r.Day, Done: !r.Failed}
	return errors.Join(failures...)
}

// workOn processes the documents of a kind in order. If one fails, the others are still processed. If a run cannot finish
// a document, the next run continues with it. done is false if documents are left.
func workOn(ctx context.Context, n *kernel.Run, r *round, prefix string, one func(context.Context, *kernel.Run, directory.Document, uint64) error) (done bool, err error) {
	var failures []error
	for {
		docs, err := n.Store.List(ctx, directory.List{Prefix: prefix, After: r.After, Limit: roundPage})
		if err != nil {
			return false, errors.Join(append(failures, err)...)
		}
		for _, d := range docs {
			if err := one(ctx, n, d, r.Day); err != nil {
				r.Failed = true
				failures = append(failures, err)
			}
			if n.CallsLeft <= 0 {
				return false, errors.Join(failures...)
			}
			r.After = d.Key
		}
		if len(docs) < roundPage {
			return true, errors.Join(failures...)
		}
	}
}

// pruneGroup deletes old usage from a group's Ledger. That of the deployment follows the groups, because it exists even
// without a document.
func pruneGroup(ctx context.Context, n *kernel.Run, d directory.Document, _ uint64) error {
	g, err := directory.DecodeGroup(d)
	if err != nil || g.ID == doc.Root {
		return err
	}
	return usage.Prune(ctx, n, &directory.Project{Project: doc.Project{ID: g.ID}})
}

func workOnProject(ctx context.Context, n *kernel.Run, d directory.Document, day uint64) error {
	p, err := directory.DecodeProject(d)
	if err != nil {
		return err
	}
	return errors.Join(usage.Export(ctx, n, &p, day), compliance.Attest(ctx, n, &p, day), usage.Prune(ctx, n, &p))
}
