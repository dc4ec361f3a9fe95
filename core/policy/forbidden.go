package policy

import (
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// ForbiddenBecause explains why none of a name's targets is allowed. advised is true if the message names a model to
// use instead.
func ForbiddenBecause(targets []Target, tier *config.Tier) (message string, advised bool) {
	for i := range targets {
		if r := targets[i].ForbiddenBy; r != nil {
			return "is not allowed for " + nodeOf(r), false
		}
		if targets[i].Registration.Ruling != Refuses {
			return "is not allowed for this key", false
		}
	}
	switch {
	case tier != nil:
		return "has no model that the project's model registry permits for this key", false
	case len(targets) == 0:
		return "is not allowed for this key", false
	}
	r := &targets[0].Registration
	message = refusedState(r.State) + " in the project's model registry"
	if r.Successor == nil {
		return message, false
	}
	return message + "; use " + r.Successor.Name, true
}

// refusedState returns the predicate of a sentence about a model that the registry refuses.
func refusedState(s doc.RegistryState) string {
	switch s {
	case 0:
		return "has no entry"
	case doc.RegistryPending:
		return "is pending approval"
	case doc.RegistryRestricted, doc.RegistryDeprecated:
		return "is restricted to other keys"
	}
	return "is " + StateWord(s)
}

// nodeOf describes the deployment or the group that a list of models belongs to.
func nodeOf(r *doc.Restriction) string {
	switch {
	case r.ID == doc.Root:
		return "this gateway"
	case r.Name == "":
		return "the key's group"
	}
	return "the group " + r.Name
}
