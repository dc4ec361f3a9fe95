package control

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
)

// seenDays is how far back a model's use is looked for.
const seenDays = 90

// modelUse is a model's use in the project, of the last seenDays.
type modelUse struct {
	FirstSeen *string `json:"firstSeen"` // date of the first use; null: not used
	LastSeen  *string `json:"lastSeen"`
	Requests  uint64  `json:"requests"` // successful and failed ones
}

// registryView is a page of the registry.
type registryView struct {
	Enforcement   string          `json:"enforcement"`
	PolicyVersion uint64          `json:"policyVersion"` // of the project's policy; 0: it has none
	Delivery      string          `json:"delivery"`      // whether the policy has reached all keys
	Models        []registryEntry `json:"models"`        // by model name
	Next          *string         `json:"next"`          // cursor for after; null: last page
}

// Whether all keys of the project have a change.
const (
	delivered = "delivered"
	pending   = "pending" // the Directory delivers it to the keys beyond maxUpdatedKeys, within minutes
)

func deliveryWord(waits bool) string {
	if waits {
		return pending
	}
	return delivered
}

// stateFilters are the states that a list can be filtered by.
var stateFilters = func() []string {
	words := []string{discovered}
	for s := doc.RegistryPending; s <= doc.RegistryBlocked; s++ {
		words = append(words, policy.StateWord(s))
	}
	return words
}()

// listRegistry is GET /models-registry?state=&q=&limit=&after=, by model name. Models that the project used but that have
// no entry are listed as discovered.
func (h *handler) listRegistry(c *call) (answer, error) {
	q, err := readQuery(c.request, entryPrefix, "state", "q")
	if err != nil {
		return answer{}, err
	}
	state := q.choice("state", stateFilters)
	if err := q.err(); err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	all, err := h.inventory(c, &p)
	if err != nil {
		return answer{}, err
	}
	done, err := h.store.republished(c, p.ID)
	if err != nil {
		return answer{}, err
	}
	view := registryView{enforcementWord(p.Policy.Enforcement), p.Policy.Version, deliveryWord(!done), nil, nil}
	view.Models, view.Next = registryPage(all, q, func(e *registryEntry) bool {
		return (state == "" || e.State.String() == state) && q.matches(e.Model)
	})
	return answer{http.StatusOK, view}, nil
}

// registryPage returns a page of wanted entries, and the cursor of the next one. Next is the ID of the last entry of the
// page, which remains in its place: entries are not deleted.
func registryPage(all []registryEntry, q *query, wanted func(*registryEntry) bool) (page []registryEntry, next *string) {
	start := slices.IndexFunc(all, func(e registryEntry) bool { return e.ID == q.after }) + 1
	page = []registryEntry{}
	for i := start; i < len(all); i++ {
		if !wanted(&all[i]) {
			continue
		}
		if len(page) == q.limit {
			return page, &page[len(page)-1].ID
		}
		page = append(page, all[i])
	}
	return page, nil
}

// inventory is a project's registry with the models that it used but that have no entry, by model name.
func (h *handler) inventory(ctx context.Context, p *project) ([]registryEntry, error) {
	all, err := h.registryEntries(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	uses, err := h.modelUses(ctx, p)
	if err != nil {
		return nil, err
	}
	for i := range all {
		h.complete(&all[i], uses)
		delete(uses, all[i].Model)
	}
	for model := range uses {
		e := registryEntry{ID: entryID(model), Model: model}
		h.complete(&e, uses)
		all = append(all, e)
	}
	sortBy(all, func(a, b *registryEntry) int { return strings.Compare(a.Model, b.Model) })
	return all, nil
}

// complete adds the fields that an entry has only in responses.
func (h *handler) complete(e *registryEntry, uses map[string]*modelUse) {
	if e.modelUse = uses[e.Model]; e.modelUse == nil {
		e.modelUse = &modelUse{}
	}
	h.flagOverdue(e)
}

// flagOverdue sets reviewOverdue, and the lists that are never null in responses.
func (h *handler) flagOverdue(e *registryEntry) {
	overdue := e.overdue(h.nowMs())
	e.Overdue = &overdue
	e.Approvals, e.History = append([]approval{}, e.Approvals...), append([]registryMove{}, e.History...)
}

// modelUses reads the use of models from the project's ledger. Meters report to it within seconds.
func (h *handler) modelUses(ctx context.Context, p *project) (map[string]*modelUse, error) {
	today := calendar.Day(h.nowMs())
	groups, err := h.groups(ctx, p, ledger.Query{FirstDay: today + 1 - seenDays, EndDay: today + 1, By: ledger.ByModelDay})
	if err != nil {
		return nil, err
	}
	sortBy(groups, func(a, b *ledger.Group) int { return int(a.Usage.Day) - int(b.Usage.Day) })
	uses := map[string]*modelUse{}
	for i := range groups {
		u := &groups[i].Usage
		if !h.isModel(u.Model) {
			continue
		}
		use := uses[u.Model]
		day := dateText(u.Day)
		if use == nil {
			use = &modelUse{FirstSeen: &day}
			uses[u.Model] = use
		}
		use.LastSeen = &day
		use.Requests += u.Requests + u.Failed
	}
	return uses, nil
}

// isModel reports whether a name in the usage is a model's. Models that are no longer in the catalog count; tiers, which
// requests that never had a target are counted under, do not.
func (h *handler) isModel(name string) bool {
	return isModelName(name) && !strings.HasPrefix(name, "(") && (h.Catalog.Tier(name) == nil || h.Catalog.Model(name) != nil)
}

// getEntry is GET /models-registry/{entry}. Discovered models have IDs, too.
func (h *handler) getEntry(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	uses, err := h.modelUses(c, &p)
	if err != nil {
		return answer{}, err
	}
	e, err := h.registryEntry(c, p.ID, c.id)
	if errors.Is(err, errNotFound) {
		for model := range uses {
			if entryID(model) == c.id {
				e, err = registryEntry{ID: c.id, Model: model}, nil
			}
		}
	}
	if errors.Is(err, errNotFound) {
		return answer{}, missing("entry", c.id)
	}
	h.complete(&e, uses)
	return answer{http.StatusOK, e}, err
}
