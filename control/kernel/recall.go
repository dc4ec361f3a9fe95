package kernel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// Recall makes a project's meters return the unused parts of slices that a Ledger granted under an earlier budget. The
// Ledger is that of a group, or the project's own if the ID is empty. Recall waits for budget that meters have lent out.
// Meters of keys beyond MaxUpdatedKeys keep their slices.
func (s Store) Recall(ctx context.Context, projectID, group string) error {
	p, all, err := s.snapshot(ctx, projectID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all[:min(len(all), MaxUpdatedKeys)], func(k directory.Key) bool { return k.Kind != keys.Gateway })
	for waited := time.Duration(0); len(all) > 0; {
		lending, waitMs, err := s.recallOnce(ctx, &p, group, all)
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

// recallOnce recalls the budget that meters can return now. lending lists the keys whose meters may return more after
// waitMs.
func (s Store) recallOnce(ctx context.Context, p *directory.Project, group string, all []directory.Key) (lending []directory.Key, waitMs uint64, err error) {
	waits := make([]uint64, len(all))
	err = Parallel(Indexes(all), func(i int) (err error) {
		waits[i], err = s.recallMeter(ctx, p, group, all[i].Hash)
		return err
	})
	for i := range all {
		if waits[i] > 0 {
			lending, waitMs = append(lending, all[i]), max(waitMs, waits[i])
		}
	}
	return lending, waitMs, err
}

func (s Store) recallMeter(ctx context.Context, p *directory.Project, group, meter string) (lentMs uint64, err error) {
	command := keymeter.Flush{Recall: true, Ledger: group}
	reply, err := s.Objects.Call(ctx, abi.ClassKeyMeter, meter, p.Region, command.Encode())
	if err != nil {
		return 0, Unavailable(err)
	}
	flushed, err := s.DeliverFlushed(ctx, p, reply)
	if err == nil && len(flushed.Return) > 0 {
		_, err = s.Objects.Call(ctx, abi.ClassLedger, group, "", flushed.Return)
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
