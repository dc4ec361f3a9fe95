package doc

import "github.com/postern-ai/postern/core/abi"

// Bounds of a policy. An exchange cannot number more targets than MaxTargets.
const (
	MaxTargets      = 16
	MaxProviderKeys = 32
)

// Policy is a project's rules for models, routes and provider keys. Most projects have none. A policy is
// stored in KV and host memory under PolicyKey and, as the authority, in the project's ledger. It is too
// large to be part of every key's record.
type Policy struct {
	Version      uint64   // the project's revision that changed it last; 0: there is no policy
	Models       []string // models and tiers that the project's keys may use; empty: all
	Routes       []Route
	ProviderKeys []ProviderKey
}

// Route replaces the tier of the same name.
type Route struct {
	Tier     string
	Strategy uint8 // a config.Strategy
	Targets  []RouteTarget
}

// RouteTarget is a model of the catalog, by name, with its weight.
type RouteTarget struct {
	Model  string
	Weight uint64
}

// ProviderKey is a project's own key for a provider, sealed with AES-256-GCM. The additional authenticated
// data is SealedFor.
type ProviderKey struct {
	Provider string
	KeyID    string // ID of the master key that sealed it
	Sealed   []byte // nonce (12 bytes), ciphertext, tag (16)
	Last4    string
	SetMs    uint64
}

// SealedFor binds a sealed key to its project and provider: it cannot be opened for any other.
func SealedFor(projectID, provider string) string {
	return "postern/provider-key/" + projectID + "/" + provider
}

// Empty reports whether the policy has no rules, whatever its version.
func (p *Policy) Empty() bool { return len(p.Models)+len(p.Routes)+len(p.ProviderKeys) == 0 }

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
	var w abi.Writer
	w.Uint(policyFormat)
	w.Uint(p.Version)
	encodeTexts(&w, p.Models)
	w.Uint(uint64(len(p.Routes)))
	for i := range p.Routes {
		p.Routes[i].encode(&w)
	}
	w.Uint(uint64(len(p.ProviderKeys)))
	for _, k := range p.ProviderKeys {
		w.String(k.Provider)
		w.String(k.KeyID)
		w.Bytes(k.Sealed)
		w.String(k.Last4)
		w.Uint(k.SetMs)
	}
	return w.Buf
}

func (route *Route) encode(w *abi.Writer) {
	w.String(route.Tier)
	w.Uint(uint64(route.Strategy))
	w.Uint(uint64(len(route.Targets)))
	for _, t := range route.Targets {
		w.String(t.Model)
		w.Uint(t.Weight)
	}
}

// DecodePolicy decodes the stored form.
func DecodePolicy(data []byte) (Policy, error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != policyFormat {
		return Policy{}, abi.ErrMalformed
	}
	p := Policy{Version: r.Uint(), Models: decodeTexts(&r)}
	for n := r.Count(); n > 0; n-- {
		p.Routes = append(p.Routes, decodeRoute(&r))
	}
	for n := r.Count(); n > 0; n-- {
		p.ProviderKeys = append(p.ProviderKeys, ProviderKey{r.String(), r.String(), r.Bytes(), r.String(), r.Uint()})
	}
	return p, r.End()
}

func decodeRoute(r *abi.Reader) Route {
	route := Route{Tier: r.String(), Strategy: r.Byte()}
	for n := r.Count(); n > 0; n-- {
		route.Targets = append(route.Targets, RouteTarget{r.String(), r.Uint()})
	}
	return route
}
