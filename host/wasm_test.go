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

// corpus is every message of some exchanges and commands, as the native core was sent them.
func corpus(t *testing.T) []message {
	r := &recorder{Engine: newNative(t)}
	w := newWorld(r)
	for _, body := range requestSeeds {
		w.exchange(complete(keys.Production, body, abi.Header{Name: "idempotency-key", Value: "1"}))
		w.exchange(complete(keys.Development, body))
		w.exchange(complete(keys.Production, body))
	}
	for _, body := range responseSeeds {
		w.upstream = func(abi.Action) abi.Event {
			return abi.Event{Kind: abi.EventResponse, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "application/json"}}, Data: []byte(body)}
		}
		w.exchange(complete(keys.Production, say, abi.Header{Name: "cache-control", Value: "no-cache"}))
	}
	for _, path := range []string{"/api/usage", "/api/health", "/api/admin/projects", "/nothing"} {
		w.exchange(caller{"GET", path, "projectId=prj_1", []abi.Header{{Name: "x-api-key", Value: testKey(keys.Production)}}, nil})
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

// inspector is instance.call with a look at all memory around what the call may touch.
type inspector struct {
	t        *testing.T
	i        *instance
	mark     uint32 // where reserve starts: below it stands what configure keeps
	sentinel []byte // what stood there
	from     uint32 // of sentinel
}

// newInspector is for a configured instance of a module of which bare is one before configure: what lies
// between their marks is the configuration.
func newInspector(t *testing.T, i, bare *instance) *inspector {
	x := &inspector{t: t, i: i, mark: reserve(t, i, 0), from: reserve(t, bare, 0)}
	x.sentinel = bytes.Clone(x.memory(x.from, x.mark))
	if len(x.sentinel) < 5000 {
		t.Fatalf("the configuration takes %d bytes", len(x.sentinel))
	}
	return x
}

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

// call runs a message. The reserved memory must start where it always does and be the only that is not
// zero; the call must leave its input and the configuration alone.
func (x *inspector) call(m message) []byte {
	at := reserve(x.t, x.i, len(m.data))
	if at != x.mark && len(m.data) > 0 {
		x.t.Fatalf("memory was reserved at %d, not at %d: the arena was not reset", at, x.mark)
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

// TestArenaLeavesNothingDangling runs a corpus twice on one instance: whatever a library had kept from a
// call, the reset would have pulled from under it.
func TestArenaLeavesNothingDangling(t *testing.T) {
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
				t.Fatalf("%s of %x: another answer the second time", m.export, m.data)
			}
		}
	}
	t.Logf("%d messages twice, %d bytes of configuration, %d of memory", len(messages), len(x.sentinel), i.module.Memory().Size())
}

// bodiesOf are bodies of about a size in the shapes that take the most memory.
func bodiesOf(size int) map[string]string {
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
		"one prompt":       `{"messages":[{"role":"user","content":"` + repeat("words ") + `"}]}`,
		"escaped prompt":   `{"messages":[{"role":"user","content":"` + repeat(`\u00e9`) + `"}]}`,
		"many messages":    `{"messages":[` + repeat(`{"role":"user","content":"x"},`) + `{"role":"user","content":"x"}]}`,
		"wrong messages":   `{"messages":[` + repeat(`0,`) + `0]}`,
		"many keys":        wrap(`{` + members(`"%06x":0,`) + `"z":0}`),
		"many keys on top": `{` + members(`"%06x":0,`) + `"messages":[{"role":"user","content":"x"}]}`,
		"escaped keys":     wrap(`{` + members(`"\u0061%06x":0,`) + `"z":0}`),
		"long keys":        wrap(`{` + longKeys(size) + `}`),
		"digits":           wrap(repeat("1")),
		"open brackets":    wrap(repeat("[")),
		"not JSON":         repeat("x"),
	}
}

// longKeys is a dozen keys that have to be unescaped to be compared.
func longKeys(size int) string {
	var keys []string
	for i := range 12 {
		keys = append(keys, fmt.Sprintf(`"%s%d":0`, strings.Repeat(`\n`, size/24), i))
	}
	return strings.Join(keys, ",")
}

// single is one instance that is never replaced, with the most memory that it had.
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

// TestMemoryOfLargeBodies: no body of 1 MB makes the module's memory grow beyond 16 MB, and none of the
// largest that is read beyond 64 MB, half of what an isolate has. Nor does either keep it busy for long.
func TestMemoryOfLargeBodies(t *testing.T) {
	for size, ceiling := range map[int]uint32{1_000_000: 16 << 20, 3_900_000: 64 << 20} {
		for name, body := range bodiesOf(size) {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				s := newSingle(t)
				x := newWorld(s)
				start := time.Now()
				status := x.exchange(complete(keys.Production, body))
				t.Logf("answered %d in %v with %d bytes of memory", status, time.Since(start), s.peak)
				if x.traps > 0 || status == 0 || s.peak > ceiling {
					t.Errorf("answered %d, %d traps; %d bytes of memory, at most %d are allowed", status, x.traps, s.peak, ceiling)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

// TestMemoryStaysWhereItIs: small exchanges leave nothing behind. POSTERN_EXCHANGES says how many.
func TestMemoryStaysWhereItIs(t *testing.T) {
	total := 20_000
	if text := os.Getenv("POSTERN_EXCHANGES"); text != "" {
		total, _ = strconv.Atoi(text)
	}
	w := newWasm(t)
	x := newWorld(w)
	var after uint32
	for n := range total {
		c := complete([]keys.Environment{keys.Production, keys.Development}[n%2], fmt.Sprintf(`{"messages":[{"role":"user","content":"%d"}]}`, n))
		if n%5 == 0 {
			c.body = c.body[:len(c.body)-1]
		}
		status := x.exchange(c)
		if want := map[bool]uint64{true: 400, false: 200}[n%5 == 0]; status != want {
			t.Fatalf("exchange %d: answered %d, %d traps", n, status, x.traps)
		}
		if n%1000 == 999 {
			x.clock += 60_000
			x.stored = map[string][]byte{}
			for x.objects.RingNext() {
				x.objects.Wait()
			}
		}
		if n == 999 {
			after = w.MemorySize()
		}
	}
	if memory := w.MemorySize(); memory != after || after == 0 {
		t.Errorf("%d bytes of memory after 1,000 exchanges, %d after %d", after, memory, total)
	}
}

// TestTrapHarmsOneCall: of two exchanges under way, one loses its step; everything after works.
func TestTrapHarmsOneCall(t *testing.T) {
	w := newWasm(t)
	x := newWorld(w)
	for round := range 3 {
		if status := x.exchange(complete(keys.Development, say)); status != 200 {
			t.Fatalf("round %d: answered %d before the trap", round, status)
		}
		if err := w.ArmPanic(); err != nil {
			t.Fatal(err)
		}
		if status := x.exchange(complete(keys.Development, say)); status != 0 || x.traps != round+1 {
			t.Errorf("round %d: answered %d, %d traps", round, status, x.traps)
		}
	}
	if status := x.exchange(complete(keys.Development, say)); status != 200 || x.traps != 3 {
		t.Errorf("answered %d after the traps, of which there were %d", status, x.traps)
	}
}

// TestGarbageTrapsAlone: a message that no host sends traps, in every export, and the next call works.
func TestGarbageTrapsAlone(t *testing.T) {
	w, native := newWasm(t), newNative(t)
	x := newWorld(w)
	for _, export := range []string{"step", "reads", "apply"} {
		for _, data := range [][]byte{nil, {0xff}, bytes.Repeat([]byte{0x80}, 1000)} {
			m := message{export, data}
			if _, err := m.run(native); err == nil {
				t.Errorf("%s of %x was accepted natively", export, data)
			}
			if _, err := m.run(w); err == nil {
				t.Errorf("%s of %x was accepted", export, data)
			}
			if status := x.exchange(complete(keys.Development, say)); status != 200 {
				t.Errorf("answered %d after %s of %x", status, export, data)
			}
		}
	}
}

// TestMemoryOverTheCeiling: an instance that has grown is not used again, and its last answer still counts.
func TestMemoryOverTheCeiling(t *testing.T) {
	w := newWasm(t)
	x := newWorld(w)
	before := w.MemorySize()
	headers := complete(keys.Development, "").headers
	large := abi.StepInput{NowMs: 1, Event: abi.Event{Kind: abi.EventRequest, Data: make([]byte, MemoryCeiling), Headers: headers}}
	var wire abi.Writer
	large.Encode(&wire)
	out, err := w.Step(wire.Buf)
	if _, malformed := abi.DecodeStepOutput(out); err != nil || malformed != nil {
		t.Fatalf("the large message: %v, %v", err, malformed)
	}
	if memory := w.MemorySize(); memory != 0 {
		t.Errorf("an instance of %d bytes is kept", memory)
	}
	if status := x.exchange(complete(keys.Development, say)); status != 200 {
		t.Errorf("answered %d by the next instance", status)
	}
	if memory := w.MemorySize(); memory == 0 || memory > before+1<<20 {
		t.Errorf("the next instance has %d bytes, the first had %d", memory, before)
	}
}

// TestParallelCalls: instances are not shared between calls that run at the same time.
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
