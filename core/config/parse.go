package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// parser reads catalogs and keeps the first error.
type parser struct {
	config  *Config
	env     []abi.Header
	problem string
	source  string   // the name of the catalog being read, for error messages
	members []string // the fields that the getters of the open objects have read; see object
	// These lists are parallel to the configuration's lists and contain the parts of a declaration that the
	// configuration does not keep. References remain names until all catalogs are read, because an overlay may
	// replace the entries that they name.
	declarations   []declaration
	modelProviders []string
	modelWires     [][]string
	tierModels     [][]string
}

// Parse builds the configuration. The catalog is either JSON or the output of Compile. The second result is an error
// message, or empty. The message names the faulty entry or variable. It never contains a variable's value, except for
// short excerpts of an overlay.
func Parse(in abi.Config) (*Config, string) {
	p := parser{config: &Config{MaxBodyBytes: 4_000_000}, env: in.Env}
	if isCompiled(in.Catalog) {
		p.compiled(in.Catalog)
	} else {
		p.catalog(defaultSource, in.Catalog)
	}
	if overlay := p.variable(EnvCatalog); overlay != "" {
		p.catalog(EnvCatalog, []byte(overlay))
	}
	p.resolve()
	p.settings()
	p.link()
	p.checkNames()
	p.config.PriceVersion = p.config.priceVersion()
	return p.config, p.problem
}

// defaultSource is the name of the built-in catalog in error messages.
const defaultSource = "catalog"

func (p *parser) fail(what string) {
	if p.problem == "" {
		p.problem = what
	}
}

// failIn is like fail, for an entry in the catalog being read.
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
		p.fail(EnvMasterKeys + " must be a comma-separated list of id:key; each id must be unique and 1 to 16 letters, digits or hyphens, " +
			"not starting with a hyphen; each key must be 32 bytes in base64")
	}
	p.config.MasterKeys = keys
	p.config.ControlOff = !p.isOn(EnvControl)
	p.config.DocsOff = !p.isOn(EnvDocs) || p.config.ControlOff
	p.log()
	p.leases()
}

func (p *parser) log() {
	switch p.variable(EnvLog) {
	case "", "all":
	case "errors":
		p.config.Log = LogErrors
	case "off":
		p.config.Log = LogOff
	default:
		p.fail(EnvLog + " must be all, errors or off")
	}
}

// isOn reads a variable that is on or off. The default is on.
func (p *parser) isOn(name string) bool {
	switch value := p.variable(name); value {
	case "", "on":
	case "off":
		return false
	default:
		p.fail(name + " must be on or off")
	}
	return true
}

// leases removes the leases from all plans if EnvLeases is off.
func (p *parser) leases() {
	if p.isOn(EnvLeases) {
		return
	}
	for i := range p.config.Plans {
		p.config.Plans[i].Lease = Lease{}
	}
}

func (p *parser) catalog(source string, text []byte) {
	p.source = source
	if source == EnvCatalog && text[0] != '{' && text[0] != '[' && text[0] > ' ' {
		p.fail(source + ` must be JSON, not the name of a file; use ` + source + `="$(cat FILE)"`)
		return
	}
	if found := jsontext.Examine(text); found.Problem != jsontext.OK {
		p.fail(source + " " + found.Message(quote))
		return
	}
	root := gjson.ParseBytes(text)
	if !root.IsObject() {
		p.fail(source + " must be a JSON object")
		return
	}
	o := p.object(root)
	o.text(&p.config.Version, "version")
	o.text(&p.config.DefaultPlan, "defaultPlan")
	o.entries("plans", p.plan)
	o.entries("providers", p.provider)
	o.entries("models", p.model)
	o.entries("tiers", p.tier)
	o.entries("tools", p.tool)
	p.forwarded(o)
	p.renamed(o)
	o.members("sources", func(name string, text gjson.Result) {
		p.config.Sources = append(p.config.Sources, abi.Header{Name: name, Value: text.String()})
	})
	if v := o.get("routing"); v.IsObject() {
		p.routing(p.object(v))
	} else if v.Exists() {
		o.wrong("routing", "an object", v)
	}
	o.close()
	if p.config.Routing.RequestMs == 0 {
		p.failIn("routing.requestMs must be a positive number of milliseconds")
	}
}

// drops reads the list of parameters that a provider or model does not support.
func (p *parser) drops(o *object) (drops chat.Params) {
	for _, name := range o.names("drops") {
		param := chat.ParamByName(name)
		if param == 0 {
			p.failIn(o.name("drops") + " contains the unknown parameter " + quote(name) +
				"; the parameters are " + string(chat.All.AppendNames(nil)))
		}
		drops |= param
	}
	return drops
}

func (p *parser) model(o *object) {
	model := Model{Name: o.entryName("models"), MaxTokensField: "max_tokens"}
	model.Upstream = model.Name
	o.text(&model.Upstream, "upstream")
	o.text(&model.MaxTokensField, "maxTokensField")
	model.Aliases = o.names("aliases")
	o.number(&model.Context, "context")
	o.number(&model.MaxOutput, "maxOutput")
	model.Drops = p.drops(o)
	o.text(&model.Source, "source")
	o.text(&model.Date, "date")
	o.get("note") // a remark for readers of the catalog
	model.APIs = o.apis()
	p.prices(&model, o)
	p.factors(&model, o)
	var provider string
	o.text(&provider, "provider")
	wires := o.names("wires")
	for i := range p.config.Models {
		if p.config.Models[i].Name == model.Name {
			p.config.Models[i], p.modelProviders[i], p.modelWires[i] = model, provider, wires
			return
		}
	}
	p.config.Models = append(p.config.Models, model)
	p.modelProviders = append(p.modelProviders, provider)
	p.modelWires = append(p.modelWires, wires)
}

// apis reads the APIs on which a model is offered. These are its "apis" or those of its "kind".
func (o *object) apis() (all API) {
	switch kind := o.get("kind"); {
	case kind.Str == "embedding":
		all = APIEmbeddings
	case kind.Exists() && kind.Str != "chat":
		o.wrong("kind", "chat or embedding", kind)
	}
	for _, name := range o.names("apis") {
		at := slices.Index(apiNames[:], name)
		if at < 0 {
			o.p.failIn(o.name("apis") + " contains the unknown API " + quote(name) + "; the APIs are " + strings.Join(apiNames[:], ","))
			return APIsOfChat
		}
		all |= 1 << at
	}
	if all == 0 {
		return APIsOfChat
	}
	return all
}

// prices reads prices in dollars per million tokens. Prompt cache reads and writes default to the input price.
func (p *parser) prices(model *Model, o *object) {
	price := func(name string, fallback money.Pico) money.Pico {
		if o.get(name).Exists() {
			return p.price(model, o, name)
		}
		return fallback
	}
	c := &model.Prices
	c.Input = p.price(model, o, "input")
	if c.Output = price("output", 0); model.APIs&apisOfText != 0 {
		c.Output = p.price(model, o, "output")
	}
	c.Cached = price("cached", c.Input)
	c.Write = price("write", c.Input)
	c.Write1h = price("write1h", c.Write)
	o.number(&c.LongAbove, "longAbove")
	c.LongInput, c.LongOutput = price("longInput", c.Input), price("longOutput", c.Output)
	c.LongCached, c.LongWrite = price("longCached", c.Cached), price("longWrite", c.Write)
}

// price reads a required price.
func (p *parser) price(model *Model, o *object, name string) money.Pico {
	return o.amount(name, money.Dollar, name+" price of model "+model.Name) / 1_000_000
}

func (p *parser) tier(o *object) {
	tier := Tier{Name: o.entryName("tiers")}
	var strategy string
	o.text(&strategy, "strategy")
	switch strategy {
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
	p.timeouts(&tier.Timeouts, o)
	o.number(&tier.RequestMs, "requestMs")
	var models []string
	o.entries("targets", func(t *object) {
		var target Target
		var model string
		t.number(&target.Weight, "weight")
		t.text(&model, "model")
		tier.Targets, models = append(tier.Targets, target), append(models, model)
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

func (p *parser) routing(o *object) {
	r := &p.config.Routing
	o.number(&r.Retries, "retries")
	o.number(&r.BackoffMs, "backoffMs")
	o.number(&r.MaxBackoffMs, "maxBackoffMs")
	o.number(&r.CoolAfter, "coolAfter")
	o.number(&r.CoolMs, "coolMs")
	p.timeouts(&r.Timeouts, o)
	o.number(&r.RequestMs, "requestMs")
	o.number(&r.CacheReadMs, "cacheReadMs")
	o.number(&r.MockPauseMs, "mockPauseMs")
	r.Retries = min(r.Retries, 5)
	o.close()
}

func (p *parser) timeouts(t *abi.Timeouts, o *object) {
	o.number(&t.HeadMs, "headMs")
	o.number(&t.FirstByteMs, "firstByteMs")
	o.number(&t.IdleMs, "idleMs")
	o.number(&t.TotalMs, "totalMs")
}

// link turns names into pointers. At this point, the lists are complete and are no longer reallocated.
func (p *parser) link() {
	p.linkProviders()
	for i, models := range p.tierModels {
		tier := &p.config.Tiers[i]
		for j, name := range models {
			if tier.Targets[j].Model = p.config.Model(name); tier.Targets[j].Model == nil {
				p.failIn("tier " + tier.Name + " names the unknown model " + quote(name) + "; add it to models")
			}
		}
	}
	if p.config.DefaultPlan == "" || len(p.config.Plans) == 0 {
		p.failIn("defaultPlan is required and must name an entry of plans")
		return
	}
	for i := range p.config.Plans {
		if p.config.Plans[i].Name == p.config.DefaultPlan {
			return
		}
	}
	p.failIn("defaultPlan " + quote(p.config.DefaultPlan) + " is not in plans; add it")
}
