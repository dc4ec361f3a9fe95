package keys

import (
	"errors"
	"net/http"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
)

func (h *handler) findRoutes() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodGet, Path: kernel.KeysPath, For: kernel.Operators, Operation: "searchKeys", Serve: h.searchKeys},
		{Method: http.MethodGet, Path: kernel.KeysPath + "/{hash}", For: kernel.Operators, Operation: "findKey", Serve: h.findKey},
	}
}

// projectView identifies the project to which a found key belongs.
type projectView struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

func viewProject(p *directory.Project) projectView {
	return projectView{p.ID, p.Name, settings.ProjectStatus(p)}
}

// matchView is a key in the results of a search. It lacks the time of last use, which only the project's ledger
// knows.
type matchView struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Kind        string      `json:"kind"`
	Environment string      `json:"environment"`
	Prefix      string      `json:"prefix"`
	Last4       string      `json:"last4"`
	Status      string      `json:"status"`
	Project     projectView `json:"project"`
}

type matchesView struct {
	Keys []matchView `json:"keys"`
	Next *string     `json:"next"` // pass as "after" to get the next page; null: last page
}

// searchKeys serves GET /api/admin/keys?q=&limit=&after=. Keys are sorted by project, and oldest first within each
// project. One request reads a limited part of the Directory, so a page may be short or even empty although more
// pages follow.
func (h *handler) searchKeys(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQueryOverProjects(c.Request, kernel.KeyPrefix, "q")
	if err != nil {
		return kernel.Answer{}, err
	}
	text := strings.TrimSpace(q.Values.Get("q"))
	if _, _, whole := keys.Parse(text); whole { // the message does not repeat the key
		return kernel.Answer{}, kernel.Invalid(fault.Detail{Field: "q",
			Message: "must not be a complete key, because keys do not belong in URLs; find it by its SHA-256 with GET " + kernel.KeysPath + "/{hash}"})
	}
	found, more, err := kernel.Scan(c, h.Store, q, doc.AllKeys, directory.DecodeKey, func(k *directory.Key) bool {
		return q.Matches(k.Name) || strings.EqualFold(k.Last4, text) || k.ID == text
	})
	if err != nil {
		return kernel.Answer{}, err
	}
	view := matchesView{Keys: []matchView{}, Next: kernel.NextID(more, doc.AllKeys)}
	projects, err := h.Store.Projects(c, projectsOf(found))
	if err != nil {
		return kernel.Answer{}, err
	}
	for i := range found {
		if p, ok := projects[found[i].ProjectID]; ok {
			view.Keys = append(view.Keys, h.viewMatch(&found[i], &p))
		}
	}
	return kernel.OK(view), nil
}

// projectsOf returns the IDs of the keys' projects. The keys must be sorted by project.
func projectsOf(found []directory.Key) (ids []string) {
	for i := range found {
		if i == 0 || found[i].ProjectID != found[i-1].ProjectID {
			ids = append(ids, found[i].ProjectID)
		}
	}
	return ids
}

func (h *handler) viewMatch(k *directory.Key, p *directory.Project) matchView {
	v := settings.ViewKey(h.Plane, k, 0)
	return matchView{v.ID, v.Name, v.Kind, v.Environment, v.Prefix, v.Last4, v.Status, viewProject(p)}
}

type foundView struct {
	Project projectView      `json:"project"`
	Key     settings.KeyView `json:"key"`
}

// findKey serves GET /api/admin/keys/{hash}. The hash is the name of the key's meter. The meter knows the IDs of the
// key and its project.
func (h *handler) findKey(c *kernel.Call) (kernel.Answer, error) {
	command := keymeter.Identify{}
	reply, err := h.Store.Objects.Call(c, abi.ClassKeyMeter, c.Hash, "", command.Encode())
	if err != nil {
		return kernel.Answer{}, kernel.Unavailable(err)
	}
	identity, err := keymeter.DecodeIdentity(reply)
	if err != nil {
		return kernel.Answer{}, err
	}
	if !kernel.IsID(identity.ProjectID, kernel.ProjectPrefix) || !kernel.IsID(identity.KeyID, kernel.KeyPrefix) {
		return kernel.Answer{}, errNoSuchKey
	}
	p, err := h.Store.Project(c, identity.ProjectID)
	if err != nil {
		return kernel.Answer{}, orNoSuchKey(err)
	}
	k, err := h.Store.Key(c, identity.ProjectID, identity.KeyID)
	if err != nil {
		return kernel.Answer{}, orNoSuchKey(err)
	}
	// The meters are flushed, because an operator who has found a key needs to know whether the key is in use.
	if _, err := reports.FlushMeters(c, h.Plane, &p); err != nil {
		return kernel.Answer{}, err
	}
	views, err := h.viewKeys(c, &p, []directory.Key{k})
	if err != nil {
		return kernel.Answer{}, err
	}
	return kernel.OK(foundView{viewProject(&p), views[0]}), nil
}

var errNoSuchKey = kernel.Refuse(fault.NotFound, "hash", "matches no key of this deployment; the key was deleted, or it belongs to another deployment")

// orNoSuchKey replaces a 404 with errNoSuchKey. The 404 means that the key is being deleted and its meter does not
// know that yet.
func orNoSuchKey(err error) error {
	var refusal *kernel.Refusal
	if errors.As(err, &refusal) && refusal.Fault == fault.NotFound {
		return errNoSuchKey
	}
	return err
}
