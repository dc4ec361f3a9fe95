package registry

import (
	"errors"
	"slices"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

type registryView struct {
	Enforcement   string            `json:"enforcement"`
	PolicyVersion uint64            `json:"policyVersion"` // version of the project's policy; 0: no policy
	Delivery      string            `json:"delivery"`      // whether the policy has reached all keys
	Models        []inventory.Entry `json:"models"`        // by model name
	Next          *string           `json:"next"`          // pass as "after" to get the next page; null: last page
}

// Words that tell whether all keys of the project have a change.
const (
	delivered = "delivered"
	pending   = "pending" // within minutes, the Directory delivers the change to the keys beyond kernel.MaxUpdatedKeys
)

func deliveryWord(waits bool) string {
	if waits {
		return pending
	}
	return delivered
}

// stateFilters are the states by which a list can be filtered.
var stateFilters = func() []string {
	words := []string{inventory.Discovered}
	for s := doc.RegistryPending; s <= doc.RegistryBlocked; s++ {
		words = append(words, policy.StateWord(s))
	}
	return words
}()

// listRegistry serves GET /models-registry?state=&q=&limit=&after=. Entries are sorted by model name. Models that the
// project used but that have no entry are listed as discovered.
func (h *handler) listRegistry(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, kernel.EntryPrefix, "state", "q")
	if err != nil {
		return kernel.Answer{}, err
	}
	state := q.Choice("state", stateFilters)
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	all, err := inventory.List(c, h.Plane, &p)
	if err != nil {
		return kernel.Answer{}, err
	}
	done, err := h.Store.Republished(c, p.ID)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := registryView{settings.EnforcementWord(p.Policy.Enforcement), p.Policy.Version, deliveryWord(!done), nil, nil}
	view.Models, view.Next = registryPage(all, q, func(e *inventory.Entry) bool {
		return (state == "" || e.State.String() == state) && q.Matches(e.Model)
	})
	return kernel.OK(view), nil
}

// registryPage returns a page of wanted entries and the cursor of the next page. The cursor is the ID of the last
// entry on the page. That entry keeps its place in the list, because entries are never deleted.
func registryPage(all []inventory.Entry, q *kernel.Query, wanted func(*inventory.Entry) bool) (page []inventory.Entry, next *string) {
	start := slices.IndexFunc(all, func(e inventory.Entry) bool { return e.ID == q.After }) + 1
	page = []inventory.Entry{}
	for i := start; i < len(all); i++ {
		if !wanted(&all[i]) {
			continue
		}
		if len(page) == q.Limit {
			return page, &page[len(page)-1].ID
		}
		page = append(page, all[i])
	}
	return page, nil
}

// getEntry serves GET /models-registry/{entry}. Discovered models have entry IDs, too.
func (h *handler) getEntry(c *kernel.Call) (kernel.Answer, error) {
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	uses, err := inventory.Uses(c, h.Plane, &p)
	if err != nil {
		return kernel.Answer{}, err
	}
	e, err := inventory.Read(c, h.Plane, p.ID, c.ID)
	if errors.Is(err, kernel.ErrNotFound) {
		for model := range uses {
			if inventory.EntryID(model) == c.ID {
				e, err = inventory.Entry{ID: c.ID, Model: model}, nil
			}
		}
	}
	if errors.Is(err, kernel.ErrNotFound) {
		return kernel.Answer{}, kernel.Missing("entry", c.ID)
	}
	inventory.Complete(h.Plane, &e, uses)
	return kernel.OK(e), err
}
