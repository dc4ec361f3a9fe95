// Command reference writes docs/clients/reference/go.md from the doc comments of clients/go. It is an error if an
// exported name has no comment, or if its file has no section.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/postern-ai/postern/tools/internal/repo"
)

const target = "docs/clients/reference/go.md"

// sections are the page's sections in order, with their files.
var sections = []section{
	{"Client and options", []string{"client.go", "settings.go", "options.go", "hooks.go", "log.go", "ptr.go"}},
	{"Completions", []string{"ai.go", "message.go", "tools.go", "embed.go", "chat.go", "structured.go", "jsonstream.go", "schema.go", "counttokens.go"}},
	{"Checks by the Governor", []string{"governor.go"}},
	{"Usage and health", []string{"usage.go", "health.go"}},
	{"Violations", []string{"violations.go"}},
	{"Models", []string{"models.go", "available.go"}},
	{"Compliance", []string{"compliance.go", "export.go"}},
	{"Webhooks", []string{"webhook.go", "webhookevent.go"}},
	{"Any endpoint", []string{"endpoint.go"}},
	{"Lists and changes", []string{"page.go", "fields.go", "change.go"}},
	{"Metadata of responses", []string{"meta.go"}},
	{"Error types", []string{"errors.go", "errors_status.go"}},
}

type section struct {
	title string
	files []string
}

func main() {
	root, err := repo.Root()
	if err == nil {
		err = run(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	page, err := render(filepath.Join(root, "clients/go"), sections)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, target), page, 0o644)
}
