package config

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
)

func (p *parser) provider(o *object) {
	provider := Provider{Name: o.entryName("providers"), Ready: true}
	o.text(&provider.Wire, "wire")
	urlSource := p.baseURL(&provider, o)
	o.text(&provider.keyEnv, "keyEnv")
	optional := o.flag("keyOptional")
	if provider.keyEnv != "" {
		provider.Key = p.variable(provider.keyEnv)
		provider.require(provider.Key != "" || optional, provider.keyEnv)
	}
	provider.Account = p.account(&provider)
	provider.Drops = p.drops(o)
	provider.NoStreamOptions = o.flag("noStreamOptions")
	complete := p.providerSettings(&provider, o)
	provider.Ownable = !o.flag("deploymentKey") && provider.keyEnv != "" && complete && provider.BaseURL != ""
	if provider.Wire != MockWire {
		p.checkUpstream(&provider, urlSource)
	}
	for i := range p.config.Providers {
		if p.config.Providers[i].Name == provider.Name {
			p.config.Providers[i] = provider
			return
		}
	}
	p.config.Providers = append(p.config.Providers, provider)
}

// baseURL reads a provider's base URL. source names its origin for an error message: the variable, or the catalog.
func (p *parser) baseURL(provider *Provider, o *object) (source string) {
	var variable string
	o.text(&provider.BaseURL, "baseUrl")
	o.text(&variable, "baseUrlEnv")
	if url := p.variable(variable); url != "" {
		provider.BaseURL = url
		return variable + ", the base URL of provider " + provider.Name + ","
	}
	if provider.Wire != MockWire {
		provider.require(provider.BaseURL != "", variable)
	}
	return p.source + ": base URL of provider " + provider.Name
}

// require makes a provider not ready unless ok. variable is the one that the operator must set, if there is one.
func (p *Provider) require(ok bool, variable string) {
	if ok {
		return
	}
	p.Ready = false
	if variable != "" {
		p.Missing = append(p.Missing, variable)
	}
}

func (p *parser) account(of *Provider) string {
	for i := range p.config.Providers {
		if other := &p.config.Providers[i]; of.keyEnv != "" && other.keyEnv == of.keyEnv && other.Name != of.Name {
			return other.Account
		}
	}
	return of.Name
}

// providerSettings reads {"region": {"env": "AWS_REGION", "default": "us-east-1"}}. A name in braces in the
// base URL is replaced by the setting's value. A provider with an empty setting that is not optional is not
// ready. A non-empty setting that "suffices" makes it ready without other credentials. complete reports that no
// required setting is empty.
func (p *parser) providerSettings(provider *Provider, o *object) (complete bool) {
	complete = true
	suffices := false
	o.members("settings", func(name string, v gjson.Result) {
		setting := p.object(v)
		var value, variable string
		setting.text(&value, "default")
		setting.text(&variable, "env")
		if set := p.variable(variable); set != "" {
			value = set
		}
		ok := setting.flag("optional") || value != ""
		provider.require(ok, variable)
		complete = complete && ok
		suffices = setting.flag("suffices") && value != "" || suffices
		setting.close()
		for i := 0; i < len(value); i++ {
			if value[i] <= ' ' || value[i] > '~' {
				p.failIn("setting " + name + " of provider " + provider.Name + " must be printable ASCII without spaces")
			}
		}
		provider.Settings = append(provider.Settings, abi.Header{Name: name, Value: value})
		if strings.Contains(provider.BaseURL, "{"+name+"}") {
			if !isLabel(value) {
				// The value must not change the host or the path.
				p.failIn("setting " + name + " of provider " + provider.Name + " must be letters, digits and hyphens, not starting with a hyphen")
			}
			provider.BaseURL = strings.ReplaceAll(provider.BaseURL, "{"+name+"}", value)
		}
	})
	if suffices {
		provider.Ready, provider.Missing = true, nil
		provider.require(provider.BaseURL != "", "")
	}
	return complete
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

// checkUpstream rejects base URLs that would redirect a request and keys that would break a header.
// urlSource names the origin of the base URL for an error message.
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
