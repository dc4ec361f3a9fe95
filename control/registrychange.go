package control

import (
	"errors"
	"net/http"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// changedEntry is the response to a change of an entry.
type changedEntry struct {
	registryEntry
	Delivery string `json:"delivery"`
}

// auditedEntry is an entry in the audit log. The log has each move, so it leaves out the entry's own records of them.
type auditedEntry struct {
	registryEntry
	Reason    string    `json:"reason,omitempty"`
	Approvals *struct{} `json:"approvals,omitempty"`
	History   *struct{} `json:"history,omitempty"`
}

func audited(e *registryEntry, reason string) auditedEntry {
	return auditedEntry{registryEntry: *e, Reason: reason}
}

// entryEdit changes an entry, which has no version if the model has none yet.
type entryEdit struct {
	action  string
	version *uint64 // expected; nil: any
	reason  string
	apply   func(*registryEntry) error
}

// createEntry is POST /models-registry. The model becomes pending.
func (h *handler) createEntry(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	m := h.model(f)
	apply := h.entryFields(f)
	f.fixed("state", "is pending at first; change it with POST …/{id}/transitions")
	rejectMoved(f)
	if err := f.err(); err != nil {
		return answer{}, err
	}
	c.id = entryID(m.Name)
	result, err := h.changeEntry(c, entryEdit{action: "registry.create", apply: func(e *registryEntry) error {
		if e.Version != 0 {
			return refuse(fault.Conflict, "model", m.Name+" is already registered as "+e.ID)
		}
		*e = registryEntry{ID: c.id, Model: m.Name}
		apply(e)
		h.move(c, e, doc.RegistryPending, "")
		return nil
	}})
	return answer{http.StatusCreated, result}, err
}

// rejectMoved reports the fields that only transitions set.
func rejectMoved(f *fields) {
	for _, field := range []string{"keys", "approvals", "history", "deprecatedAt"} {
		f.fixed(field, "is set by POST …/{id}/transitions")
	}
}

// patchEntry is PATCH /models-registry/{entry}: omitted fields keep their values.
func (h *handler) patchEntry(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	version, versioned := f.integer("version", 1, 1<<53)
	apply := h.entryFields(f)
	sunset, hasSunset := f.moment("sunsetAt")
	f.fixed("model", "cannot be changed; register the other model")
	f.fixed("state", "is changed by POST …/{id}/transitions")
	rejectMoved(f)
	if err := f.err(); err != nil {
		return answer{}, err
	}
	edit := entryEdit{action: "registry.update", apply: func(e *registryEntry) error {
		if e.Version == 0 {
			return missing("entry", c.id)
		}
		apply(e)
		if hasSunset && e.State != registryState(doc.RegistryDeprecated) {
			return invalid(fault.Detail{Field: "sunsetAt", Message: "belongs to deprecated models; the model is " + e.State.String()})
		}
		set(hasSunset, &e.SunsetAt, sunset)
		return nil
	}}
	if versioned {
		edit.version = &version
	}
	result, err := h.changeEntry(c, edit)
	return answer{http.StatusOK, result}, err
}

// changeEntry commits an edit of an entry, with the project's policy and an audit entry, and delivers the policy.
func (h *handler) changeEntry(c *call, edit entryEdit) (result changedEntry, err error) {
	waits := false
	err = h.store.change(c, func() (change, error) {
		before, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		old, err := h.registryEntry(c, c.project, c.id)
		if err != nil && !errors.Is(err, errNotFound) {
			return change{}, err
		}
		e := old
		if edit.version != nil && *edit.version != old.Version {
			return change{}, outdated(old.Version, *edit.version)
		}
		if err := edit.apply(&e); err != nil {
			return change{}, err
		}
		if err := h.checkEntry(&e); err != nil {
			return change{}, err
		}
		now := instant(h.nowMs())
		if e.UpdatedAt, e.Version = now, old.Version+1; old.Version == 0 {
			e.CreatedAt = now
		}
		result.registryEntry = e
		made, err := h.entryChange(c, &before, &old, &e, edit)
		made.pending = &waits
		return made, err
	})
	h.flagOverdue(&result.registryEntry)
	result.Delivery = deliveryWord(waits)
	return result, err
}

// checkEntry checks what depends on several fields.
func (h *handler) checkEntry(e *registryEntry) error {
	if problem := h.wrongSuccessor(e); problem != "" {
		return invalid(fault.Detail{Field: "successor", Message: problem})
	}
	// RFC 9745, section 4: a resource's sunset is not before its deprecation.
	if e.SunsetAt != 0 && e.SunsetAt < e.DeprecatedAt {
		return invalid(fault.Detail{Field: "sunsetAt", Message: "must not be before " + timestamp(uint64(e.DeprecatedAt)) + ", when the model was deprecated"})
	}
	return nil
}

// entryChange is the commit of an entry's change.
func (h *handler) entryChange(c *call, before *project, old, e *registryEntry, edit entryEdit) (change, error) {
	value, err := e.encode()
	if err != nil {
		return change{}, err
	}
	var oldView any
	if old.Version != 0 {
		oldView = audited(old, "")
	}
	audit, err := h.auditWrite(c, edit.action, c.project, "", oldView, audited(e, edit.reason))
	if err != nil {
		return change{}, err
	}
	registry := withModel(before.Policy.Registry, e.compact())
	if err := checkRegistry(before.Policy.Registry, registry, e); err != nil {
		return change{}, err
	}
	made, _ := h.policyChange(before, audit, func(p *doc.Policy) { p.Registry = registry })
	made.writes = append(made.writes, directory.Write{Key: doc.RegistryKey(c.project, e.ID), Version: old.Version, Value: value})
	return made, nil
}
