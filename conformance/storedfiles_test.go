package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/pgtest"
)

func startStoredPostgres(t *testing.T, upstream *Upstream, place string) *Runner {
	return startStoredLocal(t, upstream, func(clock store.Clock) (store.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: pgtest.Shared(t).URL(place), Clock: clock})
	})
}

// loadStoredPostgres fills a database.
func loadStoredPostgres(t *testing.T, folder, place string) {
	text, err := os.ReadFile(filepath.Join(folder, "postgres.sql"))
	if err == nil {
		err = pgtest.Shared(t).Exec(t.Context(), place, string(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// saveStoredPostgres writes a database as SQL that all versions of PostgreSQL understand, without client-specific
// commands.
func saveStoredPostgres(t *testing.T, place string) {
	dump := exec.Command("pg_dump", "--inserts", "--no-owner", "--no-privileges", pgtest.Shared(t).URL(place))
	dump.Stderr = os.Stderr
	text, err := dump.Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, "SET ") {
			lines = append(lines, line)
		}
	}
	if err := os.WriteFile(filepath.Join(storedFolder, "postgres.sql"), []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// loadStoredFiles returns a function that unpacks an archive into a folder.
func loadStoredFiles(name string) func(*testing.T, string, string) {
	return func(t *testing.T, folder, place string) {
		packed, err := os.ReadFile(filepath.Join(folder, name+".tar.gz"))
		if err == nil {
			err = unpack(packed, place)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpack(packed []byte, place string) error {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	files := tar.NewReader(plain)
	for {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		data, err := io.ReadAll(files)
		path := filepath.Join(place, file.Name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return err
		}
	}
}

// saveStoredFiles returns a function that packs a folder of SQLite databases and other files.
func saveStoredFiles(name string) func(*testing.T, string) {
	return func(t *testing.T, place string) {
		var packed bytes.Buffer
		plain, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		files := tar.NewWriter(plain)
		err := fs.WalkDir(os.DirFS(place), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			full := filepath.Join(place, path)
			if err := settleDatabase(full); err != nil {
				return err
			}
			data, err := os.ReadFile(full)
			if errors.Is(err, fs.ErrNotExist) || len(data) == 0 || strings.HasSuffix(path, "-shm") {
				return nil
			}
			err = errors.Join(err, files.WriteHeader(&tar.Header{Name: path, Mode: 0o600, Size: int64(len(data))}))
			_, failed := files.Write(data)
			return errors.Join(err, failed)
		})
		err = errors.Join(err, files.Close(), plain.Close())
		if err == nil {
			err = os.WriteFile(filepath.Join(storedFolder, name+".tar.gz"), packed.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// settleDatabase moves the write-ahead log of an SQLite database into the database. It also removes the expiration of
// entries in workerd's KV, because workerd measures their age with the machine's clock.
func settleDatabase(path string) error {
	if !strings.HasSuffix(path, ".sqlite") && !strings.HasSuffix(path, ".db") {
		return nil
	}
	c, err := sqlite3.OpenContext(context.Background(), path)
	if err != nil {
		return err
	}
	if strings.Contains(path, "KVNamespace") && !strings.HasSuffix(path, "metadata.sqlite") {
		err = c.Exec("UPDATE _mf_entries SET expiration = NULL")
	}
	return errors.Join(err, c.Exec("PRAGMA wal_checkpoint(TRUNCATE)"), c.Close())
}
