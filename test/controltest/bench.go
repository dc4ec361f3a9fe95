// Package controltest runs the control plane on objects in memory, for tests.
package controltest

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
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/testobject"
)

// Token is the owner token.
const Token = "token-of-this-test"

// RequestIDs is the form of request IDs.
var RequestIDs = regexp.MustCompile(`^req_[0-9a-f]{32}$`)

// Sent is a call to an object other than the Directory.
type Sent struct {
	Class        abi.Class
	Name, Region string
	Command      []byte
}

// Memory implements Objects. The Directory runs the real reducer. Calls to other objects are recorded. If Reducers is
// set, ledgers and meters also run their reducers.
type Memory struct {
	mu       sync.Mutex
	Rows     map[string][]byte // the Directory's
	Sent     []Sent
	Fail     func(class abi.Class, name string, command []byte) error
	Before   func(command []byte) // runs before each Directory command, without the lock
	Ledgers  func(command []byte) []byte
	Meters   func(command []byte) []byte
	Reducers bool
	now      func() time.Time
	Calls    int // to all objects
	objects  map[objectName]*testobject.Object
	Kv       map[string][]byte // the deliveries to KV
}

// RecallCommand makes a meter return its slice.
var RecallCommand = keymeter.Flush{Recall: true}

// FlushReply returns the reply of a meter that has nothing to return. If lentMs is not 0, the meter has still lent
// budget for lentMs milliseconds.
func FlushReply(lentMs uint64) []byte {
	reply := []byte{0, 0} // batches, open reservations
	if lentMs > 0 {
		reply = binary.AppendUvarint(reply, lentMs)
	}
	return reply
}

// ErrOut is the error of a failing object.
var ErrOut = errors.New("object failed")

// reportCommand asks a Ledger for the meters to flush. The Ledger itself answers it, without Reducers too.
var reportCommand = ledger.Report{Waited: true}

// Call implements control.Objects.
func (m *Memory) Call(_ context.Context, class abi.Class, name, region string, command []byte) ([]byte, error) {
	if m.Before != nil && class == abi.ClassDirectory {
		m.Before(command)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Calls++
	if m.Fail != nil {
		if err := m.Fail(class, name, command); err != nil {
			return nil, err
		}
	}
	if class == abi.ClassDirectory {
		return m.Directory().Call(m.NowMs(), command)
	}
	m.Sent = append(m.Sent, Sent{class, name, region, slices.Clone(command)})
	switch {
	case class == abi.ClassLedger && m.Ledgers != nil:
		return m.Ledgers(command), nil
	case class == abi.ClassKeyMeter && m.Meters != nil:
		return m.Meters(command), nil
	case m.Reducers, class == abi.ClassLedger && bytes.Equal(command, reportCommand.Encode()):
		return m.Object(class, name).Call(m.NowMs(), command)
	case class == abi.ClassKeyMeter && bytes.Equal(command, RecallCommand.Encode()):
		return FlushReply(0), nil
	}
	return []byte{0}, nil
}

// Outbox returns the Directory's outbox, in order.
func (m *Memory) Outbox(t *testing.T) []abi.Delivery {
	t.Helper()
	_, deliveries, err := m.Directory().Outbox()
	if err != nil {
		t.Fatal(err)
	}
	return deliveries
}

// Forget clears the outbox and the recorded calls.
func (m *Memory) Forget() {
	m.Sent = nil
	if rows, _, err := m.Directory().Outbox(); err == nil {
		m.Directory().Delete(rows...)
	}
}

// Bench is a control plane on memory.
type Bench struct {
	*testing.T
	Memory  *Memory
	Service *control.Service
	Config  kernel.Config
	Token   string // the owner token
	Viewer  string // the viewer token
	Access  kernel.Access
	Masters string                           // the master keys
	Private bool                             // webhooks may point to private networks
	Certs   func(url string) ([]byte, error) // implements Config.Fetch
	Files   fstest.MapFS                     // the dashboard
	Docs    fstest.MapFS                     // the documentation, with DocsFolder and DocsHashesFile
	Faulty  error                            // the error of Config.Files
	Now     time.Time
}

// New returns a bench with the catalog for tests and an empty deployment.
func New(t *testing.T) *Bench {
	b := &Bench{
		T: t, Memory: &Memory{Rows: map[string][]byte{}}, Token: Token,
		Now: time.Date(2026, 11, 21, 9, 8, 7, 6_000_000, time.FixedZone("elsewhere", 3600)),
	}
	b.Memory.now = func() time.Time { return b.Now }
	b.Config = kernel.Config{
		Objects: b.Memory, AdminToken: func() string { return b.Token }, ViewerToken: func() string { return b.Viewer },
		Access: func() kernel.Access { return b.Access }, Files: b.file,
		MasterKeys: func() string { return b.Masters }, Seal: sealNatively,
		PrivateWebhooks: func() bool { return b.Private }, Runtime: "server",
		Fetch:   func(_ context.Context, url string) ([]byte, error) { return b.Certs(url) },
		Catalog: TestCatalog(),
		Now:     func() time.Time { return b.Now }, Rand: rand.Reader,
	}
	b.Restart()
	return b
}

// Restart creates another instance of the control plane, with empty caches.
func (b *Bench) Restart() { b.Service = control.New(b.Config) }

// Configure restarts the control plane with another configuration.
func (b *Bench) Configure(change func(*kernel.Config)) {
	change(&b.Config)
	b.Restart()
}

// Joins makes the bench another instance of an existing deployment.
func (b *Bench) Joins(other *Bench) {
	b.Memory = other.Memory
	b.Configure(func(c *kernel.Config) { c.Objects = other.Memory })
}

// Document reads a document of the Directory.
func (b *Bench) Document(key string) directory.Document {
	b.Helper()
	list := directory.List{Prefix: key, Limit: 1}
	reply, err := b.Memory.Call(b.Context(), abi.ClassDirectory, directory.Name, "", list.Encode())
	if err != nil {
		b.Fatal(err)
	}
	docs, err := directory.DecodeDocuments(reply)
	if err != nil || len(docs) != 1 {
		b.Fatal(err, len(docs))
	}
	return docs[0]
}

// Stored returns the document of a project, given its path or ID.
func (b *Bench) Stored(project string) directory.Project {
	b.Helper()
	p, err := directory.DecodeProject(b.Document(doc.ProjectKey(strings.TrimPrefix(project, "/api/admin/projects/"))))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// Commit writes documents, as another program would.
func (b *Bench) Commit(writes ...directory.Write) {
	b.Helper()
	command := directory.Commit{Writes: writes}
	reply, err := b.Memory.Call(b.Context(), abi.ClassDirectory, directory.Name, "", command.Encode())
	if err != nil {
		b.Fatal(err)
	}
	if conflict, err := directory.DecodeConflict(reply); conflict != "" || err != nil {
		b.Fatal(conflict, err)
	}
}

func root() string {
	_, file, _, _ := runtime.Caller(0)
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// file implements Config.Files.
func (b *Bench) file(_ context.Context, name string) (kernel.Asset, error) {
	data, err := b.read(name)
	if err != nil {
		return kernel.Asset{}, err
	}
	return kernel.NewAsset(data), nil
}

func (b *Bench) read(name string) ([]byte, error) {
	if b.Faulty != nil {
		return nil, b.Faulty
	}
	if name == kernel.OpenAPIFile {
		return os.ReadFile(filepath.Join(root(), "docs/openapi.yaml"))
	}
	if page, ok := strings.CutPrefix(name, kernel.DashboardFolder); ok {
		return fs.ReadFile(b.Files, page)
	}
	if !strings.HasPrefix(name, kernel.DocsFolder) && name != kernel.DocsHashesFile {
		b.Errorf("reads %s", name)
	}
	return fs.ReadFile(b.Docs, name)
}

// TestCatalog returns the catalog with two plans for tests.
func TestCatalog() *config.Config {
	const overlay = `{"plans":[
		{"name":"free","perSecond":10,"perDay":1000,"tokensPerMinute":5000,"budget":"5"},
		{"name":"team","perSecond":50,"perDay":0,"budget":"100"}]}`
	return ParseCatalog(overlay)
}

// ParseCatalog returns the built-in catalog with an overlay.
func ParseCatalog(overlay string) *config.Config {
	parsed, problem := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: config.EnvCatalog, Value: overlay}}})
	if problem != "" {
		panic(problem)
	}
	return parsed
}

// Reply is a response with its decoded JSON.
type Reply struct {
	*httptest.ResponseRecorder
	Fields map[string]any
}

// Do sends a request with the owner token. A header value of "" removes the header.
func (b *Bench) Do(method, path, body string, headers ...string) Reply {
	b.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+Token)
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
	b.Service.ServeHTTP(w, r)
	answer := Reply{ResponseRecorder: w}
	if w.Body.Len() > 0 {
		decoder := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
		decoder.UseNumber()
		if err := decoder.Decode(&answer.Fields); err != nil {
			b.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
		}
	}
	if got := w.Header().Get("Cache-Control"); got != "private, no-store" {
		b.Errorf("%s %s: cache-control %q", method, path, got)
	}
	if got := w.Header().Get("X-Request-Id"); !RequestIDs.MatchString(got) {
		b.Errorf("%s %s: x-request-id %q", method, path, got)
	}
	return answer
}

// Raw sends a request to path without decoding the response.
func (b *Bench) Raw(r *http.Request, path string) *httptest.ResponseRecorder {
	b.Helper()
	target, err := r.URL.Parse(path)
	if err != nil {
		b.Fatal(err)
	}
	r.URL = target
	w := httptest.NewRecorder()
	b.Service.ServeHTTP(w, r)
	return w
}

// Must is like Do, but any status other than the given one is fatal.
func (b *Bench) Must(status int, method, path, body string) Reply {
	b.Helper()
	got := b.Do(method, path, body)
	if got.Code != status {
		b.Fatalf("%s %s: %d %s, want %d", method, path, got.Code, got.Body, status)
	}
	return got
}

// Text returns a string field of the body, or "".
func (r Reply) Text(field string) string {
	text, _ := r.Fields[field].(string)
	return text
}

// Refused checks an error response against the fault table, and its request ID.
func (b *Bench) Refused(got Reply, want fault.Fault) {
	b.Helper()
	if uint64(got.Code) != want.Status() || got.Text("code") != want.Code() || got.Text("error") != want.Text() {
		b.Errorf("got %d %s, want %d %s %q", got.Code, got.Body, want.Status(), want.Code(), want.Text())
	}
	if id := got.Header().Get("X-Request-Id"); got.Text("requestId") != id {
		b.Errorf("requestId %q in the body, %q in the header", got.Text("requestId"), id)
	}
}

// Problems returns the fields named in the details of a 400, in order.
func (r Reply) Problems() []string {
	var fields []string
	details, _ := r.Fields["details"].([]any)
	for _, d := range details {
		fields = append(fields, d.(map[string]any)["field"].(string))
	}
	return fields
}

// Project creates a project, clears the recorded calls, and returns the project's path.
func (b *Bench) Project() string {
	b.Helper()
	id := b.Must(201, "POST", "/api/admin/projects", `{"name":"Test"}`).Text("id")
	b.Memory.Forget()
	return "/api/admin/projects/" + id
}

// Key creates a key in a project and clears the recorded calls.
func (b *Bench) Key(project string) (path string, made Reply) {
	b.Helper()
	made = b.Must(201, "POST", project+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`)
	b.Memory.Forget()
	return project + "/keys/" + made.Text("id"), made
}

// EverythingFails fails all calls to objects.
func EverythingFails(abi.Class, string, []byte) error { return ErrOut }

// FailAll fails all calls to objects of a class.
func (m *Memory) FailAll(class abi.Class) {
	m.Fail = func(c abi.Class, _ string, _ []byte) error {
		if c == class {
			return ErrOut
		}
		return nil
	}
}

// Quiet discards the log until the test ends.
func Quiet(t *testing.T) {
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

// FailCommits fails commits to the Directory, but not lists.
func (m *Memory) FailCommits() {
	m.Fail = func(class abi.Class, _ string, command []byte) error {
		list := directory.List{}
		if class == abi.ClassDirectory && command[0] != list.Encode()[0] {
			return ErrOut
		}
		return nil
	}
}

// NewRequest returns a request with headers. Its path does not matter.
func NewRequest(headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// Example returns a path that matches a route's pattern.
func Example(pattern string) string {
	return strings.NewReplacer("{project}", "proj_"+SomeID, "{group}", "grp_"+SomeID, "{key}", "key_"+SomeID, "{provider}", "openai",
		"{violation}", "vio_"+SomeID, "{entry}", "mod_"+SomeID, "{hash}", SomeID+SomeID, "{request}", "req_"+SomeID).Replace(pattern)
}
