package provider_test

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

// TestKeyOfFurtherWires: a provider gets its key only in the header of its own API.
func TestKeyOfFurtherWires(t *testing.T) {
	for _, c := range []struct{ wire, home, header, value string }{
		{"openai", "", "authorization", "Bearer k"}, {"responses", "", "authorization", "Bearer k"}, {"anthropic", "", "x-api-key", "k"},
		{"azure", "", "api-key", "k"}, {"responses", "openai", "authorization", "Bearer k"}, {"anthropic", "openai", "authorization", "Bearer k"},
		{"responses", "azure", "api-key", "k"}, {"openai", "anthropic", "x-api-key", "k"},
	} {
		for _, key := range []string{"k", ""} {
			p := &config.Provider{Name: "p", Wire: c.wire, Home: c.home, BaseURL: "https://p.example", Key: key}
			f, _ := provider.For(c.wire)
			a := f.Direct(&wire.Call{Model: &config.Model{Provider: p, Upstream: "m"}, Request: &chat.Request{}}, abi.Part{})
			got := map[string]string{}
			for _, h := range a.Headers {
				got[h.Name] = h.Value
			}
			for _, name := range []string{"authorization", "x-api-key", "api-key"} {
				want := ""
				if name == c.header && key != "" {
					want = c.value
				}
				if got[name] != want {
					t.Errorf("%s of %s, key %q: %s is %q, want %q", c.wire, c.home, key, name, got[name], want)
				}
			}
		}
	}
}
