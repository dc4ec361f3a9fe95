package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/pgtest"
)

// replicaSkew is the difference between the two replicas' clocks.
const replicaSkew = 500 * time.Millisecond

// replicas are two servers on one database. Connections alternate between them. Test commands go to both.
type replicas struct {
	locals [2]*Local
	next   atomic.Int64
	front  net.Listener
}

func newReplicas(t *testing.T, upstream *Upstream) *Runner {
	t.Helper()
	server := pgtest.Shared(t)
	database := server.Database(t)
	r := &replicas{}
	for i := range r.locals {
		r.locals[i] = newLocalOnPostgres(t, upstream, postgresStores(t, server, database, i == 0))
	}
	r.locals[1].Skew = replicaSkew
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.front = front
	for _, l := range r.locals {
		l.PublicURL = "http://" + front.Addr().String()
	}
	t.Cleanup(func() { _ = front.Close() })
	go r.accept()
	commands := httptest.NewServer(http.HandlerFunc(r.command))
	t.Cleanup(commands.Close)
	// Without keep-alive, each request has its own connection.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return &Runner{URL: "http://" + front.Addr().String(), ControlURL: commands.URL, Client: client, Upstream: upstream, Native: true}
}

// accept passes connections to the replicas in turn.
func (r *replicas) accept() {
	for {
		client, err := r.front.Accept()
		if err != nil {
			return
		}
		to := r.locals[r.next.Add(1)%2]
		server, err := net.Dial("tcp", strings.TrimPrefix(to.URL, "http://"))
		if err != nil {
			_ = client.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
				_ = pair[1].Close()
			}()
		}
	}
}

// command sends a test command to both replicas. Before a reset or a change of the clock, it waits for the work in
// progress on both. It does not wait if the change allows requests in flight.
func (r *replicas) command(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	path := request.URL.Path
	if path == "/__test/reset" || path == "/__test/clock" && !bytes.Contains(body, []byte(`"inFlight":true`)) {
		if _, err := r.both("POST", "/__test/settle", nil); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if path == "/__test/reset" {
		r.next.Store(0) // so that the n-th connection of a scenario always goes to the same replica
	}
	answers, err := r.both(request.Method, path, body)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case path == "/__test/stats":
		_ = json.NewEncoder(w).Encode(sum(answers))
	default:
		_, _ = w.Write(bytes.Join(answers, nil))
	}
}

// testCommands opens a connection for each test command, because existing ones are closed when any deployment
// restarts.
var testCommands = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (r *replicas) both(method, path string, body []byte) (answers [][]byte, err error) {
	for _, local := range r.locals {
		request, err := http.NewRequest(method, local.ControlURL+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		response, err := testCommands.Do(request)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %d %s %w", path, response.StatusCode, answer, err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// sum adds up statistics.
func sum(answers [][]byte) map[string]any {
	total := map[string]any{}
	for _, answer := range answers {
		var one map[string]any
		_ = json.Unmarshal(answer, &one)
		add(total, one)
	}
	return total
}

func add(total, one map[string]any) {
	for name, value := range one {
		switch value := value.(type) {
		case float64:
			before, _ := total[name].(float64)
			total[name] = before + value
		case map[string]any:
			if total[name] == nil {
				total[name] = map[string]any{}
			}
			add(total[name].(map[string]any), value)
		}
	}
}

// aboutOneProcess lists scenarios about the clock of one process or about its memory, such as its circuits and its
// count of guesses. Two replicas have two of each. The last scenarios need a stale KV, which each replica simulates
// for itself.
var aboutOneProcess = []string{
	"an unknown key costs one call to its meter in ten seconds",
	"unknown keys are limited per address",
	"a caller's address headers do not change its lockout bucket",
	"an address added by a caller's own proxy is ignored",
	"object calls of one request: four for a cold key, two for a warm one, one for a cache hit",
	"a TTL of less than a minute: memory only",
	"Cache-Control: no-cache does not read, but writes",
	"Cache-Control: max-age bounds a response's age",
	"hits count as requests, not as tokens or cost; the rate is a percentage", // the second replica may look before the response is in KV
	"a corrupt entry is a miss",
	"KV is down: 503, never 401; a key in the isolate's memory is served",
	"half-open: one request tries a target after its rest, and the others use other targets meanwhile",
	"rate limits of the deployment's key do not affect a project with its own key",
	"the catalog and the providers",
	"a target rests after three failures in a row",
	"a circuit that failures on one API open is open for the other",
	"a tier falls back across APIs: translated, forwarded, translated", // a target rests in between
	"a target that fails after its rest rests again; a success resets its count",
	"a resting target is called if no other is left",
	"Retry-After as a distant date: the next target, or an error with the time",
	"a cached response is not served after a change of the project's targets",
	"a cached response that another isolate finds in KV is not served after a change, although KV has the old record",
}

// needsOneProcess reports whether a scenario is about the memory of one process. The listed scenarios are. So is a
// scenario that expects a cache hit or followers of a request, because flights are in memory, and so is the cache
// with the scope colo.
func needsOneProcess(s *Scenario) bool {
	text := fmt.Sprintf("%+v", s.Steps)
	return slices.Contains(aboutOneProcess, s.Name) || strings.HasSuffix(s.File, "flights.txt") || strings.Contains(text, "hit") || strings.Contains(text, "followers") ||
		strings.Contains(text, "kvWrites") || strings.Contains(text, "kvReads")
}

// TestReplicas runs the scenarios on two replicas whose clocks differ.
func TestReplicas(t *testing.T) {
	runSome(t, newReplicas, func(s *Scenario) bool { return !needsOneProcess(s) })
}
