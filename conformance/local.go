package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
)

// Local is a server in this process that has the test commands of the Worker's test bundle. Tests control the clock,
// the staleness of KV, and faults.
type Local struct {
	// URL is the gateway's address, and ControlURL is the address of the test commands (/__test/…).
	URL, ControlURL string
	// MakeEngine configures the core to run.
	MakeEngine func(abi.Config) (host.Engine, error)
	// MakeStore returns an empty store.
	MakeStore func(store.Clock) (store.Store, error)
	Log       *LogBuffer
	// Skew is the difference between the server's clock and the store's.
	Skew      time.Duration
	PublicURL string // the address that callers use, if it differs from the server's own

	mu       sync.Mutex
	env      map[string]string // the deployment's
	now      atomic.Uint64
	wall     atomic.Bool    // use the machine's clock
	naps     atomic.Bool    // the keepers' sleep is not shortened
	proxies  []netip.Prefix // trusted to report the client's address
	listener *relay
	commands *httptest.Server
	stop     context.CancelFunc // ends the current server
	engine   host.Engine
	objects  *host.StoredObjects
	store    *faultyStore
	faults   faults         // guarded by faultMu, because hosts read it while commands change it
	lost     map[*byte]bool // commands whose first reply is lost; guarded by faultMu
	faultMu  sync.Mutex
	stats    *host.Stats
	timers   atomic.Int64 // started by exchanges since the reset
	rings    atomic.Int64 // alarms that rang since the counters were reset
	host     *host.Host
}

// faults is the body of POST /__test/fault. Parts that are missing or "ok" work normally.
type faults struct {
	KV         string            `json:"kv"`
	Objects    map[string]string `json:"objects"`
	Deliveries string            `json:"deliveries"`
	Store      string            `json:"store"` // see faultyStore.Run
}

var classNames = [...]string{"KV", "KeyMeter", "Ledger", "Directory"}

// localProxies are the loopback addresses, from which the tests connect.
var localProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// Now returns the time of the virtual clock or the machine's clock in Unix milliseconds.
func (l *Local) Now() uint64 {
	if l.wall.Load() {
		return uint64(time.Now().UnixMilli())
	}
	return l.now.Load()
}

// skewed is the clock of a Local's server.
type skewed struct{ *Local }

func (s skewed) Now() uint64 { return s.Local.Now() + uint64(s.Skew.Milliseconds()) }

// NewLocal starts a Local with the deployment's variables.
func NewLocal(env map[string]string, makeEngine func(abi.Config) (host.Engine, error)) (*Local, error) {
	return NewLocalOn(env, makeEngine, func(clock store.Clock) (store.Store, error) { return memory.New(clock), nil })
}

// NewLocalOn is like NewLocal, with a store of the caller's choice.
func NewLocalOn(env map[string]string, makeEngine func(abi.Config) (host.Engine, error), makeStore func(store.Clock) (store.Store, error)) (*Local, error) {
	listener, err := newRelay()
	if err != nil {
		return nil, err
	}
	l := &Local{
		URL: "http://" + listener.Addr().String(), MakeEngine: makeEngine, MakeStore: makeStore, env: env, Log: &LogBuffer{},
		proxies: localProxies, listener: listener,
	}
	l.now.Store(uint64(time.Now().UnixMilli()))
	if err := l.reset(nil); err != nil {
		return nil, err
	}
	l.commands = httptest.NewServer(http.HandlerFunc(l.serveCommand))
	l.ControlURL = l.commands.URL
	return l, nil
}

// Close ends the server and closes its store.
func (l *Local) Close() {
	l.commands.Close()
	_ = l.listener.Close()
	l.stop()
	l.host.Wait()
	l.objects.Wait()
	_ = l.store.Store.Close()
}

// reset starts a new server on an empty store.
func (l *Local) reset(more map[string]string) error {
	l.setFaults(faults{})
	l.timers.Store(0)
	l.Log.Take()
	if l.store != nil {
		_ = l.store.Store.Close()
	}
	inner, err := l.MakeStore(l)
	if err != nil {
		return err
	}
	l.store = &faultyStore{Store: inner, local: l}
	http.DefaultClient.CloseIdleConnections() // they lead to the old server, whose store has been closed
	return l.deploy(more)
}

// deploy starts a new server on the existing store. more overrides the deployment's variables.
func (l *Local) deploy(more map[string]string) error {
	env := maps.Clone(l.env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, more)
	old := l.engine
	s, err := server.New(context.Background(), server.Config{
		Env: env, OpsListen: "off", PublicURL: l.PublicURL, TrustedProxies: l.proxies, Log: slog.New(slog.DiscardHandler),
		Test: server.Test{
			Clock: skewed{l}, Store: l.store, Send: l.send, MakeEngine: l.makeEngine, Listener: l.listener.branch(), Log: l.Log, NoTimers: true,
			Objects: func(objects host.Objects) host.Objects { return objectsOf{l, objects} },
		},
	})
	if err != nil {
		return err
	}
	if l.stop != nil {
		l.stop()
	}
	if w, ok := old.(*host.Wasm); ok {
		_ = w.Close(context.Background())
	}
	l.host, l.objects, l.stats = s.Host(), s.Objects(), s.Host().Stats
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { _ = s.Run(ctx) }()
	return nil
}

func (l *Local) makeEngine(cfg abi.Config) (engine host.Engine, err error) {
	engine, err = l.MakeEngine(cfg)
	l.engine = engine
	timed := timedEngine{engine, l}
	if native, ok := engine.(host.Decoded); ok {
		return timedNative{timed, native}, err
	}
	return timed, err
}

// serveCommand runs a test command.
func (l *Local) serveCommand(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&raw)
	if err := l.command(w, r, strings.TrimPrefix(r.URL.Path, "/__test/"), raw); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// input is the body of any test command.
type input struct {
	faults
	Env      map[string]string `json:"env"`
	NowMs    uint64            `json:"nowMs"`
	InFlight bool              `json:"inFlight"` // clock: do not wait for exchanges in flight
	Keep     bool              `json:"keep"`     // reset: keep the stored data
}

func (l *Local) command(w http.ResponseWriter, r *http.Request, command string, raw []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var in input
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return err
		}
	}
	switch command {
	case "reset":
		l.host.Wait()
		l.objects.Wait()
		l.now.Store(in.NowMs)
		if in.Keep {
			return l.deploy(in.Env)
		}
		return l.reset(in.Env)
	case "clock":
		if !in.InFlight {
			l.host.Wait()
		}
		return l.moveClock(r.Context(), in.NowMs)
	case "fault":
		if in.KV != "frozen" {
			l.store.thaw()
		}
		l.setFaults(in.faults)
	case "settle":
		l.host.Wait()
		l.objects.Wait()
	case "evict":
		l.host.Evict()
	case "corrupt":
		l.store.corrupt()
		l.host.Evict()
	case "trap":
		w, ok := l.engine.(*host.Wasm)
		if !ok {
			return errors.New("only a wasm host can trap")
		}
		return w.ArmPanic()
	case "stats":
		if r.Method == http.MethodPost {
			l.stats = &host.Stats{}
			l.host.Stats, l.objects.Stats = l.stats, l.stats
			l.rings.Store(0)
		}
		return json.NewEncoder(w).Encode(l.statistics())
	case "log":
		_, _ = w.Write(l.Log.Take())
	default:
		return fmt.Errorf("unknown test command %q", command)
	}
	return nil
}

// moveClock moves the clock and fires the alarms that become due, each at its own time.
func (l *Local) moveClock(ctx context.Context, to uint64) error {
	l.objects.Wait()
	for {
		_, at, err := l.store.NextAlarm(ctx)
		if err != nil {
			return err
		}
		if at == 0 || at > to {
			break
		}
		l.now.Store(max(l.now.Load(), at))
		if rang, _ := l.objects.Ring(ctx); rang { // a failed delivery is retried by the next alarm
			l.rings.Add(1)
		}
		l.objects.Wait()
	}
	l.now.Store(to)
	return nil
}

func (l *Local) statistics() map[string]any {
	s := l.stats
	calls := map[string]int64{}
	for class := 1; class < len(classNames); class++ {
		calls[classNames[class]] = s.ObjectCalls[class].Load()
	}
	return map[string]any{
		"objectCalls": calls, "kvReads": s.KVReads.Load(), "kvWrites": s.KVWrites.Load(), "rowsRead": s.RowsRead.Load(),
		"rowsWritten": s.RowsWritten.Load(), "alarmsSet": s.AlarmsSet.Load(), "alarmsRung": l.rings.Load(), "fetches": s.Fetches.Load(), "steps": s.Steps.Load(),
		"timers": l.timers.Load(), "followers": l.host.Followers(),
	}
}

// slowCall is the duration of a call to an object with the fault "slow".
const slowCall = 10 * time.Millisecond

var errInjected = errors.New("injected fault")

// objectsOf injects faults into calls to the objects.
type objectsOf struct {
	local *Local
	host.Objects
}

func (o objectsOf) Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error) {
	switch o.local.objectFault(classNames[class], command) {
	case "down":
		return nil, errors.Join(host.ErrUnavailable, errInjected)
	case "overloaded":
		return nil, host.ErrOverloaded
	case "slow": // so that other calls run between the steps of a request
		time.Sleep(slowCall)
	case "lost":
		_, _ = o.Objects.Call(ctx, class, name, region, command)
		return nil, errors.Join(host.ErrUnavailable, errInjected)
	}
	return o.Objects.Call(ctx, class, name, region, command)
}

func (l *Local) setFaults(f faults) {
	l.faultMu.Lock()
	defer l.faultMu.Unlock()
	l.faults, l.lost = f, map[*byte]bool{}
}

// objectFault returns the fault to inject into a call. "lost" drops the first reply to every command. A retry is
// recognized by its byte slice, which is the same as in the first call.
func (l *Local) objectFault(class string, command []byte) string {
	l.faultMu.Lock()
	defer l.faultMu.Unlock()
	kind := l.faults.Objects[class]
	if kind == "lost" {
		if l.lost[&command[0]] {
			return "ok"
		}
		l.lost[&command[0]] = true
	}
	return kind
}

func (l *Local) kvFault() string {
	l.faultMu.Lock()
	defer l.faultMu.Unlock()
	return l.faults.KV
}

func (l *Local) storeFault() string {
	l.faultMu.Lock()
	defer l.faultMu.Unlock()
	return l.faults.Store
}

func (l *Local) deliveriesFail() bool {
	l.faultMu.Lock()
	defer l.faultMu.Unlock()
	return l.faults.Deliveries == "down"
}

func (l *Local) send(ctx context.Context, d abi.Delivery) error {
	if l.deliveriesFail() {
		return errInjected
	}
	_, err := objectsOf{l, l.objects}.Call(ctx, d.Class, d.Name, d.Region, d.Data)
	return err
}

// LogBuffer collects the host's log.
type LogBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

// Take returns the collected log and clears it.
func (b *LogBuffer) Take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := bytes.Clone(b.data.Bytes())
	b.data.Reset()
	return out
}

// WasmEngine returns a constructor for NewLocal that loads a core module from a file.
func WasmEngine(path string) func(abi.Config) (host.Engine, error) {
	return func(cfg abi.Config) (host.Engine, error) {
		binary, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return host.NewWasm(context.Background(), binary, cfg)
	}
}
