package reports_test

import (
	"testing"

	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/ledger"
)

// TestEarlierProviderNames checks requests that were recorded before a provider was renamed. They must be shown and
// found under the current name.
func TestEarlierProviderNames(t *testing.T) {
	catalog := &config.Config{Renamed: []config.Renamed{{From: "openai-responses", To: "openai", Wire: "responses"}}}
	batch := &ledger.RequestBatch{KeyID: "key_1", Requests: []ledger.Request{
		{ID: "1", Provider: "openai-responses"}, {ID: "2", Provider: "openai"}, {ID: "3", Provider: "anthropic"}, {ID: "4"},
	}}
	for _, c := range []struct {
		filter reports.RequestFilter
		want   string
	}{
		{reports.RequestFilter{Catalog: catalog, Provider: "openai"}, "2 openai, 1 openai, "},
		{reports.RequestFilter{Catalog: catalog, Provider: "openai-responses"}, "2 openai, 1 openai, "},
		{reports.RequestFilter{Catalog: catalog, Provider: "anthropic"}, "3 anthropic, "},
		{reports.RequestFilter{Catalog: catalog}, "4 , 3 anthropic, 2 openai, 1 openai, "},
		{reports.RequestFilter{Provider: "openai-responses"}, "1 openai-responses, "}, // as recorded
	} {
		view, got := reports.RequestsView{}, ""
		view.Add(batch, &c.filter)
		for i := range view.Requests {
			name := ""
			if p := view.Requests[i].Provider; p != nil {
				name = *p
			}
			got += view.Requests[i].RequestID + " " + name + ", "
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.filter.Provider, got, c.want)
		}
	}
}
