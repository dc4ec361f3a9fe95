package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

// corpus returns every message of some exchanges and commands. The messages were recorded from the native core.
func corpus(t *testing.T) []message {
	r := &recorder{Engine: newNative(t)}
	w := newWorld(r)
	for _, body := range requestSeeds {
		w.exchange(completeRequest(keys.Production, body, abi.Header{Name: "idempotency-key", Value: "1"}))
		w.exchange(completeRequest(keys.Development, body))
		w.exchange(completeRequest(keys.Production, body))
	}
	for _, body := range responseSeeds {
		w.upstream = func(abi.Action) abi.Event {
			return abi.Event{Kind: abi.EventResponse, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "application/json"}}, Data: []byte(body)}
		}
		w.exchange(completeRequest(keys.Production, helloBody, abi.Header{Name: "cache-control", Value: "no-cache"}))
	}
	for _, path := range []string{"/api/usage", "/api/health", "/api/admin/projects", "/nothing"} {
		w.exchange(testRequest{"GET", path, "projectId=prj_1", []abi.Header{{Name: "x-api-key", Value: testKey(keys.Production)}}, nil})
	}
	for class, list := range map[abi.Class][]byte{abi.ClassKeyMeter: meterSeed(), abi.ClassLedger: ledgerSeed(), abi.ClassDirectory: directorySeed()} {
		o := objectRows{in: abi.ObjectInput{NowMs: uint64(w.clock), Class: class, Name: "00"}}
		for list := (abi.Reader{Buf: list}); len(list.Buf) > 0; o.in.NowMs += 500 {
			o.apply(r, list.Bytes())
		}
	}
	return r.messages
}

func (i *instance) export(name string) api.Function {
	return map[string]api.Function{"step": i.step, "reads": i.reads, "apply": i.appl}[name]
}

// inspector calls an instance in the same way as instance.call and checks the memory around the message.
type inspector struct {
	t        *testing.T
	i        *instance
	mark     uint32 // start of reserved memory; the configuration is below it
	sentinel []byte // the configuration
	from     uint32 // start of the configuration
}

// newInspector takes a configured instance, and another instance of the same module that is not configured (bare).
// The memory between their marks is the configuration.
func newInspector(t *testing.T, i, bare *instance) *inspector {
	x := &inspector{t: t, i: i, mark: reserve(t, i, 0), from: reserve(t, bare, 0)}
	x.sentinel = bytes.Clone(x.memory(x.from, x.mark))
	if len(x.sentinel) < 5000 {
		t.Fatalf("the configuration has %d bytes, want at least 5000", len(x.sentinel))
	}
	return x
}

// reserve returns the address of n reserved bytes.
func reserve(t *testing.T, i *instance, n int) uint32 {
	at, err := i.reserve.Call(context.Background(), uint64(n))
	if err != nil {
		t.Fatal(err)
	}
	return uint32(at[0])
}

func (x *inspector) memory(from, to uint32) []byte {
	data, ok := x.i.module.Memory().Read(from, to-from)
	if !ok {
		x.t.Fatalf("no memory from %d to %d", from, to)
	}
	return data
}

// call runs a message. reserve must return the mark, and all memory above the mark must be zero. The call must not
// change its input or the configuration.
func (x *inspector) call(m message) []byte {
	at := reserve(x.t, x.i, len(m.data))
	if at != x.mark && len(m.data) > 0 {
		x.t.Fatalf("memory reserved at %d, want %d: the arena was not reset", at, x.mark)
	}
	size := x.i.module.Memory().Size()
	if dirty := bytes.TrimLeft(x.memory(at, size), "\x00"); len(dirty) > 0 {
		x.t.Fatalf("%d bytes above the mark were not zeroed", len(dirty))
	}
	x.i.module.Memory().Write(at, m.data)
	result, err := x.i.export(m.export).Call(context.Background(), uint64(len(m.data)))
	if err != nil {
		x.t.Fatalf("%s of %x: %v", m.export, m.data, err)
	}
	out := uint32(result[0])
	if out < at+uint32(len(m.data)) {
		x.t.Fatalf("the output at %d overlaps the input at %d", out, at)
	}
	if !bytes.Equal(x.memory(at, at+uint32(len(m.data))), m.data) {
		x.t.Errorf("%s changed its input %x", m.export, m.data)
	}
	if !bytes.Equal(x.memory(x.from, x.mark), x.sentinel) {
		x.t.Fatalf("%s of %x changed the configuration", m.export, m.data)
	}
	length := binary.LittleEndian.Uint32(x.memory(out, out+4))
	return bytes.Clone(x.memory(out+4, out+4+length))
}

// TestArenaReset runs a corpus twice on one instance. If code kept a pointer from one call to the next, the reset of the
// arena would invalidate it.
func TestArenaReset(t *testing.T) {
	w := newWasm(t)
	ctx := context.Background()
	i, err := w.take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	module, err := w.runtime.InstantiateModule(ctx, w.module, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	x := newInspector(t, i, &instance{module: module, reserve: module.ExportedFunction("reserve")})
	messages, native := corpus(t), newNative(t)
	first := make([][]byte, len(messages))
	for round := range 2 {
		for n, m := range messages {
			want, err := m.run(native)
			if err != nil {
				t.Fatalf("%s of %x: %v", m.export, m.data, err)
			}
			got := x.call(m)
			if !bytes.Equal(got, want) {
				t.Fatalf("round %d, %s of %x:\nnative %x\nwasm   %x", round, m.export, m.data, want, got)
			}
			if round == 0 {
				first[n] = got
			} else if !bytes.Equal(got, first[n]) {
				t.Fatalf("%s of %x: different result in the second round", m.export, m.data)
			}
		}
	}
	t.Logf("%d messages twice, %d bytes of configuration, %d of memory", len(messages), len(x.sentinel), i.module.Memory().Size())
}

// largeBodies returns bodies of about size bytes by name. Their shapes are the ones that take the most memory.
func largeBodies(size int) map[string]string {
	repeat := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	members := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, form, i*2654435761&0xffffff)
		}
		return b.String()
	}
	wrap := func(extra string) string {
		return `{"messages":[{"role":"user","content":"x"}],"extra":` + extra + `}`
	}
	return map[string]string{
		"long prompt":         `{"messages":[{"role":"user","content":"` + repeat("words ") + `"}]}`,
		"escaped prompt":      `{"messages":[{"role":"user","content":"` + repeat(`\u00e9`) + `"}]}`,
		"many messages":       `{"messages":[` + repeat(`{"role":"user","content":"x"},`) + `{"role":"user","content":"x"}]}`,
		"invalid messages":    `{"messages":[` + repeat(`0,`) + `0]}`,
		"many keys":           wrap(`{` + members(`"%06x":0,`) + `"z":0}`),
		"many top-level keys": `{` + members(`"%06x":0,`) + `"messages":[{"role":"user","content":"x"}]}`,
		"escaped keys":        wrap(`{` + members(`"\u0061%06x":0,`) + `"z":0}`),
		"long keys":           wrap(`{` + longKeys(size) + `}`),
		"long number":         wrap(repeat("1")),
		"open brackets":       wrap(repeat("[")),
		"not JSON":            repeat("x"),
	}
}

// longKeys returns 12 JSON fields whose names must be unescaped before they can be compared.
func longKeys(size int) string {
	var keys []string
	for i := range 12 {
		keys = append(keys, fmt.Sprintf(`"%s%d":0`, strings.Repeat(`\n`, size/24), i))
	}
	return strings.Join(keys, ",")
}

// single is an engine with one instance that it never replaces. peak is the instance's peak memory size in bytes.
type single struct {
	*Wasm
	i    *instance
	peak uint32
}

func newSingle(t *testing.T) *single {
	w := newWasm(t)
	i, err := w.take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return &single{Wasm: w, i: i}
}

func (s *single) run(export api.Function, data []byte) ([]byte, error) {
	out, err := s.i.call(context.Background(), export, data)
	s.peak = max(s.peak, s.i.module.Memory().Size())
	return out, err
}

func (s *single) Step(data []byte) ([]byte, error)  { return s.run(s.i.step, data) }
func (s *single) Reads(data []byte) ([]byte, error) { return s.run(s.i.reads, data) }
func (s *single) Apply(data []byte) ([]byte, error) { return s.run(s.i.appl, data) }

// TestLargeBodyMemory: a body of 1 MB grows the memory to at most 16 MiB. A body near the default size limit grows it
// to at most 64 MiB, which is half of an isolate's memory. Each is processed within 10 s.
func TestLargeBodyMemory(t *testing.T) {
	for size, ceiling := range map[int]uint32{1_000_000: 16 << 20, 3_900_000: 64 << 20} {
		for name, body := range largeBodies(size) {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				s := newSingle(t)
				x := newWorld(s)
				start := time.Now()
				status := x.exchange(completeRequest(keys.Production, body))
				t.Logf("status %d in %v, %d bytes of memory", status, time.Since(start), s.peak)
				if x.traps > 0 || status == 0 || s.peak > ceiling {
					t.Errorf("status %d, %d traps; %d bytes of memory, want at most %d", status, x.traps, s.peak, ceiling)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %v, want at most 10s", took)
				}
			})
		}
	}
}

// TestMemoryStaysConstant: small exchanges do not leak memory. POSTERN_EXCHANGES overrides their number.
func TestMemoryStaysConstant(t *testing.T) {
	total := 20_000
	if text := os.Getenv("POSTERN_EXCHANGES"); text != "" {
		total, _ = strconv.Atoi(text)
	}
	w := newWasm(t)
	x := newWorld(w)
	var baseline uint32
	for n := range total {
		r := completeRequest([]keys.Environment{keys.Production, keys.Development}[n%2], fmt.Sprintf(`{"messages":[{"role":"user","content":"%d"}]}`, n))
		if n%5 == 0 {
			r.body = r.body[:len(r.body)-1]
		}
		status := x.exchange(r)
		if want := map[bool]uint64{true: 400, false: 200}[n%5 == 0]; status != want {
			t.Fatalf("exchange %d: status %d, want %d; %d traps", n, status, want, x.traps)
		}
		if n%1000 == 999 {
			x.clock += 60_000
			x.stored = map[string][]byte{}
			for ring(t, x.objects) {
				x.objects.Wait()
			}
		}
		if n == 999 {
			baseline = w.MemorySize()
		}
	}
	if memory := w.MemorySize(); memory != baseline || baseline == 0 {
		t.Errorf("%d bytes of memory after 1,000 exchanges, %d after %d", baseline, memory, total)
	}
}

// TestTrapFailsOneCall: a trap fails only its own exchange. The next exchange succeeds.
func TestTrapFailsOneCall(t *testing.T) {
	w := newWasm(t)
	x := newWorld(w)
	for round := range 3 {
		if status := x.exchange(completeRequest(keys.Development, helloBody)); status != 200 {
			t.Fatalf("round %d: status %d before the trap, want 200", round, status)
		}
		if err := w.ArmPanic(); err != nil {
			t.Fatal(err)
		}
		if status := x.exchange(completeRequest(keys.Development, helloBody)); status != 0 || x.traps != round+1 {
			t.Errorf("round %d: status %d, %d traps; want 0 and %d", round, status, x.traps, round+1)
		}
	}
	if status := x.exchange(completeRequest(keys.Development, helloBody)); status != 200 || x.traps != 3 {
		t.Errorf("after the traps: status %d, %d traps; want 200 and 3", status, x.traps)
	}
}

// TestMalformedMessageTraps: a malformed message traps in every exported function, and the next call succeeds.
func TestMalformedMessageTraps(t *testing.T) {
	w, native := newWasm(t), newNative(t)
	x := newWorld(w)
	for _, export := range []string{"step", "reads", "apply"} {
		for _, data := range [][]byte{nil, {0xff}, bytes.Repeat([]byte{0x80}, 1000)} {
			m := message{export, data}
			if _, err := m.run(native); err == nil {
				t.Errorf("%s of %x: no error from the native core", export, data)
			}
			if _, err := m.run(w); err == nil {
				t.Errorf("%s of %x: no trap", export, data)
			}
			if status := x.exchange(completeRequest(keys.Development, helloBody)); status != 200 {
				t.Errorf("status %d after %s of %x, want 200", status, export, data)
			}
		}
	}
}

// TestMemoryCeiling: an instance that has grown beyond abi.MemoryCeilingBytes still returns its result but is not
// used again.
func TestMemoryCeiling(t *testing.T) {
	w := newWasm(t)
	x := newWorld(w)
	before := w.MemorySize()
	headers := completeRequest(keys.Development, "").headers
	large := abi.StepInput{NowMs: 1, Event: abi.Event{Kind: abi.EventRequest, Data: make([]byte, abi.MemoryCeilingBytes), Headers: headers}}
	var wire abi.Writer
	large.Encode(&wire)
	out, err := w.Step(wire.Buf)
	if _, malformed := abi.DecodeStepOutput(out); err != nil || malformed != nil {
		t.Fatalf("large message: %v, %v", err, malformed)
	}
	if memory := w.MemorySize(); memory != 0 {
		t.Errorf("an instance of %d bytes was not closed", memory)
	}
	if status := x.exchange(completeRequest(keys.Development, helloBody)); status != 200 {
		t.Errorf("next instance: status %d, want 200", status)
	}
	if memory := w.MemorySize(); memory == 0 || memory > before+1<<20 {
		t.Errorf("next instance: %d bytes of memory; the first had %d", memory, before)
	}
}

// TestParallelCalls: concurrent calls do not share an instance.
func TestParallelCalls(t *testing.T) {
	w, messages := newWasm(t), corpus(t)
	native := newNative(t)
	t.Run("", func(t *testing.T) {
		for n := range 4 {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for i := range messages {
					m := messages[(i*7+n*13)%len(messages)]
					want, _ := m.run(native)
					if got, err := m.run(w); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%s of %x: %x, %v", m.export, m.data, got, err)
					}
				}
			})
		}
	})
}
