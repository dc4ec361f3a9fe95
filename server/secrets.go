package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/internal/smallfile"
)

// SecretsFile is the file in Config.Data with the secrets that are generated on the first start.
const SecretsFile = "secrets.json"

// secrets is the content of SecretsFile. A secret from it is used only if its variable is not set.
type secrets struct {
	AdminToken string `json:"adminToken"`
	MasterKey  string `json:"masterKey"`
	SigningKey string `json:"signingKey"`
}

// Sizes of generated secrets.
const (
	tokenBytes = 24
	keyBytes   = 32
)

func newSecrets() secrets {
	random := make([]byte, tokenBytes+keyBytes+keyBytes)
	_, _ = rand.Read(random)
	return secrets{
		AdminToken: "adm_" + hex.EncodeToString(random[:tokenBytes]),
		MasterKey:  "first:" + base64.StdEncoding.EncodeToString(random[tokenBytes:tokenBytes+keyBytes]),
		SigningKey: base64.StdEncoding.EncodeToString(random[tokenBytes+keyBytes:]),
	}
}

// ErrNoToken means that Config has a Database but no admin token.
var ErrNoToken = errors.New("POSTERN_ADMIN_TOKEN must be set with POSTERN_DATABASE: all replicas need the same token; " +
	"so do POSTERN_MASTER_KEYS and POSTERN_SIGNING_KEY, if you use provider keys or signed checkpoints")

// requireSecrets returns an error if the variables lack a secret that a shared database requires. All replicas must
// have the same secrets, even on different machines.
func requireSecrets(c *Config) error {
	if c.Database != "" && c.Env[control.EnvAdminToken] == "" {
		return ErrNoToken
	}
	return nil
}

// addSecrets adds the secrets of the data directory to the variables. On the first start, it generates them. The
// caller must have locked the directory. Otherwise, two first starts at the same time would each generate their own
// secrets.
func (s *Server) addSecrets(ctx context.Context, c *Config) error {
	c.Env = maps.Clone(c.Env)
	if c.Env == nil {
		c.Env = map[string]string{}
	}
	if c.Database != "" || c.Data == "" {
		return nil
	}
	path := filepath.Join(c.Data, SecretsFile)
	file, err := readSecrets(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.mayMakeSecrets(ctx, c); err == nil {
			file = newSecrets()
			err = writeSecrets(path, file)
		}
	}
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		control.EnvAdminToken: file.AdminToken, config.EnvMasterKeys: file.MasterKey, compliance.EnvSigningKey: file.SigningKey,
	} {
		if c.Env[name] == "" {
			c.Env[name] = value
		}
	}
	return nil
}

// mayMakeSecrets returns an error if new secrets would replace lost ones. That is so if the database contains data
// and at least one secret is not set as a variable.
func (s *Server) mayMakeSecrets(ctx context.Context, c *Config) error {
	if c.Env[control.EnvAdminToken] != "" && c.Env[config.EnvMasterKeys] != "" && c.Env[compliance.EnvSigningKey] != "" {
		return nil
	}
	used, err := s.used(ctx)
	if err == nil && used {
		err = fmt.Errorf("%s has a database with data, but no %s, and new keys could not decrypt the data: restore the file from a backup, or set %s, %s and %s",
			c.Data, SecretsFile, control.EnvAdminToken, config.EnvMasterKeys, compliance.EnvSigningKey)
	}
	return err
}

func readSecrets(path string) (s secrets, err error) {
	data, err := smallfile.Read(path)
	if err != nil {
		return s, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&^privateFile != 0 {
		return s, fmt.Errorf("%s: other users can read the secrets; run: chmod 600 %s", path, path)
	}
	if err := json.Unmarshal(data, &s); err != nil || s.AdminToken == "" || s.MasterKey == "" || s.SigningKey == "" {
		return s, fmt.Errorf("%s is damaged; restore it from a backup, or provider keys cannot be decrypted", path)
	}
	return s, nil
}

func writeSecrets(path string, s secrets) error {
	root, err := openFolder(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("POSTERN_DATA: %w", err)
	}
	defer root.Close()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomic(root, filepath.Base(path), append(text, '\n'))
}
