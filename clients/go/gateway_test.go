package postern_test

import (
	"testing"

	postern "github.com/postern-ai/postern/clients/go"
)

// adminToken is the gateways' admin token, as in test/sdk/gateway.mjs.
const adminToken = "sdk-tests-admin-token"

// gateway is a real gateway. test/clients/gateway.mjs describes its keys.
type gateway struct {
	URL            string `json:"url"`
	ProjectID      string `json:"projectId"`
	DevelopmentKey string `json:"developmentKey"`
	ProductionKey  string `json:"productionKey"`
	EmptyKey       string `json:"emptyKey"`
	ProjectKey     string `json:"projectKey"`
}

// TestRealGateway calls every method on real gateways and runs the documentation's programs. The scripted server's
// tests are not repeated here.
func TestRealGateway(t *testing.T) {
	docs := readDocumentation(t)
	fragments, receiver := newFragments(t, docs.fragments), newReceiver(t, docs.webhook)
	t.Run("commands", func(t *testing.T) { runCommands(t, docs, fragments) })
	t.Run("webhooks", func(t *testing.T) { runReceiver(t, receiver) })
	for _, target := range []string{"workers", "serve"} {
		t.Run(target, func(t *testing.T) {
			var g gateway
			postern.StartNode(t, &g, "gateway.mjs", "TEST_TARGET="+target)
			t.Run("completions", func(t *testing.T) { smokeCompletions(t, g) })
			t.Run("native", func(t *testing.T) { smokeNative(t, g) })
			t.Run("reports", func(t *testing.T) { smokeReports(t, g) })
			t.Run("errors", func(t *testing.T) { smokeErrors(t, g) })
			t.Run("registry", func(t *testing.T) { smokeRegistry(t, g) })
			t.Run("compliance", func(t *testing.T) { smokeCompliance(t, g) })
			t.Run("token counts", func(t *testing.T) { smokeTokenCounts(t, g) })
			t.Run("endpoints", func(t *testing.T) { smokeEndpoints(t, g) })
			t.Run("JSON stream", func(t *testing.T) { smokeJSONStream(t, g) })
			t.Run("quick start", func(t *testing.T) { runQuickStart(t, docs, g) })
			t.Run("fragments", func(t *testing.T) { runFragments(t, docs, fragments, g) })
		})
	}
}

func (g gateway) client(t *testing.T, key string) *postern.Client {
	client, err := postern.New(postern.WithAPIKey(key), postern.WithBaseURL(g.URL))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
