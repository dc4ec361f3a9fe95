package config

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// compiledFormat is the first byte of a compiled catalog. It changes with every change to the layout. No JSON text
// starts with it, so the first byte tells which form a catalog has.
const compiledFormat = 5

// Compile returns a catalog in the form that Parse reads without parsing JSON. It consists of compiledFormat,
// followed by the declarations in the encoding of package abi. The second result is an error message, or empty.
func Compile(json []byte) ([]byte, string) {
	p := parser{config: &Config{}}
	p.catalog(defaultSource, json)
	w := abi.Writer{Buf: []byte{compiledFormat}}
	p.fields(abi.WriteTo(&w))
	return w.Buf, p.problem
}

func isCompiled(catalog []byte) bool { return len(catalog) > 0 && catalog[0] == compiledFormat }

// compiled reads a compiled catalog. The configuration keeps one copy of its bytes.
func (p *parser) compiled(catalog []byte) {
	p.source = defaultSource
	r := abi.Reader{Buf: catalog[1:]}
	r.ShareTexts()
	p.fields(abi.ReadFrom(&r))
	if r.End() != nil || len(p.declarations) != len(p.config.Providers) || len(p.modelProviders) != len(p.config.Models) ||
		len(p.modelWires) != len(p.config.Models) || len(p.tierModels) != len(p.config.Tiers) {
		p.fail(defaultSource + " is not a compiled catalog of this version; run go generate ./core/catalog")
		*p = parser{config: &Config{}, env: p.env, problem: p.problem, source: p.source}
	}
}

func (p *parser) fields(f *abi.Fields) {
	c := p.config
	f.String(&c.Version)
	f.String(&c.DefaultPlan)
	abi.List(f, &c.Plans, planFields)
	abi.List(f, &c.Providers, providerFields)
	abi.List(f, &p.declarations, declarationFields)
	abi.List(f, &c.Models, modelFields)
	abi.List(f, &p.modelProviders, (*abi.Fields).String)
	abi.List(f, &p.modelWires, namesFields)
	abi.List(f, &c.Tiers, tierFields)
	abi.List(f, &p.tierModels, namesFields)
	abi.List(f, &c.Tools, toolFields)
	abi.List(f, &c.Members, func(f *abi.Fields, m *Members) {
		f.String(&m.Dialect)
		namesFields(f, &m.Names)
	})
	abi.List(f, &c.Renamed, func(f *abi.Fields, r *Renamed) {
		f.String(&r.From)
		f.String(&r.To)
		f.String(&r.Wire)
	})
	abi.List(f, &c.Sources, (*abi.Fields).Header)
	routingFields(f, &c.Routing)
}

func namesFields(f *abi.Fields, names *[]string) { abi.List(f, names, (*abi.Fields).String) }

func planFields(f *abi.Fields, p *Plan) {
	f.String(&p.Name)
	for _, l := range []*Limits{&p.Production, &p.Development} {
		f.Uint(&l.PerSecond)
		f.Uint(&l.PerDay)
		f.Uint(&l.TokensPerMinute)
	}
	f.Uint(&p.Concurrent)
	f.Int(&p.BudgetPico)
	f.Bool(&p.Governor)
	f.Uint(&p.Lease.DurationMs)
	f.Uint(&p.Lease.Requests)
}

// providerFields encodes or decodes the fields of a declared provider. Parse fills in the others.
func providerFields(f *abi.Fields, p *Provider) {
	f.String(&p.Name)
	f.String(&p.Wire)
	f.String(&p.BaseURL)
	f.String(&p.keyEnv)
	f.Uint((*uint64)(&p.Drops))
	f.Bool(&p.NoStreamOptions)
	namesFields(f, &p.Headers)
	namesFields(f, &p.Endpoints)
	namesFields(f, &p.Takes)
}

func declarationFields(f *abi.Fields, d *declaration) {
	if f.Reading() {
		d.source = defaultSource
	}
	f.String(&d.baseURLEnv)
	f.Flags(&d.keyOptional, &d.deploymentKey)
	abi.List(f, &d.settings, settingFields)
	abi.List(f, &d.wires, furtherFields)
}

func furtherFields(f *abi.Fields, w *further) {
	f.String(&w.name)
	f.String(&w.path)
	f.Uint((*uint64)(&w.drops))
	f.Bool(&w.noTools)
}

func settingFields(f *abi.Fields, s *setting) {
	f.String(&s.name)
	f.String(&s.variable)
	f.String(&s.value)
	f.Flags(&s.optional, &s.suffices)
}

func modelFields(f *abi.Fields, m *Model) {
	f.String(&m.Name)
	namesFields(f, &m.Aliases)
	abi.Enum(f, &m.APIs)
	f.String(&m.Upstream)
	pricesFields(f, m)
	f.Uint(&m.Context)
	f.Uint(&m.MaxOutput)
	f.Uint((*uint64)(&m.Drops))
	f.String(&m.MaxTokensField)
	f.String(&m.Source)
	f.String(&m.Date)
}

func pricesFields(f *abi.Fields, m *Model) {
	c := &m.Prices
	for _, price := range []*money.Pico{&c.Input, &c.Cached, &c.Write, &c.Write1h, &c.Output, &c.LongInput, &c.LongCached, &c.LongWrite, &c.LongOutput} {
		f.Int(price)
	}
	f.Uint(&c.LongAbove)
	abi.List(f, &m.Factors, func(f *abi.Fields, factor *Factor) {
		f.String(&factor.Term)
		f.Uint(&factor.Num)
		f.Uint(&factor.Den)
	})
}

func toolFields(f *abi.Fields, t *Tool) {
	f.String(&t.Name)
	namesFields(f, &t.Wires)
	namesFields(f, &t.Providers)
	f.Int(&t.Price)
	abi.Enum(f, &t.Meter)
	f.Uint(&t.Max)
	f.String(&t.Limit)
	f.String(&t.Source)
	f.String(&t.Date)
}

func tierFields(f *abi.Fields, t *Tier) {
	f.String(&t.Name)
	abi.Enum(f, &t.Strategy)
	abi.List(f, &t.Targets, func(f *abi.Fields, t *Target) { f.Uint(&t.Weight) })
	timeoutFields(f, &t.Timeouts)
	f.Uint(&t.RequestMs)
}

func routingFields(f *abi.Fields, r *Routing) {
	f.Uint(&r.Retries)
	f.Uint(&r.BackoffMs)
	f.Uint(&r.MaxBackoffMs)
	f.Uint(&r.CoolAfter)
	f.Uint(&r.CoolMs)
	timeoutFields(f, &r.Timeouts)
	f.Uint(&r.RequestMs)
	f.Uint(&r.CacheReadMs)
	f.Uint(&r.MockPauseMs)
}

func timeoutFields(f *abi.Fields, t *abi.Timeouts) {
	f.Uint(&t.HeadMs)
	f.Uint(&t.FirstByteMs)
	f.Uint(&t.IdleMs)
	f.Uint(&t.TotalMs)
}
