package usage

import (
	"encoding/json"

	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/ledger"
)

// overviewProviders is a provider with the attempts to call its models.
type overviewProviders struct {
	Provider         string                 `json:"provider"`
	State            string                 `json:"state"`
	Recent           recentAttempts         `json:"recent"`
	Requests         uint64                 `json:"requests"` // served requests
	Cost             json.RawMessage        `json:"cost"`
	Attempts         reports.AttemptsView   `json:"attempts"`
	Latency          *reports.DurationsView `json:"latency"`
	TimeToFirstToken *reports.DurationsView `json:"timeToFirstToken"`
}

// recentAttempts counts the attempts that all instances made in the last ten to twenty minutes.
type recentAttempts struct {
	Attempts uint64 `json:"attempts"`
	Failed   uint64 `json:"failed"`
	Opened   uint64 `json:"opened"`
}

// States of a provider.
const (
	stateHealthy = "healthy"
	stateFailing = "failing"
	stateIdle    = "idle" // no recent attempts
)

// leastFailed is the minimum number of failed recent attempts for a provider to count as failing. In addition, more
// than half of the recent attempts must have failed.
const leastFailed = 3

func (r *recentAttempts) state() string {
	switch {
	case r.Attempts == 0:
		return stateIdle
	case r.Failed >= leastFailed && 2*r.Failed > r.Attempts:
		return stateFailing
	}
	return stateHealthy
}

func (h *handler) viewProviders(o *overview) []overviewProviders {
	recent, sums := map[string]*recentAttempts{}, map[string]*ledger.Activity{}
	for _, s := range o.status {
		if s.AtMs+2*ledger.SpanMs < h.NowMs() {
			continue
		}
		for i := range s.Recent {
			if provider := h.providerOf(s.Recent[i].Name); provider != nil {
				in(recent, *provider).add(&s.Recent[i].Usage)
			}
		}
	}
	for name, of := range o.found.models {
		if provider := h.providerOf(name); provider != nil {
			in(sums, *provider).Plus(of)
		}
	}
	list := []overviewProviders{}
	for i := range h.Catalog.Providers {
		name := h.Catalog.Providers[i].Name
		f := reports.ViewFigures(in(sums, name))
		r := in(recent, name)
		list = append(list, overviewProviders{name, r.state(), *r, f.Outcomes.Served, f.Cost, f.Attempts, f.Latency, f.TimeToFirstToken})
	}
	return list
}

func (r *recentAttempts) add(u *ledger.Usage) {
	v := reports.ViewAttempts(u)
	n := &v.Failed
	r.Attempts += v.Total
	r.Opened += v.Opened
	r.Failed += n.Busy + n.Rejected + n.Unavailable + n.Timeout + n.Connection + n.Cut + n.Unusable + n.Broken
}
