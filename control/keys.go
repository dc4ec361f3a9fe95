package control

import (
	"context"
	"io"
	"log"
	"net/http"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// maxKeyUses is how many last uses one question to a ledger asks for.
const maxKeyUses = 1000

// keyView is a key as the API shows it. Value is set only in the answer that makes the key.
type keyView struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Kind        string  `json:"kind"`
	Environment string  `json:"environment"`
	Prefix      string  `json:"prefix"` // the value's first characters
	Last4       string  `json:"last4"`  // and its last
	Status      string  `json:"status"`
	CreatedAt   string  `json:"createdAt"`  // RFC 3339, UTC, milliseconds
	LastUsedAt  *string `json:"lastUsedAt"` // likewise, as of the latest report; null: never
	// Models are those that the key may use, by name, and tiers; empty: all.
	Models []string `json:"models"`
	Value  string   `json:"value,omitempty"`
}

type keysView struct {
	Keys []keyView `json:"keys"`
	Next *string   `json:"next"` // for after; null: that was all
}

func (k key) view(lastUsedMs uint64) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, Kind: translate(k.Kind, kindValues, kindWords),
		Environment: translate(k.Environment, environments, environmentWords),
		Prefix:      keys.Prefix(k.Kind, k.Environment), Last4: k.Last4, Status: "inactive",
		CreatedAt: timestamp(k.CreatedMs), Models: append([]string{}, k.Models...),
	}
	if k.Status == doc.Active {
		v.Status = "active"
	}
	if lastUsedMs != 0 {
		text := timestamp(lastUsedMs)
		v.LastUsedAt = &text
	}
	return v
}

// createKey is POST /api/admin/projects/{project}/keys.
func (h *handler) createKey(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	k, value, err := h.newKey(c.project, f)
	if err != nil {
		return answer{}, err
	}
	err = h.store.change(c, func() (change, error) {
		p, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		p = p.next()
		p.KeyCount++
		return change{[]directory.Write{p.write(), k.write()}, []abi.Delivery{statusTo(k, p), recordTo(k, p)}}, nil
	})
	view := k.view(0)
	view.Value = value
	return answer{http.StatusCreated, view}, err
}

// newKey makes the first version of a key, and its value, which is kept nowhere.
func (h *handler) newKey(projectID string, f *fields) (k key, value string, err error) {
	k.version = 1
	k.ProjectID, k.Status = projectID, doc.Active
	k.Name = f.requiredName()
	k.Kind = translate(f.defaultedChoice("kind", kindWords), kindWords, kindValues)
	k.Environment = translate(f.defaultedChoice("environment", environmentWords), environmentWords, environments)
	k.Models = f.models()
	if err := f.refused(); err != nil {
		return k, "", err
	}
	now := h.Now()
	k.CreatedMs = uint64(now.UnixMilli())
	if k.ID, err = newID(keyPrefix, now, h.Rand); err != nil {
		return k, "", err
	}
	var random [keys.RandomBytes]byte
	if _, err = io.ReadFull(h.Rand, random[:]); err != nil {
		return k, "", err
	}
	value = keys.New(k.Kind, k.Environment, random)
	k.Hash, k.Last4 = keys.Hash(value), value[len(value)-4:]
	return k, value, nil
}

// listKeys is GET /api/admin/projects/{project}/keys?limit=&after=, oldest first.
func (h *handler) listKeys(c *call) (answer, error) {
	page, err := readPage(c.request, keyPrefix)
	if err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	// One more than asked tells whether there is a next page.
	found, err := h.store.keys(c, p.ID, page.after, page.limit+1)
	if err != nil {
		return answer{}, err
	}
	var next *string
	if len(found) > page.limit {
		found = found[:page.limit]
		next = &found[page.limit-1].ID
	}
	used, err := h.lastUses(c, p, found)
	if err != nil {
		return answer{}, err
	}
	views := make([]keyView, len(found))
	for i, k := range found {
		views[i] = k.view(used[k.Hash])
	}
	return answer{http.StatusOK, keysView{views, next}}, nil
}

// deactivateKey is POST …/keys/{key}/deactivate. Its answer means that the key's meter refuses the key.
func (h *handler) deactivateKey(c *call) (answer, error) { return h.setStatus(c, doc.Inactive) }

// reactivateKey is POST …/keys/{key}/reactivate.
func (h *handler) reactivateKey(c *call) (answer, error) { return h.setStatus(c, doc.Active) }

// setStatus makes a commit even if the key has the status already: an earlier one may have been committed
// and not yet delivered, and this answer, too, says that the status is in force.
func (h *handler) setStatus(c *call, status doc.Status) (answer, error) {
	k, p, err := h.changeKey(c, status)
	if err != nil {
		return answer{}, err
	}
	// The change is made, whatever the ledger says now.
	used, err := h.lastUses(c, p, []key{k})
	if err != nil {
		log.Printf("control: last use of %s: %q", k.ID, err.Error())
	}
	return answer{http.StatusOK, k.view(used[k.Hash])}, nil
}

// deleteKey is DELETE …/keys/{key}.
func (h *handler) deleteKey(c *call) (answer, error) {
	_, _, err := h.changeKey(c, doc.Removed)
	return answer{status: http.StatusNoContent}, err
}

// changeKey gives a key a status, in the Directory and in its meter.
func (h *handler) changeKey(c *call, status doc.Status) (k key, p project, err error) {
	err = h.store.change(c, func() (change, error) {
		if p, err = h.store.project(c, c.project); err != nil {
			return change{}, err
		}
		if k, err = h.store.key(c, c.project, c.key); err != nil {
			return change{}, err
		}
		k, p = k.next(), p.next()
		k.Status = status
		made := change{[]directory.Write{p.write(), k.write()}, []abi.Delivery{statusTo(k, p)}}
		if status != doc.Inactive {
			// A key in use has its record published at the meter's version, or every exchange that has
			// the record from KV would be told a newer one. An inactive key's may be old.
			made.deliveries = append(made.deliveries, recordTo(k, p))
		}
		return made, nil
	})
	return k, p, err
}

// lastUses asks a project's ledger when keys were last used, in Unix milliseconds by hash. Ledgers answer
// in the order of the hashes, so it walks from the first of them to the last.
func (h *handler) lastUses(ctx context.Context, p project, wanted []key) (map[string]uint64, error) {
	used := map[string]uint64{}
	if len(wanted) == 0 {
		return used, nil
	}
	hashes := make([]string, len(wanted))
	for i, k := range wanted {
		hashes[i] = k.Hash
	}
	first, last := slices.Min(hashes), slices.Max(hashes)
	query := ledger.Keys{After: first[:len(first)-1], Limit: maxKeyUses} // just before the first
	if len(wanted) == 1 {
		query.Limit = 1
	}
	for {
		reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, query.Encode())
		if err != nil {
			return nil, unavailable(err)
		}
		page, err := ledger.DecodeKeyUses(reply)
		if err != nil {
			return nil, err
		}
		for _, use := range page {
			used[use.Key] = use.LastUsedMs
		}
		if uint64(len(page)) < query.Limit || page[len(page)-1].Key >= last {
			return used, nil
		}
		query.After = page[len(page)-1].Key
	}
}
