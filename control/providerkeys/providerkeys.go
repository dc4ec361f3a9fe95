// Package providerkeys is the provider key resource: a project's own keys for providers.
package providerkeys

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints for a project's own keys for providers.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/provider-keys", For: kernel.Operators, Operation: "listProviderKeys", Serve: h.listProviderKeys},
		{Method: http.MethodPut, Path: kernel.ProjectPath + "/provider-keys/{provider}", For: kernel.Owners, Body: kernel.MaxBody, Audit: "provider_key.set", Operation: "setProviderKey", Serve: h.putProviderKey},
		{Method: http.MethodDelete, Path: kernel.ProjectPath + "/provider-keys/{provider}", For: kernel.Owners, Audit: "provider_key.delete", Operation: "deleteProviderKey", Serve: h.deleteProviderKey},
	}
}

// Length of a provider key in bytes. Sealing makes a key 28 bytes longer.
const (
	minProviderKeyBytes = 8
	maxProviderKeyBytes = 512
)

type providerKeysView struct {
	Enabled      bool                       `json:"enabled"` // a master key is configured
	ProviderKeys []settings.ProviderKeyView `json:"providerKeys"`
	Providers    []string                   `json:"providers"` // providers that accept a project's own key
}

// ownKeyProviders returns the names of the providers that accept a project's own key.
func (h *handler) ownKeyProviders() []string {
	names := []string{}
	for i := range h.Catalog.Providers {
		if p := &h.Catalog.Providers[i]; p.Ownable && p.Account == p.Name {
			names = append(names, p.Name)
		}
	}
	return names
}

// listProviderKeys serves GET …/provider-keys.
func (h *handler) listProviderKeys(c *kernel.Call) (kernel.Answer, error) {
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := providerKeysView{Enabled: len(settings.MasterKeys(h.Plane)) > 0, ProviderKeys: []settings.ProviderKeyView{}, Providers: h.ownKeyProviders()}
	for i := range p.Policy.ProviderKeys {
		view.ProviderKeys = append(view.ProviderKeys, settings.ViewProviderKey(h.Plane, &p.Policy.ProviderKeys[i]))
	}
	return kernel.OK(view), nil
}

// putProviderKey serves PUT …/provider-keys/{provider} {"key"}. The key is sealed at once and never shown.
func (h *handler) putProviderKey(c *kernel.Call) (kernel.Answer, error) {
	provider := h.Catalog.ProviderName(c.Provider)
	if !slices.Contains(h.ownKeyProviders(), provider) {
		return kernel.Answer{}, kernel.Refuse(fault.NotFound, "provider", "must be "+kernel.OneOf(h.ownKeyProviders())+kernel.Got(c.Provider))
	}
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	text, given := f.Text("key", "")
	if !given && len(f.Problems) == 0 {
		f.Problem("key", "is required")
	}
	if given && (len(text) < minProviderKeyBytes || len(text) > maxProviderKeyBytes || !kernel.IsHeaderText(text)) {
		f.Problem("key", "must have 8 to 512 printable ASCII characters and no spaces")
	}
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	masters := settings.MasterKeys(h.Plane)
	if len(masters) == 0 {
		return kernel.Answer{}, kernel.ErrNoMasterKey
	}
	fresh := doc.ProviderKey{Provider: provider, KeyID: masters[0].ID, Last4: text[len(text)-4:], SetMs: h.NowMs()}
	if fresh.Sealed, err = h.sealKey(c, masters[0], provider, text); err != nil {
		return kernel.Answer{}, err
	}
	err = h.changePolicy(c, &fresh)
	return kernel.OK(settings.ViewProviderKey(h.Plane, &fresh)), err
}

func (h *handler) sealKey(c *kernel.Call, master config.MasterKey, provider, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(master.Key)
	if err != nil {
		return nil, err
	}
	return h.Seal(c, key, doc.SealedFor(c.Project, provider), []byte(text))
}

// deleteProviderKey serves DELETE …/provider-keys/{provider}.
func (h *handler) deleteProviderKey(c *kernel.Call) (kernel.Answer, error) {
	return kernel.NoContent(), h.changePolicy(c, nil)
}

// providerOf returns the provider whose key a request changes. The request may use an earlier name of a provider. An
// operator's entry may once have had the same name. If a key is stored under that name, the name refers to the stored
// key. Without this rule, the key could not be deleted after the operator's entry has left the catalog.
func (h *handler) providerOf(c *kernel.Call, p *doc.Policy, fresh *doc.ProviderKey) string {
	switch {
	case fresh != nil:
		return fresh.Provider
	case p.ProviderKey(c.Provider) != nil:
		return c.Provider
	}
	return h.Catalog.ProviderName(c.Provider)
}

// changePolicy stores the provider key fresh in the project's policy. If fresh is nil, it removes the provider's key
// instead.
func (h *handler) changePolicy(c *kernel.Call, fresh *doc.ProviderKey) error {
	return h.Store.Change(c, func() (kernel.Change, error) {
		before, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		var oldView, newView any
		provider := h.providerOf(c, &before.Policy, fresh)
		after := kernel.NextProject(before)
		after.Revision++
		after.Policy.ProviderKeys = nil
		for i := range before.Policy.ProviderKeys {
			if k := &before.Policy.ProviderKeys[i]; k.Provider != provider {
				after.Policy.ProviderKeys = append(after.Policy.ProviderKeys, *k)
			} else {
				oldView = settings.ViewProviderKey(h.Plane, k)
			}
		}
		switch {
		case fresh != nil && len(after.Policy.ProviderKeys) == doc.MaxProviderKeys:
			return kernel.Change{}, kernel.Invalid(fault.Detail{Field: "provider", Message: "cannot be added: the project has " + strconv.Itoa(doc.MaxProviderKeys) + " provider keys, the maximum; delete one first"})
		case fresh != nil:
			after.Policy.ProviderKeys = append(after.Policy.ProviderKeys, *fresh)
			newView = settings.ViewProviderKey(h.Plane, fresh)
		case oldView == nil:
			return kernel.Change{}, kernel.Refuse(fault.NotFound, "provider", c.Provider+" has no key in this project")
		}
		settings.VersionPolicy(&before, &after)
		entry, err := h.AuditWrite(c, c.Project, "", oldView, newView)
		return settings.ProjectChange(h.Plane, &before, &after, entry), err
	})
}
