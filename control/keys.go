package control

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// keyView is a key in the API. Value is set only in the response that creates the key.
type keyView struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Kind        string     `json:"kind"`
	Environment string     `json:"environment"`
	Prefix      string     `json:"prefix"` // the first characters of the value
	Last4       string     `json:"last4"`  // the last characters of the value
	Status      string     `json:"status"`
	CreatedAt   string     `json:"createdAt"`   // RFC 3339, UTC, milliseconds
	LastUsedAt  *string    `json:"lastUsedAt"`  // likewise, from the latest report; null: never
	Models      []string   `json:"models"`      // models and tiers that the key may use; empty: all
	Permissions []string   `json:"permissions"` // granted permissions
	Limits      limitsView `json:"limits"`
	ExpiresAt   *string    `json:"expiresAt"`  // the key is rejected from then on; null: never
	ReplacedBy  *string    `json:"replacedBy"` // ID of the key that it was rotated into
	Version     uint64     `json:"version"`
	Value       string     `json:"value,omitempty"`
}

type keysView struct {
	Keys []keyView `json:"keys"`
	Next *string   `json:"next"` // cursor for after; null: last page
}

func (h *handler) viewKey(k *key, lastUsedMs uint64) keyView {
	return keyView{
		ID: k.ID, Name: k.Name, Kind: translate(k.Kind, kindValues, kindWords),
		Environment: translate(k.Environment, environments, environmentWords),
		Prefix:      keys.Prefix(k.Kind, k.Environment), Last4: k.Last4, Status: statusOf(k, h.nowMs()),
		CreatedAt: timestamp(k.CreatedMs), LastUsedAt: timestampOrNull(lastUsedMs), Models: append([]string{}, k.Models...),
		Permissions: viewPermissions(k.Permissions, k.Kind), Limits: viewLimits(k.Limits), ExpiresAt: timestampOrNull(k.ExpiresMs),
		ReplacedBy: nullIfEmpty(k.ReplacedBy), Version: k.Version,
	}
}

func timestampOrNull(ms uint64) *string {
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
	entry, err := h.auditWrite(c, "key.create", c.project, k.ID, nil, view)
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
			deliveries: h.store.withSettings(&p, directory.StatusTo(&k, &p), directory.RecordTo(&k, &p)),
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
	return k, f.err()
}

// mint assigns a key an ID and a value. The value is not stored.
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
	if err := q.err(); err != nil {
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

// patchKey is PATCH …/keys/{key}: omitted fields keep their values. Kind and environment are part of the
// key's value and cannot change.
func (h *handler) patchKey(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	k, err := h.store.key(c, c.project, c.key) // its kind determines the possible permissions
	if err != nil {
		return answer{}, err
	}
	version, _ := f.integer("version", 1, 1<<53)
	name, hasName := f.name()
	models, hasModels := f.models()
	permissions, hasPermissions := f.permissions(k.Kind)
	limits, hasLimits := f.limits()
	expires, hasExpiry := f.expiry(h.Now())
	for _, field := range []string{"kind", "environment"} {
		f.fixed(field, "cannot be changed; create another key")
	}
	if err := f.err(); err != nil {
		return answer{}, err
	}
	return h.updateKey(c, "key.update", version, func(k *key) {
		set(hasName, &k.Name, name)
		set(hasModels, &k.Models, models)
		set(hasPermissions, &k.Permissions, permissions)
		set(hasLimits, &k.Limits, limits)
		set(hasExpiry, &k.ExpiresMs, expires)
	})
}

// deactivateKey is POST …/keys/{key}/deactivate. By the time it responds, the key's meter rejects the key.
func (h *handler) deactivateKey(c *call) (answer, error) {
	return h.updateKey(c, "key.deactivate", 0, func(k *key) { k.Status = doc.Inactive })
}

// reactivateKey is POST …/keys/{key}/reactivate.
func (h *handler) reactivateKey(c *call) (answer, error) {
	return h.updateKey(c, "key.reactivate", 0, func(k *key) { k.Status = doc.Active })
}

// updateKey changes a key and responds with it. It commits even if nothing differs: the deliveries of an
// earlier commit may still be pending, and this response, too, confirms that the change is in force.
func (h *handler) updateKey(c *call, action string, version uint64, edit func(*key)) (answer, error) {
	k, p, err := h.changeKey(c, action, version, edit)
	if err != nil {
		return answer{}, err
	}
	// The change is made, even if the ledger fails now.
	used, err := h.lastUses(c, &p, []key{k})
	if err != nil {
		LogFailure("", "last_use_unknown", k.ID+": "+err.Error())
	}
	return answer{http.StatusOK, h.viewKey(&k, used[k.Hash])}, nil
}

// deleteKey is DELETE …/keys/{key}.
func (h *handler) deleteKey(c *call) (answer, error) {
	_, _, err := h.changeKey(c, "key.delete", 0, func(k *key) { k.Status = doc.Removed })
	return answer{status: http.StatusNoContent}, err
}

// changeKey commits an edit of a key, if its version is the expected one (0: any), and delivers it to the
// key's meter.
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
			return change{}, outdated(before.Version, version)
		}
		k, p = nextKey(before), next(p)
		edit(&k)
		entry, err := h.auditKeyWrite(c, action, &before, &k)
		made := change{writes: []directory.Write{writeProject(&p), writeKey(&k), entry}, deliveries: h.store.withSettings(&p, directory.StatusTo(&k, &p))}
		if k.Status != doc.Inactive {
			// Unless the key is inactive, its record in KV gets the meter's version. Otherwise every exchange
			// that reads the record from KV would get a newer one from the meter. The record of an inactive
			// key may be stale.
			made.deliveries = append(made.deliveries, directory.RecordTo(&k, &p))
		}
		return made, err
	})
	return k, p, err
}

func (h *handler) auditKeyWrite(c *call, action string, before, after *key) (directory.Write, error) {
	if after.Status == doc.Removed {
		return h.auditWrite(c, action, c.project, after.ID, h.viewKey(before, 0), nil)
	}
	return h.auditWrite(c, action, c.project, after.ID, h.viewKey(before, 0), h.viewKey(after, 0))
}

// rotateKey is POST …/keys/{key}/rotate {"graceSeconds"}: it creates a key with the same settings. The old
// key stays valid for the grace period.
func (h *handler) rotateKey(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	grace := f.grace()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	replaced, err := h.store.key(c, c.project, c.key) // its kind and environment are part of the new value
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

// alreadyExpired rejects a rotation whose new key would inherit the expiry and never work.
var alreadyExpired = fault.Detail{Field: "key", Message: "has expired; set a later expiresAt first or create a new key"}

// clockDifference is more than the clocks of two machines of a deployment differ.
const clockDifference = time.Minute

// rotation is the commit that replaces a key by a new one.
func (h *handler) rotation(c *call, fresh *key, grace time.Duration) (change, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return change{}, err
	}
	before, err := h.store.key(c, c.project, c.key)
	if err != nil {
		return change{}, err
	}
	if before.ReplacedBy != "" { // another rotation would overwrite the reference to the replacement
		return change{}, invalid(fault.Detail{Field: "key", Message: "was already rotated; rotate " + before.ReplacedBy + ", which replaced it"})
	}
	if before.ExpiresMs != 0 && before.ExpiresMs <= h.nowMs() {
		return change{}, invalid(alreadyExpired)
	}
	id, hash, last4, created := fresh.ID, fresh.Hash, fresh.Last4, fresh.CreatedMs
	*fresh = key{Key: before.Key, Version: 1}
	fresh.ID, fresh.Hash, fresh.Last4, fresh.CreatedMs, fresh.Status = id, hash, last4, created, doc.Active
	old, p := nextKey(before), next(p)
	p.KeyCount++
	old.ReplacedBy = fresh.ID
	if grace == 0 { // the key's object compares with its own clock, which may be behind
		grace = -clockDifference
	}
	// ExpiresMs = 0 means never.
	if at := uint64(h.Now().Add(grace).UnixMilli()); old.ExpiresMs == 0 || at < old.ExpiresMs {
		old.ExpiresMs = at
	}
	entry, err := h.auditKeyWrite(c, "key.rotate", &before, &old)
	return change{
		writes: []directory.Write{writeProject(&p), writeKey(&old), writeKey(fresh), entry},
		deliveries: h.store.withSettings(&p,
			directory.StatusTo(fresh, &p), directory.RecordTo(fresh, &p), directory.StatusTo(&old, &p), directory.RecordTo(&old, &p)),
	}, err
}

// lastUses queries a project's ledger for the last uses of keys, in Unix milliseconds by hash.
func (h *handler) lastUses(ctx context.Context, p *project, wanted []key) (map[string]uint64, error) {
	used := map[string]uint64{}
	if len(wanted) == 0 {
		return used, nil
	}
	var command ledger.Keys
	for i := range wanted {
		command.Names = append(command.Names, wanted[i].Hash)
	}
	reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return nil, unavailable(err)
	}
	uses, err := ledger.DecodeKeyUses(reply)
	for _, use := range uses {
		used[use.Key] = use.LastUsedMs
	}
	return used, err
}
