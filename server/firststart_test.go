package server

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/store/sqlite"
)

func refuses(t *testing.T, c Config, text string) {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	s, err := New(t.Context(), c)
	if err == nil {
		_ = s.store.Close()
	}
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %q", err, text)
	}
}

func firstStart(t *testing.T) Config {
	t.Helper()
	c := testConfig(nil)
	c.Test.Store = nil
	delete(c.Env, "POSTERN_ADMIN_TOKEN")
	c.Data, c.Out = filepath.Join(t.TempDir(), "data"), &buffer{}
	runOnce(t, c)
	return c
}

// If the database is lost, the server does not replace it with an empty one, and it keeps the secrets.
func TestLostDatabase(t *testing.T) {
	c := firstStart(t)
	name := filepath.Join(c.Data, sqlite.DatabaseFile)
	secrets, err := os.ReadFile(filepath.Join(c.Data, SecretsFile))
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "restore a backup with postern restore, or delete secrets.json"
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	refuses(t, c, remedy)
	if _, err := os.Stat(name); err == nil {
		t.Error("the refused start has made a database")
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, c, remedy)
	without, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), MustExist: true})
	if !errors.Is(err, sqlite.ErrMissing) {
		t.Errorf("%v, %v", without, err)
	}
	if after, err := os.ReadFile(filepath.Join(c.Data, SecretsFile)); err != nil || string(after) != string(secrets) {
		t.Errorf("the secrets have changed: %v", err)
	}
	if err := os.Remove(filepath.Join(c.Data, SecretsFile)); err != nil {
		t.Fatal(err)
	}
	c.Out = &buffer{}
	runOnce(t, c) // the empty file becomes a new database
}

// If the secrets are lost, the server makes new ones only if all of them are set as variables.
func TestLostSecrets(t *testing.T) {
	c := firstStart(t)
	name := filepath.Join(c.Data, SecretsFile)
	kept := name + ".kept"
	if err := os.Rename(name, kept); err != nil {
		t.Fatal(err)
	}
	refuses(t, c, "has a database with data, but no secrets.json")
	if _, err := os.Stat(name); err == nil {
		t.Error("the refused start has made secrets")
	}
	if err := os.Rename(kept, name); err != nil {
		t.Fatal(err)
	}
	c.Out = &buffer{}
	runOnce(t, c)
}

// If a first start was killed before it made the secrets or the database, the next start works normally.
func TestInterruptedFirstStart(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"empty database": func(dir string) error { return os.WriteFile(filepath.Join(dir, sqlite.DatabaseFile), nil, 0o600) },
		"tables only": func(dir string) error {
			s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			if err != nil {
				return err
			}
			return s.Close()
		},
		"unfinished secrets": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".new-x"), []byte("{"), 0o600) },
	} {
		c := testConfig(nil)
		c.Test.Store, c.Data, c.Out = nil, t.TempDir(), &buffer{}
		delete(c.Env, "POSTERN_ADMIN_TOKEN")
		if err := prepare(c.Data); err != nil {
			t.Fatal(name, err)
		}
		if token := runOnce(t, c); token == "" {
			t.Errorf("%s: no token", name)
		}
	}
}

func TestDataMustBeADirectory(t *testing.T) {
	c := testConfig(nil)
	c.Test.Store, c.Data = nil, os.DevNull
	refuses(t, c, "POSTERN_DATA")
}
