package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/admin"
	"github.com/postern-ai/postern/internal/nearest"
)

// Exit codes. The help of the root command documents them.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitDifferent = 3
)

const rootHelp = `Postern is an AI gateway: one address and one API for many model providers, with keys, limits, budgets, a cache
and content checks.

  postern serve      runs the gateway on this machine
  postern projects   administers the projects of a running deployment
  postern keys       administers the keys of a project
  postern groups     administers groups of projects with shared budgets
  postern apply      makes a deployment match a file

Commands that administer a deployment call its admin API at --url, by default POSTERN_BASE_URL or http://127.0.0.1:8787.
The admin token is never a flag, because every user of a machine can read the arguments of its processes. It comes from
the first of these sources that has it:
  1. the variable POSTERN_ADMIN_TOKEN, or the file that POSTERN_ADMIN_TOKEN_FILE names
  2. for a deployment on this machine: secrets.json in the data directory, or .dev/keys.json from make dev
  3. a prompt, if standard input is a terminal

Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 differences found (apply --dry-run).`

type misuse struct{ error }

func misused(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// errDifferent ends a command with exitDifferent and no message.
var errDifferent = errors.New("there are differences")

// errReported ends a command with exitFailed and no message. The output has already reported the error.
var errReported = errors.New("failed")

// errMisused ends a command with exitUsage and no message. The message has already been printed.
var errMisused = errors.New("wrong arguments")

// run runs a command and returns its exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	switch wrong := (misuse{}); {
	case err == nil:
		return exitOK
	case errors.Is(err, errDifferent):
		return exitDifferent
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errMisused):
		return exitUsage
	case errors.As(err, &wrong), strings.HasPrefix(err.Error(), "unknown command"):
		p.printError(err)
		return exitUsage
	}
	p.printError(err)
	return exitFailed
}

// printError writes an error. With --json, it has the shape of the API's errors.
func (p *program) printError(err error) {
	if !p.json {
		fmt.Fprintln(p.err, "postern: "+err.Error())
		return
	}
	shown := struct {
		Error     string  `json:"error"`
		Code      *string `json:"code"`      // code of an error of the API; null for other errors
		Status    *int    `json:"status"`    // of the response; likewise
		RequestID *string `json:"requestId"` // likewise
	}{Error: err.Error()}
	var api *admin.Error
	if errors.As(err, &api) {
		shown.Code, shown.Status, shown.RequestID = &api.Code, &api.Status, &api.RequestID
	}
	encoder := json.NewEncoder(p.err)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(shown)
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use: "postern", Short: "AI gateway: run it and administer it", Long: rootHelp,
		SilenceUsage: true, SilenceErrors: true, Args: noCommand, RunE: help,
		Example: "  postern serve\n  postern projects create \"My app\" --budget 50\n  postern keys create --project \"My app\" --name Backend",
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON in the format of the admin API")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if number := (&strconv.NumError{}); errors.As(err, &number) {
			before, _, _ := strings.Cut(err.Error(), ": strconv.")
			return misused("%s: it must be a number in the flag's range; see %s --help", before, c.CommandPath())
		}
		return misused("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(p.serve(), p.projects(), p.keys(), p.groups(), p.credits(), p.apply(), p.backup(), p.restore(), p.exportDeployment(), p.importDeployment(), p.verify(), p.doctor(), p.version(), completion())
	return root
}

// help is the RunE of commands that only have subcommands.
func help(c *cobra.Command, _ []string) error {
	_ = c.Help()
	return misused("name a command")
}

// noCommand is the Args of commands that only have subcommands.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return misused("unknown command %q of %s%s", args[0], c.CommandPath(), nearest.Hint(args[0], names))
}

// exactly is the Args of commands with a fixed number of arguments. what names the arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		if n == 0 {
			return misused("%s takes no arguments, got %q", c.CommandPath(), args[0])
		}
		return misused("%s needs %s; see %s --help", c.CommandPath(), what, c.CommandPath())
	}
}

// group returns a command that only has subcommands.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: noCommand, RunE: help}
	c.AddCommand(commands...)
	return c
}

func (p *program) variable(name string) string {
	for _, entry := range p.environ {
		if found, text, _ := strings.Cut(entry, "="); found == name {
			return text
		}
	}
	return ""
}

func completion() *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a script that completes commands in your shell",
		Example: "  postern completion bash > /etc/bash_completion.d/postern\n  postern completion zsh > \"${fpath[1]}/_postern\"\n" +
			"  postern completion fish > ~/.config/fish/completions/postern.fish\n  postern completion powershell | Out-String | Invoke-Expression",
		Args: exactly(1, "the name of a shell: bash, zsh, fish or powershell"), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return misused("the shell must be bash, zsh, fish or powershell, got %q", args[0])
		},
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && isTTY(f)
}
