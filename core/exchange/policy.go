package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
)

// policyKeepMs is how long an isolate keeps a policy. A policy version never changes, so this may be long.
const policyKeepMs = 300_000

// needsPolicy reports whether this exchange must still read the project's policy. The policy helps to choose targets,
// to list models, and to suggest alternatives to an unknown model.
func (x *exchange) needsPolicy() bool {
	s := &x.s
	if s.record.Policy == 0 || s.policyVersion == s.record.Policy {
		return false
	}
	return x.endpoint.policy == listsModels || x.endpoint.body != noBody && (s.rejected == fault.None || s.rejected == fault.UnknownModel)
}

// readPolicy uses the policy that came with the record, or reads it.
func (x *exchange) readPolicy() {
	early := x.s.early
	x.s.early = nil
	if p, err := doc.DecodePolicy(early); err == nil && p.Version == x.s.record.Policy {
		x.usePolicy(&p, early)
		return
	}
	x.enter(phasePolicy)
	x.await(abi.Action{
		Kind: abi.ActionRead, ID: idPolicy, Key: doc.PolicyKey(x.s.record.ProjectID, x.s.record.Policy),
		Where: abi.WhereMemory | abi.WhereKV, KeepMs: policyKeepMs,
	})
}

// onPolicy handles the policy from memory or KV. If neither has the policy, onPolicy calls the project's Ledger.
func (x *exchange) onPolicy() {
	if x.event.Code == abi.OutcomeOK {
		if p, err := doc.DecodePolicy(x.event.Data); err == nil {
			x.rememberPolicy(x.event.Data)
			x.usePolicy(&p, x.event.Data)
			return
		}
	}
	x.call(idLedgerPolicy, abi.ClassLedger, x.s.record.ProjectID, ledger.Policy())
}

// onLedgerPolicy handles the policy from the Ledger, which is authoritative. If the policy is older than the key's
// record requires, the Ledger does not have the newer policy yet, and the request fails with 503.
func (x *exchange) onLedgerPolicy() {
	p, err := doc.DecodePolicy(x.event.Data)
	if err == nil && p.Version < x.s.record.Policy {
		err = abi.ErrMalformed
	}
	if x.refuseFailedCall(err) {
		return
	}
	if p.Version == x.s.record.Policy {
		x.remember(doc.PolicyKey(x.s.record.ProjectID, p.Version), x.event.Data, policyKeepMs)
		x.rememberPolicy(x.event.Data)
	}
	x.usePolicy(&p, x.event.Data)
}

// maxEarlyBytes is the maximum size of a policy beside a key's record in bytes. Each of a project's keys has a copy, and
// it is part of the state until the body has arrived.
const maxEarlyBytes = 2 << 10

// rememberPolicy stores the policy beside the key's record in memory. It replaces the record there, which may be newer.
// That does no harm, because the key's meter has the newest.
func (x *exchange) rememberPolicy(encoded []byte) {
	if len(encoded) > maxEarlyBytes {
		return
	}
	known := doc.Known{Record: x.s.encoded, Policy: encoded}
	x.remember(doc.RecordKey(x.s.keyHash), known.Encode(), policyKeepMs)
}

// usePolicy stores the parts of the policy that concern this exchange, and continues.
func (x *exchange) usePolicy(p *doc.Policy, encoded []byte) {
	s := &x.s
	s.policyVersion, s.order, x.targetsMemo = s.record.Policy, nil, nil
	switch {
	case x.endpoint.policy == listsModels:
		x.keep(bufferPolicy, encoded)
	case s.rejected != fault.None:
		x.rejectModel(x.s.rejected, p)
	default:
		if !x.startGovernor(p) {
			return
		}
		s.selection = policy.Select(x.config, p, s.record.KeyID, s.request.model)
		x.keepSealed(p)
		if x.endpoint.policy == choosesModel && !x.allowsAny() {
			x.rejectModel(fault.ModelForbidden, p)
		}
	}
	x.proceeds = true
}

// keepSealed stores the project's encrypted provider keys in buffers, one for each target.
func (x *exchange) keepSealed(p *doc.Policy) {
	for i := range x.s.selection.MasterKeyIDs {
		if x.s.selection.MasterKeyIDs[i] == "" {
			continue
		}
		if k := policy.Key(p, x.targets()[i].Model); k != nil {
			x.keep(bufferSealed+uint64(i), k.Sealed)
		}
	}
}
