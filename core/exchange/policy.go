package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

// policy is what of its project's policy concerns this exchange. Most projects have none.
type policy struct {
	version  uint64 // of the record that asked for it; 0: it was not read
	routed   bool   // strategy and targets stand in for the tier's
	strategy config.Strategy
	targets  []config.Target
	barred   uint64   // bits of the targets that the project does not allow
	own      []ownKey // by target; empty if the project has none at all
	secret   string   // such a key, unsealed for the fetch that comes next
}

// ownKey is the project's own key for a target's provider, if it has one.
type ownKey struct {
	master string // the id of the master key that it is sealed with; "": there is none
	sealed []byte
}

func (p *policy) encode(w *abi.Writer, models []config.Model) {
	w.Uint(p.version)
	if p.version == 0 {
		return
	}
	w.Bool(p.routed)
	w.Uint(uint64(p.strategy))
	w.Uint(uint64(len(p.targets)))
	for _, t := range p.targets {
		w.Uint(uint64(indexOf(models, t.Model)))
		w.Uint(t.Weight)
	}
	w.Uint(p.barred)
	w.Uint(uint64(len(p.own)))
	for _, k := range p.own {
		w.String(k.master)
		w.Bytes(k.sealed)
	}
	w.String(p.secret)
}

func decodePolicy(r *abi.Reader, models []config.Model) policy {
	p := policy{version: r.Uint()}
	if p.version == 0 {
		return p
	}
	p.routed, p.strategy = r.Bool(), config.Strategy(r.Byte())
	for n := r.Count(); n > 0; n-- {
		p.targets = append(p.targets, config.Target{Model: &models[r.Uint()], Weight: r.Uint()})
	}
	p.barred = r.Uint()
	for n := r.Count(); n > 0; n-- {
		p.own = append(p.own, ownKey{r.String(), r.Bytes()})
	}
	p.secret = r.String()
	return p
}

func indexOf(models []config.Model, m *config.Model) int {
	for i := range models {
		if &models[i] == m {
			return i
		}
	}
	return 0
}

// policyKeepMs is how long an isolate keeps a policy. It never changes: another one has another version.
const policyKeepMs = 300_000

// wantsPolicy says whether the project has a policy that this exchange has still to read.
func (x *exchange) wantsPolicy() bool {
	s := &x.s
	if s.record.Policy == 0 || s.policy.version == s.record.Policy {
		return false
	}
	return s.route == routeModels || s.route == routeModel || s.route.hasBody() && s.bodyDone && s.bad == 0
}

func (x *exchange) readPolicy() {
	x.do(abi.Action{
		Kind: abi.ActionRead, ID: idPolicy, Key: doc.PolicyKey(x.s.record.ProjectID, x.s.record.Policy),
		Where: abi.WhereMemory | abi.WhereKV, KeepMs: policyKeepMs,
	})
}

// policyRead takes the policy from memory or KV. What is not there yet is asked of the project's ledger.
func (x *exchange) policyRead() {
	if x.event.Code == abi.OutcomeOK {
		if p, err := doc.DecodePolicy(x.event.Data); err == nil {
			x.takePolicy(&p)
			return
		}
	}
	x.call(idLedgerPolicy, abi.ClassLedger, x.s.record.ProjectID, ledger.Policy())
}

// ledgerPolicy takes the authority's word. One that is older than the key's record is on its way.
func (x *exchange) ledgerPolicy() {
	p, err := doc.DecodePolicy(x.event.Data)
	if err == nil && p.Version < x.s.record.Policy {
		err = abi.ErrMalformed
	}
	if x.failedCall(err) {
		return
	}
	if p.Version == x.s.record.Policy {
		x.do(abi.Action{
			Kind: abi.ActionWrite, Key: doc.PolicyKey(x.s.record.ProjectID, p.Version), Where: abi.WhereMemory, KeepMs: policyKeepMs,
			Body: []abi.Part{{Data: x.event.Data}},
		})
	}
	x.takePolicy(&p)
}

// takePolicy keeps what concerns this exchange, and goes on.
func (x *exchange) takePolicy(p *doc.Policy) {
	s := &x.s
	s.policy, s.order, x.memo = policy{version: s.record.Policy}, nil, nil
	if !s.route.hasBody() {
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferPolicy, Data: x.event.Data})
		x.proceed()
		return
	}
	if route := p.Route(s.request.model); route != nil && x.config.Tier(s.request.model) != nil {
		x.takeRoute(route)
	}
	for i, t := range x.targets() {
		if !x.listed(p.Models, t.Model, s.request.model) {
			s.policy.barred |= 1 << i
		}
	}
	x.takeProviderKeys(p)
	x.proceed()
}

// takeRoute takes the project's own targets for a tier. Models that have left the catalog are left out; if
// all have, the tier stays as it is.
func (x *exchange) takeRoute(route *doc.Route) {
	p := &x.s.policy
	if p.targets = x.routed(route); len(p.targets) > 0 {
		p.routed, p.strategy = true, config.Strategy(route.Strategy)
		x.memo = nil
	}
}

// routed are a route's targets that the catalog has.
func (x *exchange) routed(route *doc.Route) (targets []config.Target) {
	if route == nil {
		return nil
	}
	for _, t := range route.Targets {
		if m := x.config.Model(t.Model); m != nil && m.Kind == config.ChatModel && len(targets) < doc.MaxTargets {
			targets = append(targets, config.Target{Model: m, Weight: t.Weight})
		}
	}
	return targets
}

// takeProviderKeys keeps the sealed keys of the targets' providers.
func (x *exchange) takeProviderKeys(p *doc.Policy) {
	if len(p.ProviderKeys) == 0 {
		return
	}
	for _, t := range x.targets() {
		own := ownKey{}
		if k := p.ProviderKey(t.Model.Provider.Account); k != nil {
			own = ownKey{k.KeyID, k.Sealed}
		}
		x.s.policy.own = append(x.s.policy.own, own)
	}
}

// owner is the id of the master key under which the project's own key for a target is sealed, or "".
func (x *exchange) owner(target int) string {
	if target < len(x.s.policy.own) {
		return x.s.policy.own[target].master
	}
	return ""
}

// owned says whether the present target is asked with the project's own key.
func (x *exchange) owned() bool { return x.owner(x.target()) != "" }

func (x *exchange) barred(target int) bool { return x.s.policy.barred>>target&1 == 1 }

// ready says whether there are credentials for a target: the project's own, or the deployment's. If the
// master key of the project's own is gone, there are none: the deployment's must not pay in its place.
func (x *exchange) ready(target int) bool {
	provider := x.targets()[target].Model.Provider
	if id := x.owner(target); id != "" {
		return provider.Ownable && x.config.MasterKey(id) != ""
	}
	return provider.Ready
}

// permits says whether the key and its project allow a target.
func (x *exchange) permits(target int) bool {
	return !x.barred(target) && x.listed(x.s.record.Models, x.targets()[target].Model, x.s.request.model)
}

// unseal asks for the project's own key for the present target, if it has one and it is not there yet.
func (x *exchange) unseal() bool {
	id := x.owner(x.target())
	if id == "" || x.s.policy.secret != "" {
		return false
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferSealed, Data: x.s.policy.own[x.target()].sealed})
	x.do(abi.Action{
		Kind: abi.ActionUnseal, ID: idUnseal, Buffer: bufferSealed, Key: x.config.MasterKey(id),
		Name: doc.SealedFor(x.s.record.ProjectID, x.model().Provider.Account),
	})
	return true
}

// unsealed goes on with the attempt. A key that does not open is the operator's to mend; the next target may
// do without.
func (x *exchange) unsealed() {
	if x.event.Code == abi.OutcomeOK && len(x.event.Data) > 0 {
		x.s.policy.secret = string(x.event.Data)
	} else if x.s.route != routeCount {
		x.tell("sealed")
		x.next(fault.NoProvider, refusal{retryMs: noProviderRetryMs})
		return
	}
	switch {
	case x.s.left:
		x.attempt()
	case x.s.route == routeCount && x.s.policy.secret == "":
		x.respondCount(x.s.request.promptTokens, true)
	case x.s.route == routeCount:
		x.fetchCount()
	default:
		x.attempt()
	}
}

// keyed is a model whose provider has the project's own key, if there is one.
func (x *exchange) keyed(m *config.Model) *config.Model {
	if x.s.policy.secret == "" {
		return m
	}
	owned, provider := *m, *m.Provider
	provider.Key, provider.Ready = x.s.policy.secret, true
	owned.Provider = &provider
	return &owned
}
