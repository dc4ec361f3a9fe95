package server

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
)

// Config configures a server. Package settings reads it from flags, variables and a file.
type Config struct {
	// Env contains the deployment's variables, with the same names and meanings as on the Workers. They are the
	// variables of core/config (POSTERN_CATALOG, POSTERN_MASTER_KEYS, OPENAI_API_KEY, …) and of the control plane.
	Env map[string]string
	// Data is the directory of the SQLite database and of the secrets that the first start generates.
	Data string
	// Database is the URL of a PostgreSQL database. If it is empty, the server uses SQLite in Data.
	Database string
	// Durability says when a change counts as durable in SQLite. With "full" (default), it survives a power failure.
	// With "process", it survives only a crash of the process.
	Durability string
	// Engine runs the core: "native" (default) or "wasm".
	Engine string
	// Listen is the address of the gateway, by default 127.0.0.1:8787. OpsListen is the address of /livez, /readyz
	// and /metrics, by default 127.0.0.1:9464; "off" disables it. Both may be Unix sockets: unix:/path.
	Listen, OpsListen string
	// PublicURL is the address that users see, for printed links. If it is empty, it is derived from Listen.
	PublicURL string
	// TLSCert and TLSKey are PEM files. If they are empty, the server uses HTTP/1.1 and HTTP/2 without TLS.
	TLSCert, TLSKey string
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Drain is how long streams may take to finish at shutdown, by default 30 s.
	Drain time.Duration
	// MaxConnections is the maximum number of open connections, by default 20,000.
	MaxConnections int
	// Exports is a directory for daily usage files. If it is empty, none are written.
	Exports string
	// DrainDelay is how long the server still accepts connections after a shutdown has begun and Ready fails. This
	// gives load balancers time to notice that Ready fails. DrainDelayIfProbed means 5 s if OpsListen has received a
	// readiness probe, and otherwise 0.
	DrainDelay time.Duration
	// Log receives the server's own messages and the gateway's log lines. The default is slog.Default().
	Log *slog.Logger
	// Out receives the text for the person who starts the server: the addresses and, on the first start, the keys of
	// a demo project. If it is nil, there is no text and no demo project.
	Out io.Writer
	// Ops returns the handler of OpsListen. New calls Ops once; ready is Server.Ready. Optional; the default handler
	// serves only /livez and /readyz.
	Ops func(ready func(context.Context) error) http.Handler
	// Observer is notified of requests; optional. See package telemetry.
	Observer host.Observer
	// Test replaces parts of the server in tests.
	Test Test
}

// Test replaces parts of a server. Its zero value replaces nothing.
type Test struct {
	Clock store.Clock
	// Sleep replaces control.Config.Sleep, which waits on the machine's clock.
	Sleep func(context.Context, time.Duration) error
	// Store is an open store.
	Store store.Store
	// Persistence is how long settlements are retried with Store; see host.Options. The default is 0, because injected
	// faults do not end on their own.
	Persistence time.Duration
	// Objects wraps the objects that exchanges and the control plane call. Tests inject faults with it.
	Objects func(host.Objects) host.Objects
	// Send replaces host.StoredObjects.Send.
	Send func(context.Context, abi.Delivery) error
	// MakeEngine replaces the engine.
	MakeEngine func(abi.Config) (host.Engine, error)
	// Listener replaces the listener on Config.Listen.
	Listener net.Listener
	// Log receives the gateway's log lines as the core writes them: one JSON object per line.
	Log io.Writer
	// NoTimers means that the test triggers alarms and other periodic work itself.
	NoTimers bool
}

// Defaults of Config.
const (
	defaultData           = "postern-data"
	defaultListen         = "127.0.0.1:8787"
	defaultOpsListen      = "127.0.0.1:9464"
	defaultDrain          = 30 * time.Second
	defaultMaxConnections = 20_000
)

// DrainDelayIfProbed is a value of Config.DrainDelay.
const DrainDelayIfProbed time.Duration = -1

// probedDrainDelay is the drain delay of a server whose readiness is probed. Probes usually come every few seconds.
const probedDrainDelay = 5 * time.Second

func (c *Config) setDefaults() {
	c.Listen = cmp.Or(c.Listen, defaultListen)
	c.OpsListen = cmp.Or(c.OpsListen, defaultOpsListen)
	c.Drain = cmp.Or(c.Drain, defaultDrain)
	c.MaxConnections = cmp.Or(c.MaxConnections, defaultMaxConnections)
	c.Engine = cmp.Or(c.Engine, "native")
	c.Durability = cmp.Or(c.Durability, "full")
	if c.Database == "" && c.Test.Store == nil {
		c.Data = cmp.Or(c.Data, defaultData)
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}
