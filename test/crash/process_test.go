package crash

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/fakeprovider"
	"github.com/postern-ai/postern/test/freeport"
	"github.com/postern-ai/postern/test/pgtest"
)

const adminToken = "crash-tests-admin-token"

// virtualStart is the server's time at the start of a test. The rest of its day is long enough for one jump per
// crash.
var virtualStart = time.Date(2026, 11, 21, 0, 5, 0, 0, time.UTC)

// patience is the maximum wait for a condition. It is long because the machine may be busy.
const patience = 60 * time.Second

// deployment is a data directory with a server that the test starts and kills.
type deployment struct {
	*testing.T
	upstream *fakeprovider.Server
	binary   string
	folder   string
	address  string
	catalog  string
	offset   time.Duration // of the server's clock
	process  *exec.Cmd
	output   *output
	killed   atomic.Bool // whether the test has killed the server since its last start
	client   *http.Client
	projects []*project
	postgres *pgtest.Server // nil: the server uses SQLite
	database string
}

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// build compiles postern with the adjustable clock.
var build = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs("../../build/test/postern-testclock")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "build", "-tags", "testclock", "-o", path, "../../cmd/postern")
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return path, nil
})

// deploy starts a server on an empty data directory.
func deploy(t *testing.T) *deployment { return deployOn(t, nil) }

// deployOn starts a server on an empty database. If there is no database server, it uses an empty data directory.
func deployOn(t *testing.T, postgres *pgtest.Server) *deployment {
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := os.ReadFile("../../testdata/conformance/overlay.json")
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{
		T: t, upstream: fakeprovider.New(), binary: binary, folder: t.TempDir(), catalog: string(catalog),
		offset: time.Until(virtualStart), output: &output{},
	}
	t.Cleanup(d.upstream.Close)
	t.Cleanup(func() {
		if d.process != nil {
			d.kill()
		}
		if t.Failed() {
			text := d.output.String()
			t.Logf("the server's last output:\n%s", text[max(0, len(text)-8000):])
		}
	})
	if d.postgres = postgres; postgres != nil {
		d.database = postgres.ClockDatabase(t)
	}
	d.address = freeAddress(t)
	d.start()
	return d
}

func freeAddress(t *testing.T) string {
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func (d *deployment) url(path string) string { return "http://" + d.address + path }

func (d *deployment) data() string { return filepath.Join(d.folder, "data") }

// clockFile returns the path of the file with the offset of the server's clock in milliseconds.
func (d *deployment) clockFile() string { return filepath.Join(d.folder, "clock") }

// step moves the server's clock by a duration. If the server is running, it sees the new time at once.
func (d *deployment) step(by time.Duration) {
	d.Helper()
	d.offset += by
	next := d.clockFile() + ".next"
	if err := os.WriteFile(next, []byte(strconv.FormatInt(d.offset.Milliseconds(), 10)), 0o600); err != nil {
		d.Fatal(err)
	}
	if err := os.Rename(next, d.clockFile()); err != nil {
		d.Fatal(err)
	}
	if d.postgres != nil {
		if err := d.postgres.MoveClock(d.Context(), d.database, by); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *deployment) now() time.Time { return time.Now().Add(d.offset) }

func (d *deployment) environment() []string {
	variables := []string{
		"HOME=" + d.folder, "PATH=/nonexistent", "TEST_CLOCK=" + d.clockFile(),
		"POSTERN_DATA=" + d.data(), "POSTERN_LISTEN=" + d.address, "POSTERN_OPS_LISTEN=off", "POSTERN_LOG_LEVEL=warn", "POSTERN_ADMIN_TOKEN=" + adminToken,
		"POSTERN_CATALOG=" + d.catalog, "OPENAI_BASE_URL=" + d.upstream.URL + "/v1", "OPENAI_API_KEY=sk-upstream",
		"ANTHROPIC_BASE_URL=" + d.upstream.URL + "/v1", "ANTHROPIC_API_KEY=sk-ant-upstream",
	}
	if d.postgres != nil {
		variables = append(variables, "POSTERN_DATABASE="+d.postgres.URL(d.database)+pgtest.WithClock)
	}
	return variables
}

// start starts the server and waits until it responds.
func (d *deployment) start() {
	d.Helper()
	d.step(0)
	d.process = exec.Command(d.binary, "serve")
	d.process.Dir, d.process.Env = d.folder, d.environment()
	d.process.Stdout, d.process.Stderr = d.output, d.output
	if err := d.process.Start(); err != nil {
		d.Fatal(err)
	}
	d.killed.Store(false)
	d.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: patience}
	d.eventually("the server responds", func() error {
		response, err := d.client.Get(d.url("/"))
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	})
}

// kill kills the server. The server gets no chance to write anything else.
func (d *deployment) kill() {
	d.killed.Store(true)
	_ = d.process.Process.Kill()
	_ = d.process.Wait()
	d.client.CloseIdleConnections()
	d.process = nil
}

// eventually waits until the check succeeds. If it never does, the test fails with the check's last error.
func (d *deployment) eventually(what string, check func() error) {
	d.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			d.Fatalf("%s: %v", what, err)
		}
	}
}
