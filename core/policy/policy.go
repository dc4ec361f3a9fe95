// Package policy resolves a model or tier name to its targets. It tells which targets a key and its project may use,
// and which targets have credentials. The exchange, GET /v1/models, the control plane and the dashboard share it.
package policy

import (
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// View is the part of the catalog that a key may use, or that a project may use if there is no key. It is not safe
// for concurrent use. Its fields must not change after the first call, because the allow-lists are resolved once.
type View struct {
	Config *config.Config
	Key    []string // the key's allow-list; empty: every model
	KeyID  string   // for the registry's restricted models; empty: any of the project's keys
	// Above are the lists of the deployment and the groups above the project.
	Above   []doc.Restriction
	Project *doc.Policy // nil: the project has no policy
	// Development is set for development keys. The mock serves their requests, so every target is ready and no
	// provider key is used.
	Development bool
	// Ready reports whether the deployment can call a provider. The default is Provider.Ready. The control plane, which
	// has no provider credentials, uses the gateway's health report instead.
	Ready func(*config.Provider) bool

	key, project allowList
	above        [doc.MaxDepth + 1]allowList
}

// Target is one model that a name refers to.
type Target struct {
	config.Target
	Allowed      bool   // by the allow-lists of the key, the project and the groups above, and by the project's registry
	Ready        bool   // there are credentials for the target's provider
	MasterKeyID  string // the master key that encrypts the project's own provider key; empty: it has none
	Registration Registration
	// ForbiddenBy is the first list above the project that refuses a target which the key and the project allow.
	ForbiddenBy *doc.Restriction
}

// Usable reports whether a request may be sent to the target.
func (t *Target) Usable() bool { return t.Allowed && t.Ready }

// Targets returns the targets of a name. If the project has a route for the tier, these are that route's targets, in
// its order. Otherwise, they are those of the catalog's route. A model's only target is itself. An unknown name has
// no targets.
func (v *View) Targets(name string) []Target {
	s := Select(v.Config, v.Project, v.KeyID, name)
	return v.SelectedTargets(&s, name)
}

// Strategy returns the strategy that decides the order in which a name's targets are tried. It returns Ordered for a
// model.
func (v *View) Strategy(name string) config.Strategy {
	s := Select(v.Config, v.Project, v.KeyID, name)
	return s.StrategyOf(v.Config, name)
}

// SelectedTargets is like Targets, for a selection that Select made for the same name. It uses the selection instead
// of Project.
func (v *View) SelectedTargets(s *Selection, name string) []Target {
	chosen := s.TargetsOf(v.Config, name)
	targets := make([]Target, len(chosen))
	for i, c := range chosen {
		t := Target{Target: c, MasterKeyID: s.masterKeyID(i), Registration: s.registration(i)}
		if t.Allowed = !s.denied(i) && v.keyAllows(c.Model, name) && t.Registration.Ruling != Refuses; t.Allowed {
			t.ForbiddenBy = v.forbidding(c.Model, name)
			t.Allowed = t.ForbiddenBy == nil
		}
		t.Ready = v.ready(c.Model.Provider, t.MasterKeyID)
		if v.Development {
			t.Ready, t.MasterKeyID = true, ""
		}
		targets[i] = t
	}
	return targets
}

// Usable reports whether a name has a target that is allowed and ready.
func (v *View) Usable(name string) bool {
	return v.usable(name, func(*config.Model) bool { return true })
}

func (v *View) usable(name string, wanted func(*config.Model) bool) bool {
	targets := v.Targets(name)
	for i := range targets {
		if targets[i].Usable() && wanted(targets[i].Model) {
			return true
		}
	}
	return false
}

// Names calls yield with each usable name in the order of GET /v1/models. The tiers come first, followed by the
// models, each in the catalog's order. For a tier, m is nil. Names leaves out a model with the same name as a tier,
// because that name refers to the tier.
func (v *View) Names(yield func(name string, m *config.Model) bool) {
	for i := range v.Config.Tiers {
		if name := v.Config.Tiers[i].Name; v.Usable(name) && !yield(name, nil) {
			return
		}
	}
	for i := range v.Config.Models {
		m := &v.Config.Models[i]
		if v.Config.Tier(m.Name) == nil && v.modelUsable(m) && !yield(m.Name, m) {
			return
		}
	}
}

// modelUsable is like Usable for a model's own name, but it does not look up the model.
func (v *View) modelUsable(m *config.Model) bool {
	return v.keyAllows(m, m.Name) && v.projectAllows(m, m.Name) && v.forbidding(m, m.Name) == nil &&
		Registered(v.Config, v.Project, v.KeyID, m).Ruling != Refuses && (v.Development || v.ready(m.Provider, masterKeyOf(v.Project, m)))
}

// ready reports whether there are credentials for a provider. If the master key of the project's own key is gone,
// that key can no longer be decrypted, and there are no credentials. Falling back to the deployment's key would
// charge the deployment.
func (v *View) ready(p *config.Provider, masterKeyID string) bool {
	switch {
	case masterKeyID != "":
		return p.Ownable && v.Config.MasterKey(masterKeyID) != ""
	case v.Ready != nil:
		return v.Ready(p)
	}
	return p.Ready
}

// Knows reports whether a name is a model that is offered on one of the given APIs, or a suitable tier. The chat APIs
// are translated to each other, so any tier is suitable for them. For other APIs, the tier's first model must be
// offered on one of them.
func Knows(cfg *config.Config, name string, api config.API) bool {
	m := cfg.Model(name)
	if t := cfg.Tier(name); t != nil {
		if m = t.Targets[0].Model; api&config.APIsOfChat != 0 {
			return true
		}
	}
	return m != nil && m.APIs&api != 0
}
