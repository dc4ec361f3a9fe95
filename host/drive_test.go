package host

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/store/memory"
	"github.com/postern-ai/postern/test/interpreter"
)

// wasmFile is the core with the panic switch. "build.sh panic" builds it.
const wasmFile = "../build/core-panic.wasm"

var testConfig = abi.Config{Catalog: catalog.Default, Env: []abi.Header{
	{Name: "OPENAI_BASE_URL", Value: "http://upstream.example/v1"}, {Name: "OPENAI_API_KEY", Value: "sk-upstream"}, {Name: "TOGETHER_API_KEY", Value: "to"},
	{Name: "ANTHROPIC_API_KEY", Value: "sk-ant"}, {Name: "GEMINI_API_KEY", Value: "gem"}, {Name: "COHERE_API_KEY", Value: "co"},
	{Name: "MISTRAL_API_KEY", Value: "mi"}, {Name: "AWS_ACCESS_KEY_ID", Value: "AKID"}, {Name: "AWS_SECRET_ACCESS_KEY", Value: "aws"},
}}

// loadWasm reads the module once. It fails if the file is missing or older than the core's sources.
var loadWasm = sync.OnceValues(func() ([]byte, error) {
	built, err := os.Stat(wasmFile)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir("../core", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		if info, err := entry.Info(); err != nil || info.ModTime().After(built.ModTime()) {
			return fmt.Errorf("%s is newer than the module: run ./build.sh panic", path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(wasmFile)
})

// newWasm returns a new core under wazero. The test fails if the module is missing or older than the core's sources.
func newWasm(t testing.TB) *Wasm {
	t.Helper()
	binary, err := loadWasm()
	if os.IsNotExist(err) {
		t.Fatal(wasmFile + " does not exist: run ./build.sh panic")
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWasm(context.Background(), binary, testConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w
}

func newNative(t testing.TB) Engine {
	t.Helper()
	e, err := NewNative(testConfig)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

type message struct {
	export string // step, reads or apply
	data   []byte
}

func (m message) run(e Engine) ([]byte, error) {
	switch m.export {
	case "step":
		return e.Step(m.data)
	case "reads":
		return e.Reads(m.data)
	}
	return e.Apply(m.data)
}

type recorder struct {
	Engine
	messages []message
}

func (r *recorder) Step(data []byte) ([]byte, error) {
	return r.record(message{"step", bytes.Clone(data)})
}

func (r *recorder) Reads(data []byte) ([]byte, error) {
	return r.record(message{"reads", bytes.Clone(data)})
}

func (r *recorder) Apply(data []byte) ([]byte, error) {
	return r.record(message{"apply", bytes.Clone(data)})
}

func (r *recorder) record(m message) ([]byte, error) {
	r.messages = append(r.messages, m)
	return m.run(r.Engine)
}

// enginePair runs each call on both engines and fails the test if the results differ.
type enginePair struct {
	t              testing.TB
	native, module Engine
	stepper        *nativeStepper          // of the last exchange
	entries        map[string]*lease.Entry // decoded pinned entries, by their encoding
}

func (p *enginePair) Configured() abi.Configured        { return p.native.Configured() }
func (p *enginePair) Step(data []byte) ([]byte, error)  { return p.both(message{"step", data}) }
func (p *enginePair) Reads(data []byte) ([]byte, error) { return p.both(message{"reads", data}) }
func (p *enginePair) Apply(data []byte) ([]byte, error) { return p.both(message{"apply", data}) }

func (p *enginePair) both(m message) ([]byte, error) {
	want, wantErr := m.run(p.native)
	got, err := m.run(p.module)
	if (err != nil) != (wantErr != nil) || !bytes.Equal(got, want) {
		p.t.Errorf("%s of %x:\nnative %x, %v\nwasm   %x, %v", m.export, m.data, want, wantErr, got, err)
	}
	if wantErr == nil {
		p.direct(m, want)
	}
	return want, wantErr
}

// fixedClock is a clock that moves only when a test sets it.
type fixedClock uint64

func (c *fixedClock) Now() uint64 { return uint64(*c) }

// world is the environment of an exchange. It runs in one goroutine and always behaves the same.
type world struct {
	engine   Engine
	clock    fixedClock
	objects  *StoredObjects
	stored   map[string][]byte
	shared   []byte
	upstream func(abi.Action) abi.Event
	// chunks is the provider's response to a streaming request. If it is nil, upstream responds.
	chunks     [][]byte
	streamType string // content type of the streamed response
	requests   uint64 // requests so far
	traps      int
}

const testProject = "prj_1"

// newWorld returns a world that has an active key for each environment on a plan without limits.
func newWorld(e Engine) *world {
	w := &world{engine: e, clock: 1_795_262_400_000, stored: map[string][]byte{}}
	w.objects = &StoredObjects{Engine: e, Store: memory.New(&w.clock), Stats: &Stats{}, Send: func(context.Context, abi.Delivery) error { return nil }}
	w.upstream = func(a abi.Action) abi.Event { return goodResponse(&a) }
	budget := ledger.Put{Version: 1, BudgetPico: 1000 * money.Dollar}
	w.call(abi.ClassLedger, testProject, budget.Encode())
	for _, env := range []keys.Environment{keys.Production, keys.Development} {
		put := keymeter.Put{Status: doc.Active, Record: doc.Record{
			Version: 2, KeyID: "key_1", ProjectID: testProject, Kind: keys.Gateway, Environment: env, Plan: "unlimited", CacheTTLSeconds: 3600,
		}}
		w.call(abi.ClassKeyMeter, keys.Hash(testKey(env)), put.Encode())
	}
	return w
}

func testKey(env keys.Environment) string {
	return keys.New(keys.Gateway, env, [keys.RandomBytes]byte{1, 2, 3, byte(env)})
}

func goodResponse(a *abi.Action) abi.Event {
	return abi.Event{
		Kind: abi.EventResponse, ID: a.ID, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "application/json"}},
		Data: []byte(`{"choices":[{"message":{"content":"{\"a\":1}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`),
	}
}

func (w *world) call(class abi.Class, name string, command []byte) ([]byte, error) {
	reply, err := w.objects.Call(context.Background(), class, name, "", command)
	w.objects.Wait()
	return reply, err
}

type testRequest struct {
	method, path, query string
	headers             []abi.Header
	body                []byte
}

// completeRequest returns a request to the complete endpoint with the key of an environment.
func completeRequest(env keys.Environment, body string, headers ...abi.Header) testRequest {
	headers = append(headers, abi.Header{Name: "x-api-key", Value: testKey(env)}, abi.Header{Name: "content-type", Value: "application/json"})
	return testRequest{"POST", "/api/ai/complete", "", headers, []byte(body)}
}

// exchange runs one request to its end. It returns the response status, or 0 if the core trapped or did not respond.
func (w *world) exchange(r testRequest) (status uint64) {
	w.requests++
	headers := append([]abi.Header{
		{Name: ":id", Value: fmt.Sprintf("req_%d", w.requests)}, {Name: ":method", Value: r.method}, {Name: ":path", Value: r.path}, {Name: ":query", Value: r.query},
	}, r.headers...)
	d := &drive{world: w, request: r}
	d.events = []abi.Event{{Kind: abi.EventRequest, Headers: headers, Data: []byte("seed of 16 bytes")}}
	for len(d.events) > 0 {
		w.clock++
		in := abi.StepInput{NowMs: uint64(w.clock), Shared: w.shared, Event: d.events[0]}
		d.events = d.events[1:]
		if !d.Step(d, &in) {
			w.traps++
			return 0
		}
	}
	return d.status
}

// drive is one exchange of a world. The results of actions arrive in the order of the actions.
type drive struct {
	interpreter.Exchange
	world   *world
	request testRequest
	events  []abi.Event
	status  uint64
}

func (d *drive) Run(in *abi.StepInput) (abi.StepOutput, bool) {
	var wire abi.Writer
	in.Encode(&wire)
	data, err := d.world.engine.Step(wire.Buf)
	if err != nil {
		return abi.StepOutput{}, false
	}
	out, err := abi.DecodeStepOutput(data)
	if err != nil {
		panic(err)
	}
	return out, true
}

func (d *drive) Stepped(_ *abi.StepInput, out *abi.StepOutput) {
	if out.SharedChanged {
		d.world.shared = out.Shared
	}
}

func (d *drive) Start(a *abi.Action) {
	w := d.world
	var events []abi.Event
	switch {
	case a.Kind == abi.ActionFetch && a.Stream != 0 && w.chunks != nil:
		events = w.stream()
	case a.Kind == abi.ActionWait && a.KeepMs == tickMs: // the timer never fires, because all chunks arrive at once
	default:
		events = []abi.Event{d.reply(a)}
	}
	for _, event := range events {
		if event.ID = a.ID; a.ID != 0 {
			d.events = append(d.events, event)
		}
	}
}

func (d *drive) Outstanding(id uint64) bool {
	return slices.ContainsFunc(d.events, func(e abi.Event) bool { return e.ID == id })
}

func (d *drive) Cancel(id uint64) {
	d.events = slices.DeleteFunc(d.events, func(e abi.Event) bool { return e.ID == id })
}

func (d *drive) Answer(a *abi.Action, _ []byte) {
	if a.Kind == abi.ActionRespond || a.Kind == abi.ActionOpen {
		d.status = a.Code
	}
}

func (d *drive) Write(a *abi.Action, value []byte)  { d.world.stored[a.Key] = value }
func (d *drive) Violate(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (d *drive) Sees(*abi.Action) bool              { return true }
func (d *drive) Pause(*abi.Action)                  {}
func (d *drive) Note(*abi.Action)                   {}

// tickMs is the wait before a keep-alive comment in a silent stream. It is a copy of the constant in core/exchange.
const tickMs = 400

func (w *world) stream() []abi.Event {
	events := []abi.Event{{Kind: abi.EventHead, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: w.streamType}}}}
	for _, chunk := range w.chunks {
		events = append(events, abi.Event{Kind: abi.EventChunk, Data: chunk})
	}
	return append(events, abi.Event{Kind: abi.EventEnd})
}

func (d *drive) reply(a *abi.Action) abi.Event {
	w := d.world
	switch a.Kind {
	case abi.ActionReadBody:
		d.Buffers.Keep(a.Buffer, d.request.body)
		return abi.Event{Kind: abi.EventBody, Data: d.request.body}
	case abi.ActionSupply:
		return abi.Event{Kind: abi.EventSupplied, Data: d.Content(d, a.Buffer)}
	case abi.ActionUnseal:
		return unsealed(a, d.Content(d, a.Buffer))
	case abi.ActionRead, abi.ActionJoin: // there is no other exchange, so this one leads each flight
		if value, ok := w.stored[a.Key]; ok {
			return abi.Event{Kind: abi.EventStored, Data: value}
		}
		return abi.Event{Kind: abi.EventStored, Code: abi.OutcomeAbsent}
	case abi.ActionCall:
		reply, err := w.call(a.Class, a.Name, a.Data)
		if err != nil {
			return abi.Event{Kind: abi.EventReply, Code: abi.OutcomeFailed}
		}
		return abi.Event{Kind: abi.EventReply, Data: reply}
	case abi.ActionFetch:
		event := w.upstream(*a)
		d.Buffers.Keep(a.Buffer, event.Data)
		return event
	case abi.ActionWait:
		w.clock += fixedClock(a.KeepMs)
		return abi.Event{Kind: abi.EventTimer}
	}
	return abi.Event{Kind: abi.EventResponse, Code: 200} // of a Forward
}

func ring(t *testing.T, o *StoredObjects) bool {
	t.Helper()
	rang, err := o.Ring(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rang
}

// direct checks the native engine's functions that take and return values without encoding them. They must give the
// same result as the others and leave their input unchanged. The store takes the written rows over, so they must not
// share memory with the command or with the rows that were read.
func (p *enginePair) direct(m message, want []byte) {
	data := bytes.Clone(m.data)
	check := func() {}
	if m.export == "step" {
		p.directStep(data, want)
	} else {
		written := p.directCommand(m.export, data, want)
		check = func() { p.notShared(data, written) }
	}
	if !bytes.Equal(data, m.data) {
		p.t.Errorf("%s of %x changed its input to %x", m.export, m.data, data)
	}
	check()
}

// directStep runs the step twice on the decoded state. A message without a state begins the next exchange.
func (p *enginePair) directStep(message, want []byte) {
	in, _ := abi.DecodeStepInput(message)
	if p.entries == nil {
		p.entries = map[string]*lease.Entry{}
	}
	kept := p.entries[string(in.Pinned)]
	if kept == nil {
		kept = lease.Decode(in.Pinned)
	}
	if in.Event.Kind == abi.EventRequest {
		p.stepper = p.native.(*native).Begin().(*nativeStepper)
	}
	encoded, _ := abi.DecodeStepOutput(want)
	for range 2 {
		var w abi.Writer
		out, entry, _ := p.stepper.Step(&in, kept)
		out.State = encoded.State
		if entry != nil {
			out.Pinned, _ = entry.Encode()
			p.entries[string(out.Pinned)] = entry
		}
		if out.Encode(&w); !bytes.Equal(w.Buf, want) {
			p.t.Errorf("step of %x without the encoding: %x, want %x", message, w.Buf, want)
		}
	}
	p.stepper.Keep()
	p.stepper.Done()
	if got := p.stepper.core.Encode(&p.stepper.state); !bytes.Equal(got, encoded.State) {
		p.t.Errorf("step of %x without the encoding: state %x, want %x", message, got, encoded.State)
	}
}

// directCommand returns the rows that the command has written.
func (p *enginePair) directCommand(export string, message, want []byte) (written []abi.Row) {
	in, _ := abi.DecodeObjectInput(message)
	r := running{p.native.(*native).core.Begin(nil)}
	var w abi.Writer
	var out abi.ObjectOutput
	if out.Ranges, _ = r.reads(&in); export != "reads" {
		out, _ = r.apply(&in)
	}
	if out.Encode(&w); !bytes.Equal(w.Buf, want) {
		p.t.Errorf("%s of %x without the encoding: %x, want %x", export, message, w.Buf, want)
	}
	return out.Puts
}

// notShared overwrites a message and checks that the rows that were written do not change.
func (p *enginePair) notShared(message []byte, written []abi.Row) {
	before := fmt.Sprintf("%x", written)
	for i := range message {
		message[i] = '!'
	}
	if after := fmt.Sprintf("%x", written); after != before {
		p.t.Errorf("rows that share memory with the input: %s, then %s", before, after)
	}
}
