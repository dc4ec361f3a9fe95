package registry

import (
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// withModel returns a copy of a registry with a new or changed model.
func withModel(registry []doc.RegistryModel, m doc.RegistryModel) []doc.RegistryModel {
	at, found := slices.BinarySearchFunc(registry, m.Model, func(o doc.RegistryModel, name string) int { return strings.Compare(o.Model, name) })
	registry = slices.Clone(registry)
	if found {
		registry[at] = m
		return registry
	}
	return slices.Insert(registry, at, m)
}

// checkRegistry enforces the limits on a registry's size after an entry was added or changed. Blocking a model is
// refused only if there is no room for another entry.
func checkRegistry(before, after []doc.RegistryModel, changed *inventory.Entry) error {
	if len(after) > maxEntries {
		return kernel.Invalid(fault.Detail{Field: "model", Message: "cannot be registered: the project has " + strconv.Itoa(maxEntries) + " entries, the maximum"})
	}
	size := func(registry []doc.RegistryModel) int {
		p := doc.Policy{Registry: registry}
		return len(p.Encode())
	}
	n := size(after)
	if n <= maxRegistryBytes || n <= size(before) || changed.State == inventory.State(doc.RegistryBlocked) {
		return nil
	}
	return kernel.Invalid(fault.Detail{Field: "body", Message: "makes the enforced part of the registry " + strconv.Itoa(n) + " bytes long; the maximum is " +
		strconv.Itoa(maxRegistryBytes) + ". Restrict models to fewer keys"})
}

type enforcementView struct {
	Enforcement   string `json:"enforcement"`
	PolicyVersion uint64 `json:"policyVersion"`
	Delivery      string `json:"delivery"`
}

// putEnforcement serves PUT /api/admin/projects/{project}/models-registry/enforcement {"enforcement"}.
func (h *handler) putEnforcement(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	if !f.Has("enforcement") {
		f.Problem("enforcement", "is required")
	}
	word, _ := f.Choice("enforcement", "", settings.EnforcementWords)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	waits := false
	view := enforcementView{Enforcement: word}
	err = h.Store.Change(c, func() (kernel.Change, error) {
		before, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		audit, err := h.AuditWrite(c, c.Project, "",
			map[string]string{"enforcement": settings.EnforcementWord(before.Policy.Enforcement)}, map[string]string{"enforcement": word})
		if err != nil {
			return kernel.Change{}, err
		}
		made, after := policyChange(h.Plane, &before, audit, func(p *doc.Policy) {
			p.Enforcement = kernel.Translate(word, settings.EnforcementWords, settings.Enforcements)
		})
		made.Pending = &waits
		// The settings are delivered even if nothing changes. An earlier attempt may have missed some keys, and this
		// response confirms that all of them have the change.
		made.Republish = []string{c.Project}
		view.PolicyVersion = after.Policy.Version
		return made, nil
	})
	view.Delivery = deliveryWord(waits)
	return kernel.OK(view), err
}

const maxRegistryBytes = 64 << 10 // size of the part of the registry that is in the project's policy

// policyChange returns the commit of a change to a project's policy, and the changed project. The project gets a new
// revision only if the policy changes.
func policyChange(cp *kernel.Plane, before *directory.Project, audit directory.Write, edit func(*doc.Policy)) (kernel.Change, directory.Project) {
	after := kernel.NextProject(*before)
	edit(&after.Policy)
	if string(before.Policy.Encode()) != string(after.Policy.Encode()) {
		after.Revision++
	}
	settings.VersionPolicy(before, &after)
	return settings.ProjectChange(cp, before, &after, audit), after
}
