package compliance

import (
	"context"
	"sort"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// chainObjects are the objects that append to a project's chains.
var chainObjects = []string{chain.Directory, chain.Ledger}

// chainPage reads entries of a chain, starting with entry number first. If limit is 0, it reads only the chain's
// state.
func chainPage(ctx context.Context, s kernel.Store, p *directory.Project, object string, first, limit uint64) (chain.PageReply, error) {
	page := chain.Page{Project: p.ID, First: first, Limit: limit}
	reply, err := callChain(ctx, s, p, object, directory.Events(&page), ledger.Events(&page))
	if err != nil {
		return chain.PageReply{}, err
	}
	return chain.DecodePageReply(reply)
}

// forgetEntries sends one command that deletes the oldest entries of a chain, up to and including entry number
// through.
func forgetEntries(ctx context.Context, s kernel.Store, p *directory.Project, object string, through uint64) error {
	prune := chain.Prune{Project: p.ID, Through: through}
	_, err := callChain(ctx, s, p, object, directory.Forget(&prune), ledger.Forget(&prune))
	return err
}

// callChain sends a command to the object that has the chain. It sends toDirectory to the Directory, or toLedger to
// the project's ledger.
func callChain(ctx context.Context, s kernel.Store, p *directory.Project, object string, toDirectory, toLedger []byte) ([]byte, error) {
	class, name, region, command := abi.ClassDirectory, directory.Name, "", toDirectory
	if object == chain.Ledger {
		class, name, region, command = abi.ClassLedger, p.ID, p.Region, toLedger
	}
	reply, err := s.Objects.Call(ctx, class, name, region, command)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	return reply, nil
}

func entryAt(ctx context.Context, s kernel.Store, p *directory.Project, object string, seq uint64) (chain.Entry, error) {
	found, err := chainPage(ctx, s, p, object, seq, 1)
	if err != nil {
		return chain.Entry{}, err
	}
	if len(found.Entries) == 0 || found.Entries[0].Seq != seq {
		return chain.Entry{}, kernel.ErrConflict // pruned in the meantime
	}
	return found.Entries[0], nil
}

// firstSince finds, by binary search, the first entry that is not older than a time. It returns the entry's number,
// or head+1 if there is none.
func firstSince(ctx context.Context, s kernel.Store, p *directory.Project, object string, state *chain.PageReply, ms uint64) (uint64, error) {
	oldest := max(state.Oldest, 1)
	var failure error
	n := sort.Search(int(state.Head.Seq+1-oldest), func(i int) bool {
		if failure != nil {
			return true
		}
		e, err := entryAt(ctx, s, p, object, oldest+uint64(i))
		failure = err
		return e.TimeMs >= ms
	})
	return oldest + uint64(n), failure
}

// eventTime returns the time of an entry in the form that is hashed.
func eventTime(e *chain.Entry) string { return kernel.Timestamp(e.TimeMs) }

func chainID(p *directory.Project, object string) chain.ID {
	return chain.ID{Project: p.ID, Object: object}
}

// signingKeys returns the configured keys. The first key signs checkpoints. Without keys, there are no checkpoints.
func signingKeys(cp *kernel.Plane) []compliance.SigningKey {
	keys, err := compliance.ParseSigningKeys(cp.SigningKeys())
	if err != nil {
		cp.WarnOnce(err.Error())
		return nil
	}
	return keys
}

func publicKeys(keys []compliance.SigningKey) (public []compliance.PublicKey) {
	for _, k := range keys {
		public = append(public, k.Public())
	}
	return public
}
