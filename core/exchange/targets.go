package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider"
)

// testMode reports whether the key is a development key. The mock answers all of its requests, for any model and
// free of charge.
func (x *exchange) testMode() bool { return x.s.record.Environment == keys.Development }

// tier is the requested tier, or nil if the request names a model.
func (x *exchange) tier() *config.Tier { return x.config.Tier(x.s.request.model) }

// targets are the targets of the requested name, with what the key and its project allow.
func (x *exchange) targets() []policy.Target {
	if x.targetsMemo == nil {
		v := policy.View{Config: x.config, Key: x.s.record.Models, Development: x.testMode()}
		x.targetsMemo = v.SelectedTargets(&x.s.selection, x.s.request.model)
	}
	return x.targetsMemo
}

// allowsAny reports whether the key and its project allow at least one target.
func (x *exchange) allowsAny() bool {
	for _, t := range x.targets() {
		if t.Allowed {
			return true
		}
	}
	return false
}

// orderTargets returns the indexes of the targets in the order to try them, by the route's strategy.
func (x *exchange) orderTargets() []byte {
	s := &x.s
	q := &s.request
	u := chat.Usage{Input: q.promptTokens, Output: q.maxTokens, Extras: &chat.Extras{Terms: q.bought.terms}}
	if q.maxTokens == 0 {
		u.Output = initialStreamTokens
	}
	targets := x.targets()
	plain := make([]config.Target, len(targets))
	for i := range targets {
		plain[i] = targets[i].Target
	}
	return x.circuits.Order(s.selection.StrategyOf(x.config, q.model), plain, x.now, x.random,
		func(m *config.Model) int64 { return m.Cost(&u) },
		func(i int) bool { return targets[i].Usable() })
}

// currentIndex is the current target's index in targets.
func (x *exchange) currentIndex() int {
	return int(x.s.order[min(int(x.s.orderIndex), len(x.s.order)-1)])
}

// current is the target of the current or next attempt.
func (x *exchange) current() *policy.Target { return &x.targets()[x.currentIndex()] }

// model is the current target's model.
func (x *exchange) model() *config.Model { return x.current().Model }

// usesOwnProviderKey reports whether the current target is called with the project's own provider key.
func (x *exchange) usesOwnProviderKey() bool { return x.current().MasterKeyID != "" }

// chooseTarget advances to a target that is usable, supports the request and has a closed circuit. If all remaining
// suitable targets have open circuits, it takes the first of them. It returns false if no target is suitable.
func (x *exchange) chooseTarget() bool {
	s := &x.s
	firstOpen := len(s.order)
	for at := int(s.orderIndex); at < len(s.order); at++ {
		s.orderIndex = uint64(at)
		if !x.current().Usable() || !x.fits() || !x.hasPrices(x.model()) {
			continue
		}
		if !x.circuitOpen() {
			return true
		}
		firstOpen = min(firstOpen, at)
	}
	s.orderIndex = uint64(firstOpen)
	return firstOpen < len(s.order)
}

// circuitOpen reports whether the current target's circuit is open.
func (x *exchange) circuitOpen() bool {
	return x.circuits.Open(x.model().Name, x.usesOwnProviderKey(), x.now)
}

// supportedParams are the parameters that the current target supports.
func (x *exchange) supportedParams() chat.Params {
	model := x.model()
	f, ok := provider.For(model.Provider.Wire)
	if !ok {
		return chat.All
	}
	carries := f.Carries &^ model.Provider.Drops &^ model.Drops
	if f.Direct != nil && f.Dialect == x.family().Members && x.s.request.params&^carries == chat.ParamForeign {
		carries |= chat.ParamForeign // the body is sent in its original dialect
	}
	return carries
}

// unsupportedParams are the request's parameters that the current target does not support.
func (x *exchange) unsupportedParams() chat.Params { return x.s.request.params &^ x.supportedParams() }

// fits reports whether the current target may get the request. Unsupported parameters are dropped, except content,
// and except in strict mode.
func (x *exchange) fits() bool {
	missing := x.unsupportedParams()
	return missing&chat.Content == 0 && !(x.s.strict && missing&^x.s.request.defaulted != 0)
}

// unseal starts to decrypt the project's provider key for the current target. It returns false if there is none or
// it is already decrypted.
func (x *exchange) unseal() bool {
	id := x.current().MasterKeyID
	if id == "" || x.s.providerKey != "" {
		return false
	}
	x.await(abi.Action{
		Kind: abi.ActionUnseal, ID: idUnseal, Buffer: bufferSealed + uint64(x.currentIndex()), Key: x.config.MasterKey(id),
		Name: doc.SealedFor(x.s.record.ProjectID, x.model().Provider.Account),
	})
	return true
}

// keepProviderKey stores the decrypted key for the next fetch. It returns false if decryption failed.
func (x *exchange) keepProviderKey() bool {
	if x.event.Code != abi.OutcomeOK || len(x.event.Data) == 0 {
		return false
	}
	x.s.providerKey = string(x.event.Data)
	return true
}

// withOwnProviderKey returns the model with the project's provider key, if one is decrypted.
func (x *exchange) withOwnProviderKey(m *config.Model) *config.Model {
	if x.s.providerKey == "" {
		return m
	}
	owned, provider := *m, *m.Provider
	provider.Key, provider.Ready = x.s.providerKey, true
	owned.Provider = &provider
	return &owned
}
