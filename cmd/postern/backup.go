package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/smallfile"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/server/settings"
	"github.com/postern-ai/postern/store/sqlite"
)

const backupHelp = `Writes a consistent copy of the SQLite database in the data directory to a new file, whether or not the server is running. The copy
contains every change that was acknowledged before the command started.

The copy does not contain secrets.json, which is needed to decrypt the projects' own provider keys. --secrets FILE copies it to
another new file; keep the two apart. Only the owner of the files can read them.

For PostgreSQL, use its own tools:
  pg_dump --format=custom --file=postern.dump "$POSTERN_DATABASE"`

const restoreHelp = `Restores the database of a data directory from a file that postern backup wrote. It checks the file first. It fails if the
directory already has a database, or if a server is using the directory. --secrets FILE also restores secrets.json.

For PostgreSQL, use its own tools, with an empty database:
  pg_restore --no-owner --dbname="$POSTERN_DATABASE" postern.dump`

// Commands to use instead with PostgreSQL, whose own tools make better backups.
const (
	dumpCommand    = `pg_dump --format=custom --file=%q "$POSTERN_DATABASE"`
	restoreCommand = `pg_restore --no-owner --dbname="$POSTERN_DATABASE" %q`
)

// backupView is the output of backup and restore with --json.
type backupView struct {
	File    string `json:"file"`
	Data    string `json:"data"`
	Bytes   int64  `json:"bytes"`
	Secrets string `json:"secrets"` // name of the file; empty: not copied
}

func (p *program) backup() *cobra.Command {
	c := &cobra.Command{
		Use: "backup FILE", Short: "Copy the database of a server on this machine", Long: backupHelp, Args: exactly(1, "the name of a new file"),
		Example: "  postern backup postern-2026-11-22.db\n  postern backup /backup/postern.db --data /var/lib/postern --secrets /vault/postern-secrets.json",
	}
	secrets := c.Flags().String("secrets", "", "also copy secrets.json to this new file")
	source := p.dataFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		data, err := p.dataDirectory(source(), fmt.Sprintf(dumpCommand, args[0]))
		if err != nil {
			return err
		}
		if err := backupDatabase(c.Context(), data, args[0]); err != nil {
			return err
		}
		if *secrets != "" {
			if err := copyPrivate(filepath.Join(data, server.SecretsFile), *secrets); err != nil {
				return fmt.Errorf("the database was copied, but not the secrets: %w", err)
			}
		}
		return p.printBackup("Copied", args[0], data, *secrets)
	}
	return c
}

// backupDatabase also checks the copy. Damage must be noticed now, not when the backup is needed.
func backupDatabase(ctx context.Context, data, file string) error {
	if err := sqlite.BackupLive(ctx, data, file); err != nil {
		return err
	}
	if err := sqlite.CheckIntegrity(ctx, file); err != nil {
		return fmt.Errorf("the copy %s is damaged: %w", file, err)
	}
	return nil
}

func (p *program) restore() *cobra.Command {
	c := &cobra.Command{
		Use: "restore FILE", Short: "Restore the database of a server on this machine from a backup", Long: restoreHelp, Args: exactly(1, "the name of a backup"),
		Example: "  postern restore postern-2026-11-22.db --data /var/lib/postern\n  postern restore postern.db --secrets postern-secrets.json",
	}
	secrets := c.Flags().String("secrets", "", "also restore secrets.json from this file")
	source := p.dataFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		data, err := p.dataDirectory(source(), fmt.Sprintf(restoreCommand, args[0]))
		if err != nil {
			return err
		}
		target := filepath.Join(data, server.SecretsFile)
		if _, err := os.Lstat(target); *secrets != "" && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists already; move it away", target)
		}
		if err := sqlite.Restore(c.Context(), args[0], data); err != nil {
			return err
		}
		if err := sqlite.CheckIntegrity(c.Context(), filepath.Join(data, sqlite.DatabaseFile)); err != nil {
			return fmt.Errorf("the restored database is damaged: %w", err)
		}
		if *secrets != "" {
			if err := copyPrivate(*secrets, target); err != nil {
				return fmt.Errorf("the database was restored, but not the secrets: %w", err)
			}
		}
		return p.printBackup("Restored", args[0], data, *secrets)
	}
	return c
}

func (p *program) dataFlags(c *cobra.Command) func() settings.Source {
	file := c.Flags().String("config", "", "YAML file with the configuration (default POSTERN_CONFIG, or none)")
	data := c.Flags().String("data", "", "data directory (default POSTERN_DATA, or postern-data)")
	return func() settings.Source {
		s := settings.Source{Environ: p.environ, File: *file, Flags: map[string]string{}}
		if *data != "" {
			s.Flags[settings.EnvData] = *data
		}
		return s
	}
}

// dataDirectory returns the configured directory. If a PostgreSQL database is configured, it returns an error that
// names the right command.
func (p *program) dataDirectory(source settings.Source, command string) (string, error) {
	configuration, err := settings.Load(source)
	if err != nil {
		return "", misused("the configuration is invalid:\n%w", err)
	}
	if _, chosen := source.Flags[settings.EnvData]; configuration.Database != "" && !chosen {
		return "", misused("the configured database is PostgreSQL; use its own tools: %s", command)
	}
	return configuration.Data, nil
}

// copyPrivate copies a file. Only the owner can read the new file.
func copyPrivate(from, to string) error {
	text, err := smallfile.Read(from)
	if err != nil {
		return err
	}
	f, err := createSecretFile(to)
	if err != nil {
		return err
	}
	defer f.close()
	return f.write(string(text))
}

func (p *program) printBackup(verb, file, data, secrets string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(backupView{file, data, info.Size(), secrets})
	}
	fmt.Fprintf(p.out, "%s %s (%d bytes), data directory %s.\n", verb, file, info.Size(), data)
	if secrets == "" {
		fmt.Fprintln(p.out, "secrets.json was not copied: see --secrets.")
	}
	return nil
}
