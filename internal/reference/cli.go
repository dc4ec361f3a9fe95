package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const cliHead = "`postern` runs the gateway and administers deployments. `postern help COMMAND` prints the same text about one command."

// CLI returns the page about the command line. root is the program. For commands that parse their own flags, run runs
// the program with arguments and returns its output.
func CLI(root *cobra.Command, run func(args ...string) string) string {
	p := newPage("Command line", "cmd/postern")
	p.text(cliHead)
	p.command(root)
	p.text("Every command has these flags:")
	p.flags(root.PersistentFlags().FlagUsages())
	p.heading(2, "Commands")
	all := commands(root)
	var rows [][]string
	for _, c := range all {
		link := fmt.Sprintf("[`%s`](#%s)", c.CommandPath(), anchor(c))
		rows = append(rows, []string{link, c.Short + "."})
	}
	p.table([]string{"Command", "Purpose"}, rows)
	for _, c := range all {
		p.heading(2, code(c.CommandPath()))
		p.text(c.Short + ".")
		p.command(c)
		if c.DisableFlagParsing {
			p.text("```text\n" + strings.TrimSpace(run(append(strings.Fields(c.CommandPath())[1:], "--help")...)) + "\n```")
		}
		p.flags(c.LocalFlags().FlagUsages())
		if parent := c.Parent(); parent != root {
			p.text(fmt.Sprintf("The flags of [`%s`](#%s) apply too.", parent.CommandPath(), anchor(parent)))
		}
	}
	return p.String()
}

// anchor returns the anchor of a command's section.
func anchor(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// commands returns the commands that are not hidden, in the order of the help. Each command comes before its
// subcommands.
func commands(parent *cobra.Command) (all []*cobra.Command) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			all = append(append(all, c), commands(c)...)
		}
	}
	return all
}

// command writes the usage, the description and the examples of a command.
func (p *page) command(c *cobra.Command) {
	if c.Runnable() && !c.HasSubCommands() {
		p.text("```text\n" + c.UseLine() + "\n```")
	}
	if c.Long != "" {
		p.text("```text\n" + strings.TrimSpace(c.Long) + "\n```")
	}
	if c.Example != "" {
		p.text("```sh\n" + unindented(c.Example) + "\n```")
	}
}

// unindented removes two spaces from the start of each line.
func unindented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// flags writes the table of flags. usages is the program's own list. Each of its lines has a flag, at least two
// spaces, and the meaning.
func (p *page) flags(usages string) {
	var rows [][]string
	for line := range strings.Lines(usages) {
		name, usage, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if ok && !strings.Contains(name, "--help") {
			rows = append(rows, []string{code(name), strings.TrimSpace(usage)})
		}
	}
	if len(rows) > 0 {
		p.table([]string{"Flag", "Meaning"}, rows)
	}
}
