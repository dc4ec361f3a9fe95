package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/internal/testobject"
)

const token = "token-of-this-test"

var requestIDs = regexp.MustCompile(`^req_[0-9a-f]{32}$`)

// sent is a call to an object other than the Directory.
type sent struct {
	class        abi.Class
	name, region string
	command      []byte
}

// memory implements Objects: the Directory runs the real reducer, all other calls are recorded. If reducers
// is set, ledgers and meters run their reducers as well.
type memory struct {
	mu       sync.Mutex
	rows     map[string][]byte // the Directory's
	sent     []sent
	fail     func(class abi.Class, name string, command []byte) error
	before   func(command []byte) // runs before each Directory command, without the lock
	ledgers  func(command []byte) []byte
	meters   func(command []byte) []byte
	reducers bool
	now      func() time.Time
	calls    int // to all objects
	objects  map[objectName]*testobject.Object
	kv       map[string][]byte // the deliveries to KV
}

var recallCommand = keymeter.Flush{Recall: true}

// flushReply is the reply of a meter that has nothing to return, and budget lent for a time.
func flushReply(lentMs uint64) []byte {
	reply := []byte{0, 0} // batches, open reservations
	if lentMs > 0 {
		reply = binary.AppendUvarint(reply, lentMs)
	}
	return reply
}

var errOut = errors.New("object failed")

func (m *memory) Call(_ context.Context, class abi.Class, name, region string, command []byte) ([]byte, error) {
	if m.before != nil && class == abi.ClassDirectory {
		m.before(command)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.fail != nil {
		if err := m.fail(class, name, command); err != nil {
			return nil, err
		}
	}
	if class == abi.ClassDirectory {
		return m.directory().Call(m.nowMs(), command)
	}
	m.sent = append(m.sent, sent{class, name, region, slices.Clone(command)})
	switch {
	case class == abi.ClassLedger && m.ledgers != nil:
		return m.ledgers(command), nil
	case class == abi.ClassKeyMeter && m.meters != nil:
		return m.meters(command), nil
	case m.reducers:
		return m.object(class, name).Call(m.nowMs(), command)
	case class == abi.ClassKeyMeter && bytes.Equal(command, recallCommand.Encode()):
		return flushReply(0), nil
	}
	return []byte{0}, nil
}

// outbox returns the Directory's outbox, in order.
func (m *memory) outbox(t *testing.T) []abi.Delivery {
	t.Helper()
	_, deliveries, err := m.directory().Outbox()
	if err != nil {
		t.Fatal(err)
	}
	return deliveries
}

// forget clears the outbox and the recorded calls.
func (m *memory) forget() {
	m.sent = nil
	if rows, _, err := m.directory().Outbox(); err == nil {
		m.directory().Delete(rows...)
	}
}

// bench is a control plane on memory.
type bench struct {
	*testing.T
	memory  *memory
	handler http.Handler
	token   string // the owner token
	viewer  string // the viewer token
	access  Access
	masters string                           // the master keys
	private bool                             // webhooks may point to private networks
	certs   func(url string) ([]byte, error) // implements Config.Fetch
	files   fstest.MapFS                     // the dashboard
	faulty  error                            // the error of Config.Files
	now     time.Time
}

func newBench(t *testing.T) *bench {
	b := &bench{
		T: t, memory: &memory{rows: map[string][]byte{}}, token: token,
		now: time.Date(2026, 11, 21, 9, 8, 7, 6_000_000, time.FixedZone("elsewhere", 3600)),
	}
	b.memory.now = func() time.Time { return b.now }
	b.handler = New(Config{
		Objects: b.memory, AdminToken: func() string { return b.token }, ViewerToken: func() string { return b.viewer },
		Access: func() Access { return b.access }, Files: b.file,
		MasterKeys: func() string { return b.masters }, Seal: sealNatively,
		PrivateWebhooks: func() bool { return b.private }, Runtime: "server",
		Fetch:   func(_ context.Context, url string) ([]byte, error) { return b.certs(url) },
		Catalog: testCatalog(),
		Now:     func() time.Time { return b.now }, Rand: rand.Reader,
	}).handler
	return b
}

// file is Config.Files.
func (b *bench) file(_ context.Context, name string) ([]byte, error) {
	if b.faulty != nil {
		return nil, b.faulty
	}
	if name == OpenAPIFile {
		return os.ReadFile("../docs/openapi.yaml")
	}
	page, ok := strings.CutPrefix(name, DashboardFolder)
	if !ok {
		b.Errorf("reads %s", name)
	}
	return fs.ReadFile(b.files, page)
}

// testCatalog is the catalog with two plans for tests.
func testCatalog() *config.Config {
	const overlay = `{"plans":[
		{"name":"free","perSecond":10,"perDay":1000,"tokensPerMinute":5000,"budget":"5"},
		{"name":"team","perSecond":50,"perDay":0,"budget":"100"}]}`
	return parseCatalog(overlay)
}

func parseCatalog(overlay string) *config.Config {
	parsed, problem := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: config.EnvCatalog, Value: overlay}}})
	if problem != "" {
		panic(problem)
	}
	return parsed
}

// reply is a response with its decoded JSON.
type reply struct {
	*httptest.ResponseRecorder
	fields map[string]any
}

// do sends a request with the owner token. A header value of "" removes the header.
func (b *bench) do(method, path, body string, headers ...string) reply {
	b.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	answer := reply{ResponseRecorder: w}
	if w.Body.Len() > 0 {
		decoder := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
		decoder.UseNumber()
		if err := decoder.Decode(&answer.fields); err != nil {
			b.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
		}
	}
	if got := w.Header().Get("Cache-Control"); got != "private, no-store" {
		b.Errorf("%s %s: cache-control %q", method, path, got)
	}
	if got := w.Header().Get("X-Request-Id"); !requestIDs.MatchString(got) {
		b.Errorf("%s %s: x-request-id %q", method, path, got)
	}
	return answer
}

// raw sends a request to path without decoding the response.
func (b *bench) raw(r *http.Request, path string) *httptest.ResponseRecorder {
	b.Helper()
	target, err := r.URL.Parse(path)
	if err != nil {
		b.Fatal(err)
	}
	r.URL = target
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

// must is do with an expected status; any other is fatal.
func (b *bench) must(status int, method, path, body string) reply {
	b.Helper()
	got := b.do(method, path, body)
	if got.Code != status {
		b.Fatalf("%s %s: %d %s, want %d", method, path, got.Code, got.Body, status)
	}
	return got
}

func (r reply) text(field string) string {
	text, _ := r.fields[field].(string)
	return text
}

// refused checks an error response against the fault table, and its request ID.
func (b *bench) refused(got reply, want fault.Fault) {
	b.Helper()
	if uint64(got.Code) != want.Status || got.text("code") != want.Code || got.text("error") != want.Text {
		b.Errorf("got %d %s, want %d %s %q", got.Code, got.Body, want.Status, want.Code, want.Text)
	}
	if id := got.Header().Get("X-Request-Id"); got.text("requestId") != id {
		b.Errorf("requestId %q in the body, %q in the header", got.text("requestId"), id)
	}
}

// problems are the fields named in the details of a 400, in order.
func (r reply) problems() []string {
	var fields []string
	details, _ := r.fields["details"].([]any)
	for _, d := range details {
		fields = append(fields, d.(map[string]any)["field"].(string))
	}
	return fields
}

// project creates a project, and key creates a key in it. Both clear the recorded calls.
func (b *bench) project() string {
	b.Helper()
	id := b.must(201, "POST", "/api/admin/projects", `{"name":"Test"}`).text("id")
	b.memory.forget()
	return "/api/admin/projects/" + id
}

func (b *bench) key(project string) (path string, made reply) {
	b.Helper()
	made = b.must(201, "POST", project+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)
	b.memory.forget()
	return project + "/keys/" + made.text("id"), made
}

// everythingFails fails all calls to objects.
func everythingFails(abi.Class, string, []byte) error { return errOut }

// failAll fails all calls to objects of a class.
func (m *memory) failAll(class abi.Class) {
	m.fail = func(c abi.Class, _ string, _ []byte) error {
		if c == class {
			return errOut
		}
		return nil
	}
}

// quiet discards the log until the test ends.
func quiet(t *testing.T) {
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

// failCommits fails commits to the Directory, but not lists.
func (m *memory) failCommits() {
	m.fail = func(class abi.Class, _ string, command []byte) error {
		list := directory.List{}
		if class == abi.ClassDirectory && command[0] != list.Encode()[0] {
			return errOut
		}
		return nil
	}
}

// newRequest is a request with headers; its path does not matter.
func newRequest(headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// example is a path that matches a route.
func (r *route) example() string {
	return strings.NewReplacer("{project}", "proj_"+someID, "{key}", "key_"+someID, "{provider}", "openai",
		"{violation}", "vio_"+someID, "{entry}", "mod_"+someID).Replace(r.pattern)
}
