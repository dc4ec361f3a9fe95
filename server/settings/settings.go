// Package settings reads the configuration of a self-hosted server from command-line flags, environment variables and
// a YAML file, in this order of precedence. Every value is validated. An error names the flag, variable or line of
// the file, the allowed form and, unless it is secret, the value.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/internal/nearest"
	"github.com/postern-ai/postern/internal/smallfile"
	"github.com/postern-ai/postern/server"
)

// Source specifies where the configuration comes from.
type Source struct {
	// Flags are the values of command-line flags by variable, such as POSTERN_LISTEN.
	Flags map[string]string
	// Environ is the environment, in the form of os.Environ. Empty values count as not set.
	Environ []string
	// File is the path of the YAML file. If it is empty, POSTERN_CONFIG names the file. Neither is required.
	File string
	// Logger creates the logger for the configured level (debug, info, warn or error) and format (json or text). The
	// default writes to standard error.
	Logger func(level, format string) *slog.Logger
	// ReadFile replaces smallfile.Read in tests.
	ReadFile func(name string) ([]byte, error)
}

// Load reads and validates the configuration. Its error lists every problem, one per line. Config.Env contains
// POSTERN_CATALOG and the variables of the control plane and the providers. The fields of Config contain the server's
// own variables.
func Load(s Source) (server.Config, error) {
	l := newLoader(s)
	values := l.resolve()
	l.checkNames()
	c := l.apply(values)
	if s.Logger == nil {
		s.Logger = logger
	}
	c.Log = s.Logger(orDefault(values, "POSTERN_LOG_LEVEL"), orDefault(values, "POSTERN_LOG_FORMAT"))
	if len(l.problems) == 0 { // without this condition, checkTogether would often report only consequences of these problems
		l.checkTogether(&c)
	}
	return c, errors.Join(l.problems...)
}

// value is a configured value with its location for error messages: a variable, a flag or a line in the file.
type value struct{ text, place string }

// layer is one source: raw values by name, which may end in _FILE.
type layer map[string]value

type loader struct {
	readFile func(name string) ([]byte, error)
	layers   []layer  // in order of precedence
	known    []string // names of all variables, including those of the catalog's providers
	problems []error
}

func newLoader(s Source) *loader {
	l := &loader{readFile: s.ReadFile}
	if l.readFile == nil {
		l.readFile = smallfile.Read
	}
	flags := layer{}
	for name, text := range s.Flags {
		flags[name] = value{text, flagPlace(name)}
	}
	environment := readEnvironment(s.Environ)
	if s.File == "" {
		s.File = environment[EnvConfig].text
	}
	l.layers = []layer{flags, environment, l.readYAML(s.File)}
	return l
}

func (l *loader) fail(format string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf(format, args...))
}

func readEnvironment(environ []string) layer {
	environment := layer{}
	for _, entry := range environ {
		if name, text, _ := strings.Cut(entry, "="); text != "" {
			environment[name] = value{text, name}
		}
	}
	return environment
}

// resolve returns the values of all variables that are set. It reads the overlay first, because the overlay defines
// further variables.
func (l *loader) resolve() map[string]value {
	values := map[string]value{}
	l.resolveOne(values, config.EnvCatalog)
	providers := providerVariables(values[config.EnvCatalog].text)
	l.known = names(providers)
	for _, name := range l.known {
		if name != config.EnvCatalog {
			l.resolveOne(values, name)
		}
	}
	return values
}

// resolveOne takes a variable's value from the first layer that has it, either directly or as the name of a file.
func (l *loader) resolveOne(values map[string]value, name string) {
	for _, layer := range l.layers {
		inPlace, isSet := layer[name]
		inFile, isFile := layer[name+fileSuffix]
		isFile = isFile && takesFile(name)
		switch {
		case isSet && isFile:
			l.fail("%s and %s are both set; remove one of them", inPlace.place, inFile.place)
		case isFile:
			inPlace = l.fromFile(inFile)
		case !isSet:
			continue
		}
		values[name] = inPlace
		return
	}
}

const fileSuffix = "_FILE" // end of the name of a variable whose value is in a file

// fromFile reads a value from the file that f names.
func (l *loader) fromFile(f value) value {
	text, err := l.readFile(f.text)
	trimmed := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case err != nil:
		l.fail("%s: cannot read the file %q: %s", f.place, f.text, reason(err))
	case trimmed == "":
		l.fail("%s: the file %q is empty", f.place, f.text)
	}
	return value{trimmed, f.place}
}

// reason returns a file system error without the path, which the message already contains.
func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// serviceLink matches the variables that Kubernetes sets in every container for a Service whose name is postern or
// starts with postern-: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var serviceLink = regexp.MustCompile(`^POSTERN_([A-Z0-9_]+_)?(SERVICE_HOST=.*|SERVICE_PORT(_[A-Z0-9_]+)?=[0-9]+|PORT(_[0-9]+_(TCP|UDP|SCTP))?=(tcp|udp|sctp)://.*|PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)=.*)$`)

// checkNames reports unknown variables. It ignores environment variables that do not start with POSTERN_, because
// they belong to other programs.
func (l *loader) checkNames() {
	for i, layer := range l.layers {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			given, base := layer[name], strings.TrimSuffix(name, fileSuffix)
			isEnvironment := i == 1
			switch {
			case isEnvironment && (!strings.HasPrefix(name, "POSTERN_") || serviceLink.MatchString(name+"="+given.text) || isOthers(name)):
			case slices.Contains(l.known, name), base != name && takesFile(base) && slices.Contains(l.known, base):
			case isEnvironment:
				l.fail("unknown variable %q%s", name, nearest.Hint(name, l.known))
			default:
				l.fail("%s: unknown variable%s", given.place, nearest.Hint(name, l.known))
			}
		}
	}
}

// apply sets the fields of the configuration.
func (l *loader) apply(values map[string]value) server.Config {
	c := server.Config{Env: map[string]string{}, DrainDelay: server.DrainDelayIfProbed}
	for i := range variables {
		v := &variables[i]
		given, isSet := values[v.Name]
		if !isSet {
			given = value{v.Default, v.Name}
		}
		if given.text == "" {
			continue
		}
		if !v.apply(&c, given.text) {
			l.fail("%s must be %s%s", given.place, v.Form, v.got(given.text))
		}
	}
	for name, given := range values {
		if find(name) == nil {
			c.Env[name] = given.text
		}
	}
	return c
}

// checkTogether checks conditions that involve several variables. It also checks the catalog together with the
// overlay.
func (l *loader) checkTogether(c *server.Config) {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		l.fail("POSTERN_TLS_CERT and POSTERN_TLS_KEY must both be set, or neither")
	}
	if token := c.Env[EnvAdminToken]; token != "" && token == c.Env[envViewerToken] {
		l.fail("POSTERN_ADMIN_TOKEN and POSTERN_VIEWER_TOKEN must be different")
	}
	if (c.Env[control.EnvAccessTeam] == "") != (c.Env[control.EnvAccessAudience] == "") {
		l.fail("POSTERN_ACCESS_TEAM and POSTERN_ACCESS_AUD must both be set, or neither")
	}
	in := abi.Config{Catalog: catalog.Default}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		in.Env = append(in.Env, abi.Header{Name: name, Value: c.Env[name]})
	}
	if _, problem := config.Parse(in); problem != "" {
		l.fail("%s", problem)
	}
}

func orDefault(values map[string]value, name string) string {
	if given, ok := values[name]; ok {
		return given.text
	}
	return find(name).Default
}

// logger is the default for Source.Logger.
func logger(level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: logLevels[level]}
	if format == "text" {
		return slog.New(slog.NewTextHandler(os.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, options))
}
