package doc

import "github.com/postern-ai/postern/core/abi"

// Bounds of a policy. A route's targets are as many as an exchange can number.
const (
	MaxTargets      = 16
	MaxProviderKeys = 32
)

// Policy is what a project says of models, routes and providers' keys. Most projects say nothing. Those that
// do have it in KV and host memory under PolicyKey and, as the authority, in the project's ledger: it is
// too large to go along in every key's record.
type Policy struct {
	Version      uint64   // of the project's revision that made it; 0: the project has none
	Models       []string // names of models and tiers that its keys may use; none: all
	Routes       []Route
	ProviderKeys []ProviderKey
}

// Route stands in for the tier of its name.
type Route struct {
	Tier     string
	Strategy uint8 // a config.Strategy
	Targets  []RouteTarget
}

// RouteTarget is a model of the catalog, by name, and its weight.
type RouteTarget struct {
	Model  string
	Weight uint64
}

// ProviderKey is a project's own key for a provider, sealed by AES-256-GCM. SealedFor is its additional
// authenticated data.
type ProviderKey struct {
	Provider string
	KeyID    string // of the master key
	Sealed   []byte // nonce (12 bytes), ciphertext, tag (16)
	Last4    string
	SetMs    uint64
}

// SealedFor ties a sealed key to its place: copied to another project or provider it does not open.
func SealedFor(projectID, provider string) string {
	return "postern/provider-key/" + projectID + "/" + provider
}

// Empty says whether the policy says nothing, whatever its version.
func (p *Policy) Empty() bool { return len(p.Models)+len(p.Routes)+len(p.ProviderKeys) == 0 }

// Route finds the one that stands in for a tier, or nil.
func (p *Policy) Route(tier string) *Route {
	for i := range p.Routes {
		if p.Routes[i].Tier == tier {
			return &p.Routes[i]
		}
	}
	return nil
}

// ProviderKey finds the project's own key for a provider, or nil.
func (p *Policy) ProviderKey(provider string) *ProviderKey {
	for i := range p.ProviderKeys {
		if p.ProviderKeys[i].Provider == provider {
			return &p.ProviderKeys[i]
		}
	}
	return nil
}

// Encode is the stored form.
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

// DecodePolicy reads the stored form.
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
