package control

import (
	"net/http"
	"slices"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/policy"
)

// transition is a decoded request for a transition.
type transition struct {
	to               doc.RegistryState
	reason           string
	keys             textList
	sunset           instant
	successor        optional
	setSun, setHeirs bool
}

// moveEntry is POST /models-registry/{entry}/transitions {"to","reason","version","keys","sunsetAt","successor"}. A model
// of the catalog without an entry can be moved as well: it gets one.
func (h *handler) moveEntry(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	edit := entryEdit{action: "registry.transition"}
	if version, given := f.integer("version", 0, 1<<53); given {
		edit.version = &version
	}
	t := h.transition(f)
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if err := h.checkKeys(c, t.keys); err != nil {
		return answer{}, err
	}
	edit.reason, edit.apply = t.reason, func(e *registryEntry) error { return h.applyTransition(c, e, &t) }
	result, err := h.changeEntry(c, edit)
	return answer{http.StatusOK, result}, err
}

// needsReason are the states whose transitions need a reason.
var needsReason = []doc.RegistryState{doc.RegistryApproved, doc.RegistryRestricted, doc.RegistryBlocked}

func (h *handler) transition(f *fields) (t transition) {
	if _, present := f.values["to"]; !present {
		f.problem("to", "is required")
	}
	word, known := f.choice("to", "", stateFilters[1:])
	t.to, _ = policy.StateOf(word)
	wrong := len(f.problems)
	reason, _ := f.prose("reason", maxReasonRunes)
	t.reason = string(reason)
	if known && t.reason == "" && len(f.problems) == wrong && slices.Contains(needsReason, t.to) {
		f.problem("reason", "is required to make a model "+word)
	}
	if known {
		t.keys = f.restriction(t.to)
	} else {
		f.take("keys")
	}
	t.sunset, t.setSun = f.moment("sunsetAt")
	if known && t.setSun && t.to != doc.RegistryDeprecated {
		f.problem("sunsetAt", "belongs to the transition to deprecated only")
	}
	t.successor, t.setHeirs = h.successor(f)
	return t
}

// restriction takes the field "keys", which belongs to the transition to restricted.
func (f *fields) restriction(to doc.RegistryState) (ids textList) {
	const expectation = "must be the IDs of the keys that may use the model, 1 to 32"
	_, present := f.values["keys"]
	ids, valid := f.labels("keys", badKeyID, func(id string) bool { return isID(id, keyPrefix) })
	switch {
	case to != doc.RegistryRestricted && valid:
		f.problem("keys", "belong to the transition to restricted only")
	case to == doc.RegistryRestricted && !present, to == doc.RegistryRestricted && valid && len(ids) == 0:
		f.problem("keys", expectation)
	}
	return ids
}

// checkKeys checks that the keys of a restriction are gateway keys of the project.
func (h *handler) checkKeys(c *call, ids textList) error {
	return parallel(ids, func(id string) error {
		k, err := h.store.key(c, c.project, id)
		if err == nil && k.Kind == keys.Gateway {
			return nil
		}
		if refusal := asRefusal(err); err != nil && refusal.Code != fault.NotFound.Code {
			return err
		}
		return invalid(fault.Detail{Field: "keys", Message: "must be gateway keys of the project" + got(id)})
	})
}

// applyTransition moves an entry, if its state allows it.
func (h *handler) applyTransition(c *call, e *registryEntry, t *transition) error {
	if e.Version == 0 {
		if err := h.discover(c, e); err != nil {
			return err
		}
	}
	if from := doc.RegistryState(e.State); !policy.MayMove(from, t.to) {
		var words []string
		for _, s := range policy.Moves(from) {
			words = append(words, policy.StateWord(s))
		}
		return refuse(fault.Conflict, "to", "must be "+oneOf(words)+", because the model is "+e.State.String()+got(policy.StateWord(t.to)))
	}
	switch t.to {
	case doc.RegistryApproved, doc.RegistryRestricted, doc.RegistryPending:
		e.Keys, e.DeprecatedAt, e.SunsetAt = t.keys, 0, 0
	case doc.RegistryDeprecated:
		e.DeprecatedAt, e.SunsetAt = instant(h.nowMs()), 0
	}
	set(t.setSun, &e.SunsetAt, t.sunset)
	set(t.setHeirs, &e.Successor, t.successor)
	h.move(c, e, t.to, t.reason)
	return nil
}

// discover makes the entry of a model of the catalog that has none, from its ID.
func (h *handler) discover(c *call, e *registryEntry) error {
	for i := range h.Catalog.Models {
		if m := &h.Catalog.Models[i]; entryID(m.Name) == c.id {
			*e = registryEntry{ID: c.id, Model: m.Name}
			return nil
		}
	}
	return missing("entry", c.id)
}

// move changes the state and records who did it and why.
func (h *handler) move(c *call, e *registryEntry, to doc.RegistryState, reason string) {
	now, by := instant(h.nowMs()), c.actor.Name
	if to == doc.RegistryApproved || to == doc.RegistryRestricted {
		e.Approvals = append(slices.Clone(e.Approvals), approval{by, now, reason, registryState(to)})
	}
	e.History = append(slices.Clone(e.History), registryMove{e.State, registryState(to), by, now, optional(reason)})
	e.State = registryState(to)
	e.trim()
}
