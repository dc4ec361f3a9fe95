// Package config is what configure makes of the catalog, the operator's overlay and the deployment's
// variables. It is read-only afterwards.
package config

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/money"
)

// Variables that an operator sets. Providers name theirs in the catalog.
const (
	EnvCatalog      = "POSTERN_CATALOG"        // the overlay: JSON of the catalog's shape; what it names is added or replaced
	EnvMaxBodyBytes = "POSTERN_MAX_BODY_BYTES" // of a request's body; default 4,000,000
	EnvControl      = "POSTERN_CONTROL"        // "off": the control plane is not reachable through the gateway
	EnvMasterKeys   = "POSTERN_MASTER_KEYS"    // id:key,…; a key is 32 bytes in base64. The first seals, all unseal
)

// Config is all of it.
type Config struct {
	Version      string // of the prices, with which every cost is labelled
	DefaultPlan  string
	Plans        []Plan
	Providers    []Provider
	Models       []Model
	Tiers        []Tier
	Sources      []abi.Header // of models' figures
	Routing      Routing
	MaxBodyBytes uint64
	ControlOff   bool
	MasterKeys   []MasterKey // none: projects cannot bring keys of their own
}

// MasterKey seals projects' own provider keys.
type MasterKey struct{ ID, Key string }

// MasterKey finds one by its id; empty if there is none.
func (c *Config) MasterKey(id string) string {
	for _, k := range c.MasterKeys {
		if k.ID == id {
			return k.Key
		}
	}
	return ""
}

// Plan is the limits of a project's keys. 0 is no limit.
type Plan struct {
	Name        string
	Production  Limits
	Development Limits
	Concurrent  uint64     // requests of one key under way
	BudgetPico  money.Pico // a project's default, a calendar month
}

// Limits of one key: admissions in any second and in a UTC day, and tokens that were settled in any minute.
type Limits struct{ PerSecond, PerDay, TokensPerMinute uint64 }

// Provider is where models are had.
type Provider struct {
	Name    string
	Wire    string // the family of its wire format: a folder of core/provider
	BaseURL string // no slash at the end; from the catalog or the operator, never from a caller
	Key     string // empty: no credentials
	Ready   bool   // it can be called: it has credentials and settings, or needs none
	Ownable bool   // it can be called with a project's own key
	// Account is the provider whose key this one takes: the first that reads the same variable, usually itself.
	Account  string
	keyEnv   string
	Settings []abi.Header
	Drops    chat.Params // what this provider lacks of what its wire family carries
	// NoStreamOptions: it refuses OpenAI's stream_options, or reports usage without being asked.
	NoStreamOptions bool
}

// Setting is a further value that a provider needs, such as a region; empty if there is none of that name.
func (p *Provider) Setting(name string) string {
	for _, s := range p.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Kind is what a model is for.
type Kind uint8

const (
	ChatModel Kind = iota
	EmbeddingModel
)

// Model is a catalog entry. A model without a price cannot be configured.
type Model struct {
	Name           string
	Aliases        []string // other names that callers may use
	Kind           Kind
	Provider       *Provider
	Upstream       string // the provider's name for it
	Prices         Prices
	Context        uint64      // tokens of prompt and answer together; 0: not known
	MaxOutput      uint64      // tokens of an answer; 0: not known
	Drops          chat.Params // what this model lacks of what its provider carries
	MaxTokensField string      // how OpenAI's dialect names the output limit
	Source         string      // where its figures are from: a name of Config.Sources, or the operator's own word
	Date           string      // when they were looked up
}

// Prices are for one token each.
type Prices struct {
	Input, Cached, Write, Write1h, Output money.Pico
	// Above so many tokens of prompt (0: never) the whole request is charged at these.
	LongAbove                                    uint64
	LongInput, LongCached, LongWrite, LongOutput money.Pico
}

// Tier is a route: what a quality means.
type Tier struct {
	Name     string
	Strategy Strategy
	Targets  []Target
	Timeouts abi.Timeouts // of one attempt; those that are 0 are Routing's
	// RequestMs bounds all attempts together, until a whole answer or the first content of a stream; 0: Routing's.
	RequestMs uint64
}

// Strategy is the order in which a route's targets are tried. Whatever it is, targets that rest come last,
// and those without credentials never.
type Strategy uint8

const (
	Weighted Strategy = iota // the first drawn by weight among those that have one, the others as listed
	Ordered                  // as listed
	Cheapest                 // by the expected cost of the request
	Fastest                  // by the time to the first piece of an answer, as lately seen
)

// Target is one model of a route.
type Target struct {
	Model  *Model
	Weight uint64
}

// Routing is how often and how long to try. Timeouts are those of one attempt.
type Routing struct {
	Retries      uint64 // on the same target, after the first attempt
	BackoffMs    uint64 // before the first retry; doubled each time, with full jitter
	MaxBackoffMs uint64 // no wait is longer: a Retry-After beyond it means the next target
	CoolAfter    uint64 // failures in a row
	CoolMs       uint64 // how long a target then rests
	Timeouts     abi.Timeouts
	RequestMs    uint64 // for all attempts together, until a whole answer or the first content of a stream
	MockPauseMs  uint64 // between the pieces of the mock's streams; 0: they come at once
}

// Plan finds a plan by name; an unknown name is the default plan.
func (c *Config) Plan(name string) *Plan {
	for i := range c.Plans {
		if c.Plans[i].Name == name {
			return &c.Plans[i]
		}
	}
	return c.Plan(c.DefaultPlan)
}

// For is the limits of a key of that environment.
func (p *Plan) For(env keys.Environment) Limits {
	if env == keys.Development {
		return p.Development
	}
	return p.Production
}

// Tier finds a tier by name, or nil.
func (c *Config) Tier(name string) *Tier {
	for i := range c.Tiers {
		if c.Tiers[i].Name == name {
			return &c.Tiers[i]
		}
	}
	return nil
}

// Model finds a model by its name or one of its aliases, or as "provider/name" or "provider/upstream"; nil if
// there is none.
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

// Cost is what tokens of a model cost.
func (m *Model) Cost(u *chat.Usage) money.Pico {
	p := &m.Prices
	input, cached, write, output := p.Input, p.Cached, p.Write, p.Output
	if p.LongAbove > 0 && u.Input > p.LongAbove {
		input, cached, write, output = p.LongInput, p.LongCached, p.LongWrite, p.LongOutput
	}
	// Parts that a provider reports beyond the whole are charged all the same.
	fresh := u.Input - min(u.Input, u.CachedInput+u.CacheWrite+u.CacheWrite1h)
	cost := money.Add(money.Cost(fresh, input), money.Cost(u.CachedInput, cached))
	cost = money.Add(cost, money.Cost(u.CacheWrite, write))
	cost = money.Add(cost, money.Cost(u.CacheWrite1h, p.Write1h))
	return money.Add(cost, money.Cost(u.Output, output))
}

// TimeoutsOf are those of an attempt for a tier, nil for a model that was named itself.
func (c *Config) TimeoutsOf(t *Tier) abi.Timeouts {
	all := c.Routing.Timeouts
	if t == nil {
		return all
	}
	for _, own := range []struct{ to, from *uint64 }{
		{&all.HeadMs, &t.Timeouts.HeadMs}, {&all.FirstByteMs, &t.Timeouts.FirstByteMs},
		{&all.IdleMs, &t.Timeouts.IdleMs}, {&all.TotalMs, &t.Timeouts.TotalMs},
	} {
		if *own.from > 0 {
			*own.to = *own.from
		}
	}
	return all
}

// RequestMsOf is how long all attempts of a tier's request may take together; nil for a model that was named
// itself.
func (c *Config) RequestMsOf(t *Tier) uint64 {
	if t != nil && t.RequestMs > 0 {
		return t.RequestMs
	}
	return c.Routing.RequestMs
}

// LongestRequestMs bounds the life of a reservation: all attempts until the first content, a stream that then
// flows for as long as it may, and a minute more.
func (c *Config) LongestRequestMs(t *Tier) uint64 {
	return c.RequestMsOf(t) + c.TimeoutsOf(t).TotalMs + 60_000
}
