// Package policy decides which models a key and its project may use, which of them can be asked, and what a
// name means for them. The exchange, GET /v1/models, the control plane and the dashboard all ask it.
package policy

import (
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// View is the catalog as one key, or without a key its project, may use it. A View is for one goroutine and
// one reading of its fields: change none of them after the first call.
type View struct {
	Config  *config.Config
	Key     []string    // the key's allow-list; empty: all
	Project *doc.Policy // nil: the project has none
	// Development keys are answered by the mock: every target is ready, and no provider's key is used.
	Development bool
	// Ready says whether the deployment can call a provider. Nil: Provider.Ready does. The control plane, which
	// has no provider's credentials, sets it to what the gateway told.
	Ready func(*config.Provider) bool

	key, project allowList // resolved from the lists at first use
}

// Target is one model that a name stands for.
type Target struct {
	config.Target
	Allowed bool   // by the key's list and the project's
	Ready   bool   // there are credentials for it
	Owner   string // the id of the master key that seals the project's own key for it; empty: it has none
}

// Usable says whether a request may go to the target.
func (t *Target) Usable() bool { return t.Allowed && t.Ready }

// Targets are the models that a name stands for, in the route's order: the project's route if the name is a
// tier and the project has one, the tier's, or the one model. None: nothing has that name.
func (v *View) Targets(name string) []Target {
	s := Select(v.Config, v.Project, name)
	return v.Of(&s, name)
}

// Strategy is the order in which the targets of a name are tried. It is Ordered for a model.
func (v *View) Strategy(name string) config.Strategy {
	s := Select(v.Config, v.Project, name)
	return s.StrategyOf(v.Config, name)
}

// Of is Targets for the selection that Select made of the project's policy for that name. Project is not
// consulted.
func (v *View) Of(s *Selection, name string) []Target {
	chosen := s.TargetsOf(v.Config, name)
	targets := make([]Target, len(chosen))
	for i, c := range chosen {
		t := Target{Target: c, Owner: s.owner(i)}
		t.Allowed = !s.barred(i) && v.keyAllows(c.Model, name)
		t.Ready = v.ready(c.Model.Provider, t.Owner)
		if v.Development {
			t.Ready, t.Owner = true, ""
		}
		targets[i] = t
	}
	return targets
}

// Usable says whether a request for a name has a target that is allowed and ready.
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

// Names calls yield with each name that GET /v1/models shows, in its order: the tiers, then the models, each
// as the catalog lists them. A tier's model is nil. A model with a tier's name is not shown: the name means
// the tier.
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

// modelUsable is Usable for a model's own name, without a search for the model.
func (v *View) modelUsable(m *config.Model) bool {
	return v.keyAllows(m, m.Name) && v.projectAllows(m, m.Name) && (v.Development || v.ready(m.Provider, owner(v.Project, m)))
}

// ready says whether there are credentials. If the master key of the project's own key is gone there are none:
// the deployment's must not pay in its place.
func (v *View) ready(p *config.Provider, owner string) bool {
	switch {
	case owner != "":
		return p.Ownable && v.Config.MasterKey(owner) != ""
	case v.Ready != nil:
		return v.Ready(p)
	}
	return p.Ready
}

// Knows says whether a name is a tier's, or that of a model of a kind.
func Knows(cfg *config.Config, name string, kind config.Kind) bool {
	if cfg.Tier(name) != nil {
		return true
	}
	m := cfg.Model(name)
	return m != nil && m.Kind == kind
}
