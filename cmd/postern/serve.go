package main

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/server/settings"
	"github.com/postern-ai/postern/telemetry"
	"github.com/postern-ai/postern/telemetry/logging"
)

var serveFlags = []struct{ name, variable, help string }{
	{"data", settings.EnvData, "directory with the database and the secrets"},
	{"durability", "POSTERN_DURABILITY", "what acknowledged changes survive: full (a power failure) or process (only a crash of the process)"},
	{"engine", "POSTERN_ENGINE", "how the core runs: native or wasm"},
	{"listen", "POSTERN_LISTEN", "address of the gateway, the admin API and the dashboard"},
	{"ops-listen", "POSTERN_OPS_LISTEN", "address of /livez, /readyz and /metrics, or off"},
	{"public-url", "POSTERN_PUBLIC_URL", "address that users see"},
	{"tls-cert", "POSTERN_TLS_CERT", "PEM file with the certificate and its chain"},
	{"tls-key", "POSTERN_TLS_KEY", "PEM file with the private key"},
	{"trusted-proxies", "POSTERN_TRUSTED_PROXIES", "networks of proxies whose X-Forwarded-For is trusted"},
	{"shutdown-timeout", "POSTERN_SHUTDOWN_TIMEOUT", "time that requests in progress get to finish at shutdown"},
	{"drain-delay", "POSTERN_DRAIN_DELAY", "how long connections are still accepted after SIGTERM, by default 5s if something has called /readyz, otherwise 0s"},
	{"max-connections", "POSTERN_MAX_CONNECTIONS", "maximum number of open connections"},
	{"log", "POSTERN_LOG", "requests whose lines are in the log: all, errors or off"},
	{"log-level", "POSTERN_LOG_LEVEL", "debug, info, warn or error"},
	{"log-format", "POSTERN_LOG_FORMAT", "json or text"},
}

// configures adds the flags that configure a server. It returns a function that reads the configuration.
func (p *program) configures(c *cobra.Command) (load func() settings.Source) {
	flags := c.Flags()
	file := flags.String("config", "", "YAML file with the configuration (default POSTERN_CONFIG, or none)")
	defaults := map[string]string{}
	for _, v := range settings.Variables() {
		defaults[v.Name] = v.Default
	}
	for _, f := range serveFlags {
		text := f.help
		if byDefault := defaults[f.variable]; byDefault != "" {
			text += " (default " + byDefault + ")"
		}
		flags.String(f.name, "", text+"; "+f.variable)
	}
	return func() settings.Source {
		s := settings.Source{Flags: map[string]string{}, Environ: p.environ, File: *file}
		for _, f := range serveFlags {
			if given := flags.Lookup(f.name); given != nil && given.Changed {
				s.Flags[f.variable] = given.Value.String()
			}
		}
		return s
	}
}

const serveHelp = `Runs the gateway, the admin API and the dashboard in one process.

Without any configuration, it listens on http://127.0.0.1:8787 and keeps its data in postern-data in the working directory. The
first start creates an admin token, in postern-data/secrets.json, and a demo project, whose keys it prints once.

You can set every setting as a variable or in a YAML file, and many of them as a flag. Flags take precedence over variables, and
variables over the file. Secrets cannot be flags. Set them as variables, as files that variables with the suffix _FILE name, or in
the YAML file. docs/reference/configuration.md lists all settings.

After SIGTERM, the server waits for the drain delay, lets requests in progress finish, and ends. SIGHUP makes it read its
configuration again.`

func (p *program) serve() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run the gateway on this machine", Long: serveHelp, Args: exactly(0, ""),
		Example: "  postern serve\n  OPENAI_API_KEY=sk-… postern serve --data /var/lib/postern\n  postern serve --config /etc/postern/postern.yaml --listen 0.0.0.0:8787\n" +
			"  POSTERN_DATABASE_FILE=/run/secrets/database postern serve",
	}
	source := p.configures(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return p.runServer(c.Context(), source()) }
	return c
}

// trackedProjects is the maximum number of projects with budget metrics.
const trackedProjects = 100

// closeTimeout is the time for writing the rest of the log and telemetry.
const closeTimeout = 5 * time.Second

// runServer runs the server until it is stopped.
func (p *program) runServer(ctx context.Context, source settings.Source) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	// If the reader of its log or output goes away, the process must not end. With SIGPIPE ignored, a write fails
	// with an error instead.
	signal.Ignore(syscall.SIGPIPE)
	p.release() // the server handles signals itself
	keepPrivate()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	logs := &logs{out: p.err}
	defer logs.close(ctx)
	source.Logger = logs.open
	b, err := interruptible(signals, cancel, func() (*booted, error) { return p.boot(ctx, source, logs) })
	if errors.Is(err, errStopped) {
		logs.latest().Info("stopped by a signal before the start was complete")
		return nil
	}
	if err != nil {
		return err
	}
	defer b.close()
	p.collectRarely(ctx)
	return b.server.RunSignals(context.WithoutCancel(ctx), signals, func() (server.Config, error) { return settings.Load(source) })
}

type booted struct {
	server   *server.Server
	observed *telemetry.Telemetry
}

func (b *booted) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = b.observed.Close(ctx)
}

// boot reads the configuration and builds the server. It waits for the database.
func (p *program) boot(ctx context.Context, source settings.Source, logs *logs) (b *booted, err error) {
	configuration, err := settings.Load(source)
	if err != nil {
		return nil, misused("the configuration is invalid:\n%w", err)
	}
	b = &booted{}
	b.observed, err = telemetry.New(ctx, telemetry.Config{Version: buildVersion(), Projects: trackedProjects, Log: configuration.Log, Dropped: logs.dropped})
	if err != nil {
		return nil, misuse{err}
	}
	configuration.Observer, configuration.Ops, configuration.Out = b.observed, b.observed.Ops, p.out
	b.server, err = server.New(ctx, configuration)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, server.ErrNoToken):
		err = misuse{err}
	}
	b.close()
	return nil, err
}

// logs holds the logs that the server has opened. Each reload opens another one.
type logs struct {
	out io.Writer
	mu  sync.Mutex
	all []*logging.Log
}

// open opens a log. It does not report an invalid level or format, because settings.Load does.
func (l *logs) open(level, format string) *slog.Logger {
	opened, err := logging.New(level, format, l.out)
	if err != nil {
		return slog.New(slog.DiscardHandler)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, opened)
	log.SetFlags(0)
	log.SetOutput(logging.Lines(opened.Logger())) // the control plane's lines
	return opened.Logger()
}

func (l *logs) latest() *slog.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return slog.New(slog.DiscardHandler)
	}
	return l.all[len(l.all)-1].Logger()
}

// dropped returns the number of lines lost since the start.
func (l *logs) dropped() (lines uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.all {
		lines += one.Dropped()
	}
	return lines
}

func (l *logs) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	l.mu.Lock() // a startup that was given up may still open a log
	defer l.mu.Unlock()
	for _, one := range l.all {
		_ = one.Close(ctx)
	}
}
