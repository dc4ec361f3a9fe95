package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/doctor"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/server/settings"
)

const doctorHelp = `Checks what postern serve needs: the configuration, the data directory and its permissions, the store and the integrity of its
data, the clock, TLS files, free ports, disk space and the limit on open files. Run it as the same user as the server, with
the same flags and variables.

The command only reads a SQLite database. While a server uses the database, the command checks the store through the server's
operations address. It opens a PostgreSQL database in the same way as postern serve. This migrates the database to the schema of
this version of the program, so back it up before you run the doctor of a newer version.

--online also calls each configured provider once: it checks the endpoint, the key and the clock. Keys are never printed.
--live only checks that the running server responds, and prints nothing if it does; it is meant for container health checks.

Exit codes: 0 all checks passed, possibly with warnings; 1 a check failed; 2 wrong arguments.`

func (p *program) doctor() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Check the configuration, data and environment of a server", Long: doctorHelp, Args: exactly(0, ""),
		Example: "  postern doctor\n  postern doctor --online --config /etc/postern/postern.yaml\n  postern doctor --live\n  postern doctor --json",
	}
	online := c.Flags().Bool("online", false, "also call each configured provider once")
	live := c.Flags().Bool("live", false, "only check that the running server responds")
	source := p.configures(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		configuration, err := settings.Load(source())
		if *live {
			return p.live(c, &configuration, err)
		}
		if err != nil {
			var checks []doctor.Check
			for line := range strings.Lines(err.Error()) {
				checks = append(checks, doctor.Check{Name: "configuration", Status: doctor.Fail, Detail: strings.TrimSpace(line)})
			}
			return p.printChecks(checks)
		}
		checks := []doctor.Check{{Name: "configuration", Status: doctor.OK, Detail: "valid"}}
		options := doctor.Options{Online: *online, Inspect: inspect, Open: openStore, InUse: isInUse}
		return p.printChecks(append(checks, doctor.Run(c.Context(), &configuration, options)...))
	}
	return c
}

func (p *program) live(c *cobra.Command, configuration *server.Config, problem error) error {
	if problem != nil {
		return misused("the configuration is invalid:\n%w", problem)
	}
	switch {
	case configuration.OpsListen != "off":
		return doctor.Probe(c.Context(), http.DefaultClient, configuration.OpsListen, "/livez")
	case configuration.TLSCert != "":
		return doctor.ProbeTLS(c.Context(), configuration.Listen)
	}
	return doctor.Probe(c.Context(), http.DefaultClient, configuration.Listen, "/")
}

// printChecks prints checks and ends the command with exitFailed if one failed.
func (p *program) printChecks(checks []doctor.Check) error {
	failed := doctor.Failed(checks)
	if p.json {
		if err := p.printJSON(map[string]any{"ok": !failed, "checks": checks}); err != nil {
			return err
		}
	} else {
		colors := map[doctor.Status]string{doctor.OK: "\x1b[32m", doctor.Warn: "\x1b[33m", doctor.Fail: "\x1b[31m"}
		for _, check := range checks {
			start, end := "", ""
			if p.color {
				start, end = colors[check.Status], "\x1b[0m"
			}
			fmt.Fprintf(p.out, "%s%-4s%s  %s: %s\n", start, check.Status, end, check.Name, plain(check.Detail))
			if check.Remedy != "" {
				fmt.Fprintf(p.out, "      → %s\n", plain(check.Remedy))
			}
		}
	}
	if failed {
		return errReported
	}
	return nil
}
