package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/postern-ai/postern/core/keys"
)

// Secrets of the hosts under test.
const (
	AdminToken  = "conformance-admin-token"
	ViewerToken = "conformance-viewer-token"
	MasterKey   = "Y29uZm9ybWFuY2UgbWFzdGVyIGtleSwgMzIgYnl0ZXM=" // 32 bytes, with the ID 2026
)

// Start is the virtual time at the start of every scenario: a Saturday noon.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Runner runs scenarios against one host.
type Runner struct {
	URL string
	// ControlURL is the address of the test commands. The default is URL.
	ControlURL string
	Client     *http.Client
	Upstream   *Upstream
	// Native means that the core runs as Go, which cannot trap. Scenarios that need a trap are skipped.
	Native bool
	// Workerd means that the host is workerd on this machine. It does not report a client disconnect before the
	// response headers (github.com/cloudflare/workerd/pull/5062). Scenarios that need such a report are skipped.
	Workerd bool
	// Check, if set, checks every response of the gateway.
	Check func(request *http.Request, response *http.Response, body []byte) error

	// groups are those of the last scenario in workerd, where all scenarios share the Directory.
	groups []string
}

// ErrSkipped is Run's error for a scenario that this host cannot run.
var ErrSkipped = errors.New("conformance: this host cannot run the scenario")

// run is the state of a running scenario.
type run struct {
	*Runner
	names   map[string]string // $name → value
	env     map[string]string // overrides the deployment's variables
	now     time.Time
	last    reply
	batch   []reply
	flights map[string]startedRequest // started requests that have not been joined yet
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

type outcome struct {
	reply
	err error
}

// startedRequest is a request in flight. leave disconnects its client.
type startedRequest struct {
	answer chan outcome
	leave  context.CancelFunc
}

// Run runs a scenario. The error names the line that failed.
func (r *Runner) Run(s Scenario) error {
	if s.Wasm && r.Native || s.Go && r.Workerd || s.Workerd && !r.Workerd {
		return ErrSkipped
	}
	x := &run{
		Runner: r, names: map[string]string{"admin": AdminToken, "viewer": ViewerToken, "master": MasterKey}, env: map[string]string{}, now: Start,
		flights: map[string]startedRequest{},
	}
	r.Upstream.Reset()
	x.names["url"] = r.URL
	defer x.abortFlights()
	if err := x.reset(); err != nil {
		return err
	}
	if err := x.renameGroups(); err != nil {
		return err
	}
	defer x.rememberGroups()
	for _, step := range s.Steps {
		if err := x.step(step); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", s.File, step.Line, step.Command, err)
		}
	}
	if len(x.flights) > 0 {
		return fmt.Errorf("%s: %q: a started request was never joined", s.File, s.Name)
	}
	return nil
}

// abortFlights ends the requests that a failed scenario left in flight.
func (x *run) abortFlights() {
	x.Upstream.Release()
	for _, f := range x.flights {
		f.leave()
		<-f.answer
	}
}

func (x *run) step(s Step) error {
	command := commands[s.Command]
	switch {
	case command.run == nil:
		return errors.New("unknown command")
	case len(s.Args) < command.args:
		return fmt.Errorf("it needs at least %d arguments", command.args)
	}
	return command.run(x, s)
}

// commands are the commands of scenarios with their minimum numbers of arguments.
var commands = map[string]struct {
	args int
	run  func(*run, Step) error
}{
	"env": {0, (*run).setEnv}, "redeploy": {0, (*run).redeploy}, "routing": {0, (*run).setRouting},
	"project": {1, (*run).project}, "key": {2, (*run).key}, "forge": {1, (*run).forge}, "admin": {2, (*run).admin},
	"send": {2, (*run).send}, "burst": {3, (*run).burst}, "start": {3, (*run).start}, "join": {1, (*run).join},
	"leave":  {1, (*run).leave},
	"expect": {1, (*run).expect}, "statuses": {0, (*run).statuses},
	"upstream": {1, (*run).queueUpstream}, "upstream-saw": {1, (*run).upstreamSaw}, "upstream-left": {1, (*run).upstreamLeft},
	"asked": {1, (*run).asked}, "held": {1, (*run).held}, "release": {0, (*run).release},
	"waiting": {1, (*run).waiting}, "followers": {1, (*run).followers},
	"advance": {1, (*run).advance}, "clock": {1, (*run).setClock}, "fault": {0, (*run).fault},
	"settle": {0, (*run).plain}, "evict": {0, (*run).plain}, "corrupt": {0, (*run).plain}, "trap": {0, (*run).plain},
	"stats": {0, (*run).stats}, "log": {0, (*run).log},
}

// plain runs a scenario command that is itself a test command of the host.
func (x *run) plain(s Step) error { return x.control(s.Command, nil) }

// control sends a test command to the host under test.
func (x *run) control(command string, body any) error {
	_, err := x.controlBody(http.MethodPost, command, body)
	return err
}

func (x *run) controlBody(method, command string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, cmp.Or(x.ControlURL, x.URL)+"/__test/"+command, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	if method == http.MethodGet {
		request.Body, request.ContentLength = nil, 0
	}
	response, err := x.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("test control: %d %s", response.StatusCode, answer)
	}
	return answer, err
}

// variable matches $name.
var variable = regexp.MustCompile(`\$[a-z][a-zA-Z0-9_.]*`)

func (x *run) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if name == "$forged" {
			return forgedKey(keys.Gateway, keys.Production)
		}
		if value, ok := x.names[name[1:]]; ok {
			return value
		}
		return name
	})
}
