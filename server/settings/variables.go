package settings

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/server"
)

// Variables that other programs read, too.
const (
	EnvConfig      = "POSTERN_CONFIG"      // path of the YAML file
	EnvAdminToken  = "POSTERN_ADMIN_TOKEN" // the owner's token
	EnvData        = "POSTERN_DATA"        // the data directory
	EnvCAFile      = "POSTERN_CA_FILE"     // PEM file with certificates that the command-line tool trusts
	EnvBaseURL     = "POSTERN_BASE_URL"    // address of the deployment that the command-line tool administers
	envViewerToken = "POSTERN_VIEWER_TOKEN"
)

// Variable is one setting of the server.
type Variable struct {
	Name    string // name of the environment variable
	Key     string // key in the YAML file; a dot separates nested keys
	Default string // empty: none
	Form    string // the allowed values: "Name must be Form"
	Secret  bool   // never printed; NAME_FILE may name a file with the value
	Help    string // one sentence

	apply func(c *server.Config, text string) (ok bool)
}

// Variables returns every setting of the server except the providers' variables, whose names are in the catalog.
func Variables() []Variable { return slices.Clone(variables) }

// ProviderVariables returns the names of the variables of the catalog's providers, sorted. overlay is the value of
// POSTERN_CATALOG or empty.
func ProviderVariables(overlay string) []string { return providerVariables(overlay) }

var variables = []Variable{
	{Name: EnvData, Key: "data", Default: "postern-data", Form: "the path of a directory", apply: text(func(c *server.Config) *string { return &c.Data }),
		Help: "Directory with the SQLite database and the secrets that the first start creates."},
	{Name: "POSTERN_DATABASE", Key: "database", Form: "a URL in the form postgres://user:password@host:5432/name", Secret: true, apply: database,
		Help: "URL of a PostgreSQL database, instead of SQLite."},
	{Name: "POSTERN_DURABILITY", Key: "durability", Default: "full", Form: "full or process", apply: choice(func(c *server.Config) *string { return &c.Durability }, "full", "process"),
		Help: "What acknowledged changes in SQLite survive: full, a power failure; process, only a crash of the process."},
	{Name: "POSTERN_ENGINE", Key: "engine", Default: "native", Form: "native or wasm", apply: choice(func(c *server.Config) *string { return &c.Engine }, "native", "wasm"),
		Help: "How the core runs: compiled into the program, or as WebAssembly."},
	{Name: "POSTERN_LISTEN", Key: "listen", Default: "127.0.0.1:8787", Form: "an address in the form host:port or unix:/path", apply: address(func(c *server.Config) *string { return &c.Listen }, false),
		Help: "Address of the gateway, the admin API and the dashboard."},
	{Name: "POSTERN_OPS_LISTEN", Key: "opsListen", Default: "127.0.0.1:9464", Form: "an address in the form host:port or unix:/path, or off", apply: address(func(c *server.Config) *string { return &c.OpsListen }, true),
		Help: "Address of /livez, /readyz and /metrics."},
	{Name: "POSTERN_PUBLIC_URL", Key: "publicUrl", Form: "a URL in the form https://host, without a path; the host is a name in ASCII or an IP address", apply: publicURL,
		Help: "Address that users see, for printed links and the dashboard's sessions. By default derived from POSTERN_LISTEN."},
	{Name: "POSTERN_TLS_CERT", Key: "tls.cert", Form: "the path of a file", apply: text(func(c *server.Config) *string { return &c.TLSCert }),
		Help: "PEM file with the certificate and its chain. Without it, the server speaks plain HTTP."},
	{Name: "POSTERN_TLS_KEY", Key: "tls.key", Form: "the path of a file", apply: text(func(c *server.Config) *string { return &c.TLSKey }),
		Help: "PEM file with the certificate's private key."},
	{Name: "POSTERN_TRUSTED_PROXIES", Key: "trustedProxies", Form: "a comma-separated list of networks such as 10.0.0.0/8", apply: proxies,
		Help: "Networks of reverse proxies whose X-Forwarded-For is trusted."},
	{Name: "POSTERN_SHUTDOWN_TIMEOUT", Key: "shutdownTimeout", Default: "30s", Form: "a duration between 0s and 1h, such as 30s", apply: shutdown,
		Help: "Time that requests in progress get to finish at shutdown."},
	{Name: "POSTERN_DRAIN_DELAY", Key: "drainDelay", Form: "a duration between 0s and 10m, such as 5s", apply: drainDelay,
		Help: "How long the server still accepts connections after a shutdown starts and `/readyz` returns draining. By default 5s if something has called `/readyz`, otherwise 0s."},
	{Name: "POSTERN_MAX_CONNECTIONS", Key: "maxConnections", Default: "20000", Form: "an integer between 1 and 1000000", apply: connections,
		Help: "Maximum number of open connections."},
	{Name: "POSTERN_EXPORTS", Key: "exports", Form: "the path of a directory", apply: text(func(c *server.Config) *string { return &c.Exports }),
		Help: "Directory for daily usage files."},
	{Name: config.EnvLog, Key: "log.requests", Default: "all", Form: "all, errors or off", apply: env(config.EnvLog, isLog),
		Help: "Requests whose lines are in the log. errors: those with a status of 500 or more, with overrunCents or with unknownUsage. Other lines are always written."},
	{Name: "POSTERN_LOG_LEVEL", Key: "log.level", Default: "info", Form: "debug, info, warn or error", apply: check(func(text string) bool { _, ok := logLevels[text]; return ok }),
		Help: "Lowest level of log lines."},
	{Name: "POSTERN_LOG_FORMAT", Key: "log.format", Default: "json", Form: "json or text", apply: check(func(text string) bool { return text == "json" || text == "text" }),
		Help: "Format of log lines."},
	{Name: EnvAdminToken, Key: "adminToken", Form: tokenForm, Secret: true, apply: env(EnvAdminToken, isToken),
		Help: "Owner token for the dashboard and the admin API. By default, the first start makes one."},
	{Name: envViewerToken, Key: "viewerToken", Form: tokenForm, Secret: true, apply: env(envViewerToken, isToken),
		Help: "Read-only token for the dashboard and the admin API."},
	{Name: config.EnvMasterKeys, Key: "masterKeys", Form: "a comma-separated list of id:key; each key is 32 bytes in base64", Secret: true, apply: env(config.EnvMasterKeys, isMasterKeys),
		Help: "Keys that encrypt the projects' own provider keys. By default, the first start makes one."},
	{Name: compliance.EnvSigningKey, Key: "signingKey", Form: "32 bytes in base64; former keys may follow after commas", Secret: true, apply: env(compliance.EnvSigningKey, isSigningKeys),
		Help: "Ed25519 key that signs checkpoints of the compliance data. By default, the first start makes one."},
	{Name: "POSTERN_ACCESS_TEAM", Key: "access.team", Form: "a domain such as acme.cloudflareaccess.com", apply: env("POSTERN_ACCESS_TEAM", isPrintable),
		Help: "Team domain of Cloudflare Access for signing in to the dashboard."},
	{Name: "POSTERN_ACCESS_AUD", Key: "access.audience", Form: "the audience tag of an Access application", apply: env("POSTERN_ACCESS_AUD", isPrintable),
		Help: "Audience of the Cloudflare Access application."},
	{Name: "POSTERN_ACCESS_OWNERS", Key: "access.owners", Form: "a comma-separated list of email addresses", apply: env("POSTERN_ACCESS_OWNERS", isPrintable),
		Help: "Email addresses of owners. Everyone else with access is a viewer."},
	{Name: "POSTERN_PRIVATE_WEBHOOKS", Key: "privateWebhooks", Default: "off", Form: "on or off", apply: env("POSTERN_PRIVATE_WEBHOOKS", isSwitch),
		Help: "on allows webhooks to private networks and to this machine."},
	{Name: config.EnvControl, Key: "control", Default: "on", Form: "on or off", apply: env(config.EnvControl, isSwitch),
		Help: "off makes the dashboard, the admin API, /docs and /openapi.yaml unreachable. Errors then have no link to the documentation."},
	{Name: config.EnvDocs, Key: "docs", Default: "on", Form: "on or off", apply: env(config.EnvDocs, isSwitch),
		Help: "off serves no documentation at /docs, and errors have no link to it."},
	{Name: config.EnvMaxBodyBytes, Key: "maxBodyBytes", Default: "4000000", Form: "an integer between 1 and 4294967295", apply: env(config.EnvMaxBodyBytes, isBodyLimit),
		Help: "Maximum size of a request body in bytes."},
	{Name: config.EnvLeases, Key: "leases", Default: "on", Form: "on or off", apply: env(config.EnvLeases, isSwitch),
		Help: "off: no plan has leases, and each request calls the counter of its key."},
	{Name: config.EnvCatalog, Key: "catalog", Form: "a JSON object", apply: env(config.EnvCatalog, func(string) bool { return true }),
		Help: "Models, prices, tiers, plans and timeouts that are added to the catalog or replace its entries."},
}

func find(name string) *Variable {
	i := slices.IndexFunc(variables, func(v Variable) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &variables[i]
}

func names(providers []string) (all []string) {
	for _, v := range variables {
		all = append(all, v.Name)
	}
	return append(all, providers...)
}

// takesFile reports whether a variable's value can be in a file. Secrets, the catalog and the providers' variables
// can.
func takesFile(name string) bool {
	v := find(name)
	return v == nil || v.Secret || name == config.EnvCatalog
}

// got quotes a rejected value unless it is secret.
func (v *Variable) got(text string) string {
	if v.Secret {
		return ""
	}
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "…"
	}
	quoted, _ := json.Marshal(text)
	return ", got " + string(quoted)
}

const maxQuoted = 100 // bytes of a value in an error message

// providerVariables reads the names from the catalog and the overlay. It does not report an invalid overlay, because
// config.Parse does.
func providerVariables(overlay string) []string {
	found := map[string]bool{}
	for _, text := range [][]byte{catalog.JSON, []byte(overlay)} {
		var parsed struct {
			Providers []struct {
				BaseURLEnv, KeyEnv string
				Settings           map[string]struct{ Env string }
			}
		}
		if json.Unmarshal(text, &parsed) != nil {
			continue
		}
		for _, p := range parsed.Providers {
			found[p.BaseURLEnv], found[p.KeyEnv] = true, true
			for _, s := range p.Settings {
				found[s.Env] = true
			}
		}
	}
	maps.DeleteFunc(found, func(name string, _ bool) bool { return name == "" || find(name) != nil })
	return slices.Sorted(maps.Keys(found))
}

// flagPlace returns the flag of a variable: --listen for POSTERN_LISTEN.
func flagPlace(name string) string {
	return "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "POSTERN_")), "_", "-")
}

var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
