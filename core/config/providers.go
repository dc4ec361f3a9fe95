package config

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
)

// declaration is the part of a declared provider that needs the deployment's variables.
type declaration struct {
	source        string // the catalog that contains the declaration, for error messages
	baseURLEnv    string
	keyOptional   bool
	deploymentKey bool
	settings      []setting
	wires         []further
	others        []*Provider // of wires, resolved
}

// setting is a declared setting, such as {"region": {"env": "AWS_REGION", "default": "us-east-1"}}.
type setting struct {
	name, variable, value string
	optional, suffices    bool
}

func (p *parser) provider(o *object) {
	provider := Provider{Name: o.entryName("providers")}
	d := declaration{source: p.source}
	o.text(&provider.Wire, "wire")
	o.text(&provider.BaseURL, "baseUrl")
	o.text(&d.baseURLEnv, "baseUrlEnv")
	o.text(&provider.keyEnv, "keyEnv")
	d.keyOptional = o.flag("keyOptional")
	provider.Drops = p.drops(o)
	provider.NoStreamOptions = o.flag("noStreamOptions")
	p.headers(&provider, o)
	p.serves(&provider, o)
	provider.Takes = o.names("takes")
	o.members("settings", func(name string, v gjson.Result) { d.settings = append(d.settings, p.setting(name, v)) })
	d.deploymentKey = o.flag("deploymentKey")
	o.entries("wires", func(w *object) { d.wires = append(d.wires, p.further(w)) })
	for i := range p.config.Providers {
		if p.config.Providers[i].Name == provider.Name {
			p.config.Providers[i], p.declarations[i] = provider, d
			return
		}
	}
	p.config.Providers = append(p.config.Providers, provider)
	p.declarations = append(p.declarations, d)
}

func (p *parser) setting(name string, v gjson.Result) setting {
	s := setting{name: name}
	o := p.object(v)
	o.text(&s.value, "default")
	o.text(&s.variable, "env")
	s.optional = o.flag("optional")
	s.suffices = o.flag("suffices")
	o.close()
	return s
}

// resolve completes the declared providers with the deployment's variables.
func (p *parser) resolve() {
	source := p.source
	for i := range p.config.Providers {
		provider, d := &p.config.Providers[i], &p.declarations[i]
		p.source = d.source
		provider.Ready = true
		urlSource := p.baseURL(provider, d)
		if provider.keyEnv != "" {
			provider.Key = p.variable(provider.keyEnv)
			provider.require(provider.Key != "" || d.keyOptional, provider.keyEnv)
		}
		provider.Account = p.account(provider)
		complete := p.providerSettings(provider, d.settings)
		provider.Ownable = !d.deploymentKey && provider.keyEnv != "" && complete && provider.BaseURL != ""
		if provider.Wire != MockWire {
			p.checkUpstream(provider, urlSource)
		}
	}
	p.source = source
}

// baseURL sets a provider's base URL. source names where the URL comes from, for error messages: the variable or the
// catalog.
func (p *parser) baseURL(provider *Provider, d *declaration) (source string) {
	if url := p.variable(d.baseURLEnv); url != "" {
		provider.BaseURL = url
		return d.baseURLEnv + ", the base URL of provider " + provider.Name + ","
	}
	if provider.Wire != MockWire {
		provider.require(provider.BaseURL != "", d.baseURLEnv)
	}
	return p.source + ": base URL of provider " + provider.Name
}

// require marks a provider as not ready unless ok is true. variable is the variable that the operator must set, if
// there is one.
func (p *Provider) require(ok bool, variable string) {
	if ok {
		return
	}
	p.Ready = false
	if variable != "" {
		p.Missing = append(p.Missing, variable)
	}
}

// account returns the name of the first provider in the list that reads the same variable.
func (p *parser) account(of *Provider) string {
	for i := range p.config.Providers {
		if other := &p.config.Providers[i]; of.keyEnv != "" && other.keyEnv == of.keyEnv {
			return other.Name
		}
	}
	return of.Name
}

// providerSettings sets a provider's settings. A setting's name in braces in the base URL is replaced with its value.
// If a setting is empty and not optional, the provider is not ready. A non-empty setting that "suffices" makes the
// provider ready without other credentials. complete means that no required setting is empty.
func (p *parser) providerSettings(provider *Provider, settings []setting) (complete bool) {
	complete = true
	suffices := false
	for _, s := range settings {
		value := s.value
		if set := p.variable(s.variable); set != "" {
			value = set
		}
		ok := s.optional || value != ""
		provider.require(ok, s.variable)
		complete = complete && ok
		suffices = s.suffices && value != "" || suffices
		p.checkSetting(provider, s.name, value)
		provider.Settings = append(provider.Settings, abi.Header{Name: s.name, Value: value})
		provider.BaseURL = strings.ReplaceAll(provider.BaseURL, "{"+s.name+"}", value)
	}
	if suffices {
		provider.Ready, provider.Missing = true, nil
		provider.require(provider.BaseURL != "", "")
	}
	return complete
}

func (p *parser) checkSetting(provider *Provider, name, value string) {
	for i := 0; i < len(value); i++ {
		if value[i] <= ' ' || value[i] > '~' {
			p.failIn("setting " + name + " of provider " + provider.Name + " must be printable ASCII without spaces")
		}
	}
	if strings.Contains(provider.BaseURL, "{"+name+"}") && !isLabel(value) {
		// The value must not change the host or the path.
		p.failIn("setting " + name + " of provider " + provider.Name + " must be letters, digits and hyphens, not starting with a hyphen")
	}
}

func isLabel(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !(c == '-' && i > 0 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// checkUpstream rejects keys that would break a header, and base URLs that would lead a request elsewhere. urlSource
// names the base URL's origin for error messages.
func (p *parser) checkUpstream(provider *Provider, urlSource string) {
	for len(provider.BaseURL) > 0 && provider.BaseURL[len(provider.BaseURL)-1] == '/' {
		provider.BaseURL = provider.BaseURL[:len(provider.BaseURL)-1]
	}
	url := provider.BaseURL
	secure := len(url) > 8 && url[:8] == "https://"
	plain := len(url) > 7 && url[:7] == "http://"
	if url != "" && !secure && !plain {
		p.fail(urlSource + " must start with https:// or http://")
	}
	for i := 0; i < len(url); i++ {
		if c := url[i]; c <= ' ' || c > '~' || c == '#' || c == '?' || c == '@' || c == '\\' {
			p.fail(urlSource + " must be printable ASCII without spaces, #, ?, @ or \\")
		}
	}
	for i := 0; i < len(provider.Key); i++ {
		if provider.Key[i] <= ' ' || provider.Key[i] > '~' {
			p.fail(provider.keyEnv + ", the API key of provider " + provider.Name + ", must be printable ASCII without spaces")
		}
	}
}
