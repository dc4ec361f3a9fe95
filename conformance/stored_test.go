package conformance

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/test/pgtest"
)

// writeStored makes TestWriteStored create the stored states. testdata/stored/README.md names the commit that created
// them.
var writeStored = flag.Bool("write-stored", false, "write testdata/stored with this version")

const storedFolder = "../testdata/stored"

// storedFolders are the folders with states. Each contains those of one version.
var storedFolders = []string{storedFolder, storedFolder + "/beforegroups"}

// storedHost is a host with a state in testdata/stored.
type storedHost struct {
	name  string // of its files
	place func(*testing.T) string
	start func(t *testing.T, upstream *Upstream, place string) *Runner
	load  func(t *testing.T, folder, place string)
	save  func(t *testing.T, place string)
}

var storedHosts = []storedHost{
	{"sqlite", (*testing.T).TempDir, startStoredSQLite, loadStoredFiles("sqlite"), saveStoredFiles("sqlite")},
	{"postgres", func(t *testing.T) string { return pgtest.Shared(t).Database(t) }, startStoredPostgres, loadStoredPostgres, saveStoredPostgres},
	{"workerd", (*testing.T).TempDir, startStoredWorkerd, loadStoredFiles("workerd"), saveStoredFiles("workerd")},
}

// storedState is the information that a test needs about a stored state: NAME.json.
type storedState struct {
	Now     time.Time         `json:"now"`
	Names   map[string]string `json:"names"`   // from the scenario that created it
	Answers map[string]any    `json:"answers"` // of the admin API
}

// storedAnswers are responses of the admin API, or fields of such responses. They must be the same as in the version
// that wrote the state.
var storedAnswers = []struct{ path, member string }{
	{"/api/admin/projects", "projects"},
	{"/api/admin/projects/$mine/keys", "keys"},
	{"/api/admin/projects/$mine/governor", "@this"},
	{"/api/admin/projects/$mine/usage", "@this"},
	{"/api/admin/projects/$mine/requests", "requests"},
	{"/api/admin/projects/$mine/violations", "violations"},
	{"/api/admin/projects/$mine/provider-keys", "providerKeys"},
	{"/api/admin/projects/$mine/models-registry", "models"},
	{"/api/admin/projects/$mine/compliance/summary", "chains"},
	{"/api/admin/projects/$mine/compliance/verify", "@this"},
	{"/api/admin/audit", "entries"},
}

// TestStored continues with states that an earlier version wrote.
func TestStored(t *testing.T) {
	if *writeStored {
		t.Skip("the states are written")
	}
	t.Parallel()
	for _, folder := range storedFolders {
		for _, h := range storedHosts {
			text, err := os.ReadFile(filepath.Join(folder, h.name+".json"))
			if errors.Is(err, fs.ErrNotExist) && folder != storedFolder {
				continue // the state of this version was not written for all hosts
			}
			t.Run(filepath.Base(folder)+"/"+h.name, func(t *testing.T) {
				t.Parallel()
				var state storedState
				if err == nil {
					err = json.Unmarshal(text, &state)
				}
				if err != nil {
					t.Fatal(err)
				}
				continueStored(t, h, folder, state)
			})
		}
	}
}

func continueStored(t *testing.T, h storedHost, folder string, state storedState) {
	place := h.place(t)
	h.load(t, folder, place)
	x := startStored(t, h, place, state)
	checkAnswers(t, x, state.Answers)
	for _, file := range []string{"continue.txt", "groups.txt"} {
		if err := x.runStored(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteStored(t *testing.T) {
	if !*writeStored {
		t.Skip("only with -write-stored")
	}
	for _, h := range storedHosts {
		t.Run(h.name, func(t *testing.T) {
			place := h.place(t)
			// The state is complete when the server has stopped, at the end of this test.
			t.Run("write", func(t *testing.T) { writeState(t, h, place) })
			h.save(t, place)
		})
	}
}

func writeState(t *testing.T, h storedHost, place string) {
	x := startStored(t, h, place, storedState{Now: Start})
	if err := x.runStored("write.txt"); err != nil {
		t.Fatal(err)
	}
	state := storedState{Answers: map[string]any{}}
	for _, of := range storedAnswers {
		answer, err := x.storedAnswer(of.path, of.member)
		if err != nil {
			t.Fatal(err)
		}
		state.Answers[of.path] = answer
	}
	state.Now, state.Names = x.now, x.names
	delete(state.Names, "admin")
	text, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(storedFolder, h.name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startStored starts a host on a state.
func startStored(t *testing.T, h storedHost, place string, state storedState) *run {
	t.Helper()
	upstream := NewUpstream()
	t.Cleanup(upstream.Close)
	x := &run{Runner: h.start(t, upstream, place), names: map[string]string{}, env: map[string]string{}, now: state.Now, flights: map[string]startedRequest{}}
	maps.Copy(x.names, state.Names)
	x.names["admin"] = AdminToken
	if err := x.restart(map[string]any{"env": x.env, "nowMs": x.now.UnixMilli(), "keep": true}); err != nil {
		t.Fatal(err)
	}
	return x
}

// runStored runs the scenario of a file.
func (x *run) runStored(file string) error {
	scenarios, err := Load(storedFolder)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(scenarios, func(s Scenario) bool { return s.File == file })
	for _, step := range scenarios[n].Steps {
		if err := x.step(step); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", file, step.Line, step.Command, err)
		}
	}
	return nil
}

func (x *run) storedAnswer(path, member string) (any, error) {
	got, err := x.adminCall("GET", x.expand(path), "")
	if err == nil && got.status != 200 {
		err = fmt.Errorf("%d %s", got.status, got.body)
	}
	return gjson.GetBytes(got.body, member).Value(), err
}

func checkAnswers(t *testing.T, x *run, want map[string]any) {
	t.Helper()
	for _, of := range storedAnswers {
		if got, err := x.storedAnswer(of.path, of.member); err != nil || !hasAll(got, want[of.path]) {
			t.Errorf("%s: got %v %v, want %v", of.path, got, err, want[of.path])
		}
	}
}

// hasAll reports whether a JSON value matches the wanted one. Objects may have additional fields, because later
// versions add some.
func hasAll(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			member, has := object[name]
			ok = ok && has && hasAll(member, value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(list, want, hasAll)
	}
	return reflect.DeepEqual(got, want)
}

func startStoredSQLite(t *testing.T, upstream *Upstream, place string) *Runner {
	return startStoredLocal(t, upstream, func(clock store.Clock) (store.Store, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Dir: place, Clock: clock})
	})
}

func startStoredLocal(t *testing.T, upstream *Upstream, makeStore func(store.Clock) (store.Store, error)) *Runner {
	local, err := NewLocalOn(deployment(upstream), host.NewNative, makeStore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	return &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: &http.Client{Transport: &http.Transport{}}, Upstream: upstream, Native: true}
}

func startStoredWorkerd(t *testing.T, upstream *Upstream, place string) *Runner {
	url := startWorkerd(t, deployment(upstream), "--persist", place)
	return &Runner{URL: url, Client: &http.Client{Transport: &http.Transport{}}, Upstream: upstream, Workerd: true}
}
