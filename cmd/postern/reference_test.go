package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/reference"
)

var rewrite = flag.Bool("rewrite", false, "write docs/reference/cli.md")

// referencePage is the committed reference page for the command line.
const referencePage = "../../docs/reference/cli.md"

// TestReference checks that the page matches the program.
func TestReference(t *testing.T) {
	text := reference.CLI((&program{}).root(), func(args ...string) string {
		var out strings.Builder
		p := &program{out: &out, err: &out}
		p.run(t.Context(), args)
		return out.String()
	})
	if *rewrite {
		if err := os.WriteFile(referencePage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(referencePage); err != nil || string(got) != text {
		t.Errorf("docs/reference/cli.md differs from the program (%v): run make generate", err)
	}
}

// flagName matches a flag at the start of its line in the program's list.
var flagName = regexp.MustCompile(`(?m)^ +(-\w, )?--[a-z-]+`)

// TestReferenceHasEverything checks that the page has every command and flag in the program's help.
func TestReferenceHasEverything(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			_, section, found := strings.Cut(string(page), "\n## `"+sub.CommandPath()+"`\n")
			if !found {
				t.Errorf("the page lacks %s", sub.CommandPath())
				continue
			}
			section, _, _ = strings.Cut(section, "\n## ")
			for _, name := range flagName.FindAllString(sub.LocalFlags().FlagUsages(), -1) {
				name = strings.TrimSpace(name)
				if checked++; name != "--help" && !strings.Contains(section, name) {
					t.Errorf("the section of %s lacks %s", sub.CommandPath(), name)
				}
			}
			check(sub)
		}
	}
	check((&program{}).root())
	if checked < 50 {
		t.Errorf("checked only %d flags", checked)
	}
}
