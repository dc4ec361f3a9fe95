package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/internal/admin"
	"github.com/postern-ai/postern/internal/transfer"
	"github.com/postern-ai/postern/test/pgtest"
)

// checked is a transport that checks every response against the contract.
type checked struct {
	*testing.T
	contract *Contract
}

func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if wrong := c.contract.Check(r, response, body); wrong != nil {
		c.Error(wrong)
	}
	return response, err
}

func (c *fixture) admin(t *testing.T) *admin.Client {
	t.Helper()
	client, err := admin.New(admin.Options{URL: c.run.URL, Token: AdminToken, HTTP: &http.Client{Transport: checked{t, newContract(t)}}})
	c.must(err)
	return client
}

// play runs the only scenario in a file.
func (c *fixture) play(name string) {
	c.Helper()
	text, err := os.ReadFile("../testdata/move/" + name)
	c.must(err)
	c.script(name, string(text))
}

func (c *fixture) script(name, text string) {
	c.Helper()
	scenarios, err := parseTranscript(name, text)
	c.must(err)
	for _, s := range scenarios[0].Steps {
		if err := c.run.step(s); err != nil {
			c.Fatalf("%s:%d: %v", name, s.Line, err)
		}
	}
}

// export writes the deployment into a new file and returns its name.
func (c *fixture) export(t *testing.T) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "deployment.ndjson"))
	c.must(err)
	defer file.Close()
	e := transfer.Export{
		Client: c.admin(t), Source: c.run.URL, Version: "test", Now: Start, Progress: func(text string) { t.Log(text) },
		Sleep: func(context.Context, time.Duration) error { return c.run.step(parseStep(0, "advance 3s inflight")) },
	}
	if _, err := e.Write(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// load imports a file.
func (c *fixture) load(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(name)
	c.must(err)
	defer file.Close()
	if _, err := transfer.Import(t.Context(), c.admin(t), file); err != nil {
		t.Fatal(err)
	}
}

// movedPaths are the paths whose responses must be the same after a move. $ is a project.
var movedPaths = []string{
	"/api/admin/projects", "/api/admin/audit?limit=100",
	"$", "$/keys", "$/usage?by=model", "$/usage?by=key", "$/usage?by=day", "$/costs/compare", "$/requests", "$/violations", "$/models-registry", "$/governor", "$/routes",
	"$/provider-keys", "$/compliance/summary", "$/compliance/verify", "$/compliance/checkpoints",
	"$/compliance/export?type=audit", "$/compliance/export?type=violations", "$/compliance/export?type=access", "$/compliance/export?type=usage",
	"$/compliance/export?type=policies", "$/compliance/export?type=inventory",
}

// volatile matches the parts of responses that differ from call to call, the states of circuits, and the audit
// entries of moves.
var volatile = regexp.MustCompile(`"state":(null|"closed")|"(generatedAt|verifiedAt|checkedAt|at|asOf)":"[^"]*"|\{"id":"aud_[^{}]*"deployment\.[^{}]*(\{[^{}]*\})?[^{}]*\},?`)

// answers returns the responses for all paths. A path that begins with $ is about each of the projects.
func (c *fixture) answers(paths []string, projects ...string) map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, path := range paths {
		for _, project := range projects {
			at := path
			if rest, ok := strings.CutPrefix(path, "$"); ok {
				at = "/api/admin/projects/" + c.run.names[project] + rest
			}
			at = c.run.expand(at)
			got, err := c.run.adminCall("GET", at, "")
			c.must(err)
			if got.status != 200 {
				c.Errorf("%s: %d %s", at, got.status, got.body)
			}
			all[at] = volatile.ReplaceAllString(string(got.body), "")
		}
	}
	return all
}

func wantSame(t *testing.T, have, want map[string]string) {
	t.Helper()
	for path, text := range want {
		if have[path] != text {
			t.Errorf("%s is\n%.2000s\nwant\n%.2000s", path, have[path], text)
		}
	}
}

// objectRows returns the rows of a file by object and key. It leaves out the audit entries of moves. It also leaves
// out the meters' main rows, because alarms advance them to the current time, and the budget rows of Ledgers that count
// requests or tokens, because the new deployment delivers these limits again with a later version.
func objectRows(t *testing.T, name string) map[string]string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, lines := map[string]string{}, bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var p struct {
			Object string
			Rows   []struct {
				Key   string
				Value []byte
			}
		}
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"objects":`)) {
			break // the last line
		}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		for _, row := range p.Rows {
			if !bytes.Contains(row.Value, []byte(`"action":"deployment.`)) && row.Key != "h" && (row.Key != "b" || !strings.Contains(p.Object, "#")) {
				rows[p.Object+" "+row.Key] = string(row.Value)
			}
		}
	}
	return rows
}

// moved is a deployment that a test moves.
type moved struct {
	before, after   string // files in testdata/move
	paths, projects []string
}

var movedDeployment = moved{"before.txt", "after.txt", movedPaths, []string{"main", "other", "closed"}}

// movedGroups has budgets above its projects.
var movedGroups = moved{
	"groups-before.txt", "groups-after.txt",
	append(movedPaths, "/api/admin/groups", "/api/admin/groups/root", "/api/admin/groups/$research", "/api/admin/groups/$vision", "/api/admin/groups/$prepaid", "/api/admin/groups/$research/usage?by=project", "/api/admin/groups/root/usage?by=group"),
	[]string{"lab", "desk", "free", "paid"},
}

// testMove moves a deployment's data through a list of deployments.
func testMove(t *testing.T, m moved, hosts ...*fixture) {
	source := hosts[0]
	source.play(m.before)
	want := source.answers(m.paths, m.projects...)
	file := source.export(t)
	rows := objectRows(t, file)
	for _, target := range hosts[1:] {
		maps.Copy(target.run.names, source.run.names)
		target.must(target.run.moveClock(source.run.now, Step{}))
		target.load(t, file)
		file = target.export(t)
		again := objectRows(t, file)
		for key, value := range rows {
			if again[key] != value {
				t.Errorf("%s differs after the move", key)
			}
		}
		if len(again) != len(rows) {
			t.Errorf("%d rows after the move, want %d", len(again), len(rows))
		}
		wantSame(t, target.answers(m.paths, m.projects...), want)
		source = target
	}
	source.play(m.after)
}

func TestMove(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	var hosts []*fixture
	for range 3 {
		hosts = append(hosts, newFixture(t, upstream, deployment(upstream)))
	}
	testMove(t, movedDeployment, hosts...)
}

// TestMoveBetweenPlatforms moves a deployment from SQLite to PostgreSQL, to Workers and back to SQLite.
func TestMoveBetweenPlatforms(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	server := pgtest.Shared(t)
	onWorkers := fixtureAt(t, &Runner{URL: startWorkerd(t, deployment(upstream)), Client: newClient(), Upstream: upstream, Workerd: true})
	testMove(t, movedDeployment, fixtureAt(t, newServe(t, upstream)), newPostgresFixture(t, upstream, server, server.URL), onWorkers, fixtureAt(t, newServe(t, upstream)))
}

// TestMoveGroups moves a deployment with groups from SQLite to PostgreSQL and back.
func TestMoveGroups(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	server := pgtest.Shared(t)
	testMove(t, movedGroups, fixtureAt(t, newServe(t, upstream)), newPostgresFixture(t, upstream, server, server.URL), fixtureAt(t, newServe(t, upstream)))
}
