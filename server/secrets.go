package server

import (
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
	"github.com/postern-ai/postern/core/config"
)

// SecretsFile is the file in Config.Data with the secrets that the first start makes.
const SecretsFile = "secrets.json"

// secrets is the content of SecretsFile. Each is used if its variable is not set.
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

// addSecrets completes the variables with the secrets of the data directory, and makes them at the first start. It reports
// whether it made them. With PostgreSQL, replicas on other machines need the same secrets, so variables must name them.
func addSecrets(c *Config) (made bool, err error) {
	c.Env = maps.Clone(c.Env)
	if c.Env == nil {
		c.Env = map[string]string{}
	}
	switch {
	case c.Database != "" && c.Env[envAdminToken] == "":
		return false, errors.New("POSTERN_ADMIN_TOKEN must be set with POSTERN_DATABASE: all replicas need the same token; " +
			"so do POSTERN_MASTER_KEYS and POSTERN_SIGNING_KEY, if you use provider keys or signed checkpoints")
	case c.Database != "" || c.Data == "":
		return false, nil
	}
	s, made, err := readSecrets(filepath.Join(c.Data, SecretsFile))
	if err != nil {
		return false, err
	}
	for name, value := range map[string]string{
		envAdminToken: s.AdminToken, config.EnvMasterKeys: s.MasterKey, compliance.EnvSigningKey: s.SigningKey,
	} {
		if c.Env[name] == "" {
			c.Env[name] = value
		}
	}
	return made, nil
}

// readSecrets reads the file, or makes it.
func readSecrets(path string) (s secrets, made bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		s = newSecrets()
		return s, true, writeSecrets(path, s)
	}
	if err != nil {
		return s, false, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&^privateFile != 0 {
		return s, false, fmt.Errorf("%s: other users can read the secrets; run: chmod 600 %s", path, path)
	}
	if err := json.Unmarshal(data, &s); err != nil || s.AdminToken == "" || s.MasterKey == "" || s.SigningKey == "" {
		return s, false, fmt.Errorf("%s is damaged; restore it from a backup, or provider keys cannot be decrypted", path)
	}
	return s, false, nil
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
