package server

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"net"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/control/web"
	"github.com/postern-ai/postern/core/config"
)

// newControl builds the control plane with the dashboard.
func (s *Server) newControl(d *deployment) (*control.Service, error) {
	env := d.config.Env
	private, err := control.ParseSwitch(control.EnvWebhooks, env[control.EnvWebhooks])
	if err != nil {
		return nil, err
	}
	if _, err := compliance.ParseSigningKeys(env[compliance.EnvSigningKey]); err != nil {
		return nil, err
	}
	exports, err := exportsTo(d.config.Exports)
	if err != nil {
		return nil, err
	}
	variable := func(name string) func() string { return func() string { return env[name] } }
	access := control.Access{Team: env[control.EnvAccessTeam], Audience: env[control.EnvAccessAudience], Owners: env[control.EnvAccessOwners]}
	return control.New(control.Config{
		Objects: d.objects, AdminToken: variable(control.EnvAdminToken), ViewerToken: variable(control.EnvViewerToken),
		MasterKeys: variable(config.EnvMasterKeys), SigningKeys: variable(compliance.EnvSigningKey), Seal: seal,
		Access: func() control.Access { return access }, Fetch: fetchSmall, Exports: exports,
		Catalog: d.parsed, Files: web.File, Rand: rand.Reader,
		Now:             func() time.Time { return time.UnixMilli(int64(s.clock.Now())) },
		PrivateWebhooks: func() bool { return private }, Runtime: "server",
		Addresses: func() control.Addresses { return control.Addresses{Public: d.config.PublicURL, Bound: s.boundTo()} },
		Sleep:     d.config.Test.Sleep,
	}), nil
}

// boundTo returns the address of the gateway's listener. It is nil until the server listens.
func (s *Server) boundTo() net.Addr {
	if bound := s.bound.Load(); bound != nil {
		return *bound
	}
	return nil
}

// seal is control.Config.Seal.
func seal(_ context.Context, key []byte, additionalData string, plaintext []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce)
	return gcm.Seal(nonce, nonce, plaintext, []byte(additionalData)), nil
}
