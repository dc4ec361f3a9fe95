package policy

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Selection is what a project's policy says of one name, without the policy: an exchange keeps it from step to
// step. The zero Selection is a project without a policy. It depends on nothing but the catalog, the policy and
// the name; not on the key.
type Selection struct {
	Routed   bool // Strategy and Targets are the project's and stand in for the tier's
	Strategy config.Strategy
	Targets  []config.Target // at most doc.MaxTargets
	Barred   uint64          // bit i: the project does not allow target i
	Owners   []string        // by target, the ids of master keys; empty: the project has no key for any of them
}

// Select is a project's selection for a name. A nil policy says nothing.
func Select(cfg *config.Config, p *doc.Policy, name string) (s Selection) {
	if p == nil {
		return s
	}
	if cfg.Tier(name) != nil {
		s.route(cfg, p.Route(name))
	}
	var list allowList
	list.of(cfg, p.Models)
	owned := false
	targets := s.TargetsOf(cfg, name)
	owners := make([]string, len(targets))
	for i, t := range targets {
		if !list.allows(t.Model, name) {
			s.Barred |= 1 << i
		}
		owners[i] = owner(p, t.Model)
		owned = owned || owners[i] != ""
	}
	if owned {
		s.Owners = owners
	}
	return s
}

// route takes the project's targets for a tier. Models that have left the catalog, or became embedding models,
// are left out; if none is left, the tier stays as it is.
func (s *Selection) route(cfg *config.Config, r *doc.Route) {
	if r == nil {
		return
	}
	for _, t := range r.Targets {
		if m := cfg.Model(t.Model); m != nil && m.Kind == config.ChatModel && len(s.Targets) < doc.MaxTargets {
			s.Targets = append(s.Targets, config.Target{Model: m, Weight: t.Weight})
		}
	}
	if s.Routed = len(s.Targets) > 0; s.Routed {
		s.Strategy = config.Strategy(r.Strategy)
	}
}

// TargetsOf are the targets of the name that s was selected for; none if nothing has that name.
func (s *Selection) TargetsOf(cfg *config.Config, name string) []config.Target {
	if s.Routed {
		return s.Targets
	}
	if tier := cfg.Tier(name); tier != nil {
		return tier.Targets
	}
	if m := cfg.Model(name); m != nil {
		return []config.Target{{Model: m}}
	}
	return nil
}

// StrategyOf is the order in which the targets of the name that s was selected for are tried.
func (s *Selection) StrategyOf(cfg *config.Config, name string) config.Strategy {
	if s.Routed {
		return s.Strategy
	}
	if tier := cfg.Tier(name); tier != nil {
		return tier.Strategy
	}
	return config.Ordered
}

func (s *Selection) barred(target int) bool { return s.Barred>>target&1 == 1 }

func (s *Selection) owner(target int) string {
	if target < len(s.Owners) {
		return s.Owners[target]
	}
	return ""
}

// Key is the project's own key for a model's provider, or nil. Providers of one account, which are called over
// different wires, share it.
func Key(p *doc.Policy, m *config.Model) *doc.ProviderKey {
	if p == nil {
		return nil
	}
	return p.ProviderKey(m.Provider.Account)
}

func owner(p *doc.Policy, m *config.Model) string {
	if k := Key(p, m); k != nil {
		return k.KeyID
	}
	return ""
}

// Fields is the stored form. Models are written as their places in the catalog.
func (s *Selection) Fields(f *abi.Fields, models []config.Model) {
	f.Bool(&s.Routed)
	abi.Enum(f, &s.Strategy)
	abi.List(f, &s.Targets, func(f *abi.Fields, t *config.Target) { targetFields(f, t, models) })
	f.Uint(&s.Barred)
	abi.List(f, &s.Owners, (*abi.Fields).String)
}

func targetFields(f *abi.Fields, t *config.Target, models []config.Model) {
	place := uint64(len(models))
	for i := range models {
		if &models[i] == t.Model {
			place = uint64(i)
		}
	}
	f.Uint(&place)
	f.Uint(&t.Weight)
	if place >= uint64(len(models)) {
		f.Fail()
		return
	}
	t.Model = &models[place]
}
