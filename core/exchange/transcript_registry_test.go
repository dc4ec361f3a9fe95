package exchange_test

import (
	"strings"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// registryOf parses a registry entry MODEL:STATE[:EXTRA]. For a restricted model, EXTRA is the ID of the key that may
// use it. For any other model, EXTRA is the successor. A deprecated model was deprecated at noon. Its sunset is 30
// days later.
func registryOf(a *args, text string) (m doc.RegistryModel) {
	parts := append(strings.Split(text, ":"), "")
	state, ok := policy.StateOf(parts[1])
	if !ok {
		a.fail("unknown state " + parts[1])
	}
	m = doc.RegistryModel{Model: parts[0], State: state, Successor: parts[2]}
	switch state {
	case doc.RegistryRestricted:
		m.Keys, m.Successor = []string{parts[2]}, ""
	case doc.RegistryDeprecated:
		m.DeprecatedMs, m.SunsetMs = noon, noon+30*24*3_600_000
	}
	return m
}
