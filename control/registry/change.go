package registry

import (
	"errors"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

type changedEntry struct {
	inventory.Entry
	Delivery string `json:"delivery"`
}

// auditedEntry is a registry entry as the audit log shows it. It leaves out the entry's own history, because the log
// has an entry for each move.
type auditedEntry struct {
	inventory.Entry
	Reason    string    `json:"reason,omitempty"`
	Approvals *struct{} `json:"approvals,omitempty"`
	History   *struct{} `json:"history,omitempty"`
}

func audited(e *inventory.Entry, reason string) auditedEntry {
	return auditedEntry{Entry: *e, Reason: reason}
}

// entryEdit is a change of an entry. If the model does not have an entry yet, apply is called with a new entry of
// version 0.
type entryEdit struct {
	version *uint64 // expected; nil: any
	reason  string
	apply   func(*inventory.Entry) error
}

// createEntry serves POST /models-registry. The registered model becomes pending.
func (h *handler) createEntry(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	m := h.model(f)
	apply := h.entryFields(f)
	f.Fixed("state", "is pending at first; change it with POST …/{id}/transitions")
	rejectMoved(f)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	c.ID = inventory.EntryID(m.Name)
	result, err := h.changeEntry(c, entryEdit{apply: func(e *inventory.Entry) error {
		if e.Version != 0 {
			return kernel.Refuse(fault.Conflict, "model", m.Name+" is already registered as "+e.ID)
		}
		*e = inventory.Entry{ID: c.ID, Model: m.Name}
		apply(e)
		h.move(c, e, doc.RegistryPending, "")
		return nil
	}})
	return kernel.Created(result), err
}

// rejectMoved reports a problem for each field that only transitions can set.
func rejectMoved(f *kernel.Fields) {
	for _, field := range []string{"keys", "approvals", "history", "deprecatedAt"} {
		f.Fixed(field, "is set by POST …/{id}/transitions")
	}
}

// patchEntry serves PATCH /models-registry/{entry}. Omitted fields keep their values.
func (h *handler) patchEntry(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	version, versioned := f.Integer("version", 1, 1<<53)
	apply := h.entryFields(f)
	sunset, hasSunset := takeMoment(f, "sunsetAt")
	f.Fixed("model", "cannot be changed; register the other model")
	f.Fixed("state", "is changed by POST …/{id}/transitions")
	rejectMoved(f)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	edit := entryEdit{apply: func(e *inventory.Entry) error {
		if e.Version == 0 {
			return kernel.Missing("entry", c.ID)
		}
		apply(e)
		if hasSunset && e.State != inventory.State(doc.RegistryDeprecated) {
			return kernel.Invalid(fault.Detail{Field: "sunsetAt", Message: "is only for deprecated models; the model is " + e.State.String()})
		}
		kernel.Set(hasSunset, &e.SunsetAt, sunset)
		return nil
	}}
	if versioned {
		edit.version = &version
	}
	result, err := h.changeEntry(c, edit)
	return kernel.OK(result), err
}

// changeEntry commits an edit of an entry together with the project's policy and an audit entry, and delivers the
// policy.
func (h *handler) changeEntry(c *kernel.Call, edit entryEdit) (result changedEntry, err error) {
	waits := false
	err = h.Store.Change(c, func() (kernel.Change, error) {
		before, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		old, err := inventory.Read(c, h.Plane, c.Project, c.ID)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return kernel.Change{}, err
		}
		e := old
		if edit.version != nil && *edit.version != old.Version {
			return kernel.Change{}, kernel.Outdated(old.Version, *edit.version)
		}
		if err := edit.apply(&e); err != nil {
			return kernel.Change{}, err
		}
		if err := h.checkEntry(&e); err != nil {
			return kernel.Change{}, err
		}
		now := inventory.Instant(h.NowMs())
		if e.UpdatedAt, e.Version = now, old.Version+1; old.Version == 0 {
			e.CreatedAt = now
		}
		result.Entry = e
		made, err := h.entryChange(c, &before, &old, &e, edit)
		made.Pending = &waits
		return made, err
	})
	inventory.FlagOverdue(h.Plane, &result.Entry)
	result.Delivery = deliveryWord(waits)
	return result, err
}

func (h *handler) checkEntry(e *inventory.Entry) error {
	if problem := h.wrongSuccessor(e); problem != "" {
		return kernel.Invalid(fault.Detail{Field: "successor", Message: problem})
	}
	// According to RFC 9745, section 4, a resource's sunset must not be earlier than its deprecation.
	if e.SunsetAt != 0 && e.SunsetAt < e.DeprecatedAt {
		return kernel.Invalid(fault.Detail{Field: "sunsetAt", Message: "must not be before " + kernel.Timestamp(uint64(e.DeprecatedAt)) + ", when the model was deprecated"})
	}
	return nil
}

func (h *handler) entryChange(c *kernel.Call, before *directory.Project, old, e *inventory.Entry, edit entryEdit) (kernel.Change, error) {
	value, err := e.Encode()
	if err != nil {
		return kernel.Change{}, err
	}
	var oldView any
	if old.Version != 0 {
		oldView = audited(old, "")
	}
	audit, err := h.AuditWrite(c, c.Project, "", oldView, audited(e, edit.reason))
	if err != nil {
		return kernel.Change{}, err
	}
	registry := withModel(before.Policy.Registry, e.Compact())
	if err := checkRegistry(before.Policy.Registry, registry, e); err != nil {
		return kernel.Change{}, err
	}
	made, _ := policyChange(h.Plane, before, audit, func(p *doc.Policy) { p.Registry = registry })
	made.Writes = append(made.Writes, directory.Write{Key: doc.RegistryKey(c.Project, e.ID), Version: old.Version, Value: value})
	return made, nil
}
