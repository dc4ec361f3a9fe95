package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// OpenTelemetry variables that are checked here. The SDK reads these and all others itself. If a variable is
// malformed, the SDK would log it, including the value of a header, and continue without it. Source:
// opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables and /protocol/exporter.
const (
	envDisabled = "OTEL_SDK_DISABLED"
	envOTLP     = "OTEL_EXPORTER_OTLP_"
	envSampler  = "OTEL_TRACES_SAMPLER"
)

// signals are the signals to export.
type signals struct{ traces, metrics bool }

// readEnvironment returns the signals that the environment variables request. An endpoint turns its signal on.
func readEnvironment() (s signals, err error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv(envDisabled)), "true") {
		return s, nil
	}
	s.traces, err = exports("TRACES")
	if err != nil {
		return s, err
	}
	if s.metrics, err = exports("METRICS"); err != nil || !s.traces {
		return s, err
	}
	return s, checkSampler()
}

// exports reports whether a signal is exported and checks its variables.
func exports(signal string) (bool, error) {
	name, value := variable(signal, "ENDPOINT")
	if value == "" {
		return false, nil
	}
	exporter := "OTEL_" + signal + "_EXPORTER"
	switch os.Getenv(exporter) {
	case "none":
		return false, nil
	case "", "otlp":
	default:
		return false, fmt.Errorf("telemetry: %s must be otlp or none, got %q", exporter, os.Getenv(exporter))
	}
	if u, err := url.Parse(value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false, fmt.Errorf("telemetry: %s must be an http or https URL, such as http://127.0.0.1:4318", name)
	}
	if name, value := variable(signal, "PROTOCOL"); value != "" && value != "http/protobuf" {
		return false, fmt.Errorf("telemetry: %s must be http/protobuf, the only protocol supported, got %q", name, value)
	}
	return true, checkHeaders(signal)
}

// variable returns the variable for a signal, or the general one.
func variable(signal, rest string) (name, value string) {
	if name = envOTLP + signal + "_" + rest; os.Getenv(name) == "" {
		name = envOTLP + rest
	}
	return name, strings.TrimSpace(os.Getenv(name))
}

// checkHeaders checks the exporter's headers. They have the form name=value, are separated by commas, and have
// percent-encoded values. Its errors do not show values, because values are secret.
func checkHeaders(signal string) error {
	name, value := variable(signal, "HEADERS")
	if value == "" {
		return nil
	}
	for pair := range strings.SplitSeq(value, ",") {
		key, text, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(text); !ok || strings.TrimSpace(key) == "" || err != nil {
			return fmt.Errorf("telemetry: %s must be name=value pairs separated by commas, with percent-encoded values", name)
		}
	}
	return nil
}

var samplers = []string{
	"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
}

func checkSampler() error {
	sampler := strings.ToLower(strings.TrimSpace(os.Getenv(envSampler)))
	if sampler != "" && !slices.Contains(samplers, sampler) {
		return fmt.Errorf("telemetry: %s must be one of %s, got %q", envSampler, strings.Join(samplers, ", "), sampler)
	}
	argument := strings.TrimSpace(os.Getenv(envSampler + "_ARG"))
	if argument == "" || !strings.HasSuffix(sampler, "traceidratio") {
		return nil
	}
	if ratio, err := strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
		return fmt.Errorf("telemetry: %s_ARG must be a number between 0 and 1, got %q", envSampler, argument)
	}
	return nil
}

var errResource = errors.New("telemetry: OTEL_RESOURCE_ATTRIBUTES must be name=value pairs separated by commas")
