package conformance

import (
	"errors"
	"net/http"
	"testing"

	"github.com/postern-ai/postern/host"
)

// deployment is the environment of the hosts under test.
func deployment(upstream *Upstream) map[string]string {
	return map[string]string{
		"OPENAI_BASE_URL": upstream.URL + "/v1", "OPENAI_API_KEY": "sk-upstream",
		"POSTERN_ADMIN_TOKEN": AdminToken, "POSTERN_CATALOG": Overlay(),
	}
}

func runAll(t *testing.T, r *Runner) {
	scenarios, err := Load("../testdata/conformance")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := NewContract("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r.Check = contract.Check
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) {
			switch err := r.Run(s); {
			case errors.Is(err, ErrSkipped):
				t.Skip()
			case err != nil:
				t.Error(err)
			}
		})
	}
}

func TestNative(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	local, err := NewLocal(deployment(upstream), host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Server.Close()
	runAll(t, &Runner{URL: local.Server.URL, Client: http.DefaultClient, Upstream: upstream, Native: true})
}

func TestWasm(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	local, err := NewLocal(deployment(upstream), WasmEngine("../build/core-panic.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Server.Close()
	runAll(t, &Runner{URL: local.Server.URL, Client: http.DefaultClient, Upstream: upstream})
}
