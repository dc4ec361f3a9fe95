package policy

import (
	"slices"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// allowList is an allow-list whose names are resolved only once, when they are first needed. Entries are model names,
// aliases, provider/model, and tiers. A tier in the list allows its models only under the tier's name.
type allowList struct {
	config   *config.Config
	names    []string
	resolved bool
	models   []*config.Model // by index in names; nil: a tier or an unknown name
}

// of initializes the list on the first call.
func (l *allowList) of(cfg *config.Config, names []string) *allowList {
	if l.config == nil {
		l.config, l.names = cfg, names
	}
	return l
}

// allows reports whether the list allows a model. as is the name that the request used. An empty list allows every
// model.
func (l *allowList) allows(m *config.Model, as string) bool {
	if len(l.names) == 0 || slices.Contains(l.names, as) {
		return true
	}
	if !l.resolved {
		l.resolve()
	}
	return slices.Contains(l.names, m.Name) || slices.Contains(l.models, m)
}

func (l *allowList) resolve() {
	l.resolved, l.models = true, make([]*config.Model, len(l.names))
	for i, name := range l.names {
		if l.config.Tier(name) == nil {
			l.models[i] = l.config.Model(name)
		}
	}
}

func (v *View) keyAllows(m *config.Model, as string) bool {
	return v.key.of(v.Config, v.Key).allows(m, as)
}

func (v *View) projectAllows(m *config.Model, as string) bool {
	return v.Project == nil || v.project.of(v.Config, v.Project.Models).allows(m, as)
}

// forbidding returns the first list above the project that does not allow a model, or nil.
func (v *View) forbidding(m *config.Model, as string) *doc.Restriction {
	for i := range min(len(v.Above), len(v.above)) {
		if r := &v.Above[i]; !v.above[i].of(v.Config, r.Models).allows(m, as) {
			return r
		}
	}
	return nil
}
