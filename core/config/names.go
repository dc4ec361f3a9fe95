package config

import "strings"

// checkNames rejects models whose name or alias begins with a provider's name and a slash. Callers and allow-lists
// may write "provider/name" for any model, so such a name would hide another provider's model.
func (p *parser) checkNames() {
	for i := range p.config.Models {
		m := &p.config.Models[i]
		p.checkName(m, m.Name)
		for _, alias := range m.Aliases {
			p.checkName(m, alias)
		}
	}
}

func (p *parser) checkName(m *Model, name string) {
	prefix, _, found := strings.Cut(name, "/")
	if !found || p.config.provider(p.config.ProviderName(prefix)) == nil {
		return
	}
	what := "name " + quote(name)
	if name != m.Name {
		what = "alias " + quote(name) + " of model " + m.Name
	}
	p.failIn(what + " must not start with a provider's name and a slash; set the provider's own name for a model as upstream")
}
