package conformance

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/postern-ai/postern/host"
)

// deployment returns the environment variables of the hosts under test.
func deployment(upstream *Upstream) map[string]string {
	return map[string]string{
		"OPENAI_BASE_URL": upstream.URL + "/v1", "OPENAI_API_KEY": "sk-upstream",
		"ANTHROPIC_BASE_URL": upstream.URL + "/v1", "ANTHROPIC_API_KEY": "sk-ant-upstream",
		"GEMINI_BASE_URL": upstream.URL + "/v1beta", "GEMINI_API_KEY": "gemini-upstream",
		"COHERE_BASE_URL": upstream.URL + "/v2", "COHERE_API_KEY": "cohere-upstream",
		"POSTERN_ADMIN_TOKEN": AdminToken, "POSTERN_VIEWER_TOKEN": ViewerToken, "POSTERN_CATALOG": Overlay(),
		"POSTERN_MASTER_KEYS": "2026:" + MasterKey,
	}
}

func runAll(t *testing.T, r *Runner) { runSome(t, r, func(*Scenario) bool { return true }) }

// runSome runs the scenarios that are wanted.
func runSome(t *testing.T, r *Runner, wanted func(*Scenario) bool) {
	scenarios, err := Load("../testdata/conformance")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := NewContract("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r.Check = func(request *http.Request, response *http.Response, body []byte) error {
		if undescribed(request, response) {
			return nil
		}
		return contract.Check(request, response, body)
	}
	for _, s := range scenarios {
		if !wanted(&s) {
			continue
		}
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

// undescribed reports whether docs/openapi.yaml cannot describe a response: errors under /v1 without an operation,
// which have the shapes of other APIs, model names with slashes, and the dashboard's pages. The scenarios check these
// themselves.
func undescribed(request *http.Request, response *http.Response) bool {
	path, status := request.URL.Path, response.StatusCode
	if strings.HasPrefix(path, "/dashboard") && response.Header.Get("Content-Security-Policy") != "" {
		return true
	}
	noOperation := strings.HasPrefix(path, "/v1/") && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed)
	return noOperation || strings.Count(path, "/") > 3 && strings.HasPrefix(path, "/v1/models/")
}

func TestNative(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	local, err := NewLocal(deployment(upstream), host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	runAll(t, &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: http.DefaultClient, Upstream: upstream, Native: true})
}

func TestWasm(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	local, err := NewLocal(deployment(upstream), WasmEngine("../build/core-panic.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	runAll(t, &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: http.DefaultClient, Upstream: upstream})
}
