package settings

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// ProviderKeyView is a project's own key for a provider. It never contains the key itself.
type ProviderKeyView struct {
	Provider    string `json:"provider"`
	Last4       string `json:"last4"`
	SetAt       string `json:"setAt"`
	MasterKeyID string `json:"masterKeyId"`
	Usable      bool   `json:"usable"` // the master key that sealed it is still configured
}

// MasterKeys returns the deployment's master keys. The first one seals. An invalid list counts as empty, and the
// gateway reports it at startup.
func MasterKeys(cp *kernel.Plane) []config.MasterKey {
	parsed, ok := config.ParseMasterKeys(cp.MasterKeys())
	if !ok {
		cp.WarnOnce(config.EnvMasterKeys + " is invalid, so provider keys are disabled; it must be id:key,…, each key 32 bytes in base64")
		return nil
	}
	return parsed
}

// ViewProviderKey returns the API's view of a provider key.
func ViewProviderKey(cp *kernel.Plane, k *doc.ProviderKey) ProviderKeyView {
	deployment := config.Config{MasterKeys: MasterKeys(cp)}
	usable := deployment.MasterKey(k.KeyID) != ""
	return ProviderKeyView{k.Provider, k.Last4, kernel.Timestamp(k.SetMs), k.KeyID, usable}
}
