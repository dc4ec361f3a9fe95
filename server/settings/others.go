package settings

import "slices"

// Other is a variable of another program. The server ignores it.
type Other struct {
	Name    string
	Program Program
	Default string // empty: none
	Help    string // one sentence or more
}

// Program is a program that reads a variable.
type Program uint8

// Values of Program.
const (
	CommandLine Program = iota + 1 // commands that administer a deployment
	Development                    // `make dev`
	Clients                        // the client libraries
)

// Others returns the variables of other programs.
func Others() []Other { return slices.Clone(others) }

var others = []Other{
	{EnvConfig, CommandLine, "", "Path of the YAML file with the configuration, as the flag --config."},
	{EnvBaseURL, CommandLine, "http://127.0.0.1:8787", "Address of the deployment to administer."},
	{EnvCAFile, CommandLine, "", "PEM file with the certificates to trust, besides those of the system."},
	{"POSTERN_PORT", Development, "8787", "Port of the gateway."},
	{"POSTERN_API_KEY", Clients, "", "The API key."},
	{EnvBaseURL, Clients, "http://127.0.0.1:8787", "Address of the gateway. Required for production keys."},
	{"POSTERN_ENVIRONMENT", Clients, "", "`production` or `development`: the client refuses a key of the other environment."},
	{"POSTERN_TIMEOUT", Clients, "600000", "Milliseconds for one attempt."},
	{"POSTERN_RETRIES", Clients, "2", "Attempts after the first, 0 to 10."},
	{"POSTERN_IDEMPOTENCY", Clients, "false", "`true` sends an `Idempotency-Key` with each request that can have one."},
	{"POSTERN_LOG_LEVEL", Clients, "warn", "Lowest level of log lines."},
	{"POSTERN_LOG_PRETTY", Clients, "false", "`true` writes lines for people in place of JSON."},
	{"POSTERN_GOVERNOR_ENABLED", Clients, "true", "Whether a request that the Governor blocks has its own error type."},
	{"POSTERN_GOVERNOR_STRICT_MODE", Clients, "false", "`true` blocks where the project's policy would ask for a review."},
	{"POSTERN_GOVERNOR_AUTO_APPROVE_THRESHOLD", Clients, "", "The highest risk score that is approved, 0 to 100. It can only lower the project's."},
	{"POSTERN_WEBHOOK_SECRET", Clients, "", "The secret of the webhooks to verify, or several with spaces or commas between them."},
}

// isOthers reports whether a variable belongs to another program.
func isOthers(name string) bool {
	return slices.ContainsFunc(others, func(o Other) bool { return o.Name == name })
}
