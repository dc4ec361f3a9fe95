package catalog

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/header"
)

// healthHeader carries the gateway instance's view of the providers. It is for display only: no decision depends on
// it, and only authorized operators see it.
const healthHeader = header.Providers

// maxHealthBytes is the maximum length of the header in bytes.
const maxHealthBytes = 32 << 10

// health is the decoded header. It is nil if there is no header.
type health struct {
	Ready   []string       `json:"ready"` // providers for which the deployment has credentials
	Targets []targetHealth `json:"targets"`
}

type targetHealth struct {
	Model     string `json:"model"`
	State     string `json:"state"`
	LatencyMs uint64 `json:"latencyMs"` // 0: unknown
}

func readHealth(r *http.Request) *health {
	text := strings.Join(r.Header.Values(healthHeader), ",") // a host may have split the header at commas
	var s health
	if text == "" || len(text) > maxHealthBytes || json.Unmarshal([]byte(text), &s) != nil {
		return nil
	}
	return &s
}

// ready reports whether the deployment has credentials for a provider. nil means unknown.
func (s *health) ready(p *config.Provider) *bool {
	if s == nil {
		return nil
	}
	ready := slices.Contains(s.Ready, p.Name)
	return &ready
}

func (s *health) target(model string) *targetHealth {
	for i := 0; s != nil && i < len(s.Targets); i++ {
		if s.Targets[i].Model == model {
			return &s.Targets[i]
		}
	}
	return nil
}

func (s *health) state(model string) *string {
	if t := s.target(model); t != nil {
		return &t.State
	}
	return nil
}

// latency returns a model's latency in milliseconds. 0 means unknown.
func (s *health) latency(model string) uint64 {
	if t := s.target(model); t != nil {
		return t.LatencyMs
	}
	return 0
}

type providersView struct {
	Observed  bool           `json:"observed"` // the gateway reported its view of the providers
	Providers []providerView `json:"providers"`
}

type providerView struct {
	Name   string            `json:"name"`
	Wire   string            `json:"wire"`
	Wires  []string          `json:"wires"`
	Ready  *bool             `json:"ready"` // null: not observed
	Models []observationView `json:"models"`
}

// observationView is the health of a model, as seen by the gateway instance that received the request.
type observationView struct {
	Model     string  `json:"model"`
	State     string  `json:"state"`
	LatencyMs *uint64 `json:"latencyMs"`
}

// listProviders serves GET /api/admin/providers.
func (h *handler) listProviders(c *kernel.Call) (kernel.Answer, error) {
	observed := readHealth(c.Request)
	view := providersView{Observed: observed != nil, Providers: []providerView{}}
	for i := range h.Catalog.Providers {
		p := &h.Catalog.Providers[i]
		entry := providerView{Name: p.Name, Wire: p.Wire, Wires: append([]string{p.Wire}, p.Further...), Ready: observed.ready(p), Models: []observationView{}}
		for j := 0; observed != nil && j < len(observed.Targets); j++ {
			t := observed.Targets[j]
			if m := h.Catalog.Model(t.Model); m != nil && m.Provider.Name == p.Name {
				entry.Models = append(entry.Models, observationView{t.Model, t.State, kernel.NullIfZero(t.LatencyMs)})
			}
		}
		view.Providers = append(view.Providers, entry)
	}
	return kernel.OK(view), nil
}
