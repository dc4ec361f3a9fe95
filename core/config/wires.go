package config

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
)

// further is an additional wire that a provider declares, such as {"name": "responses"}.
type further struct {
	name string
	// path replaces "/v1" at the end of the base URL. If the base URL has a different ending, the wire is not served.
	// If path is empty, the wire has the provider's base URL.
	path    string
	drops   chat.Params
	noTools bool
}

// baseVersion is the end of the base URL of OpenAI-compatible APIs.
const baseVersion = "/v1"

func (p *parser) further(o *object) further {
	w := further{name: o.get("name").String(), noTools: o.flag("noTools")}
	o.text(&w.path, "path")
	w.drops = p.drops(o)
	o.get("source")
	o.get("date")
	return w
}

// Renamed describes a provider of earlier versions that is now a wire of another provider. In overlays, and where a
// model is written as "provider/name", the earlier name still refers to that other provider.
type Renamed struct{ From, To, Wire string }

// renamed reads an object such as {"renamed": {"openai-responses": {"provider": "openai", "wire": "responses"}}}.
func (p *parser) renamed(o *object) {
	o.members("renamed", func(name string, v gjson.Result) {
		r := Renamed{From: name}
		to := p.object(v)
		to.text(&r.To, "provider")
		to.text(&r.Wire, "wire")
		to.close()
		p.config.Renamed = append(p.config.Renamed, r)
	})
}

// ProviderName returns the current name of a provider, given its current name or the name in an earlier version. An
// operator's entry with an earlier name is a separate provider.
func (c *Config) ProviderName(name string) string {
	if r := c.renamedFrom(name); r != nil {
		return r.To
	}
	return name
}

func (c *Config) renamedFrom(name string) *Renamed {
	for i := range c.Renamed {
		if r := &c.Renamed[i]; r.From == name && c.provider(name) == nil {
			return r
		}
	}
	return nil
}

// linkProviders sets the providers of all models. It replaces earlier names in the prices of tools.
func (p *parser) linkProviders() {
	for i := range p.declarations {
		provider := &p.config.Providers[i]
		for _, w := range p.declarations[i].wires {
			if w.name == provider.Wire || slices.Contains(provider.Further, w.name) {
				p.failIn("provider " + provider.Name + " has the wire " + quote(w.name) + " twice")
			} else if p.onWire(i, w.name) != nil {
				provider.Further = append(provider.Further, w.name)
			}
		}
	}
	for i, name := range p.modelProviders {
		model := &p.config.Models[i]
		at := p.indexOf(name, &p.modelWires[i])
		if at < 0 {
			p.failIn("model " + model.Name + " names the unknown provider " + quote(name) + "; add it to providers")
			continue
		}
		p.linkWires(model, at, p.modelWires[i])
	}
	for i := range p.config.Tools {
		for j, name := range p.config.Tools[i].Providers {
			p.config.Tools[i].Providers[j] = p.config.ProviderName(name)
		}
	}
}

// indexOf returns the index of a model's provider, or -1. A model of a renamed provider keeps its wire. If there is
// an operator's entry with the earlier name, a model that moved with the renamed provider belongs to that entry.
func (p *parser) indexOf(name string, wires *[]string) int {
	if r := p.config.renamedFrom(name); r != nil {
		if name = r.To; len(*wires) == 0 {
			*wires = []string{r.Wire}
		}
	}
	at := -1
	for i := range p.config.Providers {
		if p.config.Providers[i].Name == name {
			at = i
		}
	}
	for i := range p.config.Renamed {
		if r := &p.config.Renamed[i]; r.To == name && len(*wires) == 1 && (*wires)[0] == r.Wire && p.config.provider(r.From) != nil {
			return p.indexOf(r.From, wires)
		}
	}
	return at
}

// linkWires sets a model's provider for the model's first wire, and the same provider for each of its other wires. A
// chat model that names no wires has all of its provider's wires.
func (p *parser) linkWires(m *Model, at int, wires []string) {
	provider := &p.config.Providers[at]
	if len(wires) == 0 {
		m.Provider = provider
		if m.APIs&APIsOfChat != 0 {
			m.Others = p.declarations[at].others[:len(provider.Further)]
		}
		return
	}
	for _, name := range wires {
		on := p.onWire(at, name)
		switch {
		case on == nil:
			p.failIn("model " + m.Name + " has the wire " + quote(name) + ", for which the base URL of provider " + provider.Name +
				" must end with " + baseVersion)
		case m.Provider == nil:
			m.Provider = on
		default:
			m.Others = append(m.Others, on)
		}
	}
}

// onWire returns a provider with one of its wires. It returns nil if the deployment's base URL has no place for the
// wire's path. A wire that only a model names has the provider's base URL.
func (p *parser) onWire(at int, name string) *Provider {
	provider, d := &p.config.Providers[at], &p.declarations[at]
	if name == provider.Wire {
		return provider
	}
	for _, other := range d.others {
		if other.Wire == name {
			return other
		}
	}
	w := further{name: name}
	for i := range d.wires {
		if d.wires[i].name == name {
			w = d.wires[i]
		}
	}
	other := *provider
	other.Wire, other.Home, other.Further, other.Drops, other.NoTools = name, provider.Wire, nil, w.drops, w.noTools
	if w.path != "" && other.BaseURL != "" {
		base, found := strings.CutSuffix(other.BaseURL, baseVersion)
		if !found {
			return nil
		}
		other.BaseURL = base + w.path
	}
	d.others = append(d.others, &other)
	return &other
}
