package control

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/config"
)

// sightHeader is what the gateway sends along of how its isolate sees the providers. It is only shown: who
// may see it is known, and nothing is decided by it.
const sightHeader = "X-Postern-Providers"

// maxSightBytes bounds that header.
const maxSightBytes = 32 << 10

// sight is that header; nil if there is none.
type sight struct {
	Ready   []string      `json:"ready"` // providers that the deployment has credentials for
	Targets []targetSight `json:"targets"`
}

type targetSight struct {
	Model     string `json:"model"`
	State     string `json:"state"`
	LatencyMs uint64 `json:"latencyMs"` // 0: not known
}

func readSight(r *http.Request) *sight {
	text := strings.Join(r.Header.Values(sightHeader), ",") // a host may have split it at commas
	var s sight
	if text == "" || len(text) > maxSightBytes || json.Unmarshal([]byte(text), &s) != nil {
		return nil
	}
	return &s
}

// ready says whether the deployment can call a provider; nil: the gateway did not say.
func (s *sight) ready(p *config.Provider) *bool {
	if s == nil {
		return nil
	}
	ready := slices.Contains(s.Ready, p.Name)
	return &ready
}

func (s *sight) target(model string) *targetSight {
	for i := 0; s != nil && i < len(s.Targets); i++ {
		if s.Targets[i].Model == model {
			return &s.Targets[i]
		}
	}
	return nil
}

func (s *sight) state(model string) *string {
	if t := s.target(model); t != nil {
		return &t.State
	}
	return nil
}

// latency is a target's; 0: not known.
func (s *sight) latency(model string) uint64 {
	if t := s.target(model); t != nil {
		return t.LatencyMs
	}
	return 0
}

// providersView is the deployment's providers.
type providersView struct {
	Observed  bool           `json:"observed"` // the gateway said how it sees them
	Providers []providerView `json:"providers"`
}

type providerView struct {
	Name   string            `json:"name"`
	Wire   string            `json:"wire"`
	Ready  *bool             `json:"ready"` // null: not observed
	Models []observationView `json:"models"`
}

// observationView is a model that the answering isolate has asked.
type observationView struct {
	Model     string  `json:"model"`
	State     string  `json:"state"`
	LatencyMs *uint64 `json:"latencyMs"`
}

// listProviders is GET /api/admin/providers.
func (h *handler) listProviders(c *call) (answer, error) {
	seen := readSight(c.request)
	view := providersView{Observed: seen != nil, Providers: []providerView{}}
	for i := range h.Catalog.Providers {
		p := &h.Catalog.Providers[i]
		entry := providerView{Name: p.Name, Wire: p.Wire, Ready: seen.ready(p), Models: []observationView{}}
		for j := 0; seen != nil && j < len(seen.Targets); j++ {
			t := seen.Targets[j]
			if m := h.Catalog.Model(t.Model); m != nil && m.Provider == p {
				entry.Models = append(entry.Models, observationView{t.Model, t.State, orNone(t.LatencyMs)})
			}
		}
		view.Providers = append(view.Providers, entry)
	}
	return answer{http.StatusOK, view}, nil
}
