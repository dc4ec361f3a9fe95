package registry

import (
	"slices"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/policy"
)

type transition struct {
	to               doc.RegistryState
	reason           string
	keys             inventory.TextList
	sunset           inventory.Instant
	successor        inventory.Optional
	setSun, setHeirs bool
}

// moveEntry serves POST /models-registry/{entry}/transitions {"to","reason","version","keys","sunsetAt","successor"}.
// A model in the catalog that has no entry can be moved as well, and then gets an entry.
func (h *handler) moveEntry(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	edit := entryEdit{}
	if version, given := f.Integer("version", 0, 1<<53); given {
		edit.version = &version
	}
	t := h.transition(f)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	if err := h.checkKeys(c, t.keys); err != nil {
		return kernel.Answer{}, err
	}
	edit.reason, edit.apply = t.reason, func(e *inventory.Entry) error { return h.applyTransition(c, e, &t) }
	result, err := h.changeEntry(c, edit)
	return kernel.OK(result), err
}

// needsReason are the states that require a reason for the transition.
var needsReason = []doc.RegistryState{doc.RegistryApproved, doc.RegistryRestricted, doc.RegistryBlocked}

func (h *handler) transition(f *kernel.Fields) (t transition) {
	if !f.Has("to") {
		f.Problem("to", "is required")
	}
	word, known := f.Choice("to", "", stateFilters[1:])
	t.to, _ = policy.StateOf(word)
	wrong := len(f.Problems)
	reason, _ := takeProse(f, "reason", maxReasonRunes)
	t.reason = string(reason)
	if known && t.reason == "" && len(f.Problems) == wrong && slices.Contains(needsReason, t.to) {
		f.Problem("reason", "is required to make a model "+word)
	}
	if known {
		t.keys = takeRestriction(f, t.to)
	} else {
		f.Take("keys")
	}
	t.sunset, t.setSun = takeMoment(f, "sunsetAt")
	if known && t.setSun && t.to != doc.RegistryDeprecated {
		f.Problem("sunsetAt", "belongs to the transition to deprecated only")
	}
	t.successor, t.setHeirs = h.successor(f)
	return t
}

// takeRestriction takes the field "keys", which is only for the transition to restricted.
func takeRestriction(f *kernel.Fields, to doc.RegistryState) (ids inventory.TextList) {
	const expectation = "must be the IDs of the keys that may use the model, 1 to 32"
	_, present := f.Values["keys"]
	ids, valid := takeLabels(f, "keys", kernel.BadKeyID, func(id string) bool { return kernel.IsID(id, kernel.KeyPrefix) })
	switch {
	case to != doc.RegistryRestricted && valid:
		f.Problem("keys", "belong to the transition to restricted only")
	case to == doc.RegistryRestricted && !present, to == doc.RegistryRestricted && valid && len(ids) == 0:
		f.Problem("keys", expectation)
	}
	return ids
}

// checkKeys checks that the keys of a restriction are gateway keys of the project.
func (h *handler) checkKeys(c *kernel.Call, ids inventory.TextList) error {
	return kernel.Parallel(ids, func(id string) error {
		k, err := h.Store.Key(c, c.Project, id)
		if err == nil && k.Kind == keys.Gateway {
			return nil
		}
		if refusal := kernel.AsRefusal(err); err != nil && refusal.Code() != fault.NotFound.Code() {
			return err
		}
		return kernel.Invalid(fault.Detail{Field: "keys", Message: "must be gateway keys of the project" + kernel.Got(id)})
	})
}

// applyTransition moves an entry if its state allows it.
func (h *handler) applyTransition(c *kernel.Call, e *inventory.Entry, t *transition) error {
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
		return kernel.Refuse(fault.Conflict, "to", "must be "+kernel.OneOf(words)+", because the model is "+e.State.String()+kernel.Got(policy.StateWord(t.to)))
	}
	switch t.to {
	case doc.RegistryApproved, doc.RegistryRestricted, doc.RegistryPending:
		e.Keys, e.DeprecatedAt, e.SunsetAt = t.keys, 0, 0
	case doc.RegistryDeprecated:
		e.DeprecatedAt, e.SunsetAt = inventory.Instant(h.NowMs()), 0
	}
	kernel.Set(t.setSun, &e.SunsetAt, t.sunset)
	kernel.Set(t.setHeirs, &e.Successor, t.successor)
	h.move(c, e, t.to, t.reason)
	return nil
}

// discover makes an entry for the catalog model whose entry ID is in the path.
func (h *handler) discover(c *kernel.Call, e *inventory.Entry) error {
	for i := range h.Catalog.Models {
		if m := &h.Catalog.Models[i]; inventory.EntryID(m.Name) == c.ID {
			*e = inventory.Entry{ID: c.ID, Model: m.Name}
			return nil
		}
	}
	return kernel.Missing("entry", c.ID)
}

// move changes the state and records who changed it and why.
func (h *handler) move(c *kernel.Call, e *inventory.Entry, to doc.RegistryState, reason string) {
	now, by := inventory.Instant(h.NowMs()), c.Actor.Name
	if to == doc.RegistryApproved || to == doc.RegistryRestricted {
		e.Approvals = append(slices.Clone(e.Approvals), inventory.Approval{By: by, At: now, Reason: reason, State: inventory.State(to)})
	}
	e.History = append(slices.Clone(e.History), inventory.Move{From: e.State, To: inventory.State(to), By: by, At: now, Reason: inventory.Optional(reason)})
	e.State = inventory.State(to)
	e.Trim()
}
