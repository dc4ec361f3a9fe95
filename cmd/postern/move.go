package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/transfer"
	"github.com/postern-ai/postern/server/settings"
)

const exportHelp = `Writes the state of a deployment to a file: projects, hashes of keys, policies, the model registry, usage, violations, the audit
log, compliance data, open reservations, and responses stored for idempotency keys. The file contains no key values and no master
keys, and provider keys stay encrypted. Protect it like a secret.

Stop the traffic first. The command reads everything repeatedly until two consecutive readings are equal, and fails if the
deployment keeps changing. --json prints a summary, on standard error if the file is -.`

const importHelp = `Imports a file from postern export into another deployment, on SQLite, PostgreSQL or Cloudflare. That deployment must not already
have any of the file's projects. Its own projects stay unchanged. It must have the same POSTERN_MASTER_KEYS, and plans with the
same names.

The command checks the complete file before it sends anything. If an import is interrupted, run it again with the same file.`

// moved is the output of export and import.
type moved struct {
	File     string `json:"file"`
	Projects int    `json:"projects"`
	Objects  int    `json:"objects"`
	Rows     int    `json:"rows"`
}

func (p *program) exportDeployment() *cobra.Command {
	c, o := p.connects(&cobra.Command{
		Use: "export FILE|-", Short: "Write a deployment's state to a file, to move it", Long: exportHelp, Args: exactly(1, "the name of the new file, or -"),
		Example: "  postern export deployment.ndjson\n  postern export --url https://postern.example.com - | gzip > deployment.ndjson.gz",
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		client, err := p.client(o)
		if err != nil {
			return err
		}
		var summary transfer.Summary
		err = p.write(args[0], func(spool *os.File) (err error) {
			e := transfer.Export{
				Client: client, Source: p.address(o), Version: buildVersion(), Now: time.Now(),
				Progress: func(text string) { fmt.Fprintln(p.err, "postern: trying again: "+plain(text)) },
			}
			summary, err = e.Write(c.Context(), spool)
			return err
		})
		if err != nil {
			return err
		}
		to := p.out
		if args[0] == "-" {
			to = p.err
		}
		return p.printMoved(to, "Exported", moved{args[0], summary.Projects, summary.Objects, summary.Rows})
	}
	return c
}

func (p *program) importDeployment() *cobra.Command {
	c, o := p.connects(&cobra.Command{
		Use: "import FILE", Short: "Import an exported state into a deployment", Long: importHelp, Args: exactly(1, "the name of a file that postern export made"),
		Example: "  postern import deployment.ndjson --url https://postern.example.com",
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		client, err := p.client(o)
		if err != nil {
			return err
		}
		summary, err := transfer.Import(c.Context(), client, file)
		if errors.Is(err, transfer.ErrImported) {
			fmt.Fprintln(p.err, "postern: "+err.Error())
		} else if err != nil {
			return err
		}
		return p.printMoved(p.out, "Imported", moved{args[0], summary.Projects, summary.Objects, summary.Rows})
	}
	return c
}

// address returns the deployment's address.
func (p *program) address(o *connection) string {
	return firstOf(o.url, p.variable(settings.EnvBaseURL), defaultURL)
}

// write writes a new file that only its owner can read. If the name is -, it writes to standard output. A file gets
// its final name only when it is complete.
func (p *program) write(name string, fill func(*os.File) error) (err error) {
	folder := filepath.Dir(name)
	if name == "-" {
		folder = ""
	} else if _, err := os.Lstat(name); err == nil {
		return misused("%s exists; name a new file", name)
	}
	spool, err := os.CreateTemp(folder, ".postern-export-*") // with the mode 0600
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, spool.Close())
		if err == nil && name != "-" {
			err = os.Rename(spool.Name(), name)
		}
		if err != nil || name == "-" {
			_ = os.Remove(spool.Name())
		}
	}()
	if err := fill(spool); err != nil {
		return err
	}
	if name != "-" {
		return spool.Sync()
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(p.out, spool)
	return err
}

func (p *program) printMoved(to io.Writer, verb string, m moved) error {
	if p.json {
		other := *p
		other.out = to
		return other.printJSON(m)
	}
	_, err := fmt.Fprintf(to, "%s %d projects, %d objects and %d rows: %s\n", verb, m.Projects, m.Objects, m.Rows, plain(m.File))
	return err
}
