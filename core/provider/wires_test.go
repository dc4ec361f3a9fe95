package provider_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider"
)

func TestCheckWires(t *testing.T) {
	check := func(wire string) string {
		return provider.CheckWires(&config.Config{Providers: []config.Provider{{Name: "q", Wire: wire}}})
	}
	for _, wire := range []string{"openai", "bedrock", config.MockWire} {
		if problem := check(wire); problem != "" {
			t.Errorf("%s: %s", wire, problem)
		}
	}
	for _, wire := range []string{"", "openi"} {
		if problem := check(wire); !strings.HasPrefix(problem, "wire of provider q must be ") || !strings.HasSuffix(problem, `got "`+wire+`"`) {
			t.Errorf("%q: %s", wire, problem)
		}
	}
}

func TestCheckFurtherWires(t *testing.T) {
	own := &config.Provider{Name: "q", Wire: "openai"}
	for wire, known := range map[string]bool{"responses": true, "anthropic": true, "openi": false, "": false, config.MockWire: false} {
		further := &config.Provider{Name: "q", Wire: wire, Home: "openai"}
		for _, m := range []config.Model{{Provider: further}, {Provider: own, Others: []*config.Provider{further}}} {
			if problem := provider.CheckWires(&config.Config{Models: []config.Model{m}}); (problem == "") != known {
				t.Errorf("%q: %s", wire, problem)
			}
		}
	}
}
