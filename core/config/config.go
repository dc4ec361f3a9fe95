// Package config parses the catalog, the operator's overlay and the deployment's variables into a Config, which
// is read-only.
package config

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/money"
)

// Variables that an operator sets. The catalog names each provider's variables.
const (
	EnvCatalog      = "POSTERN_CATALOG"        // overlay: JSON in the catalog's format, whose entries are added to the catalog's or replace entries with the same name
	EnvMaxBodyBytes = "POSTERN_MAX_BODY_BYTES" // maximum request body; default 4,000,000
	EnvControl      = "POSTERN_CONTROL"        // on (default) or off; off makes the control plane unreachable through the gateway
	EnvDocs         = "POSTERN_DOCS"           // on (default) or off; if off, the gateway does not serve the documentation
	EnvLog          = "POSTERN_LOG"            // all (default), errors or off: the requests whose log lines are written
	EnvLeases       = "POSTERN_LEASES"         // on (default) or off; if off, no plan has leases
	EnvMasterKeys   = "POSTERN_MASTER_KEYS"    // id:key,…; each key is 32 bytes in base64. The first key encrypts, and all keys decrypt
)

// Config is the parsed configuration of a deployment.
type Config struct {
	Version      string // of the catalog
	PriceVersion string // hash of all prices, which is recorded with every cost
	DefaultPlan  string
	Plans        []Plan
	Providers    []Provider
	Models       []Model
	Tiers        []Tier
	Tools        []Tool
	Members      []Members
	Renamed      []Renamed
	Sources      []abi.Header // the names and descriptions of the sources of model data
	Routing      Routing
	MaxBodyBytes uint64
	Log          Log
	ControlOff   bool
	DocsOff      bool        // always true if ControlOff is
	MasterKeys   []MasterKey // empty: projects cannot store their own provider keys
}

// Log is the set of requests whose log lines are written. It does not apply to lines about the gateway itself.
type Log uint8

const (
	LogAll    Log = iota
	LogErrors     // requests that an operator may have to look at
	LogOff
)

// MasterKey encrypts projects' own provider keys. Key is 32 bytes in base64.
type MasterKey struct{ ID, Key string }

// MasterKey returns the key with the given ID, or an empty string.
func (c *Config) MasterKey(id string) string {
	for _, k := range c.MasterKeys {
		if k.ID == id {
			return k.Key
		}
	}
	return ""
}

// Plan contains the limits of a project's keys and the project's default budget. 0 means no limit.
type Plan struct {
	Name        string
	Production  Limits
	Development Limits
	Concurrent  uint64     // requests of one key in flight
	BudgetPico  money.Pico // a project's default budget per calendar month
	Governor    bool       // the plan's projects may enable the Governor
	Lease       Lease      // the leases that its keys' meters grant; zero: they never lend
}

// Limits are the limits of one key: admissions in any second, admissions in a UTC day, and tokens settled in any
// minute. 0 means no limit.
type Limits struct{ PerSecond, PerDay, TokensPerMinute uint64 }

// MockWire is the wire of providers for which the core itself responds.
const MockWire = "mock"

// Provider is an upstream that serves models.
type Provider struct {
	Name    string
	Wire    string   // its wire family, which is a folder in core/provider
	BaseURL string   // without a trailing slash; from the catalog or the operator, never from a caller
	Key     string   // API key; empty: none
	Ready   bool     // the provider has all credentials and settings that it needs
	Ownable bool     // the provider accepts a project's own key
	Missing []string // variables that the operator must set to make it ready
	// Account is the name of the first provider that reads its key from the same variable, which is usually this
	// provider. Providers with the same account share a key.
	Account  string
	keyEnv   string // the name of the variable that contains Key
	Settings []abi.Header
	Drops    chat.Params // parameters of its wire family that this provider does not support
	// NoTools means that the provider does not have the provider tools of its wire, or has them at other prices.
	NoTools bool
	Further []string // wires that it serves in addition to Wire
	// Home is the provider's main wire, which determines how the key is sent. It is set only if Wire is one of the
	// provider's further wires.
	Home string
	// Headers names the CallerHeaders that the provider gets.
	Headers []string
	// Endpoints names the endpoints that it has in addition to completions; see Serves.
	Endpoints []string
	// NoStreamOptions means that the provider rejects OpenAI's stream_options, or always reports usage.
	NoStreamOptions bool
	// Takes names the fields of its dialect that it accepts in translated requests, in addition to the common fields
	// of its wire. The names are those in the caller's dialect.
	Takes []string
}

// Setting returns the value of a provider's setting, such as its region, or an empty string.
func (p *Provider) Setting(name string) string {
	for _, s := range p.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Wires returns the wires on which the model is called. If no wire has the caller's format, the first is used.
func (m *Model) Wires() []string {
	wires := []string{m.Provider.Wire}
	for _, p := range m.Others {
		wires = append(wires, p.Wire)
	}
	return wires
}

// API is an API of this gateway on which models are offered, or a set of such APIs.
type API uint8

const (
	APIChat API = 1 << iota // POST /v1/chat/completions and the native endpoints
	APIResponses
	APIMessages
	APIEmbeddings
	APICompletions
	APIModerations

	// APIsOfChat is the set of APIs of a model for which the catalog names none.
	APIsOfChat = APIChat | APIResponses | APIMessages
	// apisOfText is the set of APIs whose responses have output tokens.
	apisOfText = APIsOfChat | APICompletions
)

var apiNames = [...]string{"chat", "responses", "messages", "embeddings", "completions", "moderations"}

// Names returns the APIs' names in the catalog.
func (a API) Names() (names []string) {
	for i, name := range apiNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Model is a model in the catalog. It always has a price, which may be 0.
type Model struct {
	Name           string
	Aliases        []string    // other names that callers may use
	APIs           API         // the APIs on which the model is offered
	Provider       *Provider   // with the model's first wire
	Others         []*Provider // the same provider with the model's further wires
	Upstream       string      // the provider's name for the model
	Prices         Prices
	Factors        []Factor    // of the prices
	Context        uint64      // context window in tokens, prompt and output together; 0: unknown
	MaxOutput      uint64      // maximum output tokens; 0: unknown
	Drops          chat.Params // parameters of its provider that this model does not support
	MaxTokensField string      // the name of the output limit's field in OpenAI's dialect
	Source         string      // source of the figures, which is a name in Config.Sources or the operator's text
	Date           string      // the month in which the figures were looked up
}

// Prices are prices per token. Cached is for prompt cache reads. Write and Write1h are for cache writes that are kept
// for 5 minutes and 1 hour.
type Prices struct {
	Input, Cached, Write, Write1h, Output money.Pico
	// LongAbove is the prompt size in tokens above which the Long prices apply to the whole request. It is 0 if there
	// are none.
	LongAbove                                    uint64
	LongInput, LongCached, LongWrite, LongOutput money.Pico
}

// Tier is a named list of targets.
type Tier struct {
	Name     string
	Strategy Strategy
	Targets  []Target
	Timeouts abi.Timeouts // of one attempt; 0 means Routing's
	// RequestMs limits the time of all attempts together, until the complete response or a stream's first content. 0
	// means Routing's.
	RequestMs uint64
}

// Strategy is the order in which a route's targets are tried. Every strategy skips targets without credentials. It
// also skips a target with an open circuit if a later one is suitable.
type Strategy uint8

const (
	Weighted Strategy = iota // the first target is drawn at random by weight, and the others follow in the order listed
	Ordered                  // as listed
	Cheapest                 // by the request's expected cost
	Fastest                  // by the recent time to first token
)

// Target is one model in a route.
type Target struct {
	Model  *Model
	Weight uint64
}

// Routing contains the settings for retries, circuit breakers and timeouts. Timeouts apply to one attempt.
type Routing struct {
	Retries      uint64 // on the same target, after the first attempt
	BackoffMs    uint64 // upper bound of the first backoff; it doubles with each retry and has full jitter
	MaxBackoffMs uint64 // the longest backoff; with a longer Retry-After, the next target is called
	CoolAfter    uint64 // consecutive failures that open a circuit
	CoolMs       uint64 // how long a circuit stays open
	Timeouts     abi.Timeouts
	RequestMs    uint64 // for all attempts together, until the complete response or a stream's first content
	CacheReadMs  uint64 // how long a lookup in the global cache (KV) may take before it counts as a miss; 0: no limit
	MockPauseMs  uint64 // pause between the pieces of the mock's streams; 0: none
}

// Plan returns the plan with the given name, or the default plan.
func (c *Config) Plan(name string) *Plan {
	for i := range c.Plans {
		if c.Plans[i].Name == name {
			return &c.Plans[i]
		}
	}
	return c.Plan(c.DefaultPlan)
}

// For returns the limits of a key in the given environment.
func (p *Plan) For(env keys.Environment) Limits {
	if env == keys.Development {
		return p.Development
	}
	return p.Production
}

// Tier returns the tier with the given name, or nil.
func (c *Config) Tier(name string) *Tier {
	for i := range c.Tiers {
		if c.Tiers[i].Name == name {
			return &c.Tiers[i]
		}
	}
	return nil
}

// Model returns the model with the given name or alias. The name may also be written as "provider/name" or
// "provider/upstream". It returns nil if there is none.
func (c *Config) Model(name string) *Model {
	for i := range c.Models {
		if m := &c.Models[i]; m.Name == name || slices.Contains(m.Aliases, name) {
			return m
		}
	}
	provider, rest, ok := strings.Cut(name, "/")
	if !ok {
		return nil
	}
	provider = c.ProviderName(provider)
	for i := range c.Models {
		m := &c.Models[i]
		if m.Provider.Name == provider && (m.Name == rest || m.Upstream == rest || slices.Contains(m.Aliases, rest)) {
			return m
		}
	}
	return nil
}

func (c *Config) provider(name string) *Provider {
	for i := range c.Providers {
		if c.Providers[i].Name == name {
			return &c.Providers[i]
		}
	}
	return nil
}

// Cost returns the cost of the given usage. This is the cost of its tokens at the model's prices, multiplied by the
// factors of its terms, plus its fee.
//
//go:noinline
func (m *Model) Cost(u *chat.Usage) money.Pico {
	cost := m.tokenCost(u)
	if u.Extras == nil {
		return cost
	}
	for term, rest := chat.NextTerm(u.Terms); term != ""; term, rest = chat.NextTerm(rest) {
		f, _ := m.Factor(term)
		cost = money.Scale(cost, f.Num, f.Den)
	}
	return money.Add(cost, u.FeePico)
}

// CacheSaving returns the amount that the provider's prompt cache saved. This is the cost of the same usage at the
// plain input price, minus its actual cost. It is negative if writes cost more than reads saved.
//
//go:noinline
func (m *Model) CacheSaving(u *chat.Usage) money.Pico {
	cached := u.CachedInput + u.CacheWritten()
	if cached == 0 {
		return 0
	}
	plain := *u
	plain.Input = max(u.Input, cached)
	plain.CachedInput, plain.CacheWrite, plain.CacheWrite1h = 0, 0, 0
	return m.Cost(&plain) - m.Cost(u)
}

func (m *Model) tokenCost(u *chat.Usage) money.Pico {
	p := &m.Prices
	input, cached, write, output := p.Input, p.Cached, p.Write, p.Output
	if p.LongAbove > 0 && u.Input > p.LongAbove {
		input, cached, write, output = p.LongInput, p.LongCached, p.LongWrite, p.LongOutput
	}
	// Cached and written tokens are charged even if a provider reports more of them than it reports input tokens.
	fresh := u.Input - min(u.Input, u.CachedInput+u.CacheWritten())
	cost := money.Add(money.Cost(fresh, input), money.Cost(u.CachedInput, cached))
	cost = money.Add(cost, money.Cost(u.CacheWrite, write))
	cost = money.Add(cost, money.Cost(u.CacheWrite1h, p.Write1h))
	return money.Add(cost, money.Cost(u.Output, output))
}

// TimeoutsOf returns the timeouts of one attempt for a tier. t is nil for a request that names a model.
func (c *Config) TimeoutsOf(t *Tier) abi.Timeouts {
	all := c.Routing.Timeouts
	if t == nil {
		return all
	}
	for _, field := range []struct{ to, from *uint64 }{
		{&all.HeadMs, &t.Timeouts.HeadMs}, {&all.FirstByteMs, &t.Timeouts.FirstByteMs},
		{&all.IdleMs, &t.Timeouts.IdleMs}, {&all.TotalMs, &t.Timeouts.TotalMs},
	} {
		if *field.from > 0 {
			*field.to = *field.from
		}
	}
	return all
}

// RequestMsOf returns the time limit for all attempts of a request to a tier. t is nil for a request that names a
// model.
func (c *Config) RequestMsOf(t *Tier) uint64 {
	if t != nil && t.RequestMs > 0 {
		return t.RequestMs
	}
	return c.Routing.RequestMs
}

// LongestRequestMs returns the lifetime of a reservation: the time limit for all attempts, plus the total timeout of
// a stream, plus a minute of slack.
func (c *Config) LongestRequestMs(t *Tier) uint64 {
	return c.RequestMsOf(t) + c.TimeoutsOf(t).TotalMs + 60_000
}
