package compliance

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// maxForget is the approximate maximum number of entries that one round prunes from a chain. The next day's round
// continues.
const maxForget = 2000

// Attest closes the days before end in the project's ledger, prunes old entries of the project's chains, and signs
// the chains that have grown. Without a signing key, it makes no checkpoints. It still prunes old entries, because
// the retention limit always applies.
func Attest(ctx context.Context, n *kernel.Run, p *directory.Project, end uint64) error {
	states, err := chainStates(ctx, n, p, end)
	if err != nil {
		return err
	}
	n.CallsLeft--
	known, _, err := newestCheckpoints(ctx, n.Store, p.ID)
	if err != nil {
		return err
	}
	var failures []error
	keys := signingKeys(n.Plane)
	for i, object := range chainObjects {
		state := &states[i]
		failures = append(failures, pruneChain(ctx, n, p, object, state, keys))
		if last := known.of(object); len(keys) > 0 && state.Head.Seq > 0 && (last == nil || last.Seq < state.Head.Seq) {
			c := sign(n.Plane, keys[0], p, object, compliance.Daily, state.Head.Seq, state.Head.Hash.String())
			n.CallsLeft -= keepCalls
			failures = append(failures, keep(ctx, n.Plane, p, &c))
		}
	}
	return errors.Join(failures...)
}

// chainStates closes the days before end and returns the state of each chain in the order of chainObjects.
func chainStates(ctx context.Context, n *kernel.Run, p *directory.Project, end uint64) (states [2]chain.PageReply, err error) {
	n.CallsLeft -= len(chainObjects)
	if states[0], err = chainPage(ctx, n.Store, p, chain.Directory, 0, 0); err != nil {
		return states, err
	}
	command := ledger.CloseDay{Day: end - 1}
	reply, err := n.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return states, err
	}
	states[1], err = chain.DecodePageReply(reply)
	return states, err
}

// keepCalls is the maximum number of object calls that keep makes.
const keepCalls = 3

// keep publishes and stores a checkpoint. It publishes first, because a checkpoint that is stored but not published
// would prove nothing. If storing fails, the next run publishes the checkpoint again.
func keep(ctx context.Context, cp *kernel.Plane, p *directory.Project, c *compliance.Checkpoint) error {
	if err := publish(ctx, cp, p, c); err != nil {
		return err
	}
	known, mark, err := newestCheckpoints(ctx, cp.Store, p.ID)
	if err != nil {
		return err
	}
	known.add(c)
	if mark.Value, err = json.Marshal(known); err != nil {
		return err
	}
	value, err := json.Marshal(c)
	if err != nil {
		return err
	}
	stored := directory.Write{Key: checkpointKey(c, cp.NowMs()), Value: value}
	committed, err := cp.Store.Commit(ctx, kernel.Change{Writes: []directory.Write{mark, stored}})
	if err == nil && !committed {
		err = kernel.ErrConflict
	}
	return err
}

// pruneChain deletes entries older than kernel.AuditRetention. It first makes a checkpoint of the last entry that it
// will delete, so the rest of the chain can still be verified. The newest entry is always kept.
func pruneChain(ctx context.Context, n *kernel.Run, p *directory.Project, object string, state *chain.PageReply, keys []compliance.SigningKey) error {
	cutoff := uint64(n.Now().Add(-kernel.AuditRetention).UnixMilli())
	if p.CreatedMs >= cutoff {
		return nil
	}
	last, err := lastBefore(ctx, n, p, object, state, cutoff)
	if err != nil || last == nil {
		return err
	}
	if len(keys) > 0 {
		c := sign(n.Plane, keys[0], p, object, compliance.Prune, last.Seq, last.Hash.String())
		n.CallsLeft -= keepCalls
		if err := keep(ctx, n.Plane, p, &c); err != nil {
			return err
		}
	}
	for seq := state.Oldest; seq <= last.Seq; seq += chain.MaxForget {
		n.CallsLeft--
		if err := forgetEntries(ctx, n.Store, p, object, last.Seq); err != nil {
			return err
		}
	}
	return forgetCheckpoints(ctx, n, p, cutoff)
}

// lastBefore reads about maxForget entries from the start of a chain. It returns the last one that is older than
// cutoff, or nil if none is older.
func lastBefore(ctx context.Context, n *kernel.Run, p *directory.Project, object string, state *chain.PageReply, cutoff uint64) (last *chain.Entry, err error) {
	for seq := state.Oldest; seq > 0 && seq < state.Head.Seq && seq < state.Oldest+maxForget; {
		n.CallsLeft--
		page, err := chainPage(ctx, n.Store, p, object, seq, chain.MaxPage)
		if err != nil || len(page.Entries) == 0 {
			return nil, err
		}
		for i := range page.Entries {
			if e := &page.Entries[i]; e.TimeMs < cutoff && e.Seq < state.Head.Seq {
				last, seq = e, e.Seq+1
				continue
			}
			return last, nil
		}
	}
	return last, nil
}

// forgetCheckpoints deletes checkpoints older than cutoff. The newest one of each chain remains in a separate
// document.
func forgetCheckpoints(ctx context.Context, n *kernel.Run, p *directory.Project, cutoff uint64) error {
	prefix := checkpointsOf(p.ID)
	n.CallsLeft -= 2
	query := directory.List{Prefix: prefix, After: prefix + abi.Fixed(kernel.EndOfTimeMs-cutoff)}
	return n.Prune(ctx, query, func(directory.Document) bool { return true })
}
