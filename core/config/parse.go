package config

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// parser reads catalogs and keeps the first error.
type parser struct {
	config  *Config
	env     []abi.Header
	problem string
	source  string // name of the catalog that is being read, for error messages
	// References stay names until all catalogs are read, because an overlay may replace their entries.
	modelProviders []string
	tierModels     [][]string
}

// Parse builds the configuration. The second result is an error message, or empty. It names the faulty entry or
// variable and never contains a variable's value, except names and prices of an overlay.
func Parse(in abi.Config) (*Config, string) {
	p := parser{config: &Config{MaxBodyBytes: 4_000_000}, env: in.Env}
	p.catalog(defaultSource, in.Catalog)
	if overlay := p.variable(EnvCatalog); overlay != "" {
		p.catalog(EnvCatalog, []byte(overlay))
	}
	p.settings()
	p.link()
	return p.config, p.problem
}

// defaultSource is the name of the built-in catalog in error messages.
const defaultSource = "catalog"

func (p *parser) fail(what string) {
	if p.problem == "" {
		p.problem = what
	}
}

// failIn is fail for an entry of the catalog that is being read.
func (p *parser) failIn(what string) { p.fail(p.source + ": " + what) }

func (p *parser) variable(name string) string {
	for _, h := range p.env {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func (p *parser) settings() {
	if text := p.variable(EnvMaxBodyBytes); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			p.fail(EnvMaxBodyBytes + " must be an integer between 1 and 4294967295 (bytes)")
		}
		p.config.MaxBodyBytes = n
	}
	keys, ok := ParseMasterKeys(p.variable(EnvMasterKeys))
	if !ok {
		p.fail(EnvMasterKeys + " must be a comma-separated list of id:key, each id 1 to 16 letters, digits or hyphens " +
			"and not starting with a hyphen, each key 32 bytes in base64")
	}
	p.config.MasterKeys = keys
	p.config.ControlOff = p.variable(EnvControl) == "off"
}

func (p *parser) catalog(source string, text []byte) {
	p.source = source
	if problem := jsontext.Check(text); problem != jsontext.OK {
		p.fail(source + " " + problem.String())
		return
	}
	root := gjson.ParseBytes(text)
	if !root.IsObject() {
		p.fail(source + " must be a JSON object")
		return
	}
	p.text(&p.config.Version, root, "version")
	p.text(&p.config.DefaultPlan, root, "defaultPlan")
	each(root.Get("plans"), p.plan)
	each(root.Get("providers"), p.provider)
	each(root.Get("models"), p.model)
	each(root.Get("tiers"), p.tier)
	p.routing(root.Get("routing"))
	root.Get("sources").ForEach(func(name, text gjson.Result) bool {
		p.config.Sources = append(p.config.Sources, abi.Header{Name: name.String(), Value: text.String()})
		return true
	})
}

func each(list gjson.Result, f func(gjson.Result)) {
	if list.IsArray() {
		list.ForEach(func(_, v gjson.Result) bool { f(v); return true })
	}
}

// text reads an optional string member of v.
func (p *parser) text(to *string, v gjson.Result, member string) {
	switch m := v.Get(member); {
	case m.Type == gjson.String:
		*to = m.String()
	case m.Exists():
		p.failIn(memberOf(v, member) + " must be a string, got " + clip(m.Raw))
	}
}

// number reads an optional member of v, an integer of at least 0.
func (p *parser) number(to *uint64, v gjson.Result, member string) {
	switch m := v.Get(member); {
	case m.Type == gjson.Number && m.Num >= 0 && m.Num < 1<<53 && m.Num == float64(uint64(m.Num)):
		*to = uint64(m.Num)
	case m.Exists():
		p.failIn(memberOf(v, member) + " must be an integer of at least 0, got " + clip(m.Raw))
	}
}

// memberOf names a member of v, with the name of v if it has one.
func memberOf(v gjson.Result, member string) string {
	if name := v.Get("name"); name.Type == gjson.String {
		return member + " of " + quote(name.Str)
	}
	return member
}

// name returns the name of an entry of a list; kind is the list's name. Entries are found by name, and keys'
// allow-lists hold names.
func (p *parser) name(kind string, v gjson.Result) string {
	name := v.Get("name").String()
	ok := name != "" && len(name) <= doc.MaxModelBytes
	for i := 0; i < len(name); i++ {
		ok = ok && name[i] > ' ' && name[i] <= '~'
	}
	if !ok {
		p.failIn("name in " + kind + " must be 1 to " + strconv.Itoa(doc.MaxModelBytes) +
			" printable ASCII characters without spaces, got " + quote(name))
	}
	return name
}

const maxQuotedBytes = 40

// quote returns a name for an error message: in quotes, and truncated.
func quote(name string) string { return `"` + clip(name) + `"` }

func clip(text string) string {
	if len(text) > maxQuotedBytes {
		text = text[:maxQuotedBytes] + "…"
	}
	return text
}

func (p *parser) amount(v gjson.Result, unit money.Pico, what string) money.Pico {
	text := v.Raw
	if v.Type == gjson.String {
		text = v.String()
	}
	amount, ok := money.Parse(text, unit)
	switch {
	case ok:
	case !v.Exists():
		p.failIn(what + " is required")
	default:
		p.failIn(what + " must be a non-negative decimal number, got " + quote(text))
	}
	return amount
}

func (p *parser) plan(v gjson.Result) {
	plan := Plan{Name: p.name("plans", v)}
	p.number(&plan.Production.PerSecond, v, "perSecond")
	p.number(&plan.Production.PerDay, v, "perDay")
	p.number(&plan.Production.TokensPerMinute, v, "tokensPerMinute")
	p.number(&plan.Development.TokensPerMinute, v, "developmentTokensPerMinute")
	p.number(&plan.Development.PerSecond, v, "developmentPerSecond")
	p.number(&plan.Development.PerDay, v, "developmentPerDay")
	plan.Concurrent = 200
	p.number(&plan.Concurrent, v, "concurrent")
	plan.BudgetPico = p.amount(v.Get("budget"), money.Dollar, "budget of plan "+plan.Name)
	for i := range p.config.Plans {
		if p.config.Plans[i].Name == plan.Name {
			p.config.Plans[i] = plan
			return
		}
	}
	p.config.Plans = append(p.config.Plans, plan)
}

func (p *parser) provider(v gjson.Result) {
	provider := Provider{Name: p.name("providers", v), Wire: v.Get("wire").String(), BaseURL: v.Get("baseUrl").String(), Ready: true}
	if url := p.variable(v.Get("baseUrlEnv").String()); url != "" {
		provider.BaseURL = url
	}
	if keyEnv := v.Get("keyEnv").String(); keyEnv != "" {
		provider.Key, provider.keyEnv = p.variable(keyEnv), keyEnv
		provider.Ready = provider.Key != "" || v.Get("keyOptional").Bool()
	}
	provider.Account = p.account(&provider)
	provider.Drops = p.drops(v)
	provider.NoStreamOptions = v.Get("noStreamOptions").Bool()
	complete := p.providerSettings(&provider, v.Get("settings"))
	provider.Ownable = v.Get("keyEnv").Exists() && !v.Get("deploymentKey").Bool() && complete && provider.BaseURL != ""
	if provider.Wire != "mock" {
		provider.Ready = provider.Ready && provider.BaseURL != ""
		p.checkUpstream(&provider)
	}
	for i := range p.config.Providers {
		if p.config.Providers[i].Name == provider.Name {
			p.config.Providers[i] = provider
			return
		}
	}
	p.config.Providers = append(p.config.Providers, provider)
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
func (p *parser) providerSettings(provider *Provider, v gjson.Result) (complete bool) {
	complete = true
	suffices := false
	v.ForEach(func(key, setting gjson.Result) bool {
		name, value := key.String(), p.variable(setting.Get("env").String())
		if value == "" {
			value = setting.Get("default").String()
		}
		if value == "" && !setting.Get("optional").Bool() {
			provider.Ready, complete = false, false
		}
		suffices = suffices || value != "" && setting.Get("suffices").Bool()
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
		return true
	})
	provider.Ready = provider.Ready || suffices
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

// drops reads the list of parameters that a provider or a model does not support.
func (p *parser) drops(v gjson.Result) (drops chat.Params) {
	each(v.Get("drops"), func(name gjson.Result) {
		param := chat.ParamByName(name.String())
		if param == 0 {
			p.failIn("drops of " + v.Get("name").String() + " has the unknown parameter " + quote(name.String()) +
				"; the parameters are " + string(chat.All.AppendNames(nil)))
		}
		drops |= param
	})
	return drops
}

// checkUpstream rejects base URLs that would redirect a request and keys that would break a header.
func (p *parser) checkUpstream(provider *Provider) {
	for len(provider.BaseURL) > 0 && provider.BaseURL[len(provider.BaseURL)-1] == '/' {
		provider.BaseURL = provider.BaseURL[:len(provider.BaseURL)-1]
	}
	url := provider.BaseURL
	secure := len(url) > 8 && url[:8] == "https://"
	plain := len(url) > 7 && url[:7] == "http://"
	if url != "" && !secure && !plain {
		p.failIn("base URL of provider " + provider.Name + " must start with https:// or http://")
	}
	for i := 0; i < len(url); i++ {
		if c := url[i]; c <= ' ' || c > '~' || c == '#' || c == '?' || c == '@' || c == '\\' {
			p.failIn("base URL of provider " + provider.Name + " must be printable ASCII without spaces, #, ?, @ or \\")
		}
	}
	for i := 0; i < len(provider.Key); i++ {
		if provider.Key[i] <= ' ' || provider.Key[i] > '~' {
			p.fail(provider.keyEnv + ", the API key of provider " + provider.Name + ", must be printable ASCII without spaces")
		}
	}
}

func (p *parser) model(v gjson.Result) {
	model := Model{Name: p.name("models", v), MaxTokensField: "max_tokens"}
	model.Upstream = model.Name
	p.text(&model.Upstream, v, "upstream")
	p.text(&model.MaxTokensField, v, "maxTokensField")
	each(v.Get("aliases"), func(alias gjson.Result) { model.Aliases = append(model.Aliases, alias.String()) })
	p.number(&model.Context, v, "context")
	p.number(&model.MaxOutput, v, "maxOutput")
	model.Drops = p.drops(v)
	p.text(&model.Source, v, "source")
	p.text(&model.Date, v, "date")
	if v.Get("kind").Str == "embedding" {
		model.Kind = EmbeddingModel
	}
	p.prices(&model, v)
	provider := v.Get("provider").String()
	for i := range p.config.Models {
		if p.config.Models[i].Name == model.Name {
			p.config.Models[i], p.modelProviders[i] = model, provider
			return
		}
	}
	p.config.Models = append(p.config.Models, model)
	p.modelProviders = append(p.modelProviders, provider)
}

// prices reads prices in dollars per million tokens. Prompt cache reads and writes default to the input price.
func (p *parser) prices(model *Model, v gjson.Result) {
	price := func(name string, fallback money.Pico) money.Pico {
		if field := v.Get(name); field.Exists() {
			return p.amount(field, money.Dollar, name+" price of model "+model.Name) / 1_000_000
		}
		return fallback
	}
	c := &model.Prices
	c.Input = p.amount(v.Get("input"), money.Dollar, "input price of model "+model.Name) / 1_000_000
	if model.Kind == ChatModel {
		c.Output = p.amount(v.Get("output"), money.Dollar, "output price of model "+model.Name) / 1_000_000
	}
	c.Cached = price("cached", c.Input)
	c.Write = price("write", c.Input)
	c.Write1h = price("write1h", c.Write)
	p.number(&c.LongAbove, v, "longAbove")
	c.LongInput, c.LongOutput = price("longInput", c.Input), price("longOutput", c.Output)
	c.LongCached, c.LongWrite = price("longCached", c.Cached), price("longWrite", c.Write)
}

func (p *parser) tier(v gjson.Result) {
	tier := Tier{Name: p.name("tiers", v)}
	switch strategy := v.Get("strategy").Str; strategy {
	case "", "weighted":
	case "ordered":
		tier.Strategy = Ordered
	case "cheapest":
		tier.Strategy = Cheapest
	case "fastest":
		tier.Strategy = Fastest
	default:
		p.failIn("strategy of tier " + tier.Name + " must be weighted, ordered, cheapest or fastest, got " + quote(strategy))
	}
	p.timeouts(&tier.Timeouts, v)
	p.number(&tier.RequestMs, v, "requestMs")
	var models []string
	each(v.Get("targets"), func(t gjson.Result) {
		var target Target
		p.number(&target.Weight, t, "weight")
		tier.Targets = append(tier.Targets, target)
		models = append(models, t.Get("model").String())
	})
	if len(models) == 0 || len(models) > 8 {
		p.failIn("tier " + tier.Name + " must have 1 to 8 targets, got " + strconv.Itoa(len(models)))
	}
	for i := range p.config.Tiers {
		if p.config.Tiers[i].Name == tier.Name {
			p.config.Tiers[i], p.tierModels[i] = tier, models
			return
		}
	}
	p.config.Tiers = append(p.config.Tiers, tier)
	p.tierModels = append(p.tierModels, models)
}

func (p *parser) routing(v gjson.Result) {
	r := &p.config.Routing
	p.number(&r.Retries, v, "retries")
	p.number(&r.BackoffMs, v, "backoffMs")
	p.number(&r.MaxBackoffMs, v, "maxBackoffMs")
	p.number(&r.CoolAfter, v, "coolAfter")
	p.number(&r.CoolMs, v, "coolMs")
	p.timeouts(&r.Timeouts, v)
	p.number(&r.RequestMs, v, "requestMs")
	p.number(&r.MockPauseMs, v, "mockPauseMs")
	r.Retries = min(r.Retries, 5)
	if r.RequestMs == 0 {
		p.failIn("routing.requestMs must be a positive number of milliseconds")
	}
}

func (p *parser) timeouts(t *abi.Timeouts, v gjson.Result) {
	p.number(&t.HeadMs, v, "headMs")
	p.number(&t.FirstByteMs, v, "firstByteMs")
	p.number(&t.IdleMs, v, "idleMs")
	p.number(&t.TotalMs, v, "totalMs")
}

// link turns names into pointers. The lists are complete and no longer reallocated.
func (p *parser) link() {
	for i, name := range p.modelProviders {
		model := &p.config.Models[i]
		if model.Provider = p.config.provider(name); model.Provider == nil {
			p.fail("model " + model.Name + " has the unknown provider " + quote(name) + "; add it to providers")
		}
	}
	for i, models := range p.tierModels {
		tier := &p.config.Tiers[i]
		for j, name := range models {
			if tier.Targets[j].Model = p.config.Model(name); tier.Targets[j].Model == nil {
				p.fail("tier " + tier.Name + " has the unknown model " + quote(name) + "; add it to models")
			}
		}
	}
	if p.config.DefaultPlan == "" || len(p.config.Plans) == 0 {
		p.fail("defaultPlan is required and must name one of plans")
		return
	}
	for i := range p.config.Plans {
		if p.config.Plans[i].Name == p.config.DefaultPlan {
			return
		}
	}
	p.fail("defaultPlan " + quote(p.config.DefaultPlan) + " is not one of plans; add it to plans")
}
