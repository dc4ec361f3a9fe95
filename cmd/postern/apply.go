package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/apply"
)

const applyHelp = `Makes a deployment match a YAML file: groups with their budgets, and projects with their limits, budgets, routes, Governor settings,
keys and model registry. It shows the differences, asks you to confirm, and makes the changes through the admin API, so it works
with every deployment.

If you apply the same file again, nothing changes. The command finds groups, projects and keys by their id, or otherwise by their name.
Anything that is not in the file stays unchanged, except with --prune. The file must contain the list projects. To archive all
projects, use --prune with the empty list (projects: []).

If the deployment changes after the command has shown the differences, the command stops with an error. In this case, and after
any other failure, run it again.

Values of new keys are shown only once: in the output if it is a terminal or with --show-keys, or in the file that --keys-out names.

  groups:
    - {name: Research, budget: 500, budgetPeriod: month}
    - {name: Vision, parent: Research, budget: 100, enforce: soft}
  projects:
    - name: My app
      group: Research/Vision
      plan: developer
      budget: 50
      budgetPeriod: month
      models: [balanced, gpt-4.1]
      routes:
        balanced: {strategy: ordered, targets: [{model: gpt-4.1-mini}, {model: claude-haiku-4-5}]}
      governor:
        enabled: true
        rules: {personal.email: {input: redact}}
      keys:
        - name: Backend
          limits: {requestsPerSecond: 5}
        - name: Tests
          environment: development
          status: inactive
      registry:
        enforcement: warn
        models:
          - {model: gpt-4.1, state: approved, reason: Reviewed by the security team}

Fields have the names and values of the admin API; docs/operate/projects-file.md lists them.`

type applyFlags struct {
	file, keysOut              string
	yes, dryRun, prune, values bool
}

func (p *program) apply() *cobra.Command {
	f := &applyFlags{}
	c, o := p.connects(&cobra.Command{
		Use: "apply -f FILE", Short: "Make a deployment match a file", Long: applyHelp, Args: exactly(0, ""),
		Example: "  postern apply -f postern.yaml\n  postern apply -f postern.yaml --dry-run     # exit code 3 if there are differences\n" +
			"  postern apply -f postern.yaml --yes --keys-out new-keys.jsonl --url https://ai.example.com",
	})
	flags := c.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "the file, or - for standard input (required)")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show the differences; exit code 3 if there are any")
	flags.BoolVar(&f.prune, "prune", false, "archive projects that the file does not name; if a project in the file has keys, deactivate its other keys; if the file has groups, delete other groups that are empty")
	flags.StringVar(&f.keysOut, "keys-out", "", "append values of new keys to this file, with mode 0600, one JSON object per line")
	flags.BoolVar(&f.values, "show-keys", false, "print values of new keys even if the output is not a terminal")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.file == "" {
			return misused("name the file with -f; see postern apply --help")
		}
		return p.runApply(c, o, f)
	}
	return c
}

func (p *program) runApply(c *cobra.Command, o *connection, f *applyFlags) error {
	file, err := p.readApplyFile(f.file)
	if err != nil {
		return misuse{err}
	}
	client, err := p.client(o)
	if err != nil {
		return err
	}
	plan, err := apply.New(c.Context(), client, file, apply.Options{Prune: f.prune})
	if err != nil {
		return err
	}
	if !p.json {
		p.printPlan(plan)
	}
	switch {
	case len(plan.Changes) == 0:
		return p.printApplied(plan, nil)
	case f.dryRun:
		if err := p.printApplied(plan, nil); err != nil {
			return err
		}
		return errDifferent
	}
	if plan.NewKeys && f.keysOut == "" && !f.values && !p.show {
		return misused("new keys would be made, but their values could not be seen: pass --keys-out FILE, or --show-keys to print them")
	}
	if err := p.confirm(f.yes, "Make "+changes(plan)+"?"); err != nil {
		return err
	}
	keep, secrets, done, err := p.keeper(f.keysOut)
	if err != nil {
		return err
	}
	defer done()
	failure := plan.Run(c.Context(), keep)
	if err := p.printApplied(plan, *secrets); err != nil {
		return err
	}
	return failure
}

func (p *program) readApplyFile(name string) (*apply.File, error) {
	in := p.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, apply.MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	return apply.Parse(name, text)
}

// keeper returns the function that saves secrets. It either writes each secret to a file at once or collects the
// secrets for the output.
func (p *program) keeper(name string) (keep func(apply.Secret) error, secrets *[]apply.Secret, done func(), err error) {
	secrets = &[]apply.Secret{}
	if name == "" {
		return func(s apply.Secret) error { *secrets = append(*secrets, s); return nil }, secrets, func() {}, nil
	}
	f, err := appendSecretFile(name)
	if err != nil {
		return nil, nil, nil, err
	}
	keep = func(s apply.Secret) error {
		line, err := json.Marshal(s)
		if err == nil {
			err = f.write(string(line) + "\n")
		}
		if s.Value = ""; err == nil {
			*secrets = append(*secrets, s)
		}
		return err
	}
	return keep, secrets, f.close, nil
}

type applyView struct {
	Changes []*apply.Change `json:"changes"`
	Secrets []apply.Secret  `json:"secrets"` // the values are empty if --keys-out names a file, which then contains them
}

// printApplied prints the result. With --json, it prints the changes with their status and the new secrets.
// Otherwise, it prints the number of changes and the new secrets.
func (p *program) printApplied(plan *apply.Plan, secrets []apply.Secret) error {
	if p.json {
		view := applyView{append([]*apply.Change{}, plan.Changes...), append([]apply.Secret{}, secrets...)}
		return p.printJSON(view)
	}
	made := 0
	for _, c := range plan.Changes {
		if c.Status == "applied" {
			made++
		}
	}
	if made > 0 {
		fmt.Fprintf(p.out, "Made %d of %d changes.\n", made, len(plan.Changes))
	}
	for _, s := range secrets {
		what, where := fmt.Sprintf("key %s (%s)", plain(s.Name), s.ID), plain(s.Project)
		if s.Group != "" {
			where = "group " + plain(s.Group)
		}
		if s.Kind == "webhook" {
			what = "secret of the alert webhook"
		}
		if s.Value == "" {
			fmt.Fprintf(p.out, "The value of %s in %s is in the file.\n", what, where)
			continue
		}
		fmt.Fprintf(p.out, "The value of %s in %s is shown only now: %s\n", what, where, s.Value)
	}
	return nil
}

// Marks and colors for changes. The colors are ANSI green, yellow and red.
var marks = map[string]struct{ sign, color string }{
	"create": {"+", "\x1b[32m"}, "update": {"~", "\x1b[33m"}, "restore": {"~", "\x1b[33m"}, "activate": {"~", "\x1b[33m"},
	"archive": {"-", "\x1b[31m"}, "deactivate": {"-", "\x1b[31m"}, "delete": {"-", "\x1b[31m"},
}

func (p *program) printPlan(plan *apply.Plan) {
	if len(plan.Changes) == 0 {
		fmt.Fprintln(p.out, "No changes: the deployment matches the file.")
		return
	}
	for _, c := range plan.Changes {
		start, end := "", ""
		if p.color {
			start, end = marks[c.Action].color, "\x1b[0m"
		}
		where := ""
		if c.Kind == "key" || c.Kind == "model" {
			where = fmt.Sprintf(" in project %q", c.Project)
		}
		fmt.Fprintf(p.out, "%s%s %s %s %q%s%s\n", start, marks[c.Action].sign, c.Action, c.Kind, c.Name, where, end)
		for _, f := range c.Fields {
			if c.Action == "create" {
				fmt.Fprintf(p.out, "    %s: %s\n", f.Name, short(f.After))
			} else {
				fmt.Fprintf(p.out, "    %s: %s → %s\n", f.Name, short(f.Before), short(f.After))
			}
		}
	}
	fmt.Fprintf(p.out, "%s.\n", changes(plan))
}

// changes returns the number of changes. If some of them archive projects or groups, or delete groups, it also returns
// the numbers of these.
func changes(plan *apply.Plan) string {
	text, parts := fmt.Sprintf("%d changes", len(plan.Changes)), []string(nil)
	for _, of := range [][3]string{{"project", "archive", "archived projects"}, {"group", "archive", "archived groups"}, {"group", "delete", "deleted groups"}} {
		n := 0
		for _, c := range plan.Changes {
			if c.Kind == of[0] && c.Action == of[1] {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", of[2], n))
		}
	}
	if len(parts) == 0 {
		return text
	}
	return text + " (" + strings.Join(parts, ", ") + ")"
}

const maxShown = 300 // maximum bytes of a value in the difference

// short returns a JSON value on one line.
func short(raw json.RawMessage) string {
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		return plain(string(raw))
	}
	text := []rune(plain(line.String()))
	if len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(text)
}
