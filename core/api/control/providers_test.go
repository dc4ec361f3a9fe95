package control_test

import (
	"testing"

	"github.com/postern-ai/postern/core/api/control"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/route"
)

func TestAppendProviders(t *testing.T) {
	for want, c := range map[string]struct {
		providers []config.Provider
		targets   []route.Target
	}{
		`{"ready":[],"targets":[]}`: {},
		`{"ready":["a","c\"d"],"targets":[{"model":"m","state":"open","latencyMs":7},{"model":"n","state":"closed","latencyMs":0}]}`: {
			[]config.Provider{{Name: "a", Ready: true}, {Name: "b"}, {Name: `c"d`, Ready: true}},
			[]route.Target{{Model: "m", State: "open", LatencyMs: 7}, {Model: "n", State: "closed"}},
		},
	} {
		if got := string(control.AppendProviders(nil, c.providers, c.targets)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
