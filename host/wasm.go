package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/postern-ai/postern/core/abi"
)

// Wasm is an Engine that runs the core as a module under wazero. It pools configured instances, because an instance
// runs one call at a time.
type Wasm struct {
	runtime    wazero.Runtime
	module     wazero.CompiledModule
	config     []byte
	configured abi.Configured
	mu         sync.Mutex
	idle       []*instance
}

// compiled is shared by all engines in the process, so a module is compiled only once.
var compiled = wazero.NewCompilationCache()

type instance struct {
	module                     api.Module
	reserve, step, reads, appl api.Function
}

// NewWasm compiles a core module and configures its first instance.
func NewWasm(ctx context.Context, binary []byte, config abi.Config) (*Wasm, error) {
	w := &Wasm{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled))}
	module, err := w.runtime.CompileModule(ctx, binary)
	if err != nil {
		return nil, err
	}
	w.module = module
	var message abi.Writer
	config.Encode(&message)
	w.config = message.Buf
	first, out, err := w.instantiate(ctx)
	if err != nil {
		return nil, err
	}
	if w.configured, err = abi.DecodeConfigured(out); err != nil {
		return nil, err
	}
	w.idle = append(w.idle, first)
	return w, nil
}

// Close closes all instances and frees the module.
func (w *Wasm) Close(ctx context.Context) error { return w.runtime.Close(ctx) }

// Configured returns the core's reply to its configuration.
func (w *Wasm) Configured() abi.Configured { return w.configured }

// Step calls the core's exported function step on an idle instance.
func (w *Wasm) Step(message []byte) ([]byte, error) {
	return w.call(message, func(i *instance) api.Function { return i.step })
}

// Reads calls the core's exported function reads on an idle instance.
func (w *Wasm) Reads(message []byte) ([]byte, error) {
	return w.call(message, func(i *instance) api.Function { return i.reads })
}

// Apply calls the core's exported function apply on an idle instance.
func (w *Wasm) Apply(message []byte) ([]byte, error) {
	return w.call(message, func(i *instance) api.Function { return i.appl })
}

func (w *Wasm) instantiate(ctx context.Context) (*instance, []byte, error) {
	module, err := w.runtime.InstantiateModule(ctx, w.module, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return nil, nil, err
	}
	version, err := module.ExportedFunction("abi_version").Call(ctx)
	if err != nil {
		return nil, nil, err
	}
	if version[0] != abi.Version {
		return nil, nil, fmt.Errorf("host: core has ABI version %d, want %d", version[0], abi.Version)
	}
	i := &instance{
		module: module, reserve: module.ExportedFunction("reserve"), step: module.ExportedFunction(abi.CallStep),
		reads: module.ExportedFunction(abi.CallReads), appl: module.ExportedFunction(abi.CallApply),
	}
	out, err := i.call(ctx, module.ExportedFunction(abi.CallConfigure), w.config)
	return i, out, err
}

func (w *Wasm) call(message []byte, export func(*instance) api.Function) ([]byte, error) {
	ctx := context.Background()
	i, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	out, err := i.call(ctx, export(i), message)
	if err != nil || i.module.Memory().Size() > abi.MemoryCeilingBytes {
		_ = i.module.Close(ctx)
		return out, err
	}
	w.mu.Lock()
	w.idle = append(w.idle, i)
	w.mu.Unlock()
	return out, nil
}

func (w *Wasm) take(ctx context.Context) (*instance, error) {
	w.mu.Lock()
	if last := len(w.idle) - 1; last >= 0 {
		i := w.idle[last]
		w.idle = w.idle[:last]
		w.mu.Unlock()
		return i, nil
	}
	w.mu.Unlock()
	i, _, err := w.instantiate(ctx)
	return i, err
}

var errMemory = errors.New("host: the core returned an address outside its memory")

// call writes a message, calls an export and copies its output.
func (i *instance) call(ctx context.Context, export api.Function, message []byte) ([]byte, error) {
	at, err := i.reserve.Call(ctx, uint64(len(message)))
	if err != nil {
		return nil, err
	}
	memory := i.module.Memory()
	if !memory.Write(uint32(at[0]), message) {
		return nil, errMemory
	}
	result, err := export.Call(ctx, uint64(len(message)))
	if err != nil {
		return nil, err
	}
	head, ok := memory.Read(uint32(result[0]), abi.LengthBytes)
	if !ok {
		return nil, errMemory
	}
	out, ok := memory.Read(uint32(result[0])+abi.LengthBytes, binary.LittleEndian.Uint32(head))
	if !ok {
		return nil, errMemory
	}
	return append([]byte(nil), out...), nil
}

// MemorySize returns the memory size of the largest idle instance in bytes.
func (w *Wasm) MemorySize() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var size uint32
	for _, i := range w.idle {
		size = max(size, i.module.Memory().Size())
	}
	return size
}

// ArmPanic makes the next step trap, for tests. The armed instance is then the only idle one. It requires the build
// with the panic switch (build.sh panic).
func (w *Wasm) ArmPanic() error {
	ctx := context.Background()
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; len(w.idle) > 1; w.idle = w.idle[1:] {
		_ = w.idle[0].module.Close(ctx)
	}
	if len(w.idle) == 0 {
		return errors.New("host: no instance is idle")
	}
	arm := w.idle[0].module.ExportedFunction("panic_next")
	if arm == nil {
		return errors.New("host: this build of the core has no panic switch")
	}
	_, err := arm.Call(ctx)
	return err
}
