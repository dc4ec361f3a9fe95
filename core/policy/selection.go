package policy

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Selection is the part of a project's policy that applies to one name. An exchange keeps it between steps in place
// of the policy. The zero Selection is for a project without a policy. A Selection depends on the catalog, the
// policy, the key's ID and the name, but not on the key's allow-list.
type Selection struct {
	Routed       bool // Strategy and Targets are the project's, and replace the tier's
	Strategy     config.Strategy
	Targets      []config.Target // at most doc.MaxTargets
	Denied       uint64          // bit i: the project's allow-list does not have target i
	MasterKeyIDs []string        // for each target, see Target.MasterKeyID; nil if the project has no key for any target
	Registry     []Registration  // for each target; nil if the registry permits all targets and none is deprecated
}

// Select makes the selection for a name and a key ID (see Registered) from a project's policy, which may be nil.
func Select(cfg *config.Config, p *doc.Policy, keyID, name string) (s Selection) {
	if p == nil {
		return s
	}
	if cfg.Tier(name) != nil {
		s.route(cfg, p.Route(name))
	}
	var list allowList
	list.of(cfg, p.Models)
	found, concerned := false, false
	targets := s.TargetsOf(cfg, name)
	masterKeyIDs, registry := make([]string, len(targets)), make([]Registration, len(targets))
	for i, t := range targets {
		if !list.allows(t.Model, name) {
			s.Denied |= 1 << i
		}
		masterKeyIDs[i] = masterKeyOf(p, t.Model)
		found = found || masterKeyIDs[i] != ""
		registry[i] = Registered(cfg, p, keyID, t.Model)
		concerned = concerned || registry[i].concerns()
	}
	if concerned {
		s.Registry = registry
	}
	if found {
		s.MasterKeyIDs = masterKeyIDs
	}
	return s
}

// route takes a tier's targets and strategy from the project's route. It skips models that are no longer chat models
// in the catalog. If none remains, the tier keeps the catalog's route.
func (s *Selection) route(cfg *config.Config, r *doc.Route) {
	if r == nil {
		return
	}
	for _, t := range r.Targets {
		if m := cfg.Model(t.Model); m != nil && m.APIs&config.APIsOfChat != 0 && len(s.Targets) < doc.MaxTargets {
			s.Targets = append(s.Targets, config.Target{Model: m, Weight: t.Weight})
		}
	}
	if s.Routed = len(s.Targets) > 0; s.Routed {
		s.Strategy = config.Strategy(r.Strategy)
	}
}

// TargetsOf returns the targets of name, which must be the name that Select was given. It returns none if the name is
// unknown.
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

// StrategyOf returns the strategy of name, which must be the name that Select was given.
func (s *Selection) StrategyOf(cfg *config.Config, name string) config.Strategy {
	if s.Routed {
		return s.Strategy
	}
	if tier := cfg.Tier(name); tier != nil {
		return tier.Strategy
	}
	return config.Ordered
}

func (s *Selection) denied(target int) bool { return s.Denied>>target&1 == 1 }

func (s *Selection) registration(target int) (r Registration) {
	if target < len(s.Registry) {
		r = s.Registry[target]
	}
	return r
}

func (s *Selection) masterKeyID(target int) string {
	if target < len(s.MasterKeyIDs) {
		return s.MasterKeyIDs[target]
	}
	return ""
}

// Key returns the project's own provider key for a model, or nil. Providers that share an account share the key.
func Key(p *doc.Policy, m *config.Model) *doc.ProviderKey {
	if p == nil {
		return nil
	}
	return p.ProviderKey(m.Provider.Account)
}

// masterKeyOf returns the ID of the master key that encrypts the project's provider key for a model, or "" if there
// is none.
func masterKeyOf(p *doc.Policy, m *config.Model) string {
	if k := Key(p, m); k != nil {
		return k.KeyID
	}
	return ""
}

// Fields lists the stored fields. A model is stored as its index in the catalog.
func (s *Selection) Fields(f *abi.Fields, models []config.Model) {
	f.Bool(&s.Routed)
	abi.Enum(f, &s.Strategy)
	abi.List(f, &s.Targets, func(f *abi.Fields, t *config.Target) { targetFields(f, t, models) })
	f.Uint(&s.Denied)
	abi.List(f, &s.MasterKeyIDs, (*abi.Fields).String)
	abi.List(f, &s.Registry, func(f *abi.Fields, r *Registration) { registrationFields(f, r, models) })
}

// placeOf returns a model's index in the catalog. If the model is not in it, or f reads, the result is the number of
// models.
func placeOf(f *abi.Fields, m *config.Model, models []config.Model) uint64 {
	if !f.Reading() {
		for i := range models {
			if &models[i] == m {
				return uint64(i)
			}
		}
	}
	return uint64(len(models))
}

func targetFields(f *abi.Fields, t *config.Target, models []config.Model) {
	place := placeOf(f, t.Model, models)
	f.Uint(&place)
	f.Uint(&t.Weight)
	if place >= uint64(len(models)) {
		f.Fail()
		return
	}
	t.Model = &models[place]
}
