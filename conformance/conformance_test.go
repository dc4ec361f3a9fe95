package conformance

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// lanes is the number of servers of each host that run scenarios in parallel. A scenario spends most of its time
// waiting.
const lanes = 3

// runAll runs all scenarios on a host. start starts one of the host's servers.
func runAll(t *testing.T, start func(*testing.T, *Upstream) *Runner) {
	runSome(t, start, func(*Scenario) bool { return true })
}

// runSome runs the selected scenarios. Each has a server to itself while it runs.
func runSome(t *testing.T, start func(*testing.T, *Upstream) *Runner, wanted func(*Scenario) bool) {
	t.Parallel()
	scenarios, err := Load("../testdata/conformance")
	if err != nil {
		t.Fatal(err)
	}
	check := contractCheck(t)
	inLanes(t, start, slices.DeleteFunc(scenarios, func(s Scenario) bool { return !wanted(&s) }), func(r *Runner, s Scenario) {
		t.Run(s.Name, func(t *testing.T) {
			r.Check = check
			switch err := r.Run(s); {
			case errors.Is(err, ErrSkipped):
				t.Skip()
			case err != nil:
				t.Error(err)
			}
		})
	})
}

// inLanes starts a host's servers and calls do for every item, on the next free server.
func inLanes[T any](t *testing.T, start func(*testing.T, *Upstream) *Runner, items []T, do func(*Runner, T)) {
	t.Helper()
	rest := make(chan T, len(items))
	for _, item := range items {
		rest <- item
	}
	close(rest)
	var servers []*Runner
	for range lanes {
		servers = append(servers, start(t, newUpstream(t)))
	}
	var all sync.WaitGroup
	for _, r := range servers {
		all.Go(func() {
			for item := range rest {
				do(r, item)
			}
		})
	}
	all.Wait()
}

var contract = sync.OnceValues(func() (*Contract, error) { return NewContract("../docs/openapi.yaml") })

// contractCheck returns a check of every response against the API description.
func contractCheck(t *testing.T) func(request *http.Request, response *http.Response, body []byte) error {
	t.Helper()
	c, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	return func(request *http.Request, response *http.Response, body []byte) error {
		if undescribed(request, response) {
			return nil
		}
		return c.Check(request, response, body)
	}
}

// newUpstream starts an Upstream that ends with the test.
func newUpstream(t *testing.T) *Upstream {
	upstream := NewUpstream()
	t.Cleanup(upstream.Close)
	return upstream
}

// undescribed reports whether docs/openapi.yaml cannot describe a response. It cannot describe errors of paths outside
// /api that have no operation (their bodies have the shapes of other APIs), model names with slashes, or the
// dashboard's pages. The scenarios check these responses themselves.
func undescribed(request *http.Request, response *http.Response) bool {
	path, status := request.URL.Path, response.StatusCode
	if (strings.HasPrefix(path, "/dashboard") || strings.HasPrefix(path, "/docs")) && response.Header.Get("Content-Security-Policy") != "" {
		return true
	}
	noOperation := !strings.HasPrefix(path, "/api") &&
		(status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusUpgradeRequired)
	return noOperation || strings.Count(path, "/") > 3 && strings.HasPrefix(path, "/v1/models/")
}

// newNative starts a host with the core as Go.
func newNative(t *testing.T, upstream *Upstream) *Runner {
	t.Helper()
	local, err := NewLocal(deployment(upstream), host.NewNative)
	return runnerOf(t, upstream, local, err)
}

// newWasm starts a host with the wasm core.
func newWasm(t *testing.T, upstream *Upstream) *Runner {
	t.Helper()
	local, err := NewLocal(deployment(upstream), WasmEngine("../build/core-panic.wasm"))
	r := runnerOf(t, upstream, local, err)
	r.Native = false
	return r
}

// runnerOf returns a native Runner for a Local that is closed at the end of the test.
func runnerOf(t *testing.T, upstream *Upstream, local *Local, err error) *Runner {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	return &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: newClient(), Upstream: upstream, Native: true}
}

// newClient returns a client with its own connections, because restarting a server closes the connections of its
// client.
func newClient() *http.Client { return &http.Client{Transport: &http.Transport{}} }

func TestNative(t *testing.T) { runAll(t, newNative) }

func TestWasm(t *testing.T) { runAll(t, newWasm) }
