package server

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/control/web"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/store"
)

// newControl builds the control plane with the dashboard.
func newControl(c *Config, objects control.Objects, clock store.Clock, parsed *config.Config) *control.Service {
	variable := func(name string) func() string { return func() string { return c.Env[name] } }
	return control.New(control.Config{
		Objects: objects, AdminToken: variable("POSTERN_ADMIN_TOKEN"), ViewerToken: variable("POSTERN_VIEWER_TOKEN"),
		MasterKeys: variable(config.EnvMasterKeys), SigningKeys: variable(compliance.EnvSigningKey), Seal: seal,
		Catalog: parsed, Dashboard: web.Files(), Rand: rand.Reader,
		Now:             func() time.Time { return time.UnixMilli(int64(clock.Now())) },
		PrivateWebhooks: func() bool { return c.Env["POSTERN_PRIVATE_WEBHOOKS"] == "on" },
	})
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
