package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// Recall is budget that the meters of projects return, because it was granted under an earlier, higher budget.
type Recall struct {
	Projects []string
	// Ledgers are the names of the Ledgers that granted it. An empty name stands for the Ledger of each project.
	Ledgers []string
}

// held is a meter's slice of a Ledger's budget.
type held struct {
	project       *directory.Project
	meter, ledger string
}

// Recall makes meters return the unused parts of their slices. It waits for budget that meters have lent out. Meters of
// keys beyond MaxUpdatedKeys keep their slices.
func (s Store) Recall(ctx context.Context, r *Recall) error {
	if len(r.Ledgers) == 0 {
		return nil
	}
	found, _, err := s.firstKeys(ctx, r.Projects)
	if err != nil {
		return err
	}
	var all []held
	for i := range found {
		for _, k := range found[i].keys {
			for _, ledger := range r.Ledgers {
				if k.Kind == keys.Gateway {
					all = append(all, held{&found[i].project, k.Hash, ledger})
				}
			}
		}
	}
	for waited := time.Duration(0); len(all) > 0; {
		lending, waitMs, err := s.recallOnce(ctx, all)
		if err != nil {
			return err
		}
		all, waited = lending, waited+time.Duration(waitMs)*time.Millisecond
		if waited > maxWait {
			return Unavailable(errLent)
		}
		if err := s.Wait(ctx, waitMs); err != nil {
			return err
		}
	}
	return nil
}

var errLent = errors.New("a meter still has lent budget after the longest wait")

// recallOnce recalls the budget that meters can return now. lending lists the slices of which more may return after
// waitMs.
func (s Store) recallOnce(ctx context.Context, all []held) (lending []held, waitMs uint64, err error) {
	waits := make([]uint64, len(all))
	err = Parallel(Indexes(all), func(i int) (err error) {
		waits[i], err = s.recallSlice(ctx, &all[i])
		return err
	})
	for i := range all {
		if waits[i] > 0 {
			lending, waitMs = append(lending, all[i]), max(waitMs, waits[i])
		}
	}
	return lending, waitMs, err
}

func (s Store) recallSlice(ctx context.Context, h *held) (lentMs uint64, err error) {
	command := keymeter.Flush{Recall: true, Ledger: h.ledger}
	reply, err := s.Objects.Call(ctx, abi.ClassKeyMeter, h.meter, h.project.Region, command.Encode())
	if err != nil {
		return 0, Unavailable(err)
	}
	flushed, err := s.DeliverFlushed(ctx, h.project, reply)
	if err == nil && len(flushed.Return) > 0 {
		_, err = s.Objects.Call(ctx, abi.ClassLedger, h.ledger, "", flushed.Return)
	}
	if err != nil {
		return 0, Unavailable(err)
	}
	return flushed.LentMs, nil
}

// DeliverFlushed takes the batches from a meter's reply to a flush and delivers them to the project's ledger.
func (s Store) DeliverFlushed(ctx context.Context, p *directory.Project, reply []byte) (flushed keymeter.FlushReply, err error) {
	flushed, err = keymeter.DecodeFlushReply(reply)
	if err != nil || len(flushed.Absorbs) == 0 {
		return flushed, err
	}
	_, err = s.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, ledger.Batch(flushed.Absorbs))
	return flushed, err
}
