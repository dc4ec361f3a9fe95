// Package doctor checks a self-hosted server: its configuration, data, clock, network and limits.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
)

// Status is the result of a check.
type Status string

// The results. A warning asks for attention but does not stop the server from working.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one check. Detail never contains a secret.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"` // empty if there is nothing to do
}

// Options of Run.
type Options struct {
	// Online also calls the providers: their endpoints, keys and clocks.
	Online bool
	// Inspect checks the database of a stopped server and changes nothing. If there is no database yet, its error
	// matches fs.ErrNotExist. If a server is running, InUse recognizes its error. If Config.Database is not set,
	// Inspect is called instead of Open.
	Inspect func(ctx context.Context, c *server.Config) error
	// Open opens the configured store. If it is nil, the store is not checked.
	Open func(ctx context.Context, c *server.Config) (store.Store, error)
	// InUse reports whether an error of Open or Inspect means that a running server is using the store.
	InUse func(error) bool
	// Integrity checks the store's data; optional.
	Integrity func(ctx context.Context, c *server.Config) error
	// HTTP replaces the client for calls to providers and the running server in tests; optional.
	HTTP *http.Client
	// Now replaces time.Now in tests; optional.
	Now func() time.Time
}

const callTimeout = 10 * time.Second

type doctor struct {
	Options
	config *server.Config
	checks []Check
}

// Run checks a server with a valid configuration. It changes nothing in the data directory. With Config.Database, it
// checks that the store can commit a change.
func Run(ctx context.Context, c *server.Config, o Options) []Check {
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	client := *o.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a key must not be sent to a host other than its provider's
	o.HTTP = &client
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &doctor{Options: o, config: c}
	d.dataDirectory()
	running := d.store(ctx)
	d.tls()
	d.port("listen", c.Listen, running)
	d.port("opsListen", c.OpsListen, running)
	d.disk()
	d.files()
	d.providers(ctx)
	return d.checks
}

// Failed reports whether any check has failed.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.Status == Fail {
			return true
		}
	}
	return false
}

func (d *doctor) add(status Status, name, remedy, format string, args ...any) {
	d.checks = append(d.checks, Check{name, status, fmt.Sprintf(format, args...), remedy})
}

func (d *doctor) ok(name, format string, args ...any) { d.add(OK, name, "", format, args...) }

// maxSkew is the largest difference between clocks that causes no warning. Some providers allow five minutes for
// signatures. Clocks also decide when the days of limits and budgets begin, at midnight.
const maxSkew = 5 * time.Second

// clock compares this machine's clock with another.
func (d *doctor) clock(name, other string, theirs, ours time.Time, tolerance time.Duration) {
	skew := ours.Sub(theirs).Round(time.Millisecond)
	if skew.Abs() <= maxSkew+tolerance {
		d.ok(name, "within %s of %s", maxSkew+tolerance, other)
		return
	}
	d.add(Warn, name, "synchronize the clock, for example with systemd-timesyncd or chrony", "this machine's clock differs from %s by %s", other, skew)
}

// store opens the store, commits a change, and checks the data. running reports whether a running server is using the
// store.
func (d *doctor) store(ctx context.Context) (running bool) {
	ctx, cancel := context.WithTimeout(ctx, 3*callTimeout)
	defer cancel()
	switch {
	case d.config.Database == "" && d.Inspect != nil:
		return d.inspect(ctx)
	case d.Open == nil:
		return false
	}
	opened, err := d.Open(ctx, d.config)
	switch {
	case err != nil && d.InUse != nil && d.InUse(err):
		d.running(ctx)
		return true
	case err != nil:
		d.add(Fail, "store", "see the message; docs/operate/selfhosting.md explains the store", "cannot be opened: %s", err)
		return false
	}
	defer opened.Close()
	if err := opened.Check(ctx); err != nil {
		d.add(Fail, "store", "check free space and permissions", "cannot commit: %s", err)
		return false
	}
	d.ok("store", "opens and commits")
	if nowMs, _, err := opened.NextAlarm(ctx); err == nil && d.config.Database != "" {
		d.clock("database clock", "the database's", time.UnixMilli(int64(nowMs)), d.Now(), 0)
	}
	if d.Integrity == nil {
		return false
	}
	if err := d.Integrity(ctx, d.config); err != nil {
		d.add(Fail, "integrity", "restore a backup with postern restore", "%s", err)
	} else {
		d.ok("integrity", "the database is consistent")
	}
	return false
}

// inspect checks the database of a stopped server.
func (d *doctor) inspect(ctx context.Context) (running bool) {
	err := d.Inspect(ctx, d.config)
	switch {
	case err == nil:
		d.ok("integrity", "the database is consistent")
	case errors.Is(err, fs.ErrNotExist):
		d.ok("store", "no database yet; the first start makes it")
	case d.InUse != nil && d.InUse(err):
		d.running(ctx)
		return true
	default:
		d.add(Fail, "integrity", "check the permissions, or restore a backup with postern restore", "%s", err)
	}
	return false
}

// running queries the server that is using the store.
func (d *doctor) running(ctx context.Context) {
	if d.config.OpsListen == "off" {
		d.add(Warn, "store", "stop the server to check its store", "in use by a running server without an operations address")
		return
	}
	if err := Probe(ctx, d.HTTP, d.config.OpsListen, "/readyz"); err != nil {
		d.add(Fail, "store", "see the server's log", "in use by a running server that is not ready: %s", err)
		return
	}
	d.ok("store", "in use by a running server, which is ready")
}
