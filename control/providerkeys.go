package control

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// Length of a provider key in bytes; sealed, it is 28 bytes longer.
const (
	minProviderKeyBytes = 8
	maxProviderKeyBytes = 512
)

// providerKeyView is a project's own key for a provider. The key itself is never shown again.
type providerKeyView struct {
	Provider    string `json:"provider"`
	Last4       string `json:"last4"`
	SetAt       string `json:"setAt"`
	MasterKeyID string `json:"masterKeyId"`
	Usable      bool   `json:"usable"` // the master key that sealed it is still configured
}

type providerKeysView struct {
	Enabled      bool              `json:"enabled"` // a master key is configured
	ProviderKeys []providerKeyView `json:"providerKeys"`
	Providers    []string          `json:"providers"` // providers that accept a project's own key
}

// masterKeys are the deployment's master keys; the first one seals. An invalid list counts as empty; the
// gateway reports it when it starts.
func (h *handler) masterKeys() []config.MasterKey {
	parsed, ok := config.ParseMasterKeys(h.MasterKeys())
	if !ok {
		h.warnOnce(config.EnvMasterKeys + " is invalid, so provider keys are disabled; it must be id:key,…, each key 32 bytes in base64")
		return nil
	}
	return parsed
}

func (h *handler) viewProviderKey(k *doc.ProviderKey) providerKeyView {
	deployment := config.Config{MasterKeys: h.masterKeys()}
	usable := deployment.MasterKey(k.KeyID) != ""
	return providerKeyView{k.Provider, k.Last4, timestamp(k.SetMs), k.KeyID, usable}
}

// ownKeyProviders are the names of the providers that accept a project's own key.
func (h *handler) ownKeyProviders() []string {
	names := []string{}
	for i := range h.Catalog.Providers {
		if p := &h.Catalog.Providers[i]; p.Ownable && p.Account == p.Name {
			names = append(names, p.Name)
		}
	}
	return names
}

// listProviderKeys is GET …/provider-keys.
func (h *handler) listProviderKeys(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	view := providerKeysView{Enabled: len(h.masterKeys()) > 0, ProviderKeys: []providerKeyView{}, Providers: h.ownKeyProviders()}
	for i := range p.Policy.ProviderKeys {
		view.ProviderKeys = append(view.ProviderKeys, h.viewProviderKey(&p.Policy.ProviderKeys[i]))
	}
	return answer{http.StatusOK, view}, nil
}

// putProviderKey is PUT …/provider-keys/{provider} {"key"}. The key is sealed at once and never shown.
func (h *handler) putProviderKey(c *call) (answer, error) {
	if !slices.Contains(h.ownKeyProviders(), c.provider) {
		return answer{}, refuse(fault.NotFound, "provider", "must be "+oneOf(h.ownKeyProviders())+got(c.provider))
	}
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	text, given := f.text("key", "")
	if !given && len(f.problems) == 0 {
		f.problem("key", "is required")
	}
	if given && (len(text) < minProviderKeyBytes || len(text) > maxProviderKeyBytes || !isHeaderText(text)) {
		f.problem("key", "must have 8 to 512 printable ASCII characters and no spaces")
	}
	if err := f.err(); err != nil {
		return answer{}, err
	}
	masters := h.masterKeys()
	if len(masters) == 0 {
		return answer{}, errNoMasterKey
	}
	fresh := doc.ProviderKey{Provider: c.provider, KeyID: masters[0].ID, Last4: text[len(text)-4:], SetMs: h.nowMs()}
	if fresh.Sealed, err = h.sealKey(c, masters[0], text); err != nil {
		return answer{}, err
	}
	err = h.changePolicy(c, "provider_key.set", &fresh)
	return answer{http.StatusOK, h.viewProviderKey(&fresh)}, err
}

func (h *handler) sealKey(c *call, master config.MasterKey, text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(master.Key)
	if err != nil {
		return nil, err
	}
	return h.Seal(c, key, doc.SealedFor(c.project, c.provider), []byte(text))
}

// isHeaderText reports whether text can be part of a header value.
func isHeaderText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// deleteProviderKey is DELETE …/provider-keys/{provider}.
func (h *handler) deleteProviderKey(c *call) (answer, error) {
	return answer{status: http.StatusNoContent}, h.changePolicy(c, "provider_key.delete", nil)
}

// changePolicy sets a provider key in the project's policy, or removes it if fresh is nil.
func (h *handler) changePolicy(c *call, action string, fresh *doc.ProviderKey) error {
	return h.store.change(c, func() (change, error) {
		before, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		var oldView, newView any
		after := next(before)
		after.Revision++
		after.Policy.ProviderKeys = nil
		for i := range before.Policy.ProviderKeys {
			if k := &before.Policy.ProviderKeys[i]; k.Provider != c.provider {
				after.Policy.ProviderKeys = append(after.Policy.ProviderKeys, *k)
			} else {
				oldView = h.viewProviderKey(k)
			}
		}
		switch {
		case fresh != nil && len(after.Policy.ProviderKeys) == doc.MaxProviderKeys:
			return change{}, invalid(fault.Detail{Field: "provider", Message: "cannot be added: the project has " + strconv.Itoa(doc.MaxProviderKeys) + " provider keys, the maximum; delete one first"})
		case fresh != nil:
			after.Policy.ProviderKeys = append(after.Policy.ProviderKeys, *fresh)
			newView = h.viewProviderKey(fresh)
		case oldView == nil:
			return change{}, refuse(fault.NotFound, "provider", c.provider+" has no key in this project")
		}
		h.versionPolicy(&before, &after)
		entry, err := h.auditWrite(c, action, c.project, "", oldView, newView)
		return h.projectChange(&before, &after, entry), err
	})
}
