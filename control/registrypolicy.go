package control

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// The API's names of enforcements and their values, in the same order.
var (
	enforcementWords = []string{"off", "warn", "enforce"}
	enforcements     = []doc.Enforcement{doc.EnforceOff, doc.EnforceWarn, doc.Enforce}
)

func enforcementWord(e doc.Enforcement) string { return translate(e, enforcements, enforcementWords) }

// withModel returns a registry with a new or changed model. The given one is not changed.
func withModel(registry []doc.RegistryModel, m doc.RegistryModel) []doc.RegistryModel {
	at, found := slices.BinarySearchFunc(registry, m.Model, func(o doc.RegistryModel, name string) int { return strings.Compare(o.Model, name) })
	registry = slices.Clone(registry)
	if found {
		registry[at] = m
		return registry
	}
	return slices.Insert(registry, at, m)
}

// checkRegistry bounds a registry that an entry was added to or changed in. Blocking is refused only for lack of an entry.
func checkRegistry(before, after []doc.RegistryModel, changed *registryEntry) error {
	if len(after) > maxEntries {
		return invalid(fault.Detail{Field: "model", Message: "cannot be registered: the project has " + strconv.Itoa(maxEntries) + " entries, the maximum"})
	}
	size := func(registry []doc.RegistryModel) int {
		p := doc.Policy{Registry: registry}
		return len(p.Encode())
	}
	n := size(after)
	if n <= maxRegistryBytes || n <= size(before) || changed.State == registryState(doc.RegistryBlocked) {
		return nil
	}
	return invalid(fault.Detail{Field: "body", Message: "makes the enforced part of the registry " + strconv.Itoa(n) + " bytes long; the maximum is " +
		strconv.Itoa(maxRegistryBytes) + ". Restrict models to fewer keys"})
}

// policyChange is the commit of an edit of a project's policy, and the project after it, which has a new revision only if
// the policy differs.
func (h *handler) policyChange(before *project, audit directory.Write, edit func(*doc.Policy)) (change, project) {
	after := next(*before)
	edit(&after.Policy)
	if string(before.Policy.Encode()) != string(after.Policy.Encode()) {
		after.Revision++
	}
	h.versionPolicy(before, &after)
	return h.projectChange(before, &after, audit), after
}

// enforcementView is the response to a change of the enforcement.
type enforcementView struct {
	Enforcement   string `json:"enforcement"`
	PolicyVersion uint64 `json:"policyVersion"`
	Delivery      string `json:"delivery"`
}

// putEnforcement is PUT /api/admin/projects/{project}/models-registry/enforcement {"enforcement"}.
func (h *handler) putEnforcement(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	if _, present := f.values["enforcement"]; !present {
		f.problem("enforcement", "is required")
	}
	word, _ := f.choice("enforcement", "", enforcementWords)
	if err := f.err(); err != nil {
		return answer{}, err
	}
	waits := false
	view := enforcementView{Enforcement: word}
	err = h.store.change(c, func() (change, error) {
		before, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		audit, err := h.auditWrite(c, "registry.enforcement", c.project, "",
			map[string]string{"enforcement": enforcementWord(before.Policy.Enforcement)}, map[string]string{"enforcement": word})
		if err != nil {
			return change{}, err
		}
		made, after := h.policyChange(&before, audit, func(p *doc.Policy) { p.Enforcement = translate(word, enforcementWords, enforcements) })
		made.pending = &waits
		// An earlier attempt may have missed some keys; this response confirms that all have the change.
		made.republish = c.project
		view.PolicyVersion = after.Policy.Version
		return made, nil
	})
	view.Delivery = deliveryWord(waits)
	return answer{http.StatusOK, view}, err
}
