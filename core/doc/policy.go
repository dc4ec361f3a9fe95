package doc

import "github.com/postern-ai/postern/core/abi"

// The limits of a policy. An exchange cannot number more than MaxTargets targets.
const (
	MaxTargets      = 16
	MaxProviderKeys = 32
)

// Policy is a project's rules for models, routes and provider keys. Most projects have none. A policy is stored in KV
// and host memory under PolicyKey. The project's Ledger has the authoritative copy. A policy is too large to be part
// of every key's record.
type Policy struct {
	Version      uint64   // the project revision that last changed the policy; 0: there is no policy
	Models       []string // models and tiers that the project's keys may use; empty: all
	Routes       []Route
	ProviderKeys []ProviderKey
	Governor     []byte // an encoded governor.Settings; empty: the defaults, not enabled
	Enforcement  Enforcement
	Registry     []RegistryModel // sorted by model name; models without an entry (discovered ones) are not in it
}

// Enforcement says how the gateway handles a request for a model that the registry does not permit.
type Enforcement uint8

const (
	EnforceOff Enforcement = iota
	EnforceWarn
	Enforce
)

// RegistryState is a model's state in the registry.
type RegistryState uint8

const (
	RegistryPending RegistryState = iota + 1
	RegistryApproved
	RegistryRestricted // approved with conditions
	RegistryDeprecated
	RegistryRetired
	RegistryBlocked
)

// RegistryModel is the part of a registry entry that the gateway enforces.
type RegistryModel struct {
	Model        string // name in the catalog
	State        RegistryState
	Keys         []string // IDs of the keys that may use a restricted model; without Keys, a deprecated model is for all keys
	DeprecatedMs uint64   // for the Deprecation header (RFC 9745)
	SunsetMs     uint64   // for the Sunset header (RFC 8594); 0: not known
	Successor    string   // name of a model in the catalog, or empty
}

// Route replaces the tier with the same name.
type Route struct {
	Tier     string
	Strategy uint8 // a config.Strategy
	Targets  []RouteTarget
}

// RouteTarget is the name of a model in the catalog and its weight.
type RouteTarget struct {
	Model  string
	Weight uint64
}

// ProviderKey is a project's own key for a provider, sealed with AES-256-GCM. SealedFor returns the additional
// authenticated data.
type ProviderKey struct {
	Provider string
	KeyID    string // ID of the master key that sealed it
	Sealed   []byte // nonce (12 bytes), ciphertext, tag (16)
	Last4    string
	SetMs    uint64
}

// SealedFor binds a sealed key to its project and provider, so that it cannot be opened for any other.
func SealedFor(projectID, provider string) string {
	return "postern/provider-key/" + projectID + "/" + provider
}

// Empty reports whether the policy has no rules, regardless of its version.
func (p *Policy) Empty() bool {
	return len(p.Models)+len(p.Routes)+len(p.ProviderKeys)+len(p.Governor)+len(p.Registry) == 0 && p.Enforcement == EnforceOff
}

// Route returns the project's override of a tier, or nil.
func (p *Policy) Route(tier string) *Route {
	for i := range p.Routes {
		if p.Routes[i].Tier == tier {
			return &p.Routes[i]
		}
	}
	return nil
}

// ProviderKey returns the project's own key for a provider, or nil.
func (p *Policy) ProviderKey(provider string) *ProviderKey {
	for i := range p.ProviderKeys {
		if p.ProviderKeys[i].Provider == provider {
			return &p.ProviderKeys[i]
		}
	}
	return nil
}

// Encode returns the stored form.
func (p *Policy) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 256+len(p.Governor))}
	format := uint64(policyFormat)
	p.fields(abi.WriteTo(&w), &format)
	return w.Buf
}

// DecodePolicy decodes the stored form.
func DecodePolicy(data []byte) (p Policy, err error) {
	r := abi.Reader{Buf: data}
	format := uint64(0)
	p.fields(abi.ReadFrom(&r), &format)
	return p, r.End()
}

func (p *Policy) fields(f *abi.Fields, format *uint64) {
	if f.Uint(format); *format == 0 || *format > policyFormat {
		f.Fail()
		return
	}
	f.Uint(&p.Version)
	abi.List(f, &p.Models, (*abi.Fields).String)
	abi.List(f, &p.Routes, routeFields)
	abi.List(f, &p.ProviderKeys, providerKeyFields)
	if *format >= 2 {
		f.Bytes(&p.Governor)
		abi.Enum(f, &p.Enforcement)
		abi.List(f, &p.Registry, registryFields)
	}
}

func routeFields(f *abi.Fields, r *Route) {
	f.String(&r.Tier)
	abi.Enum(f, &r.Strategy)
	abi.List(f, &r.Targets, func(f *abi.Fields, t *RouteTarget) {
		f.String(&t.Model)
		f.Uint(&t.Weight)
	})
}

func providerKeyFields(f *abi.Fields, k *ProviderKey) {
	f.String(&k.Provider)
	f.String(&k.KeyID)
	f.Bytes(&k.Sealed)
	f.String(&k.Last4)
	f.Uint(&k.SetMs)
}

func registryFields(f *abi.Fields, m *RegistryModel) {
	f.String(&m.Model)
	abi.Enum(f, &m.State)
	abi.List(f, &m.Keys, (*abi.Fields).String)
	f.Uint(&m.DeprecatedMs)
	f.Uint(&m.SunsetMs)
	f.String(&m.Successor)
}
