package policy

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Registration contains the data that the project's model registry has about a model, for one key.
type Registration struct {
	State        doc.RegistryState // 0: the model has no entry
	Ruling       Ruling
	DeprecatedMs uint64        // of a deprecated model
	SunsetMs     uint64        // 0: unknown
	Successor    *config.Model // nil: none, or no longer in the catalog
}

// Ruling is the registry's decision about requests for a model.
type Ruling uint8

const (
	Permits Ruling = iota
	Warns          // the request passes, but Enforce would refuse it
	Refuses
)

// stateWords contains the API's names of states, indexed by state.
var stateWords = [...]string{"unregistered", "pending", "approved", "restricted", "deprecated", "retired", "blocked"}

// StateWord returns the API's name of a registry state. It returns "unregistered" for 0.
func StateWord(s doc.RegistryState) string {
	if int(s) >= len(stateWords) {
		return stateWords[0]
	}
	return stateWords[s]
}

// StateOf returns the state with the given name, as returned by StateWord. ok is false for other names.
func StateOf(word string) (s doc.RegistryState, ok bool) {
	i := slices.Index(stateWords[1:], word)
	return doc.RegistryState(i + 1), i >= 0
}

// Registered returns the registration of a model for a key ID. If the ID is empty, a model is permitted if at least
// one key may use it. The policy may be nil.
//
// A retired or blocked model is refused regardless of the enforcement. Under Enforce, approved and deprecated models
// are permitted, and restricted models are permitted for the keys that they list. Under EnforceWarn, other models
// pass with a warning.
func Registered(cfg *config.Config, p *doc.Policy, keyID string, m *config.Model) (r Registration) {
	if p == nil {
		return r
	}
	permitted := false
	for i := range p.Registry {
		entry := &p.Registry[i]
		if entry.Model != m.Name {
			continue
		}
		r.State, permitted = entry.State, permits(entry, keyID)
		if entry.State == doc.RegistryDeprecated {
			r.DeprecatedMs, r.SunsetMs = entry.DeprecatedMs, entry.SunsetMs
		}
		if entry.Successor != "" {
			r.Successor = cfg.Model(entry.Successor)
		}
		break
	}
	switch {
	case r.State == doc.RegistryRetired, r.State == doc.RegistryBlocked, !permitted && p.Enforcement == doc.Enforce:
		r.Ruling = Refuses
	case !permitted && p.Enforcement == doc.EnforceWarn:
		r.Ruling = Warns
	}
	return r
}

// permits reports whether an entry's state allows a key to use the model. The keys of a restricted model keep their
// privilege when the model is deprecated.
func permits(entry *doc.RegistryModel, keyID string) bool {
	switch entry.State {
	case doc.RegistryApproved:
		return true
	case doc.RegistryDeprecated:
		return len(entry.Keys) == 0 || keyID == "" || slices.Contains(entry.Keys, keyID)
	case doc.RegistryRestricted:
		return keyID == "" || slices.Contains(entry.Keys, keyID)
	}
	return false
}

// concerns reports whether the registration matters to a request for the model.
func (r *Registration) concerns() bool {
	return r.Ruling != Permits || r.State == doc.RegistryDeprecated
}

// registrationFields lists the stored fields. The successor is stored as its index in the catalog, plus one.
func registrationFields(f *abi.Fields, r *Registration, models []config.Model) {
	abi.Enum(f, &r.State)
	abi.Enum(f, &r.Ruling)
	f.Uint(&r.DeprecatedMs)
	f.Uint(&r.SunsetMs)
	place := uint64(0)
	if r.Successor != nil {
		place = placeOf(f, r.Successor, models) + 1
	}
	if f.Uint(&place); place > uint64(len(models)) {
		f.Fail()
		return
	}
	if place > 0 {
		r.Successor = &models[place-1]
	}
}
