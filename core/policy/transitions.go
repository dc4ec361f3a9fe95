package policy

import "github.com/postern-ai/postern/core/doc"

// transitions contains, as bits, the states that each state in the model registry may change to. The first row is for
// models without an entry. docs/guides/registry.md shows the same table.
//
//   - A model is deprecated before it is retired, so that its callers get notice. Blocking is possible at any time.
//   - A model that was retired or blocked returns to pending: it needs another approval.
//   - Restricted to restricted changes the keys that may use the model, with an approval of its own.
var transitions = [...]uint16{
	0:                      to(doc.RegistryPending) | to(doc.RegistryBlocked),
	doc.RegistryPending:    to(doc.RegistryApproved) | to(doc.RegistryRestricted) | to(doc.RegistryBlocked),
	doc.RegistryApproved:   to(doc.RegistryRestricted) | to(doc.RegistryDeprecated) | to(doc.RegistryBlocked),
	doc.RegistryRestricted: to(doc.RegistryApproved) | to(doc.RegistryRestricted) | to(doc.RegistryDeprecated) | to(doc.RegistryBlocked),
	doc.RegistryDeprecated: to(doc.RegistryApproved) | to(doc.RegistryRestricted) | to(doc.RegistryRetired) | to(doc.RegistryBlocked),
	doc.RegistryRetired:    to(doc.RegistryPending) | to(doc.RegistryBlocked),
	doc.RegistryBlocked:    to(doc.RegistryPending),
}

func to(s doc.RegistryState) uint16 { return 1 << s }

// MayMove reports whether a registry entry may change from one state to another. from is 0 for a model without an
// entry.
func MayMove(from, target doc.RegistryState) bool {
	return int(from) < len(transitions) && transitions[from]&to(target) != 0
}

// Moves returns the states that a state may change to, in the order of their values.
func Moves(from doc.RegistryState) (states []doc.RegistryState) {
	for s := doc.RegistryPending; s <= doc.RegistryBlocked; s++ {
		if MayMove(from, s) {
			states = append(states, s)
		}
	}
	return states
}
