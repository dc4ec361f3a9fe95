package control

import (
	"context"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// keyView is a key as the API shows it. Value is set only in the answer that makes the key.
type keyView struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Kind        string     `json:"kind"`
	Environment string     `json:"environment"`
	Prefix      string     `json:"prefix"` // the value's first characters
	Last4       string     `json:"last4"`  // and its last
	Status      string     `json:"status"`
	CreatedAt   string     `json:"createdAt"`   // RFC 3339, UTC, milliseconds
	LastUsedAt  *string    `json:"lastUsedAt"`  // likewise, as of the latest report; null: never
	Models      []string   `json:"models"`      // that the key may use, by name, and tiers; empty: all
	Permissions []string   `json:"permissions"` // what it may do
	Limits      limitsView `json:"limits"`
	ExpiresAt   *string    `json:"expiresAt"`  // from then on it is refused; null: never
	ReplacedBy  *string    `json:"replacedBy"` // the id of the key that it was rotated into
	Version     uint64     `json:"version"`
	Value       string     `json:"value,omitempty"`
}

type keysView struct {
	Keys []keyView `json:"keys"`
	Next *string   `json:"next"` // for after; null: that was all
}

func (h *handler) viewKey(k *key, lastUsedMs uint64) keyView {
	return keyView{
		ID: k.ID, Name: k.Name, Kind: translate(k.Kind, kindValues, kindWords),
		Environment: translate(k.Environment, environments, environmentWords),
		Prefix:      keys.Prefix(k.Kind, k.Environment), Last4: k.Last4, Status: statusOf(k, h.nowMs()),
		CreatedAt: timestamp(k.CreatedMs), LastUsedAt: orNever(lastUsedMs), Models: append([]string{}, k.Models...),
		Permissions: viewPermissions(k.Permissions, k.Kind), Limits: viewLimits(k.Limits), ExpiresAt: orNever(k.ExpiresMs),
		ReplacedBy: orNull(k.ReplacedBy), Version: k.Version,
	}
}

func orNever(ms uint64) *string {
	if ms == 0 {
		return nil
	}
	text := timestamp(ms)
	return &text
}

func (h *handler) nowMs() uint64 { return uint64(h.Now().UnixMilli()) }

// createKey is POST /api/admin/projects/{project}/keys.
func (h *handler) createKey(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	k, err := h.readKey(c.project, f)
	if err != nil {
		return answer{}, err
	}
	value, err := h.mint(&k)
	if err != nil {
		return answer{}, err
	}
	view := h.viewKey(&k, 0)
	entry, err := h.audited(c, "key.create", c.project, k.ID, nil, view)
	if err != nil {
		return answer{}, err
	}
	err = h.store.change(c, func() (change, error) {
		p, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		p = next(p)
		p.KeyCount++
		return change{
			writes:     []directory.Write{writeProject(&p), writeKey(&k), entry},
			deliveries: h.store.afterPolicy(&p, directory.StatusTo(&k, &p), directory.RecordTo(&k, &p)),
		}, nil
	})
	view.Value = value
	return answer{http.StatusCreated, view}, err
}

// readKey reads the fields of a new key.
func (h *handler) readKey(projectID string, f *fields) (key, error) {
	k := key{Version: 1}
	k.ProjectID, k.Status = projectID, doc.Active
	k.Name = f.requiredName()
	k.Kind = translate(f.defaultedChoice("kind", kindWords), kindWords, kindValues)
	k.Environment = translate(f.defaultedChoice("environment", environmentWords), environmentWords, environments)
	k.Models, _ = f.models()
	k.Permissions, _ = f.permissions(k.Kind)
	k.Limits, _ = f.limits()
	k.ExpiresMs, _ = f.expiry(h.Now())
	return k, f.refused()
}

// mint gives a key its id and a value, which is kept nowhere.
func (h *handler) mint(k *key) (value string, err error) {
	now := h.Now()
	k.CreatedMs = uint64(now.UnixMilli())
	if k.ID, err = newID(keyPrefix, now, h.Rand); err != nil {
		return "", err
	}
	var random [keys.RandomBytes]byte
	if _, err = io.ReadFull(h.Rand, random[:]); err != nil {
		return "", err
	}
	value = keys.New(k.Kind, k.Environment, random)
	k.Hash, k.Last4 = keys.Hash(value), value[len(value)-4:]
	return value, nil
}

// listKeys is GET /api/admin/projects/{project}/keys?limit=&after=&status=&kind=&environment=&q=, oldest first.
func (h *handler) listKeys(c *call) (answer, error) {
	q, err := readQuery(c.request, keyPrefix, "status", "kind", "environment", "q")
	if err != nil {
		return answer{}, err
	}
	status, kind, environment := q.choice("status", keyStatuses), q.choice("kind", kindWords), q.choice("environment", environmentWords)
	if err := q.refused(); err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	now := h.nowMs()
	found, more, err := scan(c, h.store, q, doc.KeysOf(p.ID), directory.DecodeKey, func(k *key) bool {
		return (status == "" || statusOf(k, now) == status) &&
			(kind == "" || translate(k.Kind, kindValues, kindWords) == kind) &&
			(environment == "" || translate(k.Environment, environments, environmentWords) == environment) && q.matches(k.Name)
	})
	if err != nil {
		return answer{}, err
	}
	views, err := h.viewKeys(c, &p, found)
	return answer{http.StatusOK, keysView{views, nextID(more, doc.KeysOf(p.ID))}}, err
}

func (h *handler) viewKeys(ctx context.Context, p *project, found []key) ([]keyView, error) {
	used, err := h.lastUses(ctx, p, found)
	if err != nil {
		return nil, err
	}
	views := make([]keyView, len(found))
	for i := range found {
		views[i] = h.viewKey(&found[i], used[found[i].Hash])
	}
	return views, nil
}

// getKey is GET …/keys/{key}.
func (h *handler) getKey(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	k, err := h.store.key(c, c.project, c.key)
	if err != nil {
		return answer{}, err
	}
	views, err := h.viewKeys(c, &p, []key{k})
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, views[0]}, nil
}

// patchKey is PATCH …/keys/{key}: what is not given stays. A key's kind and environment are part of its value.
func (h *handler) patchKey(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	k, err := h.store.key(c, c.project, c.key) // its kind says what it can be permitted
	if err != nil {
		return answer{}, err
	}
	version, _ := f.count("version", 1<<53)
	name, named := f.name()
	models, listed := f.models()
	may, permitted := f.permissions(k.Kind)
	limits, limited := f.limits()
	expires, expiring := f.expiry(h.Now())
	if err := f.refused(); err != nil {
		return answer{}, err
	}
	return h.shownChange(c, "key.update", version, func(k *key) {
		set(named, &k.Name, name)
		set(listed, &k.Models, models)
		set(permitted, &k.Permissions, may)
		set(limited, &k.Limits, limits)
		set(expiring, &k.ExpiresMs, expires)
	})
}

// deactivateKey is POST …/keys/{key}/deactivate. Its answer means that the key's meter refuses the key.
func (h *handler) deactivateKey(c *call) (answer, error) {
	return h.shownChange(c, "key.deactivate", 0, func(k *key) { k.Status = doc.Inactive })
}

// reactivateKey is POST …/keys/{key}/reactivate.
func (h *handler) reactivateKey(c *call) (answer, error) {
	return h.shownChange(c, "key.reactivate", 0, func(k *key) { k.Status = doc.Active })
}

// shownChange changes a key and answers with it. It makes a commit even if nothing is different: an earlier
// one may have been committed and not yet delivered, and this answer, too, says that it is in force.
func (h *handler) shownChange(c *call, action string, version uint64, edit func(*key)) (answer, error) {
	k, p, err := h.changeKey(c, action, version, edit)
	if err != nil {
		return answer{}, err
	}
	// The change is made, whatever the ledger says now.
	used, err := h.lastUses(c, &p, []key{k})
	if err != nil {
		log.Printf("control: last use of %s: %q", k.ID, err.Error())
	}
	return answer{http.StatusOK, h.viewKey(&k, used[k.Hash])}, nil
}

// deleteKey is DELETE …/keys/{key}.
func (h *handler) deleteKey(c *call) (answer, error) {
	_, _, err := h.changeKey(c, "key.delete", 0, func(k *key) { k.Status = doc.Removed })
	return answer{status: http.StatusNoContent}, err
}

// changeKey commits what edit makes of a key, if its version is the expected one (0: any), and tells its meter.
func (h *handler) changeKey(c *call, action string, version uint64, edit func(*key)) (k key, p project, err error) {
	err = h.store.change(c, func() (change, error) {
		if p, err = h.store.project(c, c.project); err != nil {
			return change{}, err
		}
		before, err := h.store.key(c, c.project, c.key)
		if err != nil {
			return change{}, err
		}
		if version != 0 && version != before.Version {
			return change{}, errConflict
		}
		k, p = nextKey(before), next(p)
		edit(&k)
		entry, err := h.auditedKey(c, action, &before, &k)
		made := change{writes: []directory.Write{writeProject(&p), writeKey(&k), entry}, deliveries: h.store.afterPolicy(&p, directory.StatusTo(&k, &p))}
		if k.Status != doc.Inactive {
			// A key in use has its record published at the meter's version, or every exchange that has
			// the record from KV would be told a newer one. An inactive key's may be old.
			made.deliveries = append(made.deliveries, directory.RecordTo(&k, &p))
		}
		return made, err
	})
	return k, p, err
}

func (h *handler) auditedKey(c *call, action string, before, after *key) (directory.Write, error) {
	if after.Status == doc.Removed {
		return h.audited(c, action, c.project, after.ID, h.viewKey(before, 0), nil)
	}
	return h.audited(c, action, c.project, after.ID, h.viewKey(before, 0), h.viewKey(after, 0))
}

// rotateKey is POST …/keys/{key}/rotate {"graceSeconds"}: a new key with the same settings, while the old
// one is still good for the grace period.
func (h *handler) rotateKey(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	grace := f.grace()
	if err := f.refused(); err != nil {
		return answer{}, err
	}
	replaced, err := h.store.key(c, c.project, c.key) // its kind and environment are part of the new value too
	if err != nil {
		return answer{}, err
	}
	var fresh key
	fresh.Kind, fresh.Environment = replaced.Kind, replaced.Environment
	value, err := h.mint(&fresh)
	if err != nil {
		return answer{}, err
	}
	made := fresh
	err = h.store.change(c, func() (change, error) {
		made = fresh
		return h.rotation(c, &made, grace)
	})
	view := h.viewKey(&made, 0)
	view.Value = value
	return answer{http.StatusCreated, view}, err
}

// replacedAlready: of two rotations of one key the first would be lost sight of.
var replacedAlready = fault.Detail{Field: "key", Message: "was rotated before: rotate the key that replaced it"}

// expiredAlready: the new key would have the old one's expiry, and would never work.
var expiredAlready = fault.Detail{Field: "key", Message: "has expired: give it a later expiry first, or create a key"}

// rotation is the commit that puts a freshly minted key in another's place.
func (h *handler) rotation(c *call, fresh *key, grace time.Duration) (change, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return change{}, err
	}
	before, err := h.store.key(c, c.project, c.key)
	if err != nil {
		return change{}, err
	}
	if before.ReplacedBy != "" {
		return change{}, invalid(replacedAlready)
	}
	if before.ExpiresMs != 0 && before.ExpiresMs <= h.nowMs() {
		return change{}, invalid(expiredAlready)
	}
	id, hash, last4, created := fresh.ID, fresh.Hash, fresh.Last4, fresh.CreatedMs
	*fresh = key{Key: before.Key, Version: 1}
	fresh.ID, fresh.Hash, fresh.Last4, fresh.CreatedMs, fresh.Status = id, hash, last4, created, doc.Active
	old, p := nextKey(before), next(p)
	p.KeyCount++
	old.ReplacedBy = fresh.ID
	// A time of 0 is never: a key without grace has expired a moment ago.
	if at := uint64(h.Now().Add(grace).UnixMilli()); old.ExpiresMs == 0 || at < old.ExpiresMs {
		old.ExpiresMs = at
	}
	entry, err := h.auditedKey(c, "key.rotate", &before, &old)
	return change{
		writes: []directory.Write{writeProject(&p), writeKey(&old), writeKey(fresh), entry},
		deliveries: h.store.afterPolicy(&p,
			directory.StatusTo(fresh, &p), directory.RecordTo(fresh, &p), directory.StatusTo(&old, &p), directory.RecordTo(&old, &p)),
	}, err
}

// lastUses asks a project's ledger when keys were last used, in Unix milliseconds by hash.
func (h *handler) lastUses(ctx context.Context, p *project, wanted []key) (map[string]uint64, error) {
	used := map[string]uint64{}
	if len(wanted) == 0 {
		return used, nil
	}
	var question ledger.Keys
	for i := range wanted {
		question.Names = append(question.Names, wanted[i].Hash)
	}
	reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, question.Encode())
	if err != nil {
		return nil, unavailable(err)
	}
	uses, err := ledger.DecodeKeyUses(reply)
	for _, use := range uses {
		used[use.Key] = use.LastUsedMs
	}
	return used, err
}
