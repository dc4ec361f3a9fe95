package policy

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Registration is what the project's model registry says about a model, for one key.
type Registration struct {
	State        doc.RegistryState // 0: the model has no entry
	Ruling       Ruling
	DeprecatedMs uint64        // of a deprecated model
	SunsetMs     uint64        // 0: not known
	Successor    *config.Model // nil: none, or it is no longer in the catalog
}

// Ruling is the registry's decision about requests for a model.
type Ruling uint8

const (
	Permits Ruling = iota
	Warns          // the request passes; enforcement would refuse it
	Refuses
)

// stateWords are the API's names of states, by state.
var stateWords = [...]string{"unregistered", "pending", "approved", "restricted", "deprecated", "retired", "blocked"}

// StateWord returns the API's name of a registry state; 0 is "unregistered".
func StateWord(s doc.RegistryState) string {
	if int(s) >= len(stateWords) {
		return stateWords[0]
	}
	return stateWords[s]
}

// StateOf returns the state with a name that StateWord returns; ok is false for others.
func StateOf(word string) (s doc.RegistryState, ok bool) {
	i := slices.Index(stateWords[1:], word)
	return doc.RegistryState(i + 1), i >= 0
}

// Registered returns the registration of a model, for a key ID. An empty ID is for any key: what at least one key may do is
// permitted. The policy may be nil.
//
// A retired or blocked model is refused whatever the enforcement. Under Enforce, only approved, restricted (for its keys) and
// deprecated models are permitted. Under EnforceWarn the others pass with a warning.
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

// permits reports whether the state of an entry allows a key to use the model. The keys of a restricted model keep
// their privilege when the model is deprecated.
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

// concerns reports whether a request for the model has to know its registration.
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
	for i := range models {
		if &models[i] == r.Successor {
			place = uint64(i) + 1
		}
	}
	if f.Uint(&place); place > uint64(len(models)) {
		f.Fail()
		return
	}
	if place > 0 {
		r.Successor = &models[place-1]
	}
}
