// Package keys is the API key resource: the keys of a project, and the search across all projects.
package keys

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints for keys.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return append(h.findRoutes(), h.projectRoutes()...)
}

func (h *handler) projectRoutes() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/keys", For: kernel.Owners, Body: kernel.MaxBody, Audit: "key.create", Operation: "createKey", Serve: h.createKey},
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/keys", For: kernel.Operators, Operation: "listKeys", Serve: h.listKeys},
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/keys/{key}", For: kernel.Operators, Operation: "getKey", Serve: h.getKey},
		{Method: http.MethodPatch, Path: kernel.ProjectPath + "/keys/{key}", For: kernel.Owners, Body: kernel.MaxBody, Audit: "key.update", Operation: "changeKey", Serve: h.patchKey},
		{Method: http.MethodDelete, Path: kernel.ProjectPath + "/keys/{key}", For: kernel.Owners, Audit: "key.delete", Operation: "deleteKey", Serve: h.deleteKey},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/keys/{key}/rotate", For: kernel.Owners, Body: kernel.MaxBody, Audit: "key.rotate", Operation: "rotateKey", Serve: h.rotateKey},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/keys/{key}/deactivate", For: kernel.Owners, Audit: "key.deactivate", Operation: "deactivateKey", Serve: h.deactivateKey},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/keys/{key}/reactivate", For: kernel.Owners, Audit: "key.reactivate", Operation: "reactivateKey", Serve: h.reactivateKey},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/keys/{key}/credits", For: kernel.Owners, Body: kernel.MaxBody, Audit: "key.credit", Operation: "creditKey", Serve: h.creditKey},
	}
}

type keysView struct {
	Keys []settings.KeyView `json:"keys"`
	Next *string            `json:"next"` // pass as "after" to get the next page; null: last page
}

// createKey serves POST /api/admin/projects/{project}/keys.
func (h *handler) createKey(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	k, err := h.readKey(c.Project, f)
	if err != nil {
		return kernel.Answer{}, err
	}
	value, err := h.mint(&k)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := settings.ViewKey(h.Plane, &k, 0)
	entry, err := h.AuditWrite(c, c.Project, k.ID, nil, view)
	if err != nil {
		return kernel.Answer{}, err
	}
	err = h.Store.Change(c, func() (kernel.Change, error) {
		p, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		p = kernel.NextProject(p)
		p.KeyCount++
		return kernel.Change{
			Writes:     []directory.Write{kernel.WriteProject(&p), kernel.WriteKey(&k), entry},
			Deliveries: h.Store.WithSettings(&p, directory.StatusTo(&k, &p), directory.RecordTo(&k, &p)),
		}, nil
	})
	view.Value = value
	return kernel.Created(view), err
}

func (h *handler) readKey(projectID string, f *kernel.Fields) (directory.Key, error) {
	k := directory.Key{Version: 1}
	k.ProjectID, k.Status = projectID, doc.Active
	k.Name = f.RequiredName()
	k.Kind = kernel.Translate(f.DefaultedChoice("kind", kernel.KindWords), kernel.KindWords, kernel.KindValues)
	k.Environment = kernel.Translate(f.DefaultedChoice("environment", kernel.EnvironmentWords), kernel.EnvironmentWords, kernel.Environments)
	k.Models, _ = f.Models()
	k.Permissions, _ = takePermissions(f, k.Kind)
	k.Limits, k.Budget.Limits, _ = takeLimits(f)
	budget := settings.TakeBudget(f)
	budget.Apply(&k.Budget.Budgeted, &k.Budget.BudgetPico, &k.Budget.Cycle, &k.Budget.Epoch, &k.Budget.Soft)
	k.Budget.Epoch = 0 // the first cycle is not a change
	k.ExpiresMs, _ = takeExpiry(f, h.Now())
	return k, f.Err()
}

// mint gives a key an ID and a value. The value itself is not stored.
func (h *handler) mint(k *directory.Key) (value string, err error) {
	now := h.Now()
	k.CreatedMs = uint64(now.UnixMilli())
	if k.ID, err = kernel.NewID(kernel.KeyPrefix, now, h.Rand); err != nil {
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

// listKeys serves GET /api/admin/projects/{project}/keys?limit=&after=&status=&kind=&environment=&q=, which lists
// keys, oldest first.
func (h *handler) listKeys(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, kernel.KeyPrefix, "status", "kind", "environment", "q")
	if err != nil {
		return kernel.Answer{}, err
	}
	status, kind, environment := q.Choice("status", keyStatuses), q.Choice("kind", kernel.KindWords), q.Choice("environment", kernel.EnvironmentWords)
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	now := h.NowMs()
	found, more, err := kernel.Scan(c, h.Store, q, doc.KeysOf(p.ID), directory.DecodeKey, func(k *directory.Key) bool {
		return (status == "" || settings.KeyStatus(k, now) == status) &&
			(kind == "" || kernel.Translate(k.Kind, kernel.KindValues, kernel.KindWords) == kind) &&
			(environment == "" || kernel.Translate(k.Environment, kernel.Environments, kernel.EnvironmentWords) == environment) && q.Matches(k.Name)
	})
	if err != nil {
		return kernel.Answer{}, err
	}
	views, err := h.viewKeys(c, &p, found)
	return kernel.OK(keysView{views, kernel.NextID(more, doc.KeysOf(p.ID))}), err
}

func (h *handler) viewKeys(ctx context.Context, p *directory.Project, found []directory.Key) ([]settings.KeyView, error) {
	used, err := h.lastUses(ctx, p, found)
	if err != nil {
		return nil, err
	}
	views := make([]settings.KeyView, len(found))
	for i := range found {
		views[i] = settings.ViewKey(h.Plane, &found[i], used[found[i].Hash])
	}
	return views, nil
}

// getKey serves GET …/keys/{key}.
func (h *handler) getKey(c *kernel.Call) (kernel.Answer, error) {
	p, k, err := h.read(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	views, err := h.viewKeys(c, &p, []directory.Key{k})
	if err != nil {
		return kernel.Answer{}, err
	}
	return kernel.OK(views[0]), nil
}

// read reads the key of the path and its project.
func (h *handler) read(c *kernel.Call) (p directory.Project, k directory.Key, err error) {
	if p, err = h.Store.Project(c, c.Project); err == nil {
		k, err = h.Store.Key(c, c.Project, c.Key)
	}
	return p, k, err
}

// patchKey serves PATCH …/keys/{key}. Omitted fields keep their values. The kind and the environment are part of the
// key's value and cannot change.
func (h *handler) patchKey(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	k, err := h.Store.Key(c, c.Project, c.Key) // its kind determines which permissions it can have
	if err != nil {
		return kernel.Answer{}, err
	}
	version, _ := f.Integer("version", 1, 1<<53)
	name, hasName := f.Name()
	models, hasModels := f.Models()
	permissions, hasPermissions := takePermissions(f, k.Kind)
	limits, perPeriod, hasLimits := takeLimits(f)
	budget := settings.TakeBudget(f)
	expires, hasExpiry := takeExpiry(f, h.Now())
	for _, field := range []string{"kind", "environment"} {
		f.Fixed(field, "cannot be changed; create another key")
	}
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	return h.updateKey(c, version, func(k *directory.Key) {
		kernel.Set(hasName, &k.Name, name)
		kernel.Set(hasModels, &k.Models, models)
		kernel.Set(hasPermissions, &k.Permissions, permissions)
		kernel.Set(hasLimits, &k.Limits, limits)
		kernel.Set(hasLimits, &k.Budget.Limits, perPeriod)
		budget.Apply(&k.Budget.Budgeted, &k.Budget.BudgetPico, &k.Budget.Cycle, &k.Budget.Epoch, &k.Budget.Soft)
		kernel.Set(hasExpiry, &k.ExpiresMs, expires)
	})
}

// deactivateKey serves POST …/keys/{key}/deactivate. By the time it responds, the key's meter already rejects the
// key.
func (h *handler) deactivateKey(c *kernel.Call) (kernel.Answer, error) {
	return h.updateKey(c, 0, func(k *directory.Key) { k.Status = doc.Inactive })
}

// reactivateKey serves POST …/keys/{key}/reactivate.
func (h *handler) reactivateKey(c *kernel.Call) (kernel.Answer, error) {
	return h.updateKey(c, 0, func(k *directory.Key) { k.Status = doc.Active })
}

// updateKey changes a key and responds with the changed key. It commits even if nothing changes. The deliveries of an
// earlier commit may still be pending, but the response must confirm that the change is in force.
func (h *handler) updateKey(c *kernel.Call, version uint64, edit func(*directory.Key)) (kernel.Answer, error) {
	k, p, err := h.changeKey(c, version, edit)
	if err != nil {
		return kernel.Answer{}, err
	}
	// The change has already been made, so a failure of the ledger is only logged.
	used, err := h.lastUses(c, &p, []directory.Key{k})
	if err != nil {
		kernel.LogFailure("", "last_use_unknown", k.ID+": "+err.Error())
	}
	return kernel.OK(settings.ViewKey(h.Plane, &k, used[k.Hash])), nil
}

// deleteKey serves DELETE …/keys/{key}.
func (h *handler) deleteKey(c *kernel.Call) (kernel.Answer, error) {
	_, _, err := h.changeKey(c, 0, func(k *directory.Key) { k.Status = doc.Removed })
	return kernel.NoContent(), err
}

// changeKey commits an edit of a key and delivers it to the key's meter. The key must have the expected version,
// unless the expected version is 0.
func (h *handler) changeKey(c *kernel.Call, version uint64, edit func(*directory.Key)) (k directory.Key, p directory.Project, err error) {
	err = h.Store.Change(c, func() (kernel.Change, error) {
		if p, err = h.Store.Project(c, c.Project); err != nil {
			return kernel.Change{}, err
		}
		before, err := h.Store.Key(c, c.Project, c.Key)
		if err != nil {
			return kernel.Change{}, err
		}
		if version != 0 && version != before.Version {
			return kernel.Change{}, kernel.Outdated(before.Version, version)
		}
		k, p = kernel.NextKey(before), kernel.NextProject(p)
		edit(&k)
		entry, err := h.auditKeyWrite(c, &before, &k)
		return h.commitOf(&k, &p, entry), err
	})
	return k, p, err
}

// commitOf returns the commit of a changed key. Unless the key is inactive, the record in KV is updated along with the
// meter. An exchange that reads an old record from KV would have to get a newer one from the meter. The record of an
// inactive key may be stale.
func (h *handler) commitOf(k *directory.Key, p *directory.Project, others ...directory.Write) kernel.Change {
	made := kernel.Change{
		Writes:     append([]directory.Write{kernel.WriteProject(p), kernel.WriteKey(k)}, others...),
		Deliveries: h.Store.WithSettings(p, directory.StatusTo(k, p)),
	}
	if k.Status != doc.Inactive {
		made.Deliveries = append(made.Deliveries, directory.RecordTo(k, p))
	}
	return made
}

func (h *handler) auditKeyWrite(c *kernel.Call, before, after *directory.Key) (directory.Write, error) {
	if after.Status == doc.Removed {
		return h.AuditWrite(c, c.Project, after.ID, settings.ViewKey(h.Plane, before, 0), nil)
	}
	return h.AuditWrite(c, c.Project, after.ID, settings.ViewKey(h.Plane, before, 0), settings.ViewKey(h.Plane, after, 0))
}

// rotateKey serves POST …/keys/{key}/rotate {"graceSeconds"}. It creates a new key with the same settings. The old
// key stays valid for the grace period.
func (h *handler) rotateKey(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	grace := takeGrace(f)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	replaced, err := h.Store.Key(c, c.Project, c.Key) // its kind and environment are part of the new value
	if err != nil {
		return kernel.Answer{}, err
	}
	var fresh directory.Key
	fresh.Kind, fresh.Environment = replaced.Kind, replaced.Environment
	value, err := h.mint(&fresh)
	if err != nil {
		return kernel.Answer{}, err
	}
	made := fresh
	err = h.Store.Change(c, func() (kernel.Change, error) {
		made = fresh
		return h.rotation(c, &made, grace)
	})
	view := settings.ViewKey(h.Plane, &made, 0)
	view.Value = value
	return kernel.Created(view), err
}

// alreadyExpired rejects the rotation of an expired key. The new key would inherit the expiry and never work.
var alreadyExpired = fault.Detail{Field: "key", Message: "has expired; set a later expiresAt first or create a new key"}

// clockDifference is larger than any difference between the clocks of two machines in a deployment.
const clockDifference = time.Minute

func (h *handler) rotation(c *kernel.Call, fresh *directory.Key, grace time.Duration) (kernel.Change, error) {
	p, before, err := h.read(c)
	if err != nil {
		return kernel.Change{}, err
	}
	if before.ReplacedBy != "" { // another rotation would overwrite the reference to the replacement
		return kernel.Change{}, kernel.Invalid(fault.Detail{Field: "key", Message: "was already rotated; rotate " + before.ReplacedBy + ", which replaced it"})
	}
	if before.ExpiresMs != 0 && before.ExpiresMs <= h.NowMs() {
		return kernel.Change{}, kernel.Invalid(alreadyExpired)
	}
	id, hash, last4, created := fresh.ID, fresh.Hash, fresh.Last4, fresh.CreatedMs
	*fresh = directory.Key{Key: before.Key, Version: 1}
	fresh.ID, fresh.Hash, fresh.Last4, fresh.CreatedMs, fresh.Status = id, hash, last4, created, doc.Active
	old, p := kernel.NextKey(before), kernel.NextProject(p)
	p.KeyCount++
	old.ReplacedBy = fresh.ID
	if grace == 0 { // the meter checks the expiry with its own clock, which may be slow
		grace = -clockDifference
	}
	// ExpiresMs = 0 means never.
	if at := uint64(h.Now().Add(grace).UnixMilli()); old.ExpiresMs == 0 || at < old.ExpiresMs {
		old.ExpiresMs = at
	}
	entry, err := h.auditKeyWrite(c, &before, &old)
	return kernel.Change{
		Writes: []directory.Write{kernel.WriteProject(&p), kernel.WriteKey(&old), kernel.WriteKey(fresh), entry},
		Deliveries: h.Store.WithSettings(&p,
			directory.StatusTo(fresh, &p), directory.RecordTo(fresh, &p), directory.StatusTo(&old, &p), directory.RecordTo(&old, &p)),
	}, err
}

// lastUses asks a project's ledger when keys were last used. The result maps each key's hash to a time in Unix
// milliseconds.
func (h *handler) lastUses(ctx context.Context, p *directory.Project, wanted []directory.Key) (map[string]uint64, error) {
	used := map[string]uint64{}
	if len(wanted) == 0 {
		return used, nil
	}
	var command ledger.Keys
	for i := range wanted {
		command.Names = append(command.Names, wanted[i].Hash)
	}
	reply, err := h.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	uses, err := ledger.DecodeKeyUses(reply)
	for _, use := range uses {
		used[use.Key] = use.LastUsedMs
	}
	return used, err
}
