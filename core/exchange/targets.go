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

// testMode: development keys are answered by the mock, whatever the model, and cost nothing.
func (x *exchange) testMode() bool { return x.s.record.Environment == keys.Development }

// tier is the one that the caller named, or nil.
func (x *exchange) tier() *config.Tier { return x.config.Tier(x.s.request.model) }

// targets are those that the request's name stands for, with what the key and its project allow of them.
func (x *exchange) targets() []policy.Target {
	if x.memo == nil {
		v := policy.View{Config: x.config, Key: x.s.record.Models, Development: x.testMode()}
		x.memo = v.SelectedTargets(&x.s.selection, x.s.request.model)
	}
	return x.memo
}

// allowsAny says whether the key and its project allow any of the request's targets.
func (x *exchange) allowsAny() bool {
	for _, t := range x.targets() {
		if t.Allowed {
			return true
		}
	}
	return false
}

// orderTargets is the order in which to try the targets, by the route's strategy.
func (x *exchange) orderTargets() []byte {
	s := &x.s
	q := &s.request
	u := chat.Usage{Input: q.promptTokens, Output: q.maxTokens}
	if q.maxTokens == 0 {
		u.Output = streamTokens
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

// target is the present target's number among the targets.
func (x *exchange) target() int { return int(x.s.order[min(int(x.s.at), len(x.s.order)-1)]) }

// present is the target that is asked, or is to be.
func (x *exchange) present() *policy.Target { return &x.targets()[x.target()] }

// model is the present target's.
func (x *exchange) model() *config.Model { return x.present().Model }

// owned says whether the present target is asked with the project's own key.
func (x *exchange) owned() bool { return x.present().MasterKeyID != "" }

// chooseTarget moves on to a target with credentials that carries the request and does not rest; if all rest, to
// one that does.
func (x *exchange) chooseTarget() bool {
	s := &x.s
	resting := len(s.order)
	for at := int(s.at); at < len(s.order); at++ {
		s.at = uint64(at)
		if !x.present().Usable() || !x.fits() {
			continue
		}
		if !x.resting() {
			return true
		}
		resting = min(resting, at)
	}
	s.at = uint64(resting)
	return resting < len(s.order)
}

// resting says whether the present target is to be left alone for a while.
func (x *exchange) resting() bool { return x.circuits.Open(x.model().Name, x.owned(), x.now) }

// carries is what the present target has a place for.
func (x *exchange) carries() chat.Params {
	model := x.model()
	f, ok := provider.For(model.Provider.Wire)
	if !ok {
		return chat.All
	}
	carries := f.Carries &^ model.Provider.Drops &^ model.Drops
	if f.Direct != nil && f.Dialect == x.family().Members && x.s.request.params&^carries == chat.ParamForeign {
		carries |= chat.ParamForeign // the body goes as it came
	}
	return carries
}

// lacks is what the request asks for and the present target has no place for.
func (x *exchange) lacks() chat.Params { return x.s.request.params &^ x.carries() }

// fits says whether the present target may get the request: what it lacks may be left out, but for content,
// and unless the caller forbade it.
func (x *exchange) fits() bool {
	lacks := x.lacks()
	return lacks&chat.Content == 0 && !(x.s.strict && lacks&^x.s.request.defaulted != 0)
}

// unseal asks for the project's own key for the present target, if it has one and it is not there yet.
func (x *exchange) unseal() bool {
	id := x.present().MasterKeyID
	if id == "" || x.s.secret != "" {
		return false
	}
	x.ask(abi.Action{
		Kind: abi.ActionUnseal, ID: idUnseal, Buffer: bufferSealed + uint64(x.target()), Key: x.config.MasterKey(id),
		Name: doc.SealedFor(x.s.record.ProjectID, x.model().Provider.Account),
	})
	return true
}

// takeSecret keeps the unsealed key for the fetch that comes next; false: it does not open.
func (x *exchange) takeSecret() bool {
	if x.event.Code != abi.OutcomeOK || len(x.event.Data) == 0 {
		return false
	}
	x.s.secret = string(x.event.Data)
	return true
}

// keyed is a model whose provider has the project's own key, if there is one.
func (x *exchange) keyed(m *config.Model) *config.Model {
	if x.s.secret == "" {
		return m
	}
	owned, provider := *m, *m.Provider
	provider.Key, provider.Ready = x.s.secret, true
	owned.Provider = &provider
	return &owned
}
