package control

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// maxForget is how many entries of a chain one round prunes at most. The next day's round continues.
const maxForget = 2000

// attest closes the days before end in the project's ledger, prunes old entries of its chains, and signs the chains
// that have grown. Without a signing key there are no checkpoints, but old entries are pruned nevertheless: retention is a
// promise as well.
func (n *run) attest(ctx context.Context, p *project, end uint64) error {
	states, err := n.chainStates(ctx, p, end)
	if err != nil {
		return err
	}
	n.callsLeft--
	known, _, err := n.store.newestCheckpoints(ctx, p.ID)
	if err != nil {
		return err
	}
	var failures []error
	keys := n.signingKeys()
	for i, object := range chainObjects {
		state := &states[i]
		failures = append(failures, n.pruneChain(ctx, p, object, state, keys))
		if last := known.of(object); len(keys) > 0 && state.Head.Seq > 0 && (last == nil || last.Seq < state.Head.Seq) {
			c := n.sign(keys[0], p, object, compliance.Daily, state.Head.Seq, state.Head.Hash.String())
			n.callsLeft -= keepCalls
			failures = append(failures, n.keep(ctx, p, &c))
		}
	}
	return errors.Join(failures...)
}

// chainStates closes the days before end, and returns the state of each chain, in the order of chainObjects.
func (n *run) chainStates(ctx context.Context, p *project, end uint64) (states [2]chain.PageReply, err error) {
	n.callsLeft -= len(chainObjects)
	if states[0], err = n.store.chainPage(ctx, p, chain.Directory, 0, 0); err != nil {
		return states, err
	}
	command := ledger.CloseDay{Day: end - 1}
	reply, err := n.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return states, err
	}
	states[1], err = chain.DecodePageReply(reply)
	return states, err
}

// keepCalls is how many calls to objects keep makes.
const keepCalls = 3

// keep publishes and stores a checkpoint. If storing fails, it is published again by the next run, because a
// checkpoint that is stored and not published would prove nothing.
func (h *handler) keep(ctx context.Context, p *project, c *compliance.Checkpoint) error {
	if err := h.publish(ctx, p, c); err != nil {
		return err
	}
	known, mark, err := h.store.newestCheckpoints(ctx, p.ID)
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
	stored := directory.Write{Key: checkpointKey(c, h.nowMs()), Value: value}
	committed, err := h.store.commit(ctx, change{writes: []directory.Write{mark, stored}})
	if err == nil && !committed {
		err = errConflict
	}
	return err
}

// pruneChain deletes entries older than auditRetention, after a checkpoint of the last of them, from which the rest of
// the chain can still be verified. The newest entry is always kept.
func (n *run) pruneChain(ctx context.Context, p *project, object string, state *chain.PageReply, keys []compliance.SigningKey) error {
	cutoff := uint64(n.Now().Add(-auditRetention).UnixMilli())
	if p.CreatedMs >= cutoff {
		return nil
	}
	last, err := n.lastBefore(ctx, p, object, state, cutoff)
	if err != nil || last == nil {
		return err
	}
	if len(keys) > 0 {
		c := n.sign(keys[0], p, object, compliance.Prune, last.Seq, last.Hash.String())
		n.callsLeft -= keepCalls
		if err := n.keep(ctx, p, &c); err != nil {
			return err
		}
	}
	for seq := state.Oldest; seq <= last.Seq; seq += chain.MaxForget {
		n.callsLeft--
		if err := n.store.forgetEntries(ctx, p, object, last.Seq); err != nil {
			return err
		}
	}
	return n.forgetCheckpoints(ctx, p, cutoff)
}

// lastBefore is the last of the oldest entries that is older than cutoff, or nil if there is none.
func (n *run) lastBefore(ctx context.Context, p *project, object string, state *chain.PageReply, cutoff uint64) (last *chain.Entry, err error) {
	for seq := state.Oldest; seq > 0 && seq < state.Head.Seq && seq < state.Oldest+maxForget; {
		n.callsLeft--
		page, err := n.store.chainPage(ctx, p, object, seq, chain.MaxPage)
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

// forgetCheckpoints deletes checkpoints older than cutoff. The newest of each chain remains in its own document.
func (n *run) forgetCheckpoints(ctx context.Context, p *project, cutoff uint64) error {
	prefix := checkpointsOf(p.ID)
	n.callsLeft -= 2
	query := directory.List{Prefix: prefix, After: prefix + abi.Fixed(endOfTimeMs-cutoff)}
	return n.prune(ctx, query, func(directory.Document) bool { return true })
}
