package kernel

import (
	"context"
	"errors"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// maxForwards limits the replies to one ForwardUsage. Each has up to a hundred deliveries.
const maxForwards = 20

var errForwards = errors.New("a project's Ledger has too many deliveries for the groups above it")

// ForwardUsage makes a project's Ledger send its pending usage to the groups above the project, and returns when they
// have it. It covers what the Ledger has absorbed; the caller flushes the keys' meters first. The Ledger's outbox makes
// the deliveries too, in case the caller stops.
func (s Store) ForwardUsage(ctx context.Context, p *directory.Project) error {
	if p.Path == 0 {
		return nil
	}
	for range maxForwards {
		data, err := s.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, ledger.Forward())
		if err != nil {
			return Unavailable(err)
		}
		reply, err := ledger.DecodeForwardReply(data)
		if err != nil {
			return err
		}
		for _, d := range reply.Deliveries { // in order, because a group drops older ones than its last
			if _, err := s.Objects.Call(ctx, d.Class, d.Name, d.Region, d.Data); err != nil {
				return Unavailable(err)
			}
		}
		if !reply.More {
			return nil
		}
	}
	return Unavailable(errForwards)
}
